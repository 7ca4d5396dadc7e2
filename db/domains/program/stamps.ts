import { randomUUID } from "node:crypto";
import { NO_ROOM, UNNAMED } from "../../contract/program-store.js";
import type { Given } from "../../log/draft.js";
import {
  SESSION_COLUMNS,
  type SessionRow,
  SPEAKER_COLUMNS,
  type SpeakerRow,
} from "../../rules/program-rows.js";
import { PlaceChanges } from "../../rules/program-views.js";
import type { Sql } from "../domain.js";

// Versions of programs follow from stamps: random texts that are renewed with each change. So no
// version comes back, and the same rows give the same versions on every server.

const TOUCH = `INSERT INTO programs (world_id, stamp, settings) VALUES ($1, $2, '')
  ON CONFLICT (world_id) DO UPDATE SET stamp = excluded.stamp`;

/** Renews the settings of a program if it has some places. */
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

/** The places at which a write changes a program, with their stamps. */
export class Changes extends PlaceChanges {
  /** Renews the stamps of these places. @returns the stamp of the program. */
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
 * The rule that says who sees a room changed. If it has a program, so do the versions of all: even
 * of people who lose sight of the room, as none of their versions may come back.
 * @param room all rooms, if the rule is the world's.
 */
export async function viewersChanged(sql: Sql, world: string, room?: string): Promise<void> {
  const stamp = randomUUID();
  if (room === undefined) await sql.run(TOUCH_ROOMS, [world, stamp]);
  else await sql.run(TOUCH_ROOM, [world, stamp, room]);
}

/** The rule that says who edits the program changed. */
export async function editorsChanged(sql: Sql, world: string): Promise<void> {
  await sql.run(TOUCH_EDITORS, [world, randomUUID()]);
}

export async function datesChanged(sql: Sql, world: string): Promise<void> {
  await sql.run(TOUCH_DATES, [world, randomUUID()]);
}

const LEAVE_ROOM = `UPDATE program_sessions SET room_id = NULL, revision = revision + 1
  WHERE world_id = $1 AND room_id = $2 RETURNING id`;

const REMOVE_PLACE =
  "DELETE FROM program_places WHERE world_id = $1 AND place = $2 RETURNING shown";

/** A room was deleted: its sessions have none now. @returns the entries that say so. */
export async function roomDeleted(sql: Sql, world: string, room: string): Promise<Given[]> {
  const left = await sql.column<string>(LEAVE_ROOM, [world, room]);
  const entries = left
    .sort()
    .map((session): Given => ({ type: "session.updated", session, fields: ["room_id"] }));
  const shown = await sql.value<string>(REMOVE_PLACE, [world, room]);
  if (shown === undefined) return entries;
  const changes = new Changes();
  const state = shown === "" ? "draft" : "public";
  changes.session({ room_id: null, state });
  await changes.store(sql, world);
  return entries;
}

/** How many rows one statement takes. An import has thousands of them. */
const MANY = 100;

/**
 * A statement that stores some rows: new ones, and ones in place of those with the same ids.
 * @param columns beside the world, which is `$1`. The first is the id.
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

export const storeSessions = storer<SessionRow>("program_sessions", SESSION_COLUMNS);

export const storeSpeakers = storer<SpeakerRow>("program_speakers", SPEAKER_COLUMNS);

const FORGET = "DELETE FROM program_favorites WHERE world_id = $1 AND session_id = ANY ($2)";

const DELETE = "DELETE FROM program_sessions WHERE world_id = $1 AND id = ANY ($2)";

/** Deletes sessions, and takes them out of all favorites. */
export async function removeSessions(
  sql: Sql,
  world: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await sql.run(FORGET, [world, [...ids]]);
  await sql.run(DELETE, [world, [...ids]]);
}
