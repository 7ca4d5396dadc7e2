import {
  BY_POSITION,
  type OptionRow,
  type PollRow,
} from "../../rules/poll-rows.js";

/** A poll with one of its options. */
export type JoinedRow = Omit<PollRow, "content" | "results"> & {
  /** The long texts of the poll are in the row of its first option only. */
  pollContent: string | null;
  results: string | null;
  /** The number of the option; null with all that follows if the poll has none. */
  option: number | null;
  optionId: string;
  content: string;
  order: number;
  votes: number;
};

/** A poll and its options in their order. */
export interface WholePoll {
  row: PollRow;
  options: OptionRow[];
}

const ofFirst = (column: string) =>
  `CASE WHEN row_number() OVER (PARTITION BY p.number ORDER BY ${BY_POSITION}) = 1 THEN ${column} END`;

/** The columns of a {@link JoinedRow}, of `polls AS p` and `poll_options AS o`. */
export const JOINED_COLUMNS = `p.number, p.id, p.room_id AS room, p.state, p.poll_type, p.is_pinned, p.timestamp,
  ${ofFirst("p.content")} AS "pollContent", ${ofFirst("p.results")} AS results,
  o.number AS option, o.id AS "optionId", o.content, o.position AS "order", o.votes`;

/** Joins the options of `p`. */
export const JOIN_OPTIONS =
  "LEFT JOIN poll_options AS o ON o.world_id = $1 AND o.poll = p.number";

export const BY_AGE = `ORDER BY p.number, ${BY_POSITION}`;

/** @param rows in the order {@link BY_AGE}. */
export function wholePolls(rows: readonly JoinedRow[]): WholePoll[] {
  const polls = new Map<number, WholePoll>();
  for (const row of rows) {
    const { number, option, optionId, content, order, votes } = row;
    let poll = polls.get(number);
    if (!poll) {
      const whole = { ...row, content: row.pollContent! };
      polls.set(number, (poll = { row: whole, options: [] }));
    }
    if (option === null) continue;
    const text = { id: optionId, content, order };
    poll.options.push({ number: option, poll: number, ...text, votes });
  }
  return [...polls.values()];
}
