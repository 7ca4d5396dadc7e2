import {
  type OptionRow,
  POLL_FIELDS,
  type PollRow,
} from "../rules/poll-rows.js";

// A poll and its options come as the lines of one statement, so that each long text comes once.

/** A poll, or an option of one. */
export type Line = Omit<PollRow, "number"> & {
  /** The number of the poll. */
  poll: number;
  /** The number of the option; null, with what follows, for the poll itself, which comes first. */
  option: number | null;
  position: number;
  votes: number;
};

/** A poll and its options in their order. */
export interface WholePoll {
  row: PollRow;
  options: OptionRow[];
}

/** The columns of a {@link Line} of `polls AS p`. */
export const OF_POLL = `p.number AS poll, NULL AS option, NULL AS position, NULL AS votes,
  p.room_id AS room, ${POLL_FIELDS.map((name) => `p.${name}`).join()}`;

/** The columns of a {@link Line} of `poll_options AS o`. */
export const OF_OPTION = `o.poll, o.number, o.position, o.votes, NULL, ${POLL_FIELDS.map(
  (name) => (name === "id" || name === "content" ? `o.${name}` : "NULL"),
).join()}`;

/** Joins the options of `polls AS p`. They keep the order of the text. */
export const WITH_OPTIONS = "polls AS p CROSS JOIN poll_options AS o";
export const ITS_OPTIONS = "o.world_id = $1 AND o.poll = p.number";

/** The order of lines. */
export const BY_AGE = "ORDER BY poll, position NULLS FIRST, option";

/** The lines of the polls that meet a condition. */
export const linesWhere = (condition: string) =>
  `SELECT ${OF_POLL} FROM polls AS p WHERE ${condition}
   UNION ALL SELECT ${OF_OPTION} FROM ${WITH_OPTIONS} WHERE ${condition} AND ${ITS_OPTIONS} ${BY_AGE}`;

/** @param lines in the order {@link BY_AGE}. */
export function wholePolls(lines: readonly Line[]): WholePoll[] {
  const polls: WholePoll[] = [];
  for (const line of lines) {
    const { poll, option, id, content, position, votes } = line;
    if (option === null) {
      polls.push({ row: { ...line, number: poll }, options: [] });
      continue;
    }
    const order = position;
    polls
      .at(-1)!
      .options.push({ number: option, poll, id, content, order, votes });
  }
  return polls;
}
