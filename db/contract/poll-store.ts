import type {
  PollSettings,
  PollSummary,
  PollType,
  SentSettings,
} from "../../schemas/plain/polls.js";
import type { Author } from "./author.js";
import type { Item, ItemStore, ItemUpdate } from "./item-store.js";

// Part of db/contract/store.ts: polls. `Store` documents the rules for every method.

/** A poll may change from any state to any other state. Only an open poll accepts votes. */
export type PollState = "draft" | "open" | "closed" | "archived";

export type { PollType };

export interface PollOption {
  id: string;
  content: string;
  /** The sort key. Options with the same order are sorted by age. */
  order: number;
  /** In a quiz, whether the option is a correct answer. */
  correct?: boolean;
}

export interface Poll extends Item {
  state: PollState;
  poll_type: PollType;
  /** The settings of the poll's kind, including defaults. */
  settings: PollSettings;
  /** For an open quiz, when it closes by itself, in milliseconds since 1970. */
  ends_at?: number;
  /** Sorted by `order`. */
  options: PollOption[];
  /**
   * The number of users who chose each option, by option id. A poll that is closed or archived
   * keeps the counts from that moment, even if its options change later. Empty for the kinds that
   * have a summary.
   */
  results: Record<string, number>;
}

/**
 * A user's vote, in the field that corresponds to the poll's kind. An empty list, or null,
 * withdraws the vote.
 */
export interface PollVote {
  /** The ids of options: in order for a ranking, otherwise in any order. */
  options?: readonly string[] | undefined;
  /** A value on the scale. */
  value?: number | null | undefined;
  /** Words or texts. */
  answers?: readonly string[] | undefined;
  /** When the server received the vote, in milliseconds since 1970; now by default. */
  at?: number | undefined;
  /** Whether managers must never learn who wrote it. */
  anonymous?: boolean | undefined;
}

/** A user's choice in a poll. An empty list of options means no vote. */
export interface Ballot {
  poll: string;
  /** Option ids, in the order of the options, or in the user's order in a ranking. */
  options: string[];
  /** The value on a scale. */
  value?: number;
  /** Words or texts, in order. */
  answers?: string[];
}

/** A person who has answered quizzes. */
export interface Player {
  /** Null once the user is erased. */
  user: string | null;
  /** Whether the user has a display name. */
  isNamed: boolean;
  /** The number of correct answers. */
  points: number;
  /** The total time that these answers took, in milliseconds. */
  time: number;
  /** Increases with the time of a player's first answer. */
  first: number;
}

/** An open quiz with a time limit. */
export interface EndingPoll {
  world: string;
  room: string;
  id: string;
  /** In milliseconds since 1970. */
  ends_at: number;
}

export interface ChangedVoters {
  /** Increases with every change to a ballot. */
  changed: number;
  /** The users whose ballots changed. `voted` is whether the user now has a vote. */
  users: { id: string; voted: boolean }[];
}

/**
 * A new option. Without an `order`, the option comes last: its order is one more than the highest
 * order, or 1 if there are no other options.
 */
export interface OptionDraft {
  content: string;
  order?: number | undefined;
  correct?: boolean | undefined;
}

export interface PollDraft {
  content: string;
  options: readonly OptionDraft[];
  state?: PollState | undefined;
  poll_type?: PollType | undefined;
  settings?: SentSettings | undefined;
  /** The time, in milliseconds since 1970; now by default. */
  at?: number | undefined;
}

export interface PollChanges {
  content?: string | undefined;
  state?: PollState | undefined;
  poll_type?: PollType | undefined;
  /** The settings to change. All other settings stay as they are. */
  settings?: SentSettings | undefined;
  /** The time, in milliseconds since 1970; now by default. */
  at?: number | undefined;
  /** Setting true also unpins any other poll in the room. */
  is_pinned?: boolean | undefined;
  /**
   * The complete new list of options. An option with an id is changed, an option without an id is
   * added, and a missing option is deleted along with its votes. An empty list changes nothing.
   */
  options?:
    | readonly {
        id?: string | undefined;
        content?: string | undefined;
        order?: number | undefined;
        correct?: boolean | undefined;
      }[]
    | undefined;
}

/** The fields of a poll that are compared in order to log a change. */
export const POLL_CHANGES = [
  "content",
  "state",
  "poll_type",
  "settings",
  "is_pinned",
  "options",
] as const satisfies readonly (keyof PollChanges)[];

export interface PollSelection {
  limit: number;
  /**
   * Maximum total length of the polls' text, in characters. Each poll and each option counts a
   * hundred characters on top of its text. Unlimited by default.
   */
  size?: number;
  /** Only open or closed polls; all polls by default. */
  isPublic?: boolean;
}

export interface PollStore extends ItemStore<Poll, PollDraft, PollChanges> {
  /** Returns the newest polls in a room, oldest first. Always includes the pinned poll. */
  list(worldId: string, room: string, selection: PollSelection): Promise<Poll[]>;
  /** Returns a user's choices in a room's polls. Omits polls in which the user has chosen nothing. */
  ballots(worldId: string, room: string, user: string): Promise<Ballot[]>;
  /**
   * Returns the users whose ballots in a poll have changed since an earlier result of this method.
   * @param since the earlier result's `changed`, or 0 for all users with a ballot.
   * @returns undefined if the poll does not exist.
   */
  voters(
    worldId: string,
    room: string,
    id: string,
    since: number,
  ): Promise<ChangedVoters | undefined>;
  /**
   * Stores a poll and its options, with new UUIDs as their ids. By default, the poll is a
   * single-choice draft.
   * @throws {StoreError} `denied` on `options` or `settings.<name>` when these do not fit the poll's
   * kind; `quota` on `options` when the poll would have more than 100 options.
   */
  create(worldId: string, room: string, draft: PollDraft, by?: Author): Promise<Poll>;
  /**
   * Replaces the named fields. Closing or archiving the poll freezes the results after the options
   * have changed; returning the poll to a draft or opening it unfreezes the results.
   *
   * Opening a draft in a room with a chat creates a `channel.poll` event in that chat, if every
   * client can show polls of its kind.
   * @param user the acting user, who is also the sender of that event.
   * @throws {StoreError} `absent` on `option` when an id names no option of this poll or occurs
   * twice, or a new option has no content; `denied` on `poll_type`, `settings` or `options` when
   * the poll's votes do not allow the change, and on `state` when a quiz would open again; and
   * as in `create`; `quota` on `options` when the poll would have more than
   * 100 options.
   */
  update(
    worldId: string,
    room: string,
    id: string,
    changes: PollChanges,
    user: string,
    by?: Author,
  ): Promise<ItemUpdate<Poll>>;
  /**
   * Replaces a user's ballot, or stores the only one in a quiz. Ids of unknown options are ignored
   * in choice and multi polls: if all ids are unknown, the ballot is unchanged. Duplicate ids count
   * once there, as do equal words.
   * @returns the current poll, and the options of the ballot.
   * @throws {StoreError} `denied` when the user is banned or silenced, and on `poll` when the poll
   * is not open, its time is over, or the vote does not fit the poll.
   */
  vote(
    worldId: string,
    room: string,
    id: string,
    user: string,
    vote: PollVote,
    by?: Author,
  ): Promise<{ poll: Poll; options: string[]; hasVote: boolean }>;
  /**
   * Returns the results of a poll that are not counted by option; undefined for other polls, and if
   * the poll does not exist.
   * @param all whether to include what managers have hidden or not yet shown, and the authors of
   * votes that were not anonymous.
   * @param isWhole whether to return all words and texts instead of the first ones, for exports.
   */
  summary(
    worldId: string,
    room: string,
    id: string,
    all: boolean,
    isWhole?: boolean,
  ): Promise<PollSummary | undefined>;
  /**
   * Hides or shows a text, or a word in all its spellings.
   * @param answer the id of a text, or a word.
   * @throws {StoreError} `absent` on `poll` if the poll has no such answer.
   */
  hideAnswer(
    worldId: string,
    room: string,
    id: string,
    answer: string,
    isHidden: boolean,
    by?: Author,
  ): Promise<void>;
  /** Returns everyone who has answered a room's closed quizzes, best first. */
  players(worldId: string, room: string): Promise<Player[]>;
  /** Returns the open quizzes in all worlds that end before a given time, soonest first. */
  ending(before: number): Promise<EndingPoll[]>;
  /**
   * Closes a quiz whose time is up.
   * @param at in milliseconds since 1970.
   * @returns false if the quiz is not open, or its time is not up.
   */
  end(worldId: string, room: string, id: string, at: number, by?: Author): Promise<boolean>;
}
