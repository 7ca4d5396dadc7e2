import type { Author } from "./author.js";
import type { Item, ItemStore } from "./item-store.js";

// Part of db/contract/store.ts: questions. `Store` has the rules for every method.

/** The visibility of a question: to moderators, to everybody, or to moderators again. */
export type QuestionState = "mod_queue" | "visible" | "archived";

export interface Question extends Item {
  /** The id of the user who asked; null once that user is erased. */
  sender: string | null;
  /** Whether readers learn who asked: the room showed authors then, and the sender knew it. */
  named: boolean;
  /** The id of the moderator who changed it last; null without a change, or once that user is erased. */
  moderator: string | null;
  state: QuestionState;
  answered: boolean;
  /** How many users vote for it. Votes of erased users count. */
  score: number;
}

/** A question as one user sees it. */
export interface SeenQuestion extends Question {
  /** Whether the user votes for it. */
  voted: boolean;
}

/** What concerns one user among the questions of a room. */
export interface QuestionsOfUser {
  /** The ids of the questions for which the user votes. */
  voted: string[];
  /** Whether the user asked questions that are not visible. */
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
  /** True also ends the pin of another question. */
  is_pinned?: boolean | undefined;
}

/** The changes of a question of which the log has the values. */
export const QUESTION_CHANGES = [
  "content",
  "state",
  "answered",
  "is_pinned",
] as const satisfies readonly (keyof QuestionChanges)[];

/**
 * The questions of rooms. An update and a pin note their user as the moderator of each
 * question that they change. No byte stays of content that is replaced or deleted. Banned and
 * silenced users are `denied` to ask and to vote.
 */
export interface QuestionStore extends ItemStore<Question, QuestionDraft, QuestionChanges> {
  /**
   * The newest questions of a room that a user may see, the oldest first: at most
   * `limit`, with at most about `size` characters of content. A pinned one is always among them.
   * @param all whether the user sees questions in every state; otherwise visible ones and the user's own.
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
  /** A page of all questions of a room, in every state, the oldest first. */
  list(
    worldId: string,
    room: string,
    selection: { page: number; pageSize: number },
  ): Promise<Question[]>;
  /**
   * Adds or removes the vote of a user. A repeated vote counts once. A question that the
   * user does not see is `absent`.
   * @param all whether the user sees questions in every state; otherwise visible ones and the user's own.
   * @returns the present question.
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
