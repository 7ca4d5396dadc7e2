import type { Ballot, Poll, PollSelection, ChangedVoters } from "../contract/poll-store.js";
import {
  BY_POSITION,
  OPTION_COLUMNS,
  type OptionPlan,
  type OptionRow,
  POLL_FIELDS,
  POLL_OVERHEAD,
  type PollRow,
  type SavedOption,
  toPoll,
} from "../rules/poll-rows.js";
import { ballotsIn, type VoteLine } from "../rules/poll-votes.js";
import type { Sql } from "./domain.js";

// One statement returns a poll and its options as separate rows, so that the poll's content is not
// repeated for each option.

/** A poll or one of its options. */
export type PollOptionRow = Omit<PollRow, "number"> & {
  poll: number;
  /**
   * The option's number. In the row of the poll itself, which comes first, this and the following
   * fields are null.
   */
  option: number | null;
  position: number;
  votes: number;
  correct: number;
};

export interface WholePoll {
  row: PollRow;
  options: OptionRow[];
}

const OF_POLL = `p.number AS poll, NULL AS option, NULL AS position, NULL AS votes, NULL AS correct,
  p.room_id AS room, ${POLL_FIELDS.map((name) => `p.${name}`).join()}`;

const OF_OPTION = `o.poll, o.number, o.position, o.votes, o.correct, NULL, ${POLL_FIELDS.map(
  (name) => (name === "id" || name === "content" ? `o.${name}` : "NULL"),
).join()}`;

/** Joins the options of `polls AS p`. `CROSS JOIN` makes SQLite read the tables in this order. */
const WITH_OPTIONS = "polls AS p CROSS JOIN poll_options AS o";
const ITS_OPTIONS = "o.world_id = $1 AND o.poll = p.number";

export const BY_AGE = "ORDER BY poll, position NULLS FIRST, option";

const linesWhere = (condition: string) =>
  `SELECT ${OF_POLL} FROM polls AS p WHERE ${condition}
   UNION ALL SELECT ${OF_OPTION} FROM ${WITH_OPTIONS} WHERE ${condition} AND ${ITS_OPTIONS} ${BY_AGE}`;

/**
 * Groups rows into polls.
 * @param lines rows in the order {@link BY_AGE}.
 */
function wholePolls(lines: readonly PollOptionRow[]): WholePoll[] {
  const polls: WholePoll[] = [];
  for (const line of lines) {
    const { poll, option, id, content, position, votes, correct } = line;
    if (option === null) {
      polls.push({ row: { ...line, number: poll }, options: [] });
      continue;
    }
    const order = position;
    polls.at(-1)!.options.push({ number: option, poll, id, content, order, votes, correct });
  }
  return polls;
}

const IN_ROOM = "p.world_id = $1 AND p.room_id = $2";

const GET = linesWhere(`${IN_ROOM} AND p.id = $3`);

// A pinned poll comes first, and is listed regardless of its size.
const LIST = `WITH newest AS (
    SELECT p.number, p.is_pinned, p.content FROM polls AS p
    WHERE ${IN_ROOM} AND ($3 OR p.state IN ('open', 'closed'))
    ORDER BY p.is_pinned DESC, p.number DESC LIMIT $4),
  sized AS (
    SELECT number, is_pinned, sum(length(content) + ${POLL_OVERHEAD} + (
        SELECT coalesce(sum(length(o.content) + ${POLL_OVERHEAD}), 0) FROM poll_options AS o
        WHERE o.world_id = $1 AND o.poll = newest.number))
      OVER (ORDER BY is_pinned DESC, number DESC) AS size
    FROM newest),
  listed AS (SELECT number FROM sized WHERE is_pinned = 1 OR size <= $5)
  ${linesWhere("p.world_id = $1 AND p.number IN (SELECT number FROM listed)")}`;

const ALL = Number.MAX_SAFE_INTEGER;

// The cross joins make SQLite read the tables in this order.
const OWN = `poll_ballots AS b CROSS JOIN polls AS p`;
const IS_OWN = `b.world_id = $1 AND b.user_id = $3
  AND p.world_id = $1 AND p.number = b.poll AND p.room_id = $2`;

const BALLOTS = `SELECT p.number AS nth, v.place AS place, o.position AS position, o.number AS item,
    p.id AS poll, o.id AS option,
    CAST(NULL AS BIGINT) AS value, CAST(NULL AS TEXT) AS answer
  FROM ${OWN} CROSS JOIN poll_votes AS v CROSS JOIN poll_options AS o WHERE ${IS_OWN}
    AND v.world_id = $1 AND v.ballot = b.number AND o.world_id = $1 AND o.number = v.option
  UNION ALL SELECT p.number, 0, 0, a.number, p.id, NULL, NULL, a.content
  FROM ${OWN} CROSS JOIN poll_answers AS a WHERE ${IS_OWN} AND a.world_id = $1 AND a.ballot = b.number
  UNION ALL SELECT p.number, 0, 0, 0, p.id, NULL, b.value, NULL
  FROM ${OWN} WHERE ${IS_OWN} AND b.value IS NOT NULL
  ORDER BY nth, place, position, item`;

const VOTERS = `SELECT p.changed, b.user_id AS id, (b.value IS NOT NULL
    OR EXISTS (SELECT 1 FROM poll_votes WHERE world_id = $1 AND ballot = b.number)
    OR EXISTS (SELECT 1 FROM poll_answers WHERE world_id = $1 AND ballot = b.number)) AS voted
  FROM polls AS p LEFT JOIN poll_ballots AS b ON b.world_id = $1 AND b.poll = p.number
    AND b.changed > $4 AND b.user_id IS NOT NULL
  WHERE ${IN_ROOM} AND p.id = $3`;

const toPolls = (lines: readonly PollOptionRow[]): Poll[] =>
  wholePolls(lines).map(({ row, options }) => toPoll(row, options));

export const pollReads = (sql: Sql) => ({
  get: async (world: string, room: string, id: string): Promise<Poll | undefined> =>
    toPolls(await sql.all<PollOptionRow>(GET, [world, room, id]))[0],

  async list(
    world: string,
    room: string,
    { limit, size = Infinity, isPublic = false }: PollSelection,
  ): Promise<Poll[]> {
    // Infinity is not a valid integer parameter.
    const bounds = [limit, size].map((it) => Math.min(it, ALL));
    const params = [world, room, !isPublic, ...bounds];
    return toPolls(await sql.all<PollOptionRow>(LIST, params));
  },

  ballots: async (world: string, room: string, user: string): Promise<Ballot[]> =>
    ballotsIn(await sql.all<VoteLine>(BALLOTS, [world, room, user])),

  async voters(
    world: string,
    room: string,
    id: string,
    since: number,
  ): Promise<ChangedVoters | undefined> {
    const rows = await sql.all<{
      changed: number;
      id: string | null;
      voted: unknown;
    }>(VOTERS, [world, room, id, since]);
    const [first] = rows;
    if (!first) return undefined;
    return {
      changed: first.changed,
      users: rows.flatMap(({ id, voted }) => (id === null ? [] : { id, voted: Boolean(voted) })),
    };
  },
});

const SELECT = `SELECT ${OPTION_COLUMNS} FROM poll_options AS o
  WHERE o.world_id = $1 AND o.poll = $2 ORDER BY ${BY_POSITION}`;

const UPDATE = `UPDATE poll_options SET content = $3, position = $4, correct = $5
  WHERE world_id = $1 AND number = $2`;

const REMOVE = "DELETE FROM poll_options WHERE world_id = $1 AND number = ANY ($2)";

const NEXT_CHANGE = `UPDATE polls SET changed = changed + 1
  WHERE world_id = $1 AND number = $2 RETURNING changed`;

const LOSE = `UPDATE poll_ballots SET changed = $2 WHERE world_id = $1 AND number IN (
    SELECT ballot FROM poll_votes WHERE world_id = $1 AND option = ANY ($3))`;

export function optionWrites(sql: Sql) {
  const add = (world: string, poll: number, options: readonly SavedOption[]) =>
    sql.insert(
      "poll_options",
      options.map(({ id, content, order, correct }) => ({
        world_id: world,
        poll,
        id,
        content,
        position: order,
        correct,
      })),
    );

  return {
    add,

    /** Replaces a poll's options. @returns the new options, in order. */
    async replace(
      world: string,
      poll: number,
      present: readonly OptionRow[],
      { kept, removed }: OptionPlan,
    ): Promise<OptionRow[]> {
      const numbers = removed.map(({ number }) => number);
      // Mark the ballots that lose a vote as changed, so that the voters are notified.
      if (removed.some(({ votes }) => votes > 0)) {
        const changed = await sql.value<number>(NEXT_CHANGE, [world, poll]);
        await sql.run(LOSE, [world, changed, numbers]);
      }
      if (numbers.length > 0) await sql.run(REMOVE, [world, numbers]);
      const old = new Map(present.map((option) => [option.number, option]));
      for (const { number, content, order, correct } of kept) {
        const option = number === undefined ? undefined : old.get(number);
        if (!option) continue;
        const isSame = option.content === content && option.order === order;
        if (isSame && option.correct === correct) continue;
        await sql.run(UPDATE, [world, number, content, order, correct]);
      }
      await add(
        world,
        poll,
        kept.filter(({ number }) => number === undefined),
      );
      return sql.all<OptionRow>(SELECT, [world, poll]);
    },
  };
}
