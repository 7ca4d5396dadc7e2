import type { Delivery } from "../../db/contract/chat-store.js";
import type { DueFavorite, OwnedSubscription } from "../../db/contract/push-store.js";
import type { Store, UserRecord } from "../../db/contract/store.js";
import { grants, isWithheld } from "../../schemas/plain/permissions.js";
import { firstOf, UUID } from "../../schemas/plain/texts.js";
import type { PermissionConfig } from "../../schemas/rules.js";
import type { World } from "../../schemas/worlds.js";

/** What a notification shows. */
export interface NoticeTexts {
  readonly title: string;
  readonly body: string;
}

/** A message for the browsers of one user. */
export interface Notice {
  readonly world: World;
  readonly user: string;
  /** The addresses of the browsers. */
  readonly endpoints: readonly string[];
  /** Of the notification, for all its receivers together: browsers replace one of the same name. */
  readonly name: string;
  /**
   * Reads the texts when they are sent; undefined if they were deleted meanwhile, or if the user
   * may not get them any more.
   */
  readonly read: () => Promise<NoticeTexts | undefined>;
  /** The place in the event page, such as `rooms/<id>`; empty for the event. */
  readonly place: string;
}

/** How much of a text is sent, in characters. */
const MAX_BODY = 200;
const MAX_TITLE = 100;

const cut = (text: string, most: number): string => firstOf(text, most).toWellFormed();

/**
 * Whether a user may get something, by the traits of their last login.
 * @param room of which it is; by default, of the whole world.
 */
function mayGet(
  { permission_config: rules }: World,
  { traits, moderation_state: state }: UserRecord,
  key: "chat.read" | "room.view" | "program.read",
  room?: { readonly permission_config: PermissionConfig },
): boolean {
  if (isWithheld(state, "room.view")) return false;
  return grants(key, new Set(traits), rules, room?.permission_config);
}

/** A mention in a stored text: `@` and the id of a user. */
const MENTION = new RegExp(`@(${UUID})`, "gi");

/** A stored text with names in place of the ids of mentioned users. */
async function withNames(store: Store, worldId: string, stored: string): Promise<string> {
  // What comes later is cut off in any case.
  const text = stored.slice(0, 10 * MAX_BODY);
  const ids = [...text.matchAll(MENTION)].map(([, id]) => id!.toLowerCase());
  if (ids.length === 0) return text;
  const users = await store.users.getMany(worldId, [...new Set(ids)]);
  const names = new Map(users.map(({ id, profile }) => [id, profile?.display_name]));
  return text.replace(MENTION, (_mention, id: string) => {
    const name = names.get(id.toLowerCase());
    return `@${typeof name === "string" ? name : "…"}`;
  });
}

/** Whether this process is the first that sends a notification. */
const claims = (store: Store, world: string, name: string) =>
  store.push.claim(world, name, Date.now());

type Message = Delivery["event"];

/** Where a message is, and its author; undefined if it may be shown to no user. */
async function contextOf(store: Store, worldId: string, { channel, sender }: Message) {
  const world = (await store.worlds.get(worldId))?.value;
  const from = sender === null ? undefined : await store.users.get(worldId, sender);
  if (!world || !from || isGone(from)) return undefined;
  const members = (await store.chat.channel(worldId, channel))?.direct;
  const isDirect = members !== undefined;
  const room = isDirect ? undefined : await store.rooms.get(worldId, channel);
  if (!isDirect && !room) return undefined;
  const name = from.profile?.display_name;
  const title = cut(typeof name === "string" ? name : world.title, MAX_TITLE);
  /** Whether a user may get the message. */
  const isFor = async (user: UserRecord): Promise<boolean> => {
    if (user.deleted || user.id === sender) return false;
    if (members && !members.includes(user.id)) return false;
    const key = isDirect ? "room.view" : "chat.read";
    if (!mayGet(world, user, key, room?.value)) return false;
    const blocked = await store.users.blocked(worldId, user.id);
    return !blocked.some((other) => other.id === sender);
  };
  return { world, isDirect, title, isFor };
}

/** The notices of a message that mentions users, or is for them alone. */
export async function messageNotices(
  store: Store,
  worldId: string,
  { event, notified }: Delivery,
): Promise<Notice[]> {
  const { channel, id } = event;
  // Few have subscriptions, and a message must cost the others nothing more.
  const subscriptions = await store.push.of(worldId, notified);
  if (subscriptions.length === 0) return [];
  const endpoints = endpointsByUser(subscriptions);
  const name = `message ${id}`;
  const context = await contextOf(store, worldId, event);
  if (!context) return [];
  const { world, isDirect } = context;
  const notices: Notice[] = [];
  for (const user of await store.users.getMany(worldId, [...endpoints.keys()])) {
    if (!(await context.isFor(user))) continue;
    notices.push({
      world,
      user: user.id,
      name,
      endpoints: endpoints.get(user.id)!,
      read: () => presentTexts(store, worldId, event, user.id),
      place: `${isDirect ? "messages" : "rooms"}/${channel}`,
    });
  }
  // Only now, so that another process may send them if a read fails here.
  const isOwn = notices.length > 0 && (await claims(store, worldId, name));
  return isOwn ? notices : [];
}

/** The texts of a message for a user by what holds now: notices may wait for minutes. */
async function presentTexts(
  store: Store,
  worldId: string,
  event: Message,
  receiver: string,
): Promise<NoticeTexts | undefined> {
  const context = await contextOf(store, worldId, event);
  const user = await store.users.get(worldId, receiver);
  if (!context || !user || !(await context.isFor(user))) return undefined;
  const body = await textOf(store, worldId, event);
  return body === undefined ? undefined : { title: context.title, body };
}

/** The present text of a message; undefined if it was deleted. */
async function textOf(
  store: Store,
  worldId: string,
  { channel, id }: Message,
): Promise<string | undefined> {
  const event = await store.chat.event(worldId, channel, id);
  if (!event) return undefined;
  const { type, body } = JSON.parse(event.content) as Record<string, unknown>;
  if (type === "deleted") return undefined;
  if (typeof body !== "string") return "…";
  return cut(await withNames(store, worldId, body), MAX_BODY);
}

/** What erased and banned people wrote is shown no more. */
const isGone = ({ deleted, moderation_state: state }: UserRecord): boolean =>
  deleted === true || state === "banned";

/** How long before its beginning a favorite is announced, in milliseconds. */
const ANNOUNCED_BEFORE_MS = 5 * 60_000;

/** How many people with the same favorite are read at a time. */
const USERS_PER_READ = 500;

/**
 * The notices of favorites that begin soon, once for each time of a session. What cannot be read
 * is not claimed, so a later look or another process sends it.
 */
export async function* favoritesSoon(store: Store, now: number): AsyncGenerator<readonly Notice[]> {
  const sessions = new Map<string, [DueFavorite, ...DueFavorite[]]>();
  for (const due of await store.push.due(now, now + ANNOUNCED_BEFORE_MS)) {
    const place = `${due.world} ${due.claim}`;
    const known = sessions.get(place);
    if (known) known.push(due);
    else sessions.set(place, [due]);
  }
  for (const favorites of sessions.values()) {
    const [{ world, claim }] = favorites;
    const notices = await noticesOf(store, favorites);
    if (notices.length > 0 && (await claims(store, world, claim))) yield notices;
  }
}

/** The notices for the people whose favorite a session is. */
async function noticesOf(
  store: Store,
  favorites: readonly [DueFavorite, ...DueFavorite[]],
): Promise<Notice[]> {
  const [{ world: id, claim: name, title, room: roomId }] = favorites;
  const sight = await sightOf(store, id, roomId);
  if (!sight) return [];
  const { world } = sight;
  const place = roomId === null ? "program" : `rooms/${roomId}`;
  const texts = { title: cut(title, MAX_TITLE), body: cut(world.title, MAX_TITLE) };
  const notices: Notice[] = [];
  for (let i = 0; i < favorites.length; i += USERS_PER_READ) {
    const ids = favorites.slice(i, i + USERS_PER_READ).map(({ user }) => user);
    const endpoints = endpointsByUser(await store.push.of(id, ids));
    for (const user of await store.users.getMany(id, ids)) {
      if (!sight.isFor(user)) continue;
      const read = async () => {
        const present = await sightOf(store, id, roomId);
        const receiver = await store.users.get(id, user.id);
        return receiver && present?.isFor(receiver) ? texts : undefined;
      };
      notices.push({
        world,
        user: user.id,
        name,
        place,
        read,
        endpoints: endpoints.get(user.id) ?? [],
      });
    }
  }
  return notices;
}

/** Who may know of a session in a room, or in none; undefined if the room is gone. */
async function sightOf(store: Store, worldId: string, roomId: string | null) {
  const world = (await store.worlds.get(worldId))?.value;
  const room = roomId === null ? undefined : await store.rooms.get(worldId, roomId);
  if (!world || (roomId !== null && !room)) return undefined;
  const isFor = (user: UserRecord): boolean =>
    !user.deleted &&
    mayGet(world, user, "program.read") &&
    (!room || mayGet(world, user, "room.view", room.value));
  return { world, isFor };
}

function endpointsByUser(
  subscriptions: readonly OwnedSubscription[],
): ReadonlyMap<string, string[]> {
  const endpoints = new Map<string, string[]>();
  for (const { user, endpoint } of subscriptions) {
    endpoints.set(user, [...(endpoints.get(user) ?? []), endpoint]);
  }
  return endpoints;
}
