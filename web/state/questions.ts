import type { ListedQuestion } from "../../client/index.js";
import type { Shelf } from "../lib/storage.js";
import { kept } from "./votes.js";

/** The filter for questions that have left the queue. */
export type Filter = "open" | "answered" | "archived";

/** The questions of a room, as a page shows them. */
export interface Board {
  /** Questions in the queue, the oldest first: all, or the user's own. */
  readonly waiting: readonly ListedQuestion[];
  /** The others, the pinned one first, then by votes, then by age. */
  readonly shown: readonly ListedQuestion[];
  readonly counts: Readonly<Record<Filter, number>>;
}

/** How many own questions of a room a browser knows. */
const MAX_OWN_QUESTIONS = 50;

/** The ids of the questions that the user asked in a room with this browser, the newest first. */
export const ownQuestions = (shelf: Shelf, world: string, room: string) =>
  kept<readonly string[]>(
    shelf,
    `foyer:${world}:draft:${room}:asked`,
    (value) => (Array.isArray(value) ? value.map(String).slice(0, MAX_OWN_QUESTIONS) : undefined),
    [],
  );

/** A question with what the user wants of it: to vote for it, or not to. */
function wanted(question: ListedQuestion, votes: ReadonlyMap<string, boolean>): ListedQuestion {
  const voted = votes.get(question.id) ?? question.voted;
  if (voted === question.voted) return question;
  const score = Math.max(0, question.score + (voted ? 1 : -1));
  return { ...question, voted, score };
}

const filterOf = ({ state, answered }: ListedQuestion): Filter =>
  state === "archived" ? "archived" : answered ? "answered" : "open";

/** In which order questions stand, behind the one on the screen. */
export type Order = "votes" | "newest" | "oldest";

const orders: Record<Order, (a: ListedQuestion, b: ListedQuestion) => number> = {
  votes: (a, b) => b.score - a.score,
  newest: (a, b) => Date.parse(b.timestamp) - Date.parse(a.timestamp),
  oldest: (a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp),
};

/**
 * Sorts questions for a page.
 * @param questions the oldest first.
 * @param votes what the user wants, and the server has not confirmed yet.
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
    // Sorting keeps the order of equals: the oldest first.
    .sort((a, b) => Number(b.is_pinned) - Number(a.is_pinned) || orders[order](a, b));
  return { waiting, shown, counts };
}
