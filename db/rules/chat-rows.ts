import type { Channel, ChatEvent, ChatEventType, Delivery, Mark } from "../contract/chat-store.js";
import { StoreError } from "../contract/store.js";
import { frozen } from "./versions.js";

export interface ChannelRow {
  /** Names the channel in the other tables. */
  number: number;
  id: string;
  /** The ids of the members of a direct channel, joined by commas; null for a room. */
  direct: string | null;
  last_event: number;
  last_message: number;
}

/** An event as it is stored, without its channel and its reactions. */
export interface EventRow {
  id: number;
  type: number;
  sender: string | null;
  timestamp: number;
  replaces: number | null;
  deleted: number;
  /** JSON, of the last edit if there is one; zero bytes or null once it is erased. */
  content: string | Uint8Array | null;
  edited: number | null;
}

export interface ReactionRow {
  number: number;
  event: number;
  reaction: string;
  user_id: string;
}

/** A {@link Delivery} as it was written or read. */
export interface DeliveryRow extends Pick<
  Delivery,
  "previous" | "previousMessage" | "notified" | "appeared"
> {
  event: EventRow;
}

/** The types by their stored numbers. */
export const TYPES: readonly ChatEventType[] = [
  "channel.message",
  "channel.member",
  "channel.poll",
];

/** The stored numbers of the types. */
export const MESSAGE = 0;
export const MEMBER = 1;
export const POLL = 2;

/** How many reactions an event may have. */
export const MAX_REACTIONS = 1000;

export const tooManyReactions = () =>
  new StoreError("quota", `An event may have ${MAX_REACTIONS} reactions.`, "reactions");

export interface ReactionChange {
  user: string;
  reaction: string;
  remove: boolean;
  volatile: boolean;
}

/** The most notifications of a user that are read. */
export const MAX_NOTIFICATIONS = 10_000;

/**
 * The largest page of events, in characters. It takes some 30 ms to read and to send,
 * and nothing else runs meanwhile.
 */
export const MAX_PAGE = 4 * 1024 * 1024;

/** The size of the other fields of an event and of a reaction, in characters. */
export const EVENT_OVERHEAD = 250;
export const REACTION_OVERHEAD = 40;

const larger = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other);

/** What two marks of a user in a channel come to, in whatever order they were made. */
export const laterMark = <M extends Mark>(one: M, other: Mark): M => ({
  ...one,
  pointer: larger(one.pointer, other.pointer),
  listed: larger(one.listed, other.listed),
});

/** The content of a deleted message, and of the event that deletes it. */
export const DELETED = JSON.stringify({ type: "deleted" });

export const toChannel = (row: Pick<ChannelRow, "id" | "direct" | "last_message">): Channel => ({
  id: row.id,
  direct: row.direct === null ? undefined : Object.freeze(row.direct.split(",")),
  lastMessage: row.last_message,
});

/** The set of members of a direct channel, as it is stored. */
export const directOf = (users: readonly string[]): string => [...users].sort().join(",");

export function toEvents(
  channel: string,
  rows: readonly EventRow[],
  reactions: readonly ReactionRow[] = [],
): ChatEvent[] {
  const byEvent = new Map<number, ReactionRow[]>();
  for (const row of reactions) {
    const rows = byEvent.get(row.event);
    if (rows) rows.push(row);
    else byEvent.set(row.event, [row]);
  }
  return rows.map((row) =>
    Object.freeze({
      id: row.id,
      channel,
      sender: row.sender,
      timestamp: row.timestamp,
      type: TYPES[row.type]!,
      content: contentOf(row),
      edited: row.edited,
      replaces: row.replaces,
      reactions: usersByReaction(byEvent.get(row.id) ?? []),
    }),
  );
}

export function toDeliveries(
  channel: string,
  rows: readonly DeliveryRow[],
  reactions?: readonly ReactionRow[],
): Delivery[] {
  const events = rows.map(({ event }) => event);
  return toEvents(channel, events, reactions).map((event, i) => {
    const { previous, previousMessage, notified, appeared } = rows[i]!;
    return frozen({ event, previous, previousMessage, notified, appeared });
  });
}

const contentOf = ({ deleted, content }: EventRow): string =>
  deleted || typeof content !== "string" ? DELETED : content;

function usersByReaction(rows: ReactionRow[]): ChatEvent["reactions"] {
  const byReaction = new Map<string, string[]>();
  rows.sort((a, b) => a.number - b.number);
  for (const { reaction, user_id } of rows) {
    const users = byReaction.get(reaction);
    if (users) users.push(user_id);
    else byReaction.set(reaction, [user_id]);
  }
  return frozen(Object.fromEntries(byReaction));
}

export interface NewEvent {
  type: number;
  sender: string;
  /** JSON; null if it is deleted. */
  content: string | null;
  replaces?: number;
  deleted?: number;
}
