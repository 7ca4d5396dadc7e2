import { randomUUID } from "node:crypto";
import { isVisible } from "../../schemas/plain/items.js";
import type { Question, QuestionChanges, QuestionDraft } from "../contract/question-store.js";

export interface QuestionRow extends Omit<Question, "named" | "answered" | "is_pinned"> {
  /** Identifies the question in other tables; increases over time. */
  number: number;
  named: number;
  answered: number;
  is_pinned: number;
}

export const QUESTION_COLUMNS =
  "q.number, q.id, q.room_id AS room, q.sender, q.named, q.moderator, q.content, q.state, q.answered, q.is_pinned, q.timestamp, q.score";

/** Whether a user sees a question. @param all whether the user sees questions in all states. */
export const seesQuestion = (
  question: Pick<Question, "state" | "sender">,
  user: string,
  all: boolean,
): boolean => all || isVisible(question) || question.sender === user;

export const toQuestion = (row: Omit<QuestionRow, "number">): Question => ({
  id: row.id,
  room: row.room,
  sender: row.sender,
  named: row.named === 1,
  moderator: row.moderator,
  content: row.content,
  state: row.state,
  answered: row.answered === 1,
  is_pinned: row.is_pinned === 1,
  timestamp: row.timestamp,
  score: row.score,
});

export const newQuestionRow = (
  room: string,
  { sender, content, state, named = false }: QuestionDraft,
): Omit<QuestionRow, "number"> => ({
  id: randomUUID(),
  room,
  sender,
  named: Number(named),
  moderator: null,
  content,
  state,
  answered: 0,
  is_pinned: 0,
  timestamp: Date.now(),
  score: 0,
});

export const changedQuestion = <R extends QuestionRow>(
  row: R,
  { content, state, answered, is_pinned }: QuestionChanges,
  moderator: string,
): R => ({
  ...row,
  moderator,
  content: content ?? row.content,
  state: state ?? row.state,
  answered: Number(answered ?? row.answered),
  is_pinned: Number(is_pinned ?? row.is_pinned),
});
