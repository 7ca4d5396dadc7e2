import type {
  ChannelCopy,
  ChatCopy,
  EventCopy,
} from "../../schemas/documents/chat-history.js";
import { TYPES } from "../rules/chat-rows.js";
import { StoreError } from "../contract/store.js";

// Shared by the engines: the chat of a world to and from a document.

/**
 * The most events in a document. Each takes some 400 bytes of text, and the longest
 * string of Node.js has 512 Mi characters.
 */
const MAX_COPIED_EVENTS = 500_000;

/** An event as it is stored, with the id of its channel. */
export interface CopiedEvent {
  id: number;
  channel: string;
  type: number;
  sender: string | null;
  timestamp: number;
  replaces: number | null;
  deleted: number;
  content: string | Uint8Array | null;
}

/** @throws {StoreError} `large` if a document cannot hold so many events. */
export function refuseLongChat(count: number): void {
  if (count <= MAX_COPIED_EVENTS) return;
  throw new StoreError(
    "large",
    `The chat has ${count} events, and a document holds at most ${MAX_COPIED_EVENTS}. A backup holds them all.`,
  );
}

/** The users who gave each reaction, by event. */
export type ReactionsByEvent = Map<number, Map<string, string[]>>;

/** Adds a reaction. They come in their order. */
export function noteReaction(
  byEvent: ReactionsByEvent,
  { event, reaction, user }: { event: number; reaction: string; user: string },
): void {
  let given = byEvent.get(event);
  if (!given) byEvent.set(event, (given = new Map<string, string[]>()));
  const users = given.get(reaction);
  if (users) users.push(user);
  else given.set(reaction, [user]);
}

/** A channel of a document. Each list is in its order. */
export const toChannelCopy = (
  { id, direct }: { id: string; direct: string | null },
  members: readonly { user: string; hidden: number }[],
  readers: readonly {
    user: string;
    pointer: number | null;
    listed: number | null;
  }[],
  notifications: { user: string; event: number }[],
): ChannelCopy => ({
  id,
  ...(direct !== null && { direct: direct.split(",") }),
  ...(members.length > 0 && {
    members: members.map(({ user, hidden }) => ({
      user,
      ...(hidden && { hidden: true }),
    })),
  }),
  ...(readers.length > 0 && {
    readers: readers.map(({ user, pointer, listed }) => ({
      user,
      ...(pointer !== null && { pointer }),
      ...(listed !== null && { listed }),
    })),
  }),
  ...(notifications.length > 0 && { notifications }),
});

/**
 * @param copies in the order of their ids.
 * @param users the ids of the users of the world who are not erased.
 */
export function toChatCopy(
  channels: ChannelCopy[],
  copies: Iterable<EventCopy>,
  users: ReadonlySet<string>,
): ChatCopy {
  const events: EventCopy[] = [];
  const ids = new Set<number>();
  for (const event of copies) {
    // Clients show no edit of a message that is over.
    if (event.replaces !== undefined && !ids.has(event.replaces)) continue;
    ids.add(event.id);
    events.push(event);
  }
  const erased = [...usersIn(channels, events)]
    .filter((user) => !users.has(user))
    .sort();
  return { ...(erased.length > 0 && { erased }), channels, events };
}

/** @param reactions the users of each reaction. */
export function toEventCopy(
  { id, channel, type, sender, timestamp, ...row }: CopiedEvent,
  reactions: Map<string, string[]> | undefined,
): EventCopy {
  const { content } = row;
  return {
    id,
    channel,
    type: TYPES[type]!,
    timestamp: new Date(timestamp).toISOString(),
    ...(sender !== null && { sender }),
    ...(typeof content === "string" && {
      content: JSON.parse(content) as Record<string, unknown>,
    }),
    ...(row.deleted && { deleted: true }),
    ...(row.replaces !== null && { replaces: row.replaces }),
    ...(reactions && { reactions: Object.fromEntries(reactions) }),
  };
}

/** The users in the chat, erased or not. */
function usersIn(channels: ChannelCopy[], events: EventCopy[]): Set<string> {
  const found = new Set<string>();
  for (const { direct, members, readers, notifications } of channels) {
    direct?.forEach((user) => found.add(user));
    for (const { user } of [
      ...(members ?? []),
      ...(readers ?? []),
      ...(notifications ?? []),
    ]) {
      found.add(user);
    }
  }
  for (const { sender, reactions } of events) {
    if (sender !== undefined) found.add(sender);
    if (!reactions) continue;
    for (const user of Object.values(reactions).flat()) found.add(user);
  }
  return found;
}

/**
 * Makes the function that gives the content of an event as it is stored: JSON;
 * undefined for a deleted event, and for an edit before the last one.
 * @param events all of a document.
 */
export function contentsOf(
  events: readonly EventCopy[],
): (event: EventCopy) => string | undefined {
  const lastEdits = new Map<number, number>();
  for (const { id, replaces } of events) {
    if (replaces !== undefined) lastEdits.set(replaces, id);
  }
  return ({ id, content, deleted, replaces }) => {
    const isOld = replaces !== undefined && lastEdits.get(replaces) !== id;
    return content && !deleted && !isOld ? JSON.stringify(content) : undefined;
  };
}

/** The last event of a channel, and the last that is no member event; 0 for none. */
interface LastEvents {
  event: number;
  message: number;
}

/**
 * The last events of each channel.
 * @param newIds of the events by their ids in the document.
 */
export function lastsOf(
  events: readonly EventCopy[],
  newIds: ReadonlyMap<number, number>,
): Map<string, LastEvents> {
  const lasts = new Map<string, LastEvents>();
  for (const { id, channel, type } of events) {
    const event = newIds.get(id)!;
    const message =
      type === "channel.member" ? (lasts.get(channel)?.message ?? 0) : event;
    lasts.set(channel, { event, message });
  }
  return lasts;
}

/**
 * The new id for a mark. The marked event may be over or of another world: then the
 * last one before it is meant, and 0 if there is none.
 * @param oldIds in ascending order.
 */
export function markAmong(
  oldIds: readonly number[],
  newIds: ReadonlyMap<number, number>,
  mark: number,
): number {
  let low = 0;
  let high = oldIds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (oldIds[middle]! <= mark) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : newIds.get(oldIds[low - 1]!)!;
}

export const takenUser = (id: string) =>
  new StoreError("taken", `The id ${id} of a user is taken.`, "users");

export const takenChannel = (id: string) =>
  new StoreError("taken", `The id ${id} of a channel is taken.`, "chat");
