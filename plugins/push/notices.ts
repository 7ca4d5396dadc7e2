import type { ChatDelivery } from "../../db/contract/chat-store.js";
import type { DueFavorite, OwnedSubscription } from "../../db/contract/push-store.js";
import { closedTo, speakersAtDoor } from "../../db/rules/doors.js";
import { isGone, type Store, type UserRecord } from "../../db/contract/store.js";
import { grants, isWithheld } from "../../schemas/plain/permissions.js";
import { truncate, UUID } from "../../schemas/plain/texts.js";
import { isTimezone } from "../../schemas/plain/times.js";
import type { PermissionConfig } from "../../schemas/rules.js";
import type { World } from "../../schemas/worlds.js";

/** A notification's title and body. */
export interface NoticeTexts {
  readonly title: string;
  readonly body: string;
}

/** A notification for one user's browsers. */
export interface Notice {
  readonly world: World;
  readonly user: string;
  /** The browsers' push endpoints. */
  readonly endpoints: readonly string[];
  /**
   * The notification's tag, which is the same for all receivers. A browser replaces a notification
   * that has the same tag.
   */
  readonly name: string;
  /**
   * Reads the title and body at send time. Resolves to undefined if the content has been deleted,
   * or if the user may no longer read it.
   */
  readonly read: () => Promise<NoticeTexts | undefined>;
  /** The path within the page, such as `rooms/<id>`; empty for the page itself. */
  readonly place: string;
  /** The page: the event's by default. */
  readonly page?: "console";
}

/** Maximum lengths of a body and a title, in characters. */
const MAX_BODY = 200;
const MAX_TITLE = 100;

const cut = (text: string, most: number): string => truncate(text, most).toWellFormed();

/** The data that determines whether a user may be in an event. */
interface Doors {
  readonly world: World;
  /** The users who are speakers, if the world's phase makes that relevant. */
  readonly speakers: ReadonlySet<string>;
}

const doorsOf = async (store: Store, world: World): Promise<Doors> => ({
  world,
  speakers: await speakersAtDoor(store.program, world, Date.now()),
});

/**
 * Whether a user is in the event and holds a permission key, according to the traits from the user's last login.
 * @param room the room to which the permission applies; defaults to the world as a whole.
 */
function mayGet(
  { world, speakers }: Doors,
  { id, token_id, traits: held, moderation_state: state }: UserRecord,
  key: "chat.read" | "chat.moderate" | "room.view" | "program.read",
  room?: { readonly permission_config: PermissionConfig },
): boolean {
  if (isWithheld(state, "room.view")) return false;
  const traits = new Set(held);
  const entrant = { traits, isInvited: token_id !== null, user: id };
  if (closedTo(world, entrant, speakers, Date.now())) return false;
  return grants(key, traits, world.permission_config, room?.permission_config);
}

/** Matches a mention in stored text: `@` and a user's id. */
const MENTION = new RegExp(`@(${UUID})`, "gi");

/** Replaces the ids of mentioned users with their names. */
async function withNames(store: Store, worldId: string, stored: string): Promise<string> {
  // The text is truncated later anyway.
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

/** Claims a notification. Resolves to false if another process has already claimed the notification. */
const claims = (store: Store, world: string, name: string) =>
  store.push.claim(world, name, Date.now());

type Message = ChatDelivery["event"];

/** Returns a message's world, title and audience, or undefined if no user may see the message. */
async function contextOf(store: Store, worldId: string, { channel, sender }: Message) {
  const world = (await store.worlds.get(worldId))?.value;
  const from = sender === null ? undefined : await store.users.get(worldId, sender);
  if (!world || !from || isGone(from)) return undefined;
  const members = (await store.chat.channel(worldId, channel))?.direct;
  const isDirect = members !== undefined;
  const room = isDirect ? undefined : await store.rooms.get(worldId, channel);
  if (!isDirect && !room) return undefined;
  const doors = await doorsOf(store, world);
  const name = from.profile?.display_name;
  const title = cut(typeof name === "string" ? name : world.title, MAX_TITLE);
  /** Whether a user may read the message. */
  const isFor = async (user: UserRecord): Promise<boolean> => {
    if (user.deleted || user.id === sender) return false;
    if (members && !members.includes(user.id)) return false;
    const key = isDirect ? "room.view" : "chat.read";
    if (!mayGet(doors, user, key, room?.value)) return false;
    const blocked = await store.users.blocked(worldId, user.id);
    return !blocked.some((other) => other.id === sender);
  };
  return { world, isDirect, title, isFor };
}

/** Returns the notices for a message that mentions users or that belongs to a direct channel. */
export async function messageNotices(
  store: Store,
  worldId: string,
  { event, notified }: ChatDelivery,
): Promise<Notice[]> {
  const { channel, id } = event;
  // Few users have subscriptions. If nobody to notify has a subscription, a message must cost no
  // more than this read.
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
  // Claim the notices last, so that another process can send them if a read fails here.
  const isOwn = notices.length > 0 && (await claims(store, worldId, name));
  return isOwn ? notices : [];
}

/** Re-reads a message's title and body for a user, because notices may be queued for minutes. */
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

/** Returns a message's current text, or undefined if the message was deleted. */
async function textOf(
  store: Store,
  worldId: string,
  { channel, id }: Message,
): Promise<string | undefined> {
  const event = await store.chat.event(worldId, channel, id);
  if (!event) return undefined;
  const { type, body } = JSON.parse(event.content) as Record<string, unknown>;
  if (type === "deleted") return undefined;
  if (type === "call") return "📞";
  if (typeof body !== "string") return "…";
  return cut(await withNames(store, worldId, body), MAX_BODY);
}

/** An item that waits for moderators. */
interface Task {
  readonly world: string;
  /** The room whose moderators decide; null if the moderators of the world do. */
  readonly room: string | null;
  /** The tag of the notices. */
  readonly name: string;
  /** The name to claim, so that at most one notice is sent. */
  readonly claim: string;
  readonly place: string;
  readonly page?: "console";
  /**
   * The emoji before the title, which needs no translation: the receivers' languages are unknown.
   */
  readonly sign: string;
  /** Reads the content, as JSON. Resolves to undefined if the item no longer waits. */
  readonly content: () => Promise<string | undefined>;
}

/**
 * Returns the notices for the moderators who subscribed to them. The item's author receives none.
 */
async function taskNotices(store: Store, task: Task, author: string | null): Promise<Notice[]> {
  const { world: worldId, name, place, page } = task;
  const subscriptions = await store.push.moderating(worldId);
  if (subscriptions.length === 0) return [];
  const endpoints = endpointsByUser(subscriptions.filter(({ user }) => user !== author));
  const sight = await moderatorsOf(store, task);
  if (!sight) return [];
  const notices: Notice[] = [];
  for (const user of await store.users.getMany(worldId, [...endpoints.keys()])) {
    if (!sight.isFor(user)) continue;
    const read = async (): Promise<NoticeTexts | undefined> => {
      const present = await moderatorsOf(store, task);
      const receiver = await store.users.get(worldId, user.id);
      if (!receiver || !present?.isFor(receiver)) return undefined;
      const content = await task.content();
      if (content === undefined) return undefined;
      const body = bodyOf(JSON.parse(content) as Record<string, unknown>);
      return {
        title: cut(`${task.sign} ${present.title}`, MAX_TITLE),
        body: cut(await withNames(store, worldId, body), MAX_BODY),
      };
    };
    notices.push({
      ...{ world: sight.world, user: user.id, name, place, read },
      ...(page && { page }),
      endpoints: endpoints.get(user.id)!,
    });
  }
  const isOwn = notices.length > 0 && (await claims(store, worldId, task.claim));
  return isOwn ? notices : [];
}

/** Returns the place of a task, and a check for whether a user may handle it. */
async function moderatorsOf(store: Store, { world: id, room: roomId }: Task) {
  const world = (await store.worlds.get(id))?.value;
  const room = roomId === null ? undefined : await store.rooms.get(id, roomId);
  if (!world) return undefined;
  const doors = await doorsOf(store, world);
  const isFor = (user: UserRecord): boolean =>
    !user.deleted && mayGet(doors, user, "chat.moderate", room?.value);
  return { world, title: room?.value.name ?? world.title, isFor };
}

const bodyOf = ({ body }: Record<string, unknown>): string =>
  typeof body === "string" ? body : "…";

/** Returns the notices about an item that was reported for the first time. */
export async function reportNotices(store: Store, world: string, id: string): Promise<Notice[]> {
  const open = async () => {
    const report = await store.reports.get(world, id);
    return report?.state === "open" ? report : undefined;
  };
  const report = await open();
  if (!report) return [];
  const name = `report ${id}`;
  const task: Task = {
    ...{ world, room: report.room, name, claim: name, place: "reports", page: "console" },
    sign: "🚩",
    content: async () => (await open())?.content,
  };
  return taskNotices(store, task, report.user);
}

/** Returns the notices about a held message, at most one per minute and room. */
export async function heldNotices(
  store: Store,
  world: string,
  { channel, held, user }: { channel: string; held: string; user: string },
  now: number,
): Promise<Notice[]> {
  const task: Task = {
    ...{ world, room: channel, name: `held ${channel}`, place: `rooms/${channel}/host` },
    claim: `held ${channel} ${Math.floor(now / 60_000)}`,
    sign: "⏳",
    content: async () => (await store.chat.heldMessage(world, channel, held))?.content,
  };
  return taskNotices(store, task, user);
}

/** Time between the announcement of a favorite and the favorite's start, in milliseconds. */
const ANNOUNCED_BEFORE_MS = 5 * 60_000;

/** Number of people with the same favorite that are read at a time. */
const USERS_PER_READ = 500;

/**
 * Yields the notices for favorites that begin soon, once per session and start time. Notices that
 * cannot be read are not claimed, so a later pass or another process sends them.
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

/**
 * Returns the notices for a favorite that has moved, for everyone who had marked it before, once per
 * new start and room. A later notice about the same session replaces an earlier one.
 */
export async function favoriteMoved(
  store: Store,
  worldId: string,
  session: string,
  now: number,
): Promise<Notice[]> {
  const [first, ...others] = await store.push.moved(worldId, session, now);
  if (!first) return [];
  const notices = await noticesOf(store, [first, ...others], {
    name: `moved ${session}`,
    // The text contains no words to translate, because the receivers' languages are unknown.
    bodyOf: (world, room) => {
      const place = room === undefined ? "" : ` · ${room.name}`;
      return cut(`→ ${whenText(first.starts_at, now, world)}${place}`, MAX_BODY);
    },
  });
  const isOwn = notices.length > 0 && (await claims(store, worldId, first.claim));
  return isOwn ? notices : [];
}

/** Formats a time in the event's time zone, with the date unless it is today. */
function whenText(time: number, now: number, { config }: World): string {
  const { timezone } = config;
  const isKnown = typeof timezone === "string" && isTimezone(timezone);
  // The Swedish locale formats dates and times as in ISO 8601.
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: isKnown ? timezone : "UTC",
    dateStyle: "short",
    timeStyle: "short",
  });
  const [date = "", clock = ""] = format.format(time).split(" ");
  return format.format(now).startsWith(date) ? clock : `${date} ${clock}`;
}

/** The text of a notice about a favorite, apart from the session's title. */
interface FavoriteTexts {
  readonly name: string;
  readonly bodyOf: (world: World, room: { readonly name: string } | undefined) => string;
}

/** Returns the notices for everyone who has marked a session as a favorite. */
async function noticesOf(
  store: Store,
  favorites: readonly [DueFavorite, ...DueFavorite[]],
  { name, bodyOf }: FavoriteTexts = {
    name: favorites[0].claim,
    bodyOf: ({ title }) => cut(title, MAX_TITLE),
  },
): Promise<Notice[]> {
  const [{ world: id, title, room: roomId }] = favorites;
  const sight = await sightOf(store, id, roomId);
  if (!sight) return [];
  const { world, room } = sight;
  const place = roomId === null ? "program" : `rooms/${roomId}`;
  const texts = { title: cut(title, MAX_TITLE), body: bodyOf(world, room?.value) };
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

/**
 * Returns the world, and a check for whether a user may see a session. Returns undefined if the
 * world or the room no longer exists.
 * @param roomId null for a session without a room.
 */
async function sightOf(store: Store, worldId: string, roomId: string | null) {
  const world = (await store.worlds.get(worldId))?.value;
  const room = roomId === null ? undefined : await store.rooms.get(worldId, roomId);
  if (!world || (roomId !== null && !room)) return undefined;
  const doors = await doorsOf(store, world);
  const isFor = (user: UserRecord): boolean =>
    !user.deleted &&
    mayGet(doors, user, "program.read") &&
    (!room || mayGet(doors, user, "room.view", room.value));
  return { world, room, isFor };
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
