import type { InspectedDatabase } from "../../../maintenance/inspector.js";
import { SQLITE } from "../../../rules/contradictions.js";
import type { Database as Connection } from "better-sqlite3";
import { openForInspection, storeErrorOf } from "./database.js";
import { sqlOn } from "./sqlite-sql.js";

/**
 * Opens the database of a folder for a check.
 * @throws {StoreError} `unusable` if there is none that can be checked.
 */
export function inspectedSqlite(dataDir: string): InspectedDatabase {
  const db = openForInspection(dataDir);
  const explained = <T>(what: () => T): T => {
    try {
      return what();
    } catch (error) {
      throw storeErrorOf(error) ?? error;
    }
  };
  return {
    sql: sqlOn(db, explained),
    dialect: SQLITE,
    damage: async () => explained(() => damageOf(db)),
    dangling: async () => explained(() => danglingIn(db)),
    async snapshot(read) {
      db.exec("BEGIN");
      try {
        return await read();
      } finally {
        // Nothing was written, and a damaged database may refuse a commit.
        if (db.inTransaction) db.exec("ROLLBACK");
      }
    },
    close: async () => void db.close(),
  };
}

/** How many faults of the structure are listed. */
const MAX_FAULTS = 10;

/** The faults of the structure of a database, as SQLite finds them: at most the first ten. */
export function damageOf(db: Connection): string[] {
  try {
    return faultsIn(db, String(MAX_FAULTS));
  } catch (error) {
    // SQLite does not even begin if the damage keeps it from opening the index of full-text search.
    if (!(error as Error).message.startsWith("vtable constructor failed")) throw error;
    const stored = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0";
    const tables = db.prepare<[], string>(stored).pluck().all();
    return tables.flatMap((table) => faultsOf(db, table)).slice(0, MAX_FAULTS);
  }
}

function faultsOf(db: Connection, table: string): string[] {
  try {
    return faultsIn(db, `"${table}"`);
  } catch (error) {
    return [`table ${table}: ${(error as Error).message}`];
  }
}

/** @param what the most faults to find, or the table to look at. */
const faultsIn = (db: Connection, what: string): string[] =>
  (db.pragma(`integrity_check(${what})`) as { integrity_check: string }[])
    .flatMap(({ integrity_check }) => integrity_check.split("\n"))
    .filter((line) => line !== "ok" && !line.startsWith("***"));

/** The references to missing rows, in an order that does not change with the tables of SQLite. */
export const danglingIn = (db: Connection): string[] =>
  (db.pragma("foreign_key_check") as { table: string; parent: string }[])
    .map(
      ({ table, parent }) => `a row of ${table} refers to a row of ${parent} that does not exist`,
    )
    .sort();
