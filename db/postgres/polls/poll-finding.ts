import {
  OPTION_COLUMNS,
  BY_POSITION,
  type OptionRow,
} from "../../rules/poll-rows.js";
import { absent } from "../../rules/preconditions.js";
import { expectRoom, PLACE, type Place } from "../users/participants.js";
import {
  BY_AGE,
  JOIN_OPTIONS,
  JOINED_COLUMNS,
  type JoinedRow,
  type WholePoll,
  wholePolls,
} from "./poll-rows.js";
import type { Sql } from "../../shared/sql.js";

/** What a write finds of a poll, its room and a user. */
interface Found extends Place, WholePoll {
  /** The numbers of the options that the user has chosen. */
  chosen: ReadonlySet<number>;
}

const FIND = `SELECT ${PLACE}, ${JOINED_COLUMNS}, EXISTS (
    SELECT FROM poll_ballots AS b JOIN poll_votes AS v ON v.world_id = $1 AND v.ballot = b.number
    WHERE b.world_id = $1 AND b.user_id = $3 AND b.poll = p.number AND v.option = o.number) AS chosen
  FROM (VALUES (1)) AS place
  LEFT JOIN polls AS p ON p.world_id = $1 AND p.room_id = $2 AND p.id = $4
  ${JOIN_OPTIONS} ${BY_AGE}`;

/**
 * @param user none if null.
 * @throws {StoreError} `absent` on `room` or `poll`.
 */
export async function findPoll(
  sql: Sql,
  worldId: string,
  room: string,
  id: string,
  user: string | null,
): Promise<Found> {
  const rows = await sql.all<Place & JoinedRow & { chosen: boolean }>(FIND, [
    worldId,
    room,
    user,
    id,
  ]);
  const [{ hasRoom, userState, ...first }] = rows as [(typeof rows)[0]];
  expectRoom({ hasRoom, userState });
  if ((first.id as unknown) === null) throw absent("poll");
  const chosen = new Set(
    rows.flatMap(({ option, chosen }) => (chosen ? option! : [])),
  );
  return { hasRoom, userState, chosen, ...wholePolls(rows)[0]! };
}

const OPTIONS = `SELECT ${OPTION_COLUMNS} FROM poll_options AS o
  WHERE o.world_id = $1 AND o.poll = $2 ORDER BY ${BY_POSITION}`;

/** The options of a poll in their order. */
export const optionsOf = (
  sql: Sql,
  ...poll: [worldId: string, poll: number]
): Promise<OptionRow[]> => sql.all<OptionRow>(OPTIONS, poll);
