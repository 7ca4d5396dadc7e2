import type { Count, Stay, Visit } from "../contract/attendance.js";
import { domain } from "./domain.js";
import type { Sql } from "./sql.js";

const COUNTS = `SELECT at, people FROM attendance_counts
  WHERE world_id = $1 AND room_id = $2 AND at > $3 ORDER BY at LIMIT $4`;

const VISITS = `SELECT user_id AS "user", session_id AS session, first, last, duration
  FROM attendance_visits
  WHERE world_id = $1 AND room_id = $2
    AND (user_id > $3 OR (user_id = $3 AND session_id > $4))
  ORDER BY user_id, session_id LIMIT $5`;

// No row without a world, and none if a process has noted this minute.
const CLAIM = `INSERT INTO attendance_minutes (world_id, at)
  SELECT id, CAST($2 AS BIGINT) FROM worlds WHERE id = $1
  ON CONFLICT (world_id) DO UPDATE SET at = excluded.at
  WHERE attendance_minutes.at < excluded.at`;

const ADD_COUNT = `INSERT INTO attendance_counts (world_id, room_id, at, people)
  SELECT world_id, id, CAST($3 AS BIGINT), CAST($4 AS BIGINT) FROM rooms
  WHERE world_id = $1 AND id = $2
  ON CONFLICT (world_id, room_id, at) DO NOTHING`;

const EXISTS = `SELECT users.id FROM users, rooms
  WHERE users.world_id = $1 AND users.id = $2
    AND coalesce(users.token_id, users.client_id) IS NOT NULL
    AND rooms.world_id = $1 AND rooms.id = $3`;

const GET_VISIT = `SELECT first, last, duration FROM attendance_visits
  WHERE world_id = $1 AND room_id = $2 AND user_id = $3 AND session_id = $4`;

const PUT_VISIT = `INSERT INTO attendance_visits
    (world_id, room_id, user_id, session_id, first, last, duration)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (world_id, room_id, user_id, session_id) DO UPDATE
    SET first = excluded.first, last = excluded.last, duration = excluded.duration`;

interface Row {
  first: number;
  last: number;
  duration: number;
}

/** The reads of attendance. */
const attendanceReads = (sql: Sql) => ({
  counts: (world: string, room: string, after: number, limit: number) =>
    sql.all<{ at: number; people: number }>(COUNTS, [
      ...[world, room, after, limit],
    ]),

  async visits(
    world: string,
    room: string,
    after: Pick<Visit, "user" | "session"> | undefined,
    limit: number,
  ): Promise<Visit[]> {
    const { user, session } = after ?? { user: "", session: "" };
    const params = [world, room, user, session, limit];
    const rows = await sql.all<Visit & Row>(VISITS, params);
    return rows.map(({ duration, ...visit }) => ({
      ...visit,
      seconds: Math.round(duration / 1000),
    }));
  },
});

/** The writes of attendance. */
const attendanceWrites = (sql: Sql) => ({
  async sample(
    world: string,
    at: number,
    counts: readonly Count[],
  ): Promise<boolean> {
    if ((await sql.run(CLAIM, [world, at])) === 0) return false;
    for (const { room, people } of counts) {
      await sql.run(ADD_COUNT, [world, room, at, people]);
    }
    return true;
  },

  async note(world: string, stays: readonly Stay[]): Promise<void> {
    for (const { user, room, session, from, to } of stays) {
      if (!(await sql.one(EXISTS, [world, user, room]))) continue;
      const key = [world, room, user, session];
      const before = await sql.one<Row>(GET_VISIT, key);
      const { first = from, last = from, duration = 0 } = before ?? {};
      // Another process may have noted a part of it.
      const added = Math.max(0, to - Math.max(from, last));
      const values = [
        Math.min(first, from),
        Math.max(last, to),
        duration + added,
      ];
      await sql.run(PUT_VISIT, [...key, ...values]);
    }
  },
});

export const attendance = domain({
  reads: attendanceReads,
  writes: attendanceWrites,
  parameters: { sample: 3, note: 2 },
});
