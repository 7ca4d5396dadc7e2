import { ballotsIn, POLL_OVERHEAD, toPoll } from "../../rules/poll-rows.js";
import type {
  Ballot,
  Poll,
  PollSelection,
  Voters,
} from "../../contract/polls.js";
import {
  BY_AGE,
  JOIN_OPTIONS,
  JOINED_COLUMNS,
  type JoinedRow,
  wholePolls,
} from "./poll-rows.js";
import type { Sql } from "../../shared/sql.js";

const IN_ROOM = "p.world_id = $1 AND p.room_id = $2";

const toPolls = (rows: readonly JoinedRow[]): Poll[] =>
  wholePolls(rows).map(({ row, options }) => toPoll(row, options));

const GET = `SELECT ${JOINED_COLUMNS} FROM polls AS p ${JOIN_OPTIONS}
  WHERE ${IN_ROOM} AND p.id = $3 ${BY_AGE}`;

export const getPoll = async (
  sql: Sql,
  ...names: [worldId: string, room: string, id: string]
): Promise<Poll | undefined> =>
  toPolls(await sql.all<JoinedRow>(GET, names))[0];

// A pinned poll comes first, and is listed however large it is.
const LIST = `WITH newest AS (
    SELECT p.* FROM polls AS p WHERE ${IN_ROOM} AND ($3 OR p.state IN ('open', 'closed'))
    ORDER BY p.is_pinned DESC, p.number DESC LIMIT $4),
  sized AS (
    SELECT newest.*, sum(length(content) + ${POLL_OVERHEAD} + (
        SELECT coalesce(sum(length(o.content) + ${POLL_OVERHEAD}), 0) FROM poll_options AS o
        WHERE o.world_id = $1 AND o.poll = newest.number))
      OVER (ORDER BY is_pinned DESC, number DESC) AS size
    FROM newest)
  SELECT ${JOINED_COLUMNS} FROM sized AS p ${JOIN_OPTIONS}
  WHERE p.is_pinned = 1 OR p.size <= $5 ${BY_AGE}`;

const ALL = Number.MAX_SAFE_INTEGER;

/** @see PollStore.list */
export async function listPolls(
  sql: Sql,
  worldId: string,
  room: string,
  { limit, size = Infinity, isPublic = false }: PollSelection,
): Promise<Poll[]> {
  // PostgreSQL has no whole number for what is not bounded.
  const bounds = [limit, size].map((it) => Math.min(it, ALL));
  const params = [worldId, room, !isPublic, ...bounds];
  return toPolls(await sql.all<JoinedRow>(LIST, params));
}

const BALLOTS = `SELECT p.id AS poll, o.id AS option FROM poll_ballots AS b
  JOIN polls AS p ON p.world_id = $1 AND p.number = b.poll
  JOIN poll_votes AS v ON v.world_id = $1 AND v.ballot = b.number
  JOIN poll_options AS o ON o.world_id = $1 AND o.number = v.option
  WHERE b.world_id = $1 AND b.user_id = $3 AND ${IN_ROOM} ${BY_AGE}`;

export const ballotsOf = async (
  sql: Sql,
  ...names: [worldId: string, room: string, user: string]
): Promise<Ballot[]> =>
  ballotsIn(await sql.all<{ poll: string; option: string }>(BALLOTS, names));

const VOTERS = `SELECT p.changed, b.user_id AS id, EXISTS (
    SELECT FROM poll_votes WHERE world_id = $1 AND ballot = b.number) AS voted
  FROM polls AS p LEFT JOIN poll_ballots AS b ON b.world_id = $1 AND b.poll = p.number
    AND b.changed > $4 AND b.user_id IS NOT NULL
  WHERE ${IN_ROOM} AND p.id = $3`;

/** @see PollStore.voters */
export async function votersOf(
  sql: Sql,
  ...names: [worldId: string, room: string, id: string, since: number]
): Promise<Voters | undefined> {
  const rows = await sql.all<{
    changed: number;
    id: string | null;
    voted: boolean;
  }>(VOTERS, names);
  const [first] = rows;
  if (!first) return undefined;
  return {
    changed: first.changed,
    users: rows.flatMap(({ id, voted }) => (id === null ? [] : { id, voted })),
  };
}
