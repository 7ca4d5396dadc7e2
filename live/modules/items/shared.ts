import type { Item, ItemStore, ItemUpdate } from "../../../db/contract/item-store.js";
import type { Entry, Vote } from "../../../db/log/entries.js";
import type { Commands } from "../../../schemas/live/index.js";
import type { PermissionKey } from "../../../schemas/plain/permissions.js";
import type { FrameFor, Pushes } from "../../delivery/push.js";
import type { EntryHandlers, RoomContext, Sender } from "../../module.js";
import type { Rates } from "../../people/rates.js";
import { rateLimited, requireShort, unknownItem } from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";
import { SharedReads } from "../../rules/shared-reads.js";
import { pushFrame } from "../../socket/frame.js";

// The life of an item of a room, which questions and polls have in common. A kind says what
// differs, and its table of commands says what each command asks for.

/** How many items a list has at most, and of how many characters. */
export const MAX_LISTED = 1000;
export const MAX_LISTED_SIZE = 1024 * 1024;

/** The kinds of items: the types of their modules, with which all their names begin. */
type ItemName = "question" | "poll";

/** What clients send to create an item. */
type Creation = {
  question: Commands["question.ask"]["payload"];
  poll: Commands["poll.create"]["payload"];
};

type Payload<N extends ItemName, A extends "update" | "vote"> = Commands[`${N}.${A}`]["payload"];

/** An item as clients get it. */
type Sent = {
  question: Commands["question.update"]["result"]["question"];
  poll: Commands["poll.update"]["result"]["poll"];
};

/** What the commands of every kind need. */
export interface ItemPorts {
  readonly limits: { readonly maxText: number };
  readonly rates: Rates;
}

/**
 * What differs between the kinds of items. Its functions throw a `LiveError` where their kind
 * refuses what others admit.
 * @typeParam N the name of the kind.
 * @typeParam P the ports of its commands.
 * @typeParam I an item in the store.
 * @typeParam D a new item, and `C` what changes, as the store takes them.
 */
export interface ItemKind<N extends ItemName, P extends ItemPorts, I extends Item, D, C> {
  readonly name: N;
  /** The key of people who see items in every state, change them, and pin them. */
  readonly manage: PermissionKey;
  readonly store: (ports: P) => ItemStore<I, D, C>;
  /** An item as its managers and the user who creates it get it. */
  readonly sent: (item: I, context: RoomContext<P>) => Sent[N];
  /** The texts of a payload, by the paths of their fields. */
  readonly texts: (
    payload: Creation[N] | Payload<N, "update">,
  ) => Record<string, string | undefined>;
  readonly draft: (context: RoomContext<P>, payload: Creation[N]) => D;
  readonly changes: (context: RoomContext<P>, payload: Payload<N, "update">) => C;
  /** An item was changed. */
  readonly changed?: (ports: P, update: ItemUpdate<I>) => void;
  /** Stores a vote. @returns the item as the caller may see it. */
  readonly vote: (
    context: RoomContext<P>,
    id: string,
    payload: Payload<N, "vote">,
  ) => Promise<Sent[N]>;
}

/** What commands do with the items of a kind. */
export function itemHandlers<N extends ItemName, P extends ItemPorts, I extends Item, D, C>(
  kind: ItemKind<N, P, I, D, C>,
) {
  const { name } = kind;
  type Context = RoomContext<P>;
  type Named = { id: unknown };

  const storeOf = ({ ports }: Context) => kind.store(ports);

  /** An answer calls an item by the name of its kind. */
  const named = <T>(value: T) => ({ [name]: value }) as Record<N, T>;

  const requireTexts = ({ ports }: Context, payload: Creation[N] | Payload<N, "update">) =>
    requireShort(ports.limits.maxText, kind.texts(payload));

  async function create(context: Context, payload: Creation[N]) {
    requireTexts(context, payload);
    const draft = kind.draft(context, payload);
    const { author } = context.connection;
    const store = storeOf(context);
    const item = await store.create(...locationOf(context), draft, author);
    return named(kind.sent(item, context));
  }

  async function update(context: Context, payload: Payload<N, "update">) {
    requireTexts(context, payload);
    const changes = kind.changes(context, payload);
    const { ports, me, connection } = context;
    const item = [...locationOf(context), idIn(payload.id)] as const;
    const by = [me.id, connection.author] as const;
    const update = await storeOf(context).update(...item, changes, ...by);
    kind.changed?.(ports, update);
    return named(kind.sent(update.after, context));
  }

  async function remove(context: Context, payload: Named) {
    const item = [...locationOf(context), idIn(payload.id)] as const;
    const { author } = context.connection;
    const { id } = await storeOf(context).delete(...item, author);
    return named(id);
  }

  async function vote(context: Context, payload: Payload<N, "vote">) {
    // The answer shows the item.
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

/** An id as the store takes it. A value that is no text becomes an unknown id. */
const idIn = (value: unknown): string => (typeof value === "string" ? value : "");

/** The ids of the world and of the room that the payload names. */
export const locationOf = ({
  connection,
  room,
}: Pick<RoomContext<unknown, Sender>, "connection" | "room">) =>
  [connection.world, room.value.id] as const;

/** Whether the caller has a key in the room that the payload names. */
export const may = (
  { login, world, room }: RoomContext<unknown, Sender>,
  key: PermissionKey,
): boolean => mayInRoom(login, key, world.value, room.value);

// What pushes about questions and polls have in common.

/** A change of a question or a poll. */
type ItemEntry = Extract<Entry, { type: `question.${string}` | `poll.${string}` }>;

type Kind = "question" | "poll";

/** The users who voted, and the connections over which they did. */
export const authorsOf = ({ votes }: { votes: readonly Vote[] }): string[] =>
  votes.flatMap(({ user, connection }) => (connection === undefined ? [user] : [user, connection]));

/** A frame about a room for the people who have a key there. */
function forHolders(key: PermissionKey, room: string, name: string, data: object = {}): FrameFor {
  const frame = pushFrame(name, { room, ...data });
  return (_, view) => (view.may(key, room) ? frame : undefined);
}

/** Pushes that an item is gone. @param key of the people who saw it. */
export function pushDeleted(
  pushes: Pushes,
  { world, room }: ItemEntry,
  kind: Kind,
  id: string,
  key: PermissionKey,
): void {
  const frameFor = forHolders(key, room, `${kind}.deleted`, { id });
  pushes.push({ world, room }, (send) => send(frameFor));
}

/**
 * Pushes which item of a room is pinned.
 * @param id what the entry says was pinned; null for none.
 * @param find gives what the store has as pinned, and the key of the people who see it.
 */
export function pushPinned(
  pushes: Pushes,
  { world, room }: ItemEntry,
  kind: Kind,
  id: string | null,
  find: () => Promise<{ id: string; key: PermissionKey } | undefined>,
): void {
  pushes.push({ world, room }, async (send) => {
    if (id === null) {
      await send(forHolders(`${kind}.read`, room, `${kind}.unpinned`));
    }
    // Another pin may have followed. The one that the store has is the last.
    const present = await find();
    if (!present || (id ?? present.id) !== present.id) return;
    const data = { id: present.id };
    await send(forHolders(present.key, room, `${kind}.pinned`, data));
  });
}

/** How many lists of a kind are kept. */
const MAX_LISTS = 256;

/** How large they are, all together and each, in characters of JSON. */
const MAX_SIZE = 16 * 1024 * 1024;
const MAX_LIST = 8 * 1024 * 1024;

/** Which list it is: of a room, with items in every state or only public ones. */
interface ListKey {
  readonly world: string;
  readonly room: string;
  readonly all: boolean;
}

/** A list that many people get. Do not change it. */
class SharedList<I extends Item> {
  readonly #made = new Map<string, unknown>();

  constructor(readonly items: readonly I[]) {}

  /**
   * Something that is made of the items at its first use.
   * @param name the same for the same thing.
   */
  once<T>(name: string, make: (items: readonly I[]) => T): T {
    if (!this.#made.has(name)) this.#made.set(name, make(this.items));
    return this.#made.get(name) as T;
  }
}

/**
 * The items of rooms as the store has them, without anything that concerns one user. Everybody who
 * enters a room asks for them, and most of them at the same time.
 */
export class ItemLists<I extends Item> {
  readonly #lists: SharedReads<ListKey, SharedList<I>>;
  /** The handlers of entries. */
  readonly handlers: EntryHandlers;

  /** @param isCurrent whether this process has got all entries of a world up to a second ago. */
  constructor(kind: ItemName, isCurrent: (world: string) => boolean) {
    const lists = new SharedReads<ListKey, SharedList<I>>({
      isCurrent,
      scopeOf: ({ room }) => room,
      most: MAX_LISTS,
      mostSize: MAX_SIZE,
      mostEach: MAX_LIST,
      // With what is made of it.
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

  /** @param read reads a list that is not kept. */
  get(key: ListKey, read: () => Promise<readonly I[]>): Promise<SharedList<I>> {
    const { world, room, all } = key;
    return this.#lists.get(
      `${world} ${room} ${all}`,
      key,
      async () => new SharedList(await read()),
    );
  }

  /** Forgets the lists of a world. */
  forget(world: string): void {
    this.#lists.forgetWorld(world);
  }
}
