import type { Count, Stay, Visit } from "../contract/attendance-store.js";
import { domain, type Sql } from "./domain.js";

/** Maximum rows that one slice removes from each table. */
const SLICE = 1000;

const COUNTS = `SELECT at, max(people) AS people FROM (
    SELECT at - at % CAST($4 AS BIGINT) AS at, people FROM attendance_counts
    WHERE world_id = $1 AND room_id = $2 AND at >= CAST($3 AS BIGINT)
  ) AS spans GROUP BY at ORDER BY at LIMIT CAST($5 AS BIGINT)`;

const VISITS = `SELECT user_id AS "user", session_id AS session, title, first, last, duration
  FROM attendance_visits LEFT JOIN program_sessions
    ON program_sessions.world_id = attendance_visits.world_id
    AND program_sessions.id = session_id
  WHERE attendance_visits.world_id = $1 AND attendance_visits.room_id = $2
    AND (user_id > $3 OR (user_id = $3 AND session_id > $4))
  ORDER BY user_id, session_id LIMIT CAST($5 AS BIGINT)`;

const ADD_COUNT = `INSERT INTO attendance_counts (world_id, room_id, at, people)
  SELECT world_id, id, CAST($3 AS BIGINT), CAST($4 AS BIGINT) FROM rooms
  WHERE world_id = $1 AND id = $2
  ON CONFLICT (world_id, room_id, at) DO UPDATE SET people = excluded.people
  WHERE attendance_counts.people < excluded.people`;

const HAS_ROOM = "SELECT 1 FROM rooms WHERE world_id = $1 AND id = $2";

const SESSIONS = `SELECT id, starts_at, ends_at FROM program_sessions
  WHERE world_id = $1 AND room_id = $2 AND state = 'public'
    AND starts_at < CAST($4 AS BIGINT) AND ends_at > CAST($3 AS BIGINT)
  ORDER BY starts_at, id`;

// Count only the new part of the stay: another process may already have recorded some of it.
const ADD_VISIT = `INSERT INTO attendance_visits
    (world_id, room_id, user_id, session_id, first, last, duration)
  SELECT world_id, CAST($2 AS TEXT), id, CAST($4 AS TEXT), CAST($5 AS BIGINT),
    CAST($6 AS BIGINT), CAST($6 AS BIGINT) - CAST($5 AS BIGINT)
  FROM users WHERE world_id = $1 AND id = $3
    AND (token_id IS NOT NULL OR client_id IS NOT NULL)
  ON CONFLICT (world_id, room_id, user_id, session_id) DO UPDATE SET
    first = CASE WHEN excluded.first < attendance_visits.first
      THEN excluded.first ELSE attendance_visits.first END,
    last = CASE WHEN excluded.last > attendance_visits.last
      THEN excluded.last ELSE attendance_visits.last END,
    duration = attendance_visits.duration + CASE
      WHEN excluded.last <= attendance_visits.last THEN 0
      WHEN excluded.first >= attendance_visits.last THEN excluded.duration
      ELSE excluded.last - attendance_visits.last END`;

const PRUNE_COUNTS = `DELETE FROM attendance_counts WHERE world_id = $1 AND (room_id, at) IN (
  SELECT room_id, at FROM attendance_counts
  WHERE world_id = $1 AND at < CAST($2 AS BIGINT) LIMIT ${SLICE})`;

const PRUNE_VISITS = `DELETE FROM attendance_visits
  WHERE world_id = $1 AND (room_id, user_id, session_id) IN (
    SELECT room_id, user_id, session_id FROM attendance_visits
    WHERE world_id = $1 AND last < CAST($2 AS BIGINT) LIMIT ${SLICE})`;

interface SessionTimes {
  id: string;
  starts_at: number;
  ends_at: number;
}

/**
 * Returns the id of the session in progress at a time, or an empty string. If several sessions are
 * in progress, returns the last to begin.
 */
const sessionAt = (sessions: readonly SessionTimes[], time: number): string =>
  sessions.findLast(({ starts_at, ends_at }) => starts_at <= time && time < ends_at)?.id ?? "";

/** Splits a stay wherever a session begins or ends. */
function partsOf(
  { from, to }: Stay,
  sessions: readonly SessionTimes[],
): { session: string; from: number; to: number }[] {
  const cuts = sessions
    .flatMap(({ starts_at, ends_at }) => [starts_at, ends_at])
    .filter((time) => time > from && time < to);
  const times = [...new Set([from, ...cuts])].sort((a, b) => a - b);
  return times.map((time, i) => ({
    session: sessionAt(sessions, time),
    from: time,
    to: times[i + 1] ?? to,
  }));
}

const reads = (sql: Sql) => ({
  counts: (
    world: string,
    room: string,
    { from, span, limit }: { from: number; span: number; limit: number },
  ) => sql.all<{ at: number; people: number }>(COUNTS, [world, room, from, span, limit]),

  async visits(
    world: string,
    room: string,
    after: Pick<Visit, "user" | "session"> | undefined,
    limit: number,
  ): Promise<Visit[]> {
    const { user, session } = after ?? { user: "", session: "" };
    const params = [world, room, user, session, limit];
    const rows = await sql.all<Omit<Visit, "seconds"> & { readonly duration: number }>(
      VISITS,
      params,
    );
    return rows.map(({ duration, ...visit }) => ({
      ...visit,
      seconds: Math.round(duration / 1000),
    }));
  },
});

const writes = (sql: Sql) => ({
  async sample(world: string, at: number, counts: readonly Count[]): Promise<void> {
    for (const { room, people } of counts) {
      await sql.run(ADD_COUNT, [world, room, at, people]);
    }
  },

  async note(world: string, stays: readonly Stay[]): Promise<void> {
    for (const room of new Set(stays.map((stay) => stay.room))) {
      if ((await sql.value(HAS_ROOM, [world, room])) === undefined) continue;
      const here = stays.filter((stay) => stay.room === room);
      const from = Math.min(...here.map((stay) => stay.from));
      const to = Math.max(...here.map((stay) => stay.to)) + 1;
      const times = [world, room, from, to];
      const sessions = await sql.all<SessionTimes>(SESSIONS, times);
      for (const stay of here) {
        for (const { session, from, to } of partsOf(stay, sessions)) {
          const key = [world, room, stay.user, session];
          await sql.run(ADD_VISIT, [...key, from, to]);
        }
      }
    }
  },

  async prune(
    world: string,
    { counts, visits }: { counts: number; visits: number },
  ): Promise<boolean> {
    const removed = [
      await sql.run(PRUNE_COUNTS, [world, counts]),
      await sql.run(PRUNE_VISITS, [world, visits]),
    ];
    return removed.includes(SLICE);
  },
});

/** The attendance domain: room counts and visits. */
export const attendance = domain({ reads, writes, parameters: { sample: 3, note: 2, prune: 2 } });
