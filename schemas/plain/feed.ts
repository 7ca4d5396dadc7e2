import { RECORD_TYPES } from "./records.js";

/** The types of entries in the change feed. A new type must be added here and in db/log/log-events.ts. */
export const FEED_TYPES = [
  "world.updated",
  "room.created",
  "room.updated",
  "room.deleted",
  "rooms.reordered",
  "user.created",
  "user.updated",
  "user.moderated",
  "user.erased",
  "announcement.created",
  "announcement.updated",
  "file.added",
  "file.deleted",
  ...RECORD_TYPES,
  "chat.message",
  "chat.edited",
  "chat.deleted",
  "chat.joined",
  "chat.left",
  "report.created",
  "report.resolved",
  "question.created",
  "question.updated",
  "question.deleted",
  "question.votes",
  "poll.created",
  "poll.updated",
  "poll.deleted",
  "poll.votes",
  "call.started",
  "call.ended",
  "call.joined",
  "call.left",
  "call.staged",
  "hand.raised",
  "hand.lowered",
  "caption.added",
] as const;

/** The valid patterns for selecting types: a single type, all types of a kind, or all types. */
export const FEED_PATTERNS: readonly string[] = [
  "*",
  ...new Set(FEED_TYPES.map((type) => `${type.slice(0, type.indexOf("."))}.*`)),
  ...FEED_TYPES,
];

/** The pattern for cursors, which are entry numbers. */
export const CURSOR_PATTERN = "^(0|[1-9]\\d{0,15})$";

export type FeedType = (typeof FEED_TYPES)[number];

/** A set of selected types. */
export interface TypeFilter {
  /** Filters with the same key select the same types. */
  readonly key: string;
  has(type: string): boolean;
}

/** Selects all types. */
export const EVERYTHING: TypeFilter = { key: "*", has: () => true };

/**
 * Returns a filter for types.
 * @param names types, `room.*` for all types of a kind, or `*`. Unknown names select nothing.
 * Without names, the filter selects all types.
 */
export function typeFilter(names: readonly string[] | undefined): TypeFilter {
  const given = (names ?? []).map((name) => name.trim()).filter(Boolean);
  if (given.length === 0 || given.includes("*")) return EVERYTHING;
  const exact = new Set(given);
  return {
    key: [...exact].sort().join(),
    has: (type) => exact.has(type) || exact.has(`${type.slice(0, type.indexOf("."))}.*`),
  };
}
