import type { Item, ItemStore, ItemUpdate } from "../../../db/contract/item-store.js";
import type { Entry, Vote } from "../../../db/log/entries.js";
import type { Commands } from "../../../schemas/live/index.js";
import type { PermissionKey } from "../../../schemas/plain/permissions.js";
import type { FrameFor, PushPipeline } from "../../delivery/push.js";
import type { EntryHandlers, RoomContext, CommandSender } from "../../module.js";
import type { UserRateLimits } from "../../people/user-rate-limits.js";
import { rateLimited, requireShort, unknownItem } from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";
import { SharedReads } from "../../rules/shared-reads.js";
import { pushFrame } from "../../socket/frame.js";
import { showsKind } from "./poll-frames.js";

// The lifecycle of questions and polls, the items of a room. Each kind declares its differences,
// and its command table declares the requirements of each command.

/** Maximum number of items in a list, and their maximum total size, in characters. */
export const MAX_LISTED = 1000;
export const MAX_LISTED_SIZE = 1024 * 1024;

/**
 * The kinds of items. A kind's name is also the type of its module, and the prefix of its commands,
 * entries and pushes.
 */
type ItemName = "question" | "poll";

/** The payloads that create an item. */
type Creation = {
  question: Commands["question.ask"]["payload"];
  poll: Commands["poll.create"]["payload"];
};

type Payload<N extends ItemName, A extends "update" | "vote"> = Commands[`${N}.${A}`]["payload"];

/** An item as sent to clients. */
type Sent = {
  question: Commands["question.update"]["result"]["question"];
  poll: Commands["poll.update"]["result"]["poll"];
};

/** Ports that the commands of every kind need. */
export interface ItemPorts {
  readonly limits: { readonly maxText: number };
  readonly rates: UserRateLimits;
}

/**
 * Declares the differences between the kinds of items. The functions throw a `LiveError` for input
 * that only their own kind rejects.
 * @typeParam N the name of the kind.
 * @typeParam P the ports of the kind's commands.
 * @typeParam I an item in the store.
 * @typeParam D a new item, and `C` the changes to an item, as passed to the store.
 */
export interface ItemKind<N extends ItemName, P extends ItemPorts, I extends Item, D, C> {
  readonly name: N;
  /** The key that people need to see items in every state, change them, and pin them. */
  readonly manage: PermissionKey;
  readonly store: (ports: P) => ItemStore<I, D, C>;
  /** Converts an item to the form that its managers and its creator receive. */
  readonly sent: (item: I, context: RoomContext<P>) => Sent[N] | Promise<Sent[N]>;
  /** Returns the text fields of a payload, by field path. */
  readonly texts: (
    payload: Creation[N] | Payload<N, "update">,
  ) => Record<string, string | undefined>;
  readonly draft: (context: RoomContext<P>, payload: Creation[N]) => D;
  readonly changes: (context: RoomContext<P>, payload: Payload<N, "update">) => C;
  /** Called after an item has been changed. */
  readonly changed?: (ports: P, update: ItemUpdate<I>) => void;
  /** Stores a vote. @returns the item as the caller may see it. */
  readonly vote: (
    context: RoomContext<P>,
    id: string,
    payload: Payload<N, "vote">,
  ) => Promise<Sent[N]>;
}

/** Returns the command handlers for the items of a kind. */
export function itemHandlers<N extends ItemName, P extends ItemPorts, I extends Item, D, C>(
  kind: ItemKind<N, P, I, D, C>,
) {
  const { name } = kind;
  type Context = RoomContext<P>;
  type Named = { id: unknown };

  const storeOf = ({ ports }: Context) => kind.store(ports);

  /** Results hold an item under the name of its kind. */
  const named = <T>(value: T) => ({ [name]: value }) as Record<N, T>;

  const requireTexts = ({ ports }: Context, payload: Creation[N] | Payload<N, "update">) =>
    requireShort(ports.limits.maxText, kind.texts(payload));

  async function create(context: Context, payload: Creation[N]) {
    requireTexts(context, payload);
    const draft = kind.draft(context, payload);
    const { author } = context.connection;
    const store = storeOf(context);
    const item = await store.create(...locationOf(context), draft, author);
    return named(await kind.sent(item, context));
  }

  async function update(context: Context, payload: Payload<N, "update">) {
    requireTexts(context, payload);
    const changes = kind.changes(context, payload);
    const { ports, me, connection } = context;
    const item = [...locationOf(context), idIn(payload.id)] as const;
    const by = [me.id, connection.author] as const;
    const update = await storeOf(context).update(...item, changes, ...by);
    kind.changed?.(ports, update);
    return named(await kind.sent(update.after, context));
  }

  async function remove(context: Context, payload: Named) {
    const item = [...locationOf(context), idIn(payload.id)] as const;
    const { author } = context.connection;
    const { id } = await storeOf(context).delete(...item, author);
    return named(id);
  }

  async function vote(context: Context, payload: Payload<N, "vote">) {
    // Voting also requires a right to see the item, because the result shows it.
    if (!may(context, `${name}.read`) && !may(context, kind.manage)) {
      throw unknownItem(name);
    }
    const { ports, connection } = context;
    if (!ports.rates.mayReact(connection)) throw rateLimited();
    return named(await kind.vote(context, idIn(payload.id), payload));
  }

  function pinned(context: Context, id: string | null) {
    const by = [context.me.id, context.connection.author] as const;
    return storeOf(context).pin(...locationOf(context), id, ...by);
  }

  async function pin(context: Context, payload: Named) {
    const id = idIn(payload.id);
    await pinned(context, id);
    return { id };
  }

  async function unpin(context: Context) {
    await pinned(context, null);
    return {};
  }

  return { create, update, remove, vote, pin, unpin };
}

/** Returns an id for the store. A value that is not a string becomes an unknown id. */
const idIn = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns the ids of the world and of the room that the payload names. */
export const locationOf = ({
  connection,
  room,
}: Pick<RoomContext<unknown, CommandSender>, "connection" | "room">) =>
  [connection.world, room.value.id] as const;

/** Whether the caller has a key in the room that the payload names. */
export const may = (
  { login, world, room }: RoomContext<unknown, CommandSender>,
  key: PermissionKey,
): boolean => mayInRoom(login, key, world.value, room.value);

// Parts that the pushes of questions and polls share.

/** An entry about a question or a poll. */
type ItemEntry = Extract<Entry, { type: `question.${string}` | `poll.${string}` }>;

type Kind = "question" | "poll";

/** Returns the ids of the users who voted, and of the connections through which they voted. */
export const authorsOf = ({ votes }: { votes: readonly Vote[] }): string[] =>
  votes.flatMap(({ user, connection }) => (connection === undefined ? [user] : [user, connection]));

/**
 * Builds a frame about a room for the people who have a key there.
 * @param kind the kind of the poll that the frame is about, for clients that can show it.
 */
function forHolders(
  key: PermissionKey,
  room: string,
  name: string,
  data: object = {},
  kind?: string,
): FrameFor {
  const frame = pushFrame(name, { room, ...data });
  return ({ login }, view) =>
    view.may(key, room) && (kind === undefined || showsKind(login!, kind)) ? frame : undefined;
}

/**
 * Pushes that an item has been deleted.
 * @param key the key that people needed to see the item.
 * @param of the kind of a poll that not every client can show.
 */
export function pushDeleted(
  pushes: PushPipeline,
  { world, room }: ItemEntry,
  kind: Kind,
  id: string,
  key: PermissionKey,
  of: { readonly kind?: string } = {},
): void {
  const frameFor = forHolders(key, room, `${kind}.deleted`, { id }, of.kind);
  pushes.push({ world, room }, (send) => send(frameFor));
}

/**
 * Pushes the id of a room's pinned item.
 * @param id the pinned item according to the entry; null for none.
 * @param find returns the pinned item according to the store, and the key that people need to see
 * that item.
 */
export function pushPinned(
  pushes: PushPipeline,
  { world, room }: ItemEntry,
  kind: Kind,
  id: string | null,
  find: () => Promise<{ id: string; key: PermissionKey; kind?: string } | undefined>,
): void {
  pushes.push({ world, room }, async (send) => {
    if (id === null) {
      await send(forHolders(`${kind}.read`, room, `${kind}.unpinned`));
    }
    // Another item may have been pinned since: the store has the latest pin.
    const present = await find();
    if (!present || (id ?? present.id) !== present.id) return;
    const data = { id: present.id };
    await send(forHolders(present.key, room, `${kind}.pinned`, data, present.kind));
  });
}

/** Maximum number of cached lists per kind. */
const MAX_LISTS = 256;

/** Maximum size of all cached lists together, and of each list, in characters of JSON. */
const MAX_SIZE = 16 * 1024 * 1024;
const MAX_LIST = 8 * 1024 * 1024;

/** Identifies a list: its room, and whether the list has items in every state or only public items. */
interface ListKey {
  readonly world: string;
  readonly room: string;
  readonly all: boolean;
}

/** A list shared by many recipients. Do not modify it. */
class SharedList<I extends Item> {
  readonly #made = new Map<string, unknown>();

  constructor(readonly items: readonly I[]) {}

  /**
   * Returns a value that is derived from the items on first use.
   * @param name identifies the value.
   */
  once<T>(name: string, make: (items: readonly I[]) => T): T {
    if (!this.#made.has(name)) this.#made.set(name, make(this.items));
    return this.#made.get(name) as T;
  }
}

/**
 * Caches the items of rooms as stored, without anything specific to one user. Everyone who enters a
 * room requests its items, and many people enter at the same time.
 */
export class ItemLists<I extends Item> {
  readonly #lists: SharedReads<ListKey, SharedList<I>>;
  readonly handlers: EntryHandlers;

  /**
   * @param isCurrent whether this process has received all entries that were committed to a world's
   * log at least a second ago.
   */
  constructor(kind: ItemName, isCurrent: (world: string) => boolean) {
    const lists = new SharedReads<ListKey, SharedList<I>>({
      isCurrent,
      scopeOf: ({ room }) => room,
      most: MAX_LISTS,
      mostSize: MAX_SIZE,
      mostEach: MAX_LIST,
      // Estimated. Includes the values derived from the items.
      sizeOf: ({ items }) => 3 * JSON.stringify(items).length,
    });
    this.#lists = lists;
    const ofRoom = ({ room }: { room: string }) => lists.forgetScope(room);
    const ofWorld = ({ world }: { world: string }) => this.forget(world);
    this.handlers = {
      [`${kind}.saved`]: ofRoom,
      [`${kind}.deleted`]: ofRoom,
      [`${kind}.voted`]: ofRoom,
      [`${kind}.pinned`]: ofRoom,
      "user.erased": ofWorld,
      "room.deleted": ofRoom,
      "world.updated": ofWorld,
      "world.deleted": ofWorld,
    };
  }

  /** @param read reads a list that is not cached. */
  get(key: ListKey, read: () => Promise<readonly I[]>): Promise<SharedList<I>> {
    const { world, room, all } = key;
    return this.#lists.get(
      `${world} ${room} ${all}`,
      key,
      async () => new SharedList(await read()),
    );
  }

  /** Forgets a world's lists. */
  forget(world: string): void {
    this.#lists.forgetWorld(world);
  }
}
