import type { ListedPoll } from "../../client/index.js";
import { countsIn } from "../../schemas/plain/polls.js";

const ORDER = { open: 0, draft: 1, closed: 2, archived: 3 };

/** Sorts polls for display: pinned, open, drafts, closed, archived; newest first within each group. */
export const sortPolls = (polls: readonly ListedPoll[]): ListedPoll[] =>
  polls
    .toReversed()
    .sort((a, b) => Number(b.is_pinned) - Number(a.is_pinned) || ORDER[a.state] - ORDER[b.state]);

/** A poll option for display. */
export interface Choice {
  readonly id: string;
  readonly content: string;
  readonly isChosen: boolean;
  /** Number of users who chose the option, or undefined if the user may not see results. */
  readonly votes?: number;
  /** The option's share of all votes, in whole percent. */
  readonly percent?: number;
  /** Whether the option of a quiz is correct, or undefined if that is not known yet. */
  readonly isCorrect?: boolean;
}

/** A poll's options, and its total number of votes, which is undefined if the user may not see results. */
export interface Result {
  readonly choices: readonly Choice[];
  /** Whether several options may be chosen. */
  readonly isMulti: boolean;
  readonly total?: number;
}

/**
 * Prepares a poll for display.
 * @param want the options of a vote that the server has not confirmed yet: empty for a withdrawal,
 * undefined if no vote is pending.
 */
export function resultOf(poll: ListedPoll, want?: readonly string[]): Result {
  const { results, options, answers = [], poll_type } = poll;
  const isMulti = poll_type === "multi";
  const counts = countsIn(results);
  const votesOf = (id: string) => counts[id] ?? 0;
  const total = results && options.reduce((sum, { id }) => sum + votesOf(id), 0);
  const percentOf = (id: string) => (total ? Math.round((votesOf(id) / total) * 100) : 0);
  const choices = options.map(({ id, content, correct }) => ({
    ...{ id, content },
    isChosen: (want ?? answers).includes(id),
    ...(results && { votes: votesOf(id), percent: percentOf(id) }),
    ...(correct !== undefined && { isCorrect: correct }),
  }));
  return { choices, isMulti, ...(total !== undefined && { total }) };
}

/**
 * Returns the vote after the user presses an option: only that option or, if several may be chosen,
 * the toggled selection.
 */
export function voteWith({ choices, isMulti }: Result, option: string): string[] {
  if (!isMulti) return [option];
  return choices.filter(({ id, isChosen }) => isChosen !== (id === option)).map(({ id }) => id);
}
