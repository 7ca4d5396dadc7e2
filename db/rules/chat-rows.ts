import type {
  Channel,
  ChatEvent,
  ChatEventType,
  ChatDelivery,
  StoredReadMark,
} from "../contract/chat-store.js";
import { StoreError } from "../contract/store.js";
import { frozen } from "./versions.js";

export interface ChannelRow {
  /** Identifies the channel in other tables. */
  number: number;
  id: string;
  /** The member ids of a direct channel, separated by commas; null for a room. */
  direct: string | null;
  last_event: number;
  last_message: number;
}

/** The stored form of an event, without its channel and reactions. */
export interface EventRow {
  id: number;
  type: number;
  sender: string | null;
  timestamp: number;
  replaces: number | null;
  deleted: number;
  /** The content as JSON, including the last edit. Zero bytes or null once the content has been erased. */
  content: string | Uint8Array | null;
  edited: number | null;
}

export interface ReactionRow {
  number: number;
  event: number;
  reaction: string;
  user_id: string;
}

/** The stored form of a {@link ChatDelivery}. */
export interface DeliveryRow extends Pick<
  ChatDelivery,
  "previous" | "previousMessage" | "notified" | "appeared"
> {
  event: EventRow;
}

/** The event types, indexed by their stored numbers. */
export const TYPES: readonly ChatEventType[] = [
  "channel.message",
  "channel.member",
  "channel.poll",
];

/** The stored numbers of the event types. */
export const MESSAGE = 0;
export const MEMBER = 1;
export const POLL = 2;

/** Maximum number of reactions per event. */
export const MAX_REACTIONS = 1000;

export const tooManyReactions = () =>
  new StoreError("quota", `An event may have at most ${MAX_REACTIONS} reactions.`, "reactions");

export interface ReactionChange {
  user: string;
  reaction: string;
  remove: boolean;
  volatile: boolean;
}

/** Maximum number of notifications to load for a user. */
export const MAX_NOTIFICATIONS = 10_000;

/**
 * Maximum size of a page of events, in characters. Reading and sending a page of this size blocks
 * the event loop for about 30 ms.
 */
export const MAX_PAGE = 4 * 1024 * 1024;

/** Approximate size of an event without its content, and of a reaction without its emoji, in characters. */
export const EVENT_OVERHEAD = 250;
export const REACTION_OVERHEAD = 40;

const larger = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other);

/** Merges two of a user's read marks in a channel, regardless of their order. */
export const laterMark = <M extends StoredReadMark>(one: M, other: StoredReadMark): M => ({
  ...one,
  pointer: larger(one.pointer, other.pointer),
  listed: larger(one.listed, other.listed),
});

/** The content of a deleted message, and of the event that deleted it. */
export const DELETED = JSON.stringify({ type: "deleted" });

export const toChannel = (row: Pick<ChannelRow, "id" | "direct" | "last_message">): Channel => ({
  id: row.id,
  direct: row.direct === null ? undefined : Object.freeze(row.direct.split(",")),
  lastMessage: row.last_message,
});

/** Returns the stored form of a direct channel's member set. */
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
): ChatDelivery[] {
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
  /** The content as JSON; null for a deletion. */
  content: string | null;
  replaces?: number;
  deleted?: number;
}
