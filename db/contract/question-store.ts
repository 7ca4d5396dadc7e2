import type { Author } from "./author.js";
import type { Item, ItemStore } from "./item-store.js";

// Part of db/contract/store.ts: questions. `Store` documents the rules for every method.

/**
 * The visibility of a question. A `visible` question is visible to everyone. A question in
 * `mod_queue` or `archived` is visible only to moderators and to its sender.
 */
export type QuestionState = "mod_queue" | "visible" | "archived";

export interface Question extends Item {
  /** The id of the user who asked; null once that user has been erased. */
  sender: string | null;
  /**
   * Whether readers can see who asked. True only if, when the question was asked, the room showed
   * authors and the sender knew that the room did.
   */
  named: boolean;
  /**
   * The id of the moderator who last changed the question; null if no moderator has changed it, or
   * once the moderator has been erased.
   */
  moderator: string | null;
  state: QuestionState;
  answered: boolean;
  /** The number of votes, including those of erased users. */
  score: number;
}

/** A question as one user sees it. */
export interface SeenQuestion extends Question {
  /** Whether the user has voted for the question. */
  voted: boolean;
}

/** A user's relation to the questions in a room. */
export interface QuestionsOfUser {
  /** The ids of the questions that the user has voted for. */
  voted: string[];
  /** Whether any of the user's own questions is not visible. */
  hasHidden: boolean;
}

export interface QuestionDraft {
  /** The id of a user. */
  sender: string;
  content: string;
  state: "mod_queue" | "visible";
  /** False by default. */
  named?: boolean;
}

export interface QuestionChanges {
  content?: string | undefined;
  state?: QuestionState | undefined;
  answered?: boolean | undefined;
  /** Setting true also unpins any other question in the room. */
  is_pinned?: boolean | undefined;
}

/** The fields of a question that are compared to log a change. */
export const QUESTION_CHANGES = [
  "content",
  "state",
  "answered",
  "is_pinned",
] as const satisfies readonly (keyof QuestionChanges)[];

/**
 * Stores the questions in rooms. An update or pin records the acting user as the moderator of each
 * question that it changes. Replaced or deleted content is completely overwritten in storage.
 * Banned and silenced users are `denied` when they ask or vote.
 */
export interface QuestionStore extends ItemStore<Question, QuestionDraft, QuestionChanges> {
  /**
   * Returns the newest questions in a room that a user may see, oldest first: at most `limit`
   * questions, with at most about `size` characters of content. Always includes the pinned
   * question.
   * @param all whether the user sees questions in every state. Otherwise, the user sees only
   * visible questions and the user's own questions.
   */
  seen(
    worldId: string,
    room: string,
    user: string,
    all: boolean,
    limit: number,
    size: number,
  ): Promise<SeenQuestion[]>;
  ofUser(worldId: string, room: string, user: string): Promise<QuestionsOfUser>;
  /** Returns a page of all questions in a room, in every state, oldest first. */
  list(
    worldId: string,
    room: string,
    selection: { page: number; pageSize: number },
  ): Promise<Question[]>;
  /**
   * Adds or removes a user's vote. Repeated votes count once. A question that the user cannot see
   * is `absent`.
   * @param all whether the user sees questions in every state. Otherwise, the user sees only
   * visible questions and the user's own questions.
   * @returns the current question.
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
}
