import Database from "better-sqlite3";
import { type Found, rulesIn, SQLITE } from "../../rules/contradictions.js";
import type { FileFate } from "../../copies/dump.js";
import { StoreError } from "../../contract/store.js";
import { openForInspection, storeErrorOf } from "../engine/database.js";
import type { Connection } from "../engine/connection.js";
import { schemaVersionOf } from "../engine/upgrade.js";

/** How many pages of a database are copied between two reports. */
const PAGES = 2500;

/** Of each table that is counted, the rows that count: of chat, not the events that are over. */
const COUNTED = {
  worlds: "worlds",
  rooms: "rooms",
  files: "files",
  chat_events: "chat_events WHERE gone = 0",
  questions: "questions",
  polls: "polls",
};

/** The numbers of rows in a database. */
export type RowCounts = Record<keyof typeof COUNTED, number>;

/** The numbers of rows in an empty database. */
export const NO_ROWS = Object.fromEntries(
  Object.keys(COUNTED).map((table) => [table, 0]),
) as RowCounts;

/**
 * Copies the database of a folder to a new file, as it is at one moment. Other
 * processes may write to it meanwhile.
 * @param report gets the numbers of pages that are copied and of all pages.
 */
export async function copyDatabase(
  dataDir: string,
  target: string,
  report: (copied: number, total: number) => void,
): Promise<void> {
  const db = openForInspection(dataDir);
  try {
    // Without a transaction around it, the copy would start over with every write
    // of another process, and never end on a busy server.
    db.exec("BEGIN");
    countRows(db);
    await db.backup(target, {
      progress({ totalPages, remainingPages }) {
        report(totalPages - remainingPages, totalPages);
        return PAGES;
      },
    });
  } catch (error) {
    throw storeErrorOf(error) ?? error;
  } finally {
    db.close();
  }
}

/**
 * Opens a database file without other users, and checks all of it.
 * @throws {StoreError} `unusable` when it is damaged, not Foyer's, or of a newer Foyer.
 */
export function openCopy(file: string): Connection {
  const db = new Database(file, { fileMustExist: true });
  try {
    schemaVersionOf(db);
    const [fault] = damageOf(db);
    if (fault !== undefined) {
      throw new StoreError(
        "unusable",
        `the database is damaged: ${fault}; restore an earlier backup`,
      );
    }
    db.pragma("query_only = ON");
    return db;
  } catch (error) {
    db.close();
    throw storeErrorOf(error) ?? error;
  }
}

/** Counts rows. A backup may be older than some tables; they count as empty. */
export function countRows(db: Connection): RowCounts {
  const has = db.prepare<[string]>(
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?",
  );
  const counts = Object.entries(COUNTED)
    .filter(([table]) => has.get(table))
    .map(([table, rows]) => `(SELECT count(*) FROM ${rows}) AS ${table}`);
  const found = db
    .prepare<[], Partial<RowCounts>>(`SELECT ${counts.join()}`)
    .get();
  return { ...NO_ROWS, ...found };
}

/** The present state of a file in a copy of the database. */
export function whatBecameOf(db: Connection, key: string): FileFate {
  const [, worldId] = key.split("/");
  const found = db
    .prepare<[string, string | undefined], { world: number; file: number }>(
      `SELECT EXISTS (SELECT 1 FROM files WHERE key = ?) AS file,
         EXISTS (SELECT 1 FROM worlds WHERE id = ?) AS world`,
    )
    .get(key, worldId)!;
  if (found.file) return "recorded";
  return found.world ? "deleted" : "gone with its world";
}

/** The faults of the structure of a database, as SQLite finds them: at most the first ten. */
export function damageOf(db: Connection): string[] {
  const rows = db.pragma("integrity_check(10)") as {
    integrity_check: string;
  }[];
  return rows
    .flatMap(({ integrity_check }) => integrity_check.split("\n"))
    .filter((line) => line !== "ok" && !line.startsWith("***"));
}

/** The references to missing rows, in an order that does not change with the tables of SQLite. */
export const danglingIn = (db: Connection): string[] =>
  (db.pragma("foreign_key_check") as { table: string; parent: string }[])
    .map(
      ({ table, parent }) =>
        `a row of ${table} refers to a row of ${parent} that does not exist`,
    )
    .sort();

/** Contradictions in the data: references to missing rows, JSON that does not parse, wrong counts. */
export const contradictionsIn = (db: Connection): string[] => [
  ...danglingIn(db),
  ...rulesIn(SQLITE).flatMap(([sql, words]) =>
    db.prepare<[], Found>(sql).all().map(words),
  ),
];
