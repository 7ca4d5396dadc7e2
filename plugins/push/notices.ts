import type { Delivery } from "../../db/contract/chat.js";
import type { DueFavorite, OwnedSubscription } from "../../db/contract/push.js";
import type { Store, UserRecord } from "../../db/contract/store.js";
import { grants, isWithheld } from "../../schemas/plain/permissions.js";
import { UUID } from "../../schemas/plain/texts.js";
import type { PermissionConfig } from "../../schemas/rules.js";
import type { World } from "../../schemas/worlds.js";

/** A message for the browsers of one user. */
export interface Notice {
  readonly world: World;
  readonly user: string;
  /** The addresses of the browsers. */
  readonly endpoints: readonly string[];
  /** Of the notification, for all its receivers together: browsers replace one of the same name. */
  readonly name: string;
  readonly title: string;
  /** Reads the text when it is sent; undefined if it was deleted meanwhile. */
  readonly body: () => Promise<string | undefined>;
  /** The place in the event page, such as `rooms/<id>`; empty for the event. */
  readonly place: string;
}

/** How much of a text is sent, in characters. */
const MAX_BODY = 200;
const MAX_TITLE = 100;

const cut = (text: string, most: number): string =>
  [...text].slice(0, most).join("").toWellFormed();

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
async function withNames(
  store: Store,
  worldId: string,
  stored: string,
): Promise<string> {
  // What comes later is cut off in any case.
  const text = stored.slice(0, 10 * MAX_BODY);
  const ids = [...text.matchAll(MENTION)].map(([, id]) => id!.toLowerCase());
  if (ids.length === 0) return text;
  const users = await store.users.getMany(worldId, [...new Set(ids)]);
  const names = new Map(
    users.map(({ id, profile }) => [id, profile?.display_name]),
  );
  return text.replace(MENTION, (_mention, id: string) => {
    const name = names.get(id.toLowerCase());
    return `@${typeof name === "string" ? name : "…"}`;
  });
}

/** Whether this process is the first that sends a notification. */
const claims = (store: Store, world: string, name: string) =>
  store.push.claim(world, name, Date.now());

/** The notices of a message that mentions users, or is for them alone. */
export async function messageNotices(
  store: Store,
  worldId: string,
  { event, notified }: Delivery,
): Promise<Notice[]> {
  const { channel, sender, id } = event;
  // Few have subscriptions, and a message must cost the others nothing more.
  const subscriptions = await store.push.of(worldId, notified);
  if (subscriptions.length === 0) return [];
  const endpoints = endpointsByUser(subscriptions);
  const name = `message ${id}`;
  const world = (await store.worlds.get(worldId))?.value;
  const from =
    sender === null ? undefined : await store.users.get(worldId, sender);
  if (!world || !from || isGone(from)) return [];
  const sentBy = from.profile?.display_name;
  const direct = (await store.chat.channel(worldId, channel))?.direct;
  const body = () => textOf(store, worldId, event);
  const room = direct ? undefined : await store.rooms.get(worldId, channel);
  if (!direct && !room) return [];
  const notices: Notice[] = [];
  for (const user of await store.users.getMany(worldId, [
    ...endpoints.keys(),
  ])) {
    if (user.deleted || user.id === sender) continue;
    const key = direct ? "room.view" : "chat.read";
    if (!mayGet(world, user, key, room?.value)) continue;
    const blocked = await store.users.blocked(worldId, user.id);
    if (blocked.some((other) => other.id === sender)) continue;
    notices.push({
      ...{ world, user: user.id, name },
      endpoints: endpoints.get(user.id)!,
      title: cut(typeof sentBy === "string" ? sentBy : world.title, MAX_TITLE),
      body,
      place: `${direct ? "messages" : "rooms"}/${channel}`,
    });
  }
  // Only now, so that another process may send them if a read fails here.
  const isOwn = notices.length > 0 && (await claims(store, worldId, name));
  return isOwn ? notices : [];
}

/** The present text of a message; undefined if it was deleted. */
async function textOf(
  store: Store,
  worldId: string,
  { channel, id }: Delivery["event"],
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
const BEFORE = 5 * 60_000;

/** How many people with the same favorite are read at a time. */
const AT_ONCE = 500;

/**
 * The notices of favorites that begin soon, once for each time of a session. What cannot be read
 * is not claimed, so a later look or another process sends it.
 */
export async function* favoritesSoon(
  store: Store,
  now: number,
): AsyncGenerator<readonly Notice[]> {
  const sessions = new Map<string, [DueFavorite, ...DueFavorite[]]>();
  for (const due of await store.push.due(now, now + BEFORE)) {
    const place = `${due.world} ${due.claim}`;
    const known = sessions.get(place);
    if (known) known.push(due);
    else sessions.set(place, [due]);
  }
  for (const favorites of sessions.values()) {
    const [{ world, claim }] = favorites;
    const notices = await noticesOf(store, favorites);
    if (notices.length > 0 && (await claims(store, world, claim)))
      yield notices;
  }
}

/** The notices for the people whose favorite a session is. */
async function noticesOf(
  store: Store,
  favorites: readonly [DueFavorite, ...DueFavorite[]],
): Promise<Notice[]> {
  const [{ world: id, claim: name, title, room: roomId }] = favorites;
  const world = (await store.worlds.get(id))?.value;
  const room = roomId === null ? undefined : await store.rooms.get(id, roomId);
  if (!world || (roomId !== null && !room)) return [];
  const place = roomId === null ? "program" : `rooms/${roomId}`;
  const notices: Notice[] = [];
  for (let i = 0; i < favorites.length; i += AT_ONCE) {
    const ids = favorites.slice(i, i + AT_ONCE).map(({ user }) => user);
    const endpoints = endpointsByUser(await store.push.of(id, ids));
    for (const user of await store.users.getMany(id, ids)) {
      if (user.deleted || !mayGet(world, user, "program.read")) continue;
      if (room && !mayGet(world, user, "room.view", room.value)) continue;
      notices.push({
        ...{ world, user: user.id, name, place },
        endpoints: endpoints.get(user.id) ?? [],
        title: cut(title, MAX_TITLE),
        body: async () => cut(world.title, MAX_TITLE),
      });
    }
  }
  return notices;
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
