/** The types of the change feed. To add one: a line here, and one in db/log/log-events.ts. */
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
  "session.created",
  "session.updated",
  "session.deleted",
  "speaker.created",
  "speaker.updated",
  "speaker.deleted",
  "chat.message",
  "chat.edited",
  "chat.deleted",
  "chat.joined",
  "chat.left",
  "question.created",
  "question.updated",
  "question.deleted",
  "question.votes",
  "poll.created",
  "poll.updated",
  "poll.deleted",
  "poll.votes",
] as const;

/** What selects types: each of them, all of a kind, or all. */
export const FEED_PATTERNS: readonly string[] = [
  "*",
  ...new Set(FEED_TYPES.map((type) => `${type.slice(0, type.indexOf("."))}.*`)),
  ...FEED_TYPES,
];

/** The pattern of cursors: numbers of entries. */
export const CURSOR_PATTERN = "^(0|[1-9]\\d{0,15})$";

export type FeedType = (typeof FEED_TYPES)[number];

/** A selection of types. */
export interface TypeFilter {
  /** Filters with the same key select the same types. */
  readonly key: string;
  has(type: string): boolean;
}

/** All types. */
export const EVERYTHING: TypeFilter = { key: "*", has: () => true };

/**
 * A selection of types.
 * @param names types, or `room.*` for all types of a kind, or `*`. Unknown names select nothing.
 *   Without names, it selects everything.
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
