import {
  SESSION_COLUMNS,
  type SessionRow,
  SPEAKER_COLUMNS,
  type SpeakerRow,
} from "../../rules/program-rows.js";
import type { Sql } from "../sql.js";

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

/** Makes a function that stores any number of rows of a table. */
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
