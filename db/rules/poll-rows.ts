import type { Ballot, Poll, PollOption } from "../contract/polls.js";

/** A poll as it is stored, without its options. */
export interface PollRow extends Omit<
  Poll,
  "is_pinned" | "options" | "results"
> {
  /** Names the poll in the other tables, and counts up. */
  number: number;
  is_pinned: number;
  /** JSON of the results of a closed or archived poll; null for others. */
  results: string | null;
}

/** An option as it is stored. */
export interface OptionRow extends PollOption {
  /** Names the option in the table of votes, and counts up. */
  number: number;
  /** The number of its poll. */
  poll: number;
  votes: number;
}

/** The columns of a poll beside its number, world and room. */
export const POLL_FIELDS = [
  "id",
  "content",
  "state",
  "poll_type",
  "is_pinned",
  "timestamp",
  "results",
] as const satisfies readonly (keyof PollRow)[];

/** The columns of a {@link PollRow}, of `polls AS p`. */
export const POLL_COLUMNS = `p.number, p.room_id AS room, ${POLL_FIELDS.map((name) => `p.${name}`).join()}`;

/** The columns of an {@link OptionRow}, of `poll_options AS o`, and the order of options. */
export const OPTION_COLUMNS =
  'o.number, o.id, o.poll, o.content, o.position AS "order", o.votes';
export const BY_POSITION = "o.position, o.number";

/** The votes in the options of a poll, by their ids. */
export const votesIn = (
  options: readonly Pick<OptionRow, "id" | "votes">[],
): Poll["results"] =>
  Object.fromEntries(options.map(({ id, votes }) => [id, votes]));

/** @param options in their order. */
export const toPoll = (
  row: Omit<PollRow, "number">,
  options: readonly Omit<OptionRow, "number" | "poll">[],
): Poll => ({
  id: row.id,
  room: row.room,
  content: row.content,
  state: row.state,
  poll_type: row.poll_type,
  is_pinned: row.is_pinned === 1,
  timestamp: row.timestamp,
  options: options.map(({ id, content, order }) => ({ id, content, order })),
  results:
    row.results === null
      ? votesIn(options)
      : (JSON.parse(row.results) as Poll["results"]),
});

/** The ballots of a user. @param choices in the order of the polls, and of their options. */
export function ballotsIn(
  choices: Iterable<{ poll: string; option: string }>,
): Ballot[] {
  const ballots = new Map<string, Ballot>();
  for (const { poll, option } of choices) {
    const ballot = ballots.get(poll);
    if (ballot) ballot.options.push(option);
    else ballots.set(poll, { poll, options: [option] });
  }
  return [...ballots.values()];
}

/** The size of each poll and each option in a list beside its text (`PollSelection.size`). */
export const POLL_OVERHEAD = 100;
