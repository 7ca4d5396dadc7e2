import { absent } from "../rules/preconditions.js";
import { expectRoom, PLACE, type Place } from "./places.js";
import {
  BY_AGE,
  ITS_OPTIONS,
  type Line,
  OF_OPTION,
  OF_POLL,
  type WholePoll,
  wholePolls,
  WITH_OPTIONS,
} from "./poll-reads.js";
import type { Sql } from "./sql.js";

const NAMED = "p.world_id = $1 AND p.room_id = $2 AND p.id = $4";

/** The first line has the place, even if there is no such poll. */
const FIND = `SELECT ${PLACE}, NULL AS chosen, ${OF_POLL}
    FROM (VALUES (1)) AS place LEFT JOIN polls AS p ON ${NAMED}
  UNION ALL SELECT NULL, NULL, EXISTS (
      SELECT 1 FROM poll_ballots AS b CROSS JOIN poll_votes AS v
      WHERE b.world_id = $1 AND b.user_id = $3 AND b.poll = p.number
        AND v.world_id = $1 AND v.ballot = b.number AND v.option = o.number), ${OF_OPTION}
    FROM ${WITH_OPTIONS} WHERE ${NAMED} AND ${ITS_OPTIONS} ${BY_AGE}`;

/** What a write finds of a poll, its room and a user. */
interface Found extends Place, WholePoll {
  /** The numbers of the options that the user has chosen. */
  chosen: ReadonlySet<number>;
}

/** Finds a poll, its room and a user, as writes need them. */
export const pollFinder =
  (sql: Sql) =>
  /**
   * @param user none if null.
   * @throws {StoreError} `absent` on `room` or `poll`.
   */
  async (
    world: string,
    room: string,
    id: string,
    user: string | null,
  ): Promise<Found> => {
    const params = [world, room, user, id];
    const lines = await sql.all<Place & Line & { chosen: unknown }>(
      FIND,
      params,
    );
    const { hasRoom, userState, poll } = lines[0]!;
    expectRoom({ hasRoom, userState });
    if ((poll as unknown) === null) throw absent("poll");
    const chosen = new Set(
      lines.flatMap(({ option, chosen }) => (chosen ? option! : [])),
    );
    return { hasRoom, userState, chosen, ...wholePolls(lines)[0]! };
  };
