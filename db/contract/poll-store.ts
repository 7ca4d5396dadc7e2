import type { Author } from "./author.js";
import type { Item, ItemStore, ItemUpdate } from "./item-store.js";

// Part of db/contract/store.ts: polls. `Store` has the rules for every method.

/** Any state may follow any. Only an open poll takes votes. */
export type PollState = "draft" | "open" | "closed" | "archived";

/** Whether a user may choose one option or any number of them. */
export type PollType = "choice" | "multi";

export interface PollOption {
  id: string;
  content: string;
  /** Options are sorted by it, and options with the same order by age. */
  order: number;
}

export interface Poll extends Item {
  state: PollState;
  poll_type: PollType;
  /** In their order. */
  options: PollOption[];
  /**
   * How many users chose each option, by its id. A closed or archived poll has the counts
   * of the moment when it was closed or archived, even for options changed since.
   */
  results: Record<string, number>;
}

/** The choice of one user in a poll. An empty one means no vote. */
export interface Ballot {
  poll: string;
  /** The ids of options, in the order of the options. */
  options: string[];
}

export interface Voters {
  /** Grows with every change of a ballot. */
  changed: number;
  /** The users whose ballots changed, and whether each has a vote now. */
  users: { id: string; voted: boolean }[];
}

/** An option without an order comes last: its order is one more than the highest, and 1 if there is none. */
export interface OptionDraft {
  content: string;
  order?: number | undefined;
}

export interface PollDraft {
  content: string;
  options: readonly OptionDraft[];
  state?: PollState | undefined;
  poll_type?: PollType | undefined;
}

export interface PollChanges {
  content?: string | undefined;
  state?: PollState | undefined;
  poll_type?: PollType | undefined;
  /** True also ends the pin of another poll. */
  is_pinned?: boolean | undefined;
  /**
   * All options from now on. An option with an id is changed, one without is added, and
   * a missing one is deleted with its votes. An empty list changes none.
   */
  options?:
    | readonly {
        id?: string | undefined;
        content?: string | undefined;
        order?: number | undefined;
      }[]
    | undefined;
}

/** The changes of a poll of which the log has the values. */
export const POLL_CHANGES = [
  "content",
  "state",
  "poll_type",
  "is_pinned",
  "options",
] as const satisfies readonly (keyof PollChanges)[];

export interface PollSelection {
  limit: number;
  /**
   * How many characters of text they may have together, each poll and each option
   * counting a hundred more. By default any number.
   */
  size?: number;
  /** Only open or closed polls. By default all. */
  isPublic?: boolean;
}

export interface PollStore extends ItemStore<Poll, PollDraft, PollChanges> {
  /** The newest polls of a room, the oldest first. A pinned one is always among them. */
  list(worldId: string, room: string, selection: PollSelection): Promise<Poll[]>;
  /** The choices of a user in the polls of a room; polls without a choice are left out. */
  ballots(worldId: string, room: string, user: string): Promise<Ballot[]>;
  /**
   * The users whose ballots in a poll changed since another call; since 0, all users with a ballot.
   * @returns undefined if there is no such poll.
   */
  voters(worldId: string, room: string, id: string, since: number): Promise<Voters | undefined>;
  /**
   * Stores a poll and its options with new UUIDs as their ids. By default it is a
   * draft with a choice of one.
   * @throws {StoreError} `quota` on `options` when there would be more than 100.
   */
  create(worldId: string, room: string, draft: PollDraft, by?: Author): Promise<Poll>;
  /**
   * Replaces the named fields. Becoming closed or archived freezes the results, after
   * the options have changed; a state that takes votes, or is a draft, ends that.
   *
   * A draft that is opened in a room with a chat makes an event `channel.poll` there.
   * @param user the acting user, who also sends that event.
   * @throws {StoreError} `absent` on `option` when an id names no option of this poll,
   *   or occurs twice, or a new option has no content; `quota` on `options`
   *   when there would be more than 100.
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
   * Replaces the ballot of a user; an empty list removes it. Ids of no option of the poll
   * are skipped, and if there are no others, the ballot stays. An id that occurs twice
   * counts once.
   * @returns the present poll, and the user's choice.
   * @throws {StoreError} `denied` when the user is banned or silenced, and on `poll`
   *   when the poll is not open, or has a choice of one and several are named.
   */
  vote(
    worldId: string,
    room: string,
    id: string,
    user: string,
    options: readonly string[],
    by?: Author,
  ): Promise<{ poll: Poll; options: string[] }>;
}
