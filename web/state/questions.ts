import type { ListedQuestion } from "../../client/index.js";
import type { Shelf } from "../lib/storage.js";
import { kept } from "./votes.js";

/** The filter for questions that have left the queue. */
export type Filter = "open" | "answered" | "archived";

/** A room's questions, as a page shows them. */
export interface Board {
  /** Questions in the queue, oldest first: the whole queue, or only the user's own questions. */
  readonly waiting: readonly ListedQuestion[];
  /**
   * Questions outside the queue that match the filter: the pinned question first, then the rest in
   * the selected order.
   */
  readonly shown: readonly ListedQuestion[];
  readonly counts: Readonly<Record<Filter, number>>;
}

/** Maximum number of the user's own questions that a browser remembers per room. */
const MAX_OWN_QUESTIONS = 50;

/** The ids of the questions that the user asked in a room from this browser, newest first. */
export const ownQuestions = (shelf: Shelf, world: string, room: string) =>
  kept<readonly string[]>(
    shelf,
    `foyer:${world}:draft:${room}:asked`,
    (value) => (Array.isArray(value) ? value.map(String).slice(0, MAX_OWN_QUESTIONS) : undefined),
    [],
  );

/** Applies the user's unconfirmed vote to a question. */
function wanted(question: ListedQuestion, votes: ReadonlyMap<string, boolean>): ListedQuestion {
  const voted = votes.get(question.id) ?? question.voted;
  if (voted === question.voted) return question;
  const score = Math.max(0, question.score + (voted ? 1 : -1));
  return { ...question, voted, score };
}

const filterOf = ({ state, answered }: ListedQuestion): Filter =>
  state === "archived" ? "archived" : answered ? "answered" : "open";

/** Order of the questions after the pinned question. */
export type Order = "votes" | "newest" | "oldest";

const orders: Record<Order, (a: ListedQuestion, b: ListedQuestion) => number> = {
  votes: (a, b) => b.score - a.score,
  newest: (a, b) => Date.parse(b.timestamp) - Date.parse(a.timestamp),
  oldest: (a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp),
};

/**
 * Sorts questions for display.
 * @param questions the questions, oldest first.
 * @param votes the user's votes that the server has not confirmed yet.
 */
export function boardOf(
  questions: readonly ListedQuestion[],
  filter: Filter,
  votes: ReadonlyMap<string, boolean>,
  order: Order = "votes",
): Board {
  const waiting = questions.filter(({ state }) => state === "mod_queue");
  const others = questions.filter(({ state }) => state !== "mod_queue");
  const counts = { open: 0, answered: 0, archived: 0 };
  for (const question of others) counts[filterOf(question)]++;
  const shown = others
    .filter((question) => filterOf(question) === filter)
    .map((question) => wanted(question, votes))
    // The sort is stable, so equal questions stay in order of age.
    .sort((a, b) => Number(b.is_pinned) - Number(a.is_pinned) || orders[order](a, b));
  return { waiting, shown, counts };
}
