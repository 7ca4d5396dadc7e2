import { randomUUID } from "node:crypto";
import { NO_ROOM, UNNAMED } from "../../contract/program-store.js";
import type { GivenEntry } from "../../log/draft.js";
import {
  SESSION_COLUMNS,
  type SessionRow,
  SPEAKER_COLUMNS,
  type SpeakerRow,
} from "../../rules/program-rows.js";
import { ScopeChanges } from "../../rules/program-views.js";
import { type DomainLog, perEngine, type Sql } from "../domain.js";

// Program versions are derived from stamps: random strings that are replaced with each change. No
// version ever recurs, and the same rows yield the same versions on every server.

const TOUCH = `INSERT INTO programs (world_id, stamp, settings) VALUES ($1, $2, '')
  ON CONFLICT (world_id) DO UPDATE SET stamp = excluded.stamp`;

/** Builds a statement that replaces a program's settings stamp if the program has any matching scope. */
const touchRules = (places: string) => `UPDATE programs SET stamp = $2, settings = $2
  WHERE world_id = $1 AND EXISTS (SELECT 1 FROM program_places WHERE world_id = $1${places})`;

const TOUCH_EDITORS = touchRules("");
const TOUCH_ROOM = touchRules(" AND place = $3");
const TOUCH_ROOMS = touchRules(` AND place <> '${NO_ROOM}' AND place <> '${UNNAMED}'`);

const TOUCH_DATES = `INSERT INTO programs (world_id, stamp, settings) VALUES ($1, $2, $2)
  ON CONFLICT (world_id) DO UPDATE SET stamp = excluded.stamp, settings = excluded.settings`;

const TOUCH_SHOWN = `INSERT INTO program_places (world_id, place, shown, changed) VALUES ($1, $2, $3, $3)
  ON CONFLICT (world_id, place) DO UPDATE SET shown = excluded.shown, changed = excluded.changed`;

const TOUCH_DRAFTS = `INSERT INTO program_places (world_id, place, shown, changed) VALUES ($1, $2, '', $3)
  ON CONFLICT (world_id, place) DO UPDATE SET changed = excluded.changed`;

/** Collects the scopes in which a write changes a program, and stores their new stamps. */
export class Changes extends ScopeChanges {
  /** Replaces the stamps of the collected scopes. @returns the program's new stamp. */
  async store(sql: Sql, world: string): Promise<string> {
    const stamp = randomUUID();
    await sql.run(TOUCH, [world, stamp]);
    for (const [place, isShown] of this.places) {
      const statement = isShown ? TOUCH_SHOWN : TOUCH_DRAFTS;
      await sql.run(statement, [world, place, stamp]);
    }
    return stamp;
  }
}

/**
 * Must be called after a change to the rule that decides who sees a room. If the room has a
 * program, the versions change for everyone, even for people who can no longer see the room,
 * because no version may ever recur.
 * @param room the room; omitted if the world's rule has changed, which affects all rooms.
 */
export async function viewersChanged(sql: Sql, world: string, room?: string): Promise<void> {
  const stamp = randomUUID();
  if (room === undefined) await sql.run(TOUCH_ROOMS, [world, stamp]);
  else await sql.run(TOUCH_ROOM, [world, stamp, room]);
}

/** Must be called after a change to the rule that decides who edits the program. */
export async function editorsChanged(sql: Sql, world: string): Promise<void> {
  await sql.run(TOUCH_EDITORS, [world, randomUUID()]);
}

export async function datesChanged(sql: Sql, world: string): Promise<void> {
  await sql.run(TOUCH_DATES, [world, randomUUID()]);
}

const LEAVE_ROOM = `UPDATE program_sessions SET room_id = NULL, revision = revision + 1
  WHERE world_id = $1 AND room_id = $2 RETURNING id, starts_at, title`;

const REMOVE_PLACE =
  "DELETE FROM program_places WHERE world_id = $1 AND place = $2 RETURNING shown";

interface LeftSession {
  id: string;
  starts_at: number | null;
  title: string;
}

/** Orders sessions by time. The id, which is random, decides only among equal ones. */
const inProgram = (a: LeftSession, b: LeftSession): number => {
  const byTime = (a.starts_at ?? 0) - (b.starts_at ?? 0);
  if (byTime !== 0) return byTime;
  const [one, other] = a.title === b.title ? [a.id, b.id] : [a.title, b.title];
  return one < other ? -1 : 1;
};

/** Removes a deleted room from its sessions. @returns the log entries for those sessions. */
export async function roomDeleted(sql: Sql, world: string, room: string): Promise<GivenEntry[]> {
  const left = await sql.all<LeftSession>(LEAVE_ROOM, [world, room]);
  const entries = left
    .sort(inProgram)
    .map(({ id }): GivenEntry => ({ type: "session.updated", session: id, fields: ["room_id"] }));
  const shown = await sql.value<string>(REMOVE_PLACE, [world, room]);
  if (shown === undefined) return entries;
  const changes = new Changes();
  const state = shown === "" ? "draft" : "public";
  changes.session({ room_id: null, state });
  await changes.store(sql, world);
  return entries;
}

/** Number of rows in a multi-row statement. An import has thousands of rows. */
const MANY = 100;

/**
 * Builds a statement that inserts rows, replacing existing rows with the same ids.
 * @param columns the columns except the world, which is `$1`. The first column is the id.
 */
function upsertion(table: string, columns: string, rows: number): string {
  const names = columns.split(", ");
  const values = Array.from({ length: rows }, (_, row) => {
    const places = names.map((_, i) => `$${2 + row * names.length + i}`);
    return `($1, ${places.join()})`;
  });
  const set = names.slice(1).map((name) => `${name} = excluded.${name}`);
  return `INSERT INTO ${table} (world_id, ${columns}) VALUES ${values.join()}
    ON CONFLICT (world_id, id) DO UPDATE SET ${set.join()}`;
}

function storer<R extends object>(table: string, columns: string) {
  const one = upsertion(table, columns, 1);
  const many = upsertion(table, columns, MANY);
  const names = columns.split(", ") as (keyof R)[];
  const valuesOf = (rows: readonly R[]) => rows.flatMap((row) => names.map((name) => row[name]));
  return async (sql: Sql, world: string, rows: readonly R[]): Promise<void> => {
    let i = 0;
    for (; i + MANY <= rows.length; i += MANY) {
      await sql.run(many, [world, ...valuesOf(rows.slice(i, i + MANY))]);
    }
    for (; i < rows.length; i++) {
      await sql.run(one, [world, ...valuesOf([rows[i]!])]);
    }
  };
}

const storeRows = storer<SessionRow>("program_sessions", SESSION_COLUMNS);

/** The ids, starts and rooms of sessions, from a JSON array. */
const places = perEngine(
  {
    sqlite: `(SELECT value ->> 0 AS id, value ->> 1 AS starts_at, value ->> 2 AS room_id
      FROM json_each($2))`,
    postgres: `(SELECT value ->> 0 AS id, CAST(value ->> 1 AS BIGINT) AS starts_at,
      value ->> 2 AS room_id FROM json_array_elements(CAST($2 AS json)))`,
  },
  (places) => places,
);

/** Keeps the place that people knew of their favorites, before the sessions move. */
const markMoved = (places: string) => `UPDATE program_favorites AS f
  SET moved_start = s.starts_at, moved_room = s.room_id
  FROM program_sessions AS s, ${places} AS after
  WHERE f.world_id = $1 AND s.world_id = $1 AND s.id = after.id AND f.session_id = s.id
    AND f.moved_start IS NULL AND s.starts_at IS NOT NULL
    AND (s.starts_at IS DISTINCT FROM after.starts_at OR s.room_id IS DISTINCT FROM after.room_id)`;

/** Removes the marks of sessions that have moved back. */
const UNMARK_MOVED = `UPDATE program_favorites AS f SET moved_start = NULL, moved_room = NULL
  FROM program_sessions AS s
  WHERE f.world_id = $1 AND f.session_id = ANY ($2) AND s.world_id = $1 AND s.id = f.session_id
    AND s.starts_at = f.moved_start AND s.room_id IS NOT DISTINCT FROM f.moved_room`;

/** Stores sessions, and marks the favorites that have moved by it. */
export async function storeSessions(
  sql: Sql,
  world: string,
  rows: readonly SessionRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const after = rows.map(({ id, starts_at, room_id }) => [id, starts_at, room_id]);
  await sql.run(markMoved(places(sql)), [world, JSON.stringify(after)]);
  await storeRows(sql, world, rows);
  await sql.run(UNMARK_MOVED, [world, rows.map(({ id }) => id)]);
}

export const storeSpeakers = storer<SpeakerRow>("program_speakers", SPEAKER_COLUMNS);

const FORGET = "DELETE FROM program_favorites WHERE world_id = $1 AND session_id = ANY ($2)";

const FORGET_RATINGS = "DELETE FROM session_ratings WHERE world_id = $1 AND session_id = ANY ($2)";

const DELETE = "DELETE FROM program_sessions WHERE world_id = $1 AND id = ANY ($2)";

/** Deletes sessions with their ratings, and removes them from all favorites. */
export async function removeSessions(
  sql: Sql,
  log: DomainLog,
  world: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await sql.run(FORGET, [world, [...ids]]);
  if ((await sql.run(FORGET_RATINGS, [world, [...ids]])) > 0) log.erased("session_ratings");
  await forgetEdits(sql, world, ids);
  await sql.run(DELETE, [world, [...ids]]);
}

const EDIT = `INSERT INTO program_edits (world_id, record_id, field) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING`;

const FORGET_EDITS = "DELETE FROM program_edits WHERE world_id = $1 AND record_id = ANY ($2)";

/**
 * Records which fields of an imported session or speaker were edited manually, so that the next
 * import can keep the edits.
 */
export async function markEdits(
  sql: Sql,
  world: string,
  { id, import_id }: { id: string; import_id: string | null },
  fields: readonly string[],
): Promise<void> {
  if (import_id === null) return;
  for (const field of fields) {
    if (field !== "import_id") await sql.run(EDIT, [world, id, field]);
  }
}

/** Deletes the records of manual edits to these sessions and speakers. */
export async function forgetEdits(sql: Sql, world: string, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.run(FORGET_EDITS, [world, [...ids]]);
}
