import type {
  PollCopy,
  QuestionCopy,
} from "../../schemas/documents/votes-copy.js";
import { isOver } from "../../schemas/plain/items.js";
import type { PollRow } from "../rules/poll-rows.js";
import type { PollOption } from "../contract/polls.js";
import type { QuestionRow } from "../rules/question-rows.js";
import { timeOf } from "./world-copies.js";

// Shared by the engines: questions and polls to and from a document.

/** @param votes the voters; null for each erased user. */
export const toQuestionCopy = (
  { id, room, content, state, timestamp, ...row }: QuestionRow,
  votes: (string | null)[] = [],
): QuestionCopy => ({
  id,
  room,
  content,
  state,
  timestamp: timeOf(timestamp),
  ...(row.sender !== null && { sender: row.sender }),
  ...(row.moderator !== null && { moderator: row.moderator }),
  ...(row.answered && { answered: true }),
  ...(row.is_pinned && { is_pinned: true }),
  ...(votes.length > 0 && { votes }),
});

/** The row of a question in a document, without its number. */
export const copiedQuestionRow = (question: QuestionCopy) => ({
  id: question.id,
  room_id: question.room,
  sender: question.sender ?? null,
  moderator: question.moderator ?? null,
  content: question.content,
  state: question.state,
  answered: Number(question.answered ?? false),
  is_pinned: Number(question.is_pinned ?? false),
  timestamp: Date.parse(question.timestamp),
  score: question.votes?.length ?? 0,
});

/** One option that a ballot has. */
export interface Choice {
  ballot: number;
  user: string | null;
  option: string;
}

type BallotCopy = NonNullable<PollCopy["ballots"]>[number];

/** @param choices in the order of the ballots, and of the options. */
export function toBallots(choices: Iterable<Choice>): BallotCopy[] {
  const ballots = new Map<number, BallotCopy>();
  for (const { ballot, user, option } of choices) {
    const found = ballots.get(ballot);
    if (found) found.options.push(option);
    else {
      ballots.set(ballot, {
        ...(user !== null && { user }),
        options: [option],
      });
    }
  }
  return [...ballots.values()];
}

/** @param options in their order. */
export const toPollCopy = (
  { id, room, content, state, poll_type, timestamp, ...row }: PollRow,
  options: readonly PollOption[],
  ballots: BallotCopy[],
): PollCopy => ({
  id,
  room,
  content,
  state,
  poll_type,
  timestamp: timeOf(timestamp),
  ...(row.is_pinned && { is_pinned: true }),
  options: options.map(({ id, content, order }) => ({ id, content, order })),
  ...(row.results !== null && {
    results: JSON.parse(row.results) as Record<string, number>,
  }),
  ...(ballots.length > 0 && { ballots }),
});

/** The size of a poll in a document. */
interface PollTotals {
  /** The votes of the ballots, by the id of the option. */
  votes: ReadonlyMap<string, number>;
  /** JSON of the results of a closed or archived poll; null for others. */
  results: string | null;
}

/** Counts the ballots of a poll. Results that the document lacks follow from them. */
export function totalsOf({
  state,
  options,
  ballots = [],
  results,
}: PollCopy): PollTotals {
  const votes = new Map(options.map(({ id }) => [id, 0]));
  for (const id of ballots.flatMap((ballot) => ballot.options)) {
    votes.set(id, votes.get(id)! + 1);
  }
  return {
    votes,
    results: isOver({ state })
      ? JSON.stringify(results ?? Object.fromEntries(votes))
      : null,
  };
}

/** The row of a poll in a document, without its number. @param totals of the poll. */
export const copiedPollRow = (poll: PollCopy, totals: PollTotals) => ({
  id: poll.id,
  room_id: poll.room,
  content: poll.content,
  state: poll.state,
  poll_type: poll.poll_type,
  is_pinned: Number(poll.is_pinned ?? false),
  timestamp: Date.parse(poll.timestamp),
  changed: poll.ballots?.length ?? 0,
  results: totals.results,
});
