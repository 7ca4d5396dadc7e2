import { INDEX } from "../log/entries.js";

/** A contradiction between the rows of a database, as SQL finds it. */
export interface Found {
  /** The subject; empty for the whole database. */
  id: string;
  /** How many rows have it, or the stored count. */
  count: number;
  /** The expected count. */
  counted: number;
  /** A second subject. */
  other: string;
}

/** Such as "1 event" and "2 events". */
const plural = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : nouns}`;

const logOf = (id: string): string =>
  id === INDEX ? "the log of all worlds" : `the log of the world ${id}`;

const strangers = (kind: string, noun: string) => (found: Found) =>
  `the ${kind} ${found.id} has ${plural(found.count, noun)} of another world`;

const events =
  (what: string) =>
  ({ id, count }: Found) =>
    `${plural(count, "event")} of the channel ${id} ${what}`;

/**
 * The contradictions by name, with their messages. Contradictions of many rows are counted,
 * so a message is a line.
 */
const WORDS = {
  worldsUnreadable: ({ id }) => `the world ${id} cannot be read`,
  roomsUnreadable: ({ id }) => `the room ${id} cannot be read`,
  usersUnreadable: ({ id }) => `the user ${id} cannot be read`,
  blocksOfStrangers: ({ id, other }) =>
    `the user ${id} blocks ${other}, who is in another world`,
  roomsMiscounted: ({ id, count, counted }) =>
    `a view group of the world ${id} counts ${count} rooms but has ${counted}`,
  bytesMiscounted: ({ id, count, counted }) =>
    `the world ${id} counts ${count} bytes of files but has ${counted}`,
  filesOfStrangers: strangers("world", "file"),

  channelsWithoutRoom: ({ id }) => `the channel ${id} has no room`,
  membersOfStrangers: strangers("channel", "member"),
  readersOfStrangers: strangers("channel", "reader"),
  notificationsOfStrangers: strangers("channel", "notification"),
  membersTooMany: ({ id, count }) =>
    `the direct channel ${id} has ${plural(count, "member")} too many`,
  eventsWithoutChannel: ({ count }) =>
    `${plural(count, "event")} of chat without a channel`,
  lastEventWrong: ({ id, count }) =>
    `the channel ${id} names ${count} as its last event and has a later one`,
  eventsUnreadable: events("cannot be read"),
  eventsEmpty: events("have lost their content"),
  eventsNotErased: ({ count }) =>
    `${plural(count, "event")} of chat still have erased content`,
  eventsOfStrangers: events("were sent by nobody"),
  editsOfNothing: events("replace what is no message of it"),
  editsWithoutEvent: ({ count }) =>
    `${plural(count, "edit")} of chat without an event`,
  reactionsWithoutEvent: ({ count }) =>
    `${plural(count, "reaction")} of chat without an event`,
  reactionsOfStrangers: ({ count }) =>
    `${plural(count, "reaction")} of chat without a user`,
  notificationsWithoutEvent: ({ count }) =>
    `${plural(count, "notification")} of chat without an event`,
  headMissing: ({ id }) => `the world ${id} has no last entry in its log`,
  headTooLow: ({ id, count }) =>
    `${logOf(id)} names ${count} as its last entry and has a later one`,
  numbersTwice: ({ id, count }) =>
    `${logOf(id)} has ${plural(count, "number")} twice`,
  entriesUnreadable: ({ id, count }) =>
    `${logOf(id)} has ${plural(count, "entry", "entries")} that cannot be read`,

  questionsOfStrangers: ({ id }) =>
    `the question ${id} has an author or moderator of another world`,
  votesOfStrangers: strangers("question", "vote"),
  ballotsOfStrangers: strangers("poll", "ballot"),
  scoreMiscounted: ({ id, count, counted }) =>
    `the question ${id} counts ${plural(count, "vote")} but has ${counted}`,
  optionMiscounted: ({ id, count, counted }) =>
    `the option ${id} of a poll counts ${plural(count, "vote")} but has ${counted}`,
  votesElsewhere: ({ id, count }) =>
    `the poll ${id} has ${plural(count, "vote")} for options of another`,
  ballotsTooNew: ({ id, count }) =>
    `the poll ${id} has ${plural(count, "ballot")} from after its last change`,
  resultsUnreadable: ({ id }) => `the results of the poll ${id} cannot be read`,
} satisfies Record<string, (found: Found) => string>;

/**
 * The SQL of an engine that finds contradictions, each with the columns of {@link Found}
 * that its message needs. A contradiction that the tables of an engine rule out has none.
 */
export type Rules = Partial<Record<keyof typeof WORDS, string>>;

/** The rules in their order, each with its words. */
export const rulesIn = (
  rules: Rules,
): [sql: string, words: (found: Found) => string][] =>
  Object.entries(rules).map(([name, sql]) => [
    sql,
    WORDS[name as keyof typeof WORDS],
  ]);
