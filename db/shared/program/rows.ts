import {
  SESSION_COLUMNS,
  type SessionRow,
  SPEAKER_COLUMNS,
  type SpeakerRow,
} from "../../rules/program-rows.js";
import type { Sql } from "../sql.js";

/** How many rows one statement inserts. An import has thousands of them. */
const MANY = 40;

/** A statement that inserts some rows. @param columns beside the world, which is `$1`. */
function insertion(table: string, columns: string, rows: number): string {
  const width = columns.split(",").length;
  const values = Array.from({ length: rows }, (_, row) => {
    const places = Array.from(
      { length: width },
      (_, i) => `$${2 + row * width + i}`,
    );
    return `($1, ${places.join()})`;
  });
  return `INSERT INTO ${table} (world_id, ${columns}) VALUES ${values.join()}`;
}

/** Makes a function that inserts any number of rows of a table. */
function inserter<R extends object>(table: string, columns: string) {
  const one = insertion(table, columns, 1);
  const many = insertion(table, columns, MANY);
  const names = columns.split(", ") as (keyof R)[];
  const valuesOf = (rows: readonly R[]) =>
    rows.flatMap((row) => names.map((name) => row[name]));
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

export const insertSessions = inserter<SessionRow>(
  "program_sessions",
  SESSION_COLUMNS,
);

export const insertSpeakers = inserter<SpeakerRow>(
  "program_speakers",
  SPEAKER_COLUMNS,
);

/** A statement that replaces all columns of a row: `$1` is the world, and `$2` the id. */
function replacement(table: string, columns: string): string {
  const [, ...others] = columns.split(", ");
  const set = others.map((column, i) => `${column} = $${i + 3}`);
  return `UPDATE ${table} SET ${set.join()} WHERE world_id = $1 AND id = $2`;
}

function replacer<R extends object>(table: string, columns: string) {
  const statement = replacement(table, columns);
  const names = columns.split(", ") as (keyof R)[];
  return async (sql: Sql, world: string, row: R): Promise<void> => {
    await sql.run(statement, [world, ...names.map((name) => row[name])]);
  };
}

export const replaceSession = replacer<SessionRow>(
  "program_sessions",
  SESSION_COLUMNS,
);

export const replaceSpeaker = replacer<SpeakerRow>(
  "program_speakers",
  SPEAKER_COLUMNS,
);
