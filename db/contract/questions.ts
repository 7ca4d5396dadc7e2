// Part of db/contract/store.ts: what the store keeps of questions. `Store` says what holds for
// every method.

import type { Author } from "./author.js";

/** Who sees a question: the moderators, everybody, or the moderators again. */
export type QuestionState = "mod_queue" | "visible" | "archived";

/** A question in a room. */
export interface Question {
  id: string;
  /** The id of the room. */
  room: string;
  /** The id of the user who asked; null once that user is erased. */
  sender: string | null;
  /** The id of the moderator who changed it last; null if nobody did, or once that user is erased. */
  moderator: string | null;
  content: string;
  state: QuestionState;
  answered: boolean;
  /** At most one question of a room is. */
  is_pinned: boolean;
  /** When it was asked, in milliseconds since 1970. */
  timestamp: number;
  /** How many users vote for it. Votes of erased users count. */
  score: number;
}

/** A question as one user sees it. */
export interface SeenQuestion extends Question {
  /** Whether the user votes for it. */
  voted: boolean;
}

export interface QuestionDraft {
  /** The id of a user. */
  sender: string;
  content: string;
  state: "mod_queue" | "visible";
}

export interface QuestionChanges {
  content?: string | undefined;
  state?: QuestionState | undefined;
  answered?: boolean | undefined;
  /** True also ends the pin of another question. */
  is_pinned?: boolean | undefined;
}

/**
 * The questions of rooms. Beside its own errors, each write fails with a
 * {@link StoreError} `absent` when the room (`field` is `room`) or the question
 * (`question`) does not exist, or the user is unknown or erased (`user`). Whoever is
 * banned or silenced is `denied` to ask and to vote.
 */
export interface QuestionStore {
  /** A question of a room; undefined if the room has none of this id. */
  get(worldId: string, room: string, id: string): Promise<Question | undefined>;
  /**
   * The newest questions of a room that a user may see, the oldest first: at most
   * `limit`, with at most about `size` characters of content. A pinned one is always among them.
   * @param all whether the user sees those of every state; otherwise visible ones and the user's own.
   */
  seen(
    worldId: string,
    room: string,
    user: string,
    all: boolean,
    limit: number,
    size: number,
  ): Promise<SeenQuestion[]>;
  /** A page of all questions of a room, in every state, the oldest first. */
  list(
    worldId: string,
    room: string,
    selection: { page: number; pageSize: number },
  ): Promise<Question[]>;
  /** Stores a question with a new UUID as its id. */
  ask(
    worldId: string,
    room: string,
    draft: QuestionDraft,
    by?: Author,
  ): Promise<Question>;
  /**
   * Replaces the named fields. No byte stays of content that is replaced.
   * @param moderator the id of the user who does so.
   * @returns the question as it was before and as it is now, and the id of the
   *   question whose pin that ended.
   */
  update(
    worldId: string,
    room: string,
    id: string,
    changes: QuestionChanges,
    moderator: string,
    by?: Author,
  ): Promise<{ before: Question; after: Question; unpinned?: string }>;
  /**
   * Deletes a question with its votes and every byte of its content.
   * @returns the question as it was.
   */
  delete(
    worldId: string,
    room: string,
    id: string,
    by?: Author,
  ): Promise<Question>;
  /**
   * Adds or removes the vote of a user. A vote that is there already counts once. A
   * question that the user does not see is `absent`.
   * @param all whether the user sees those of every state; otherwise visible ones and the user's own.
   * @returns the question as it is now.
   */
  vote(
    worldId: string,
    room: string,
    id: string,
    user: string,
    vote: boolean,
    all: boolean,
    by?: Author,
  ): Promise<Question>;
  /**
   * Pins a question, and ends the pin of another; with null, only that.
   * @param moderator the id of the user who does so, and changes both.
   * @returns the question that is pinned now.
   */
  pin(
    worldId: string,
    room: string,
    id: string | null,
    moderator: string,
    by?: Author,
  ): Promise<Question | undefined>;
}
