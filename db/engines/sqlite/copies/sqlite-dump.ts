import { closeSync, existsSync, fsyncSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Database as Connection } from "better-sqlite3";
import { Failure } from "../../../../schemas/plain/failure.js";
import { StoreError } from "../../../contract/store.js";
import {
  type CopyDialect,
  countIn,
  fateIn,
  inBatches,
  selectionOf,
  type TableSource,
  type TableTarget,
  tableTarget,
  UnfitRow,
} from "../../../copies/dump.js";
import { type Row, SEQUENCES, type Table } from "../../../copies/tables.js";
import type { Sql } from "../../../domains/domain.js";
import { withLockedFolder } from "../../../local/work-folder.js";
import type { InspectedDatabase } from "../../../maintenance/inspector.js";
import { SQLITE } from "../../../rules/contradictions.js";
import { DATABASE, openForInspection, storeErrorOf } from "../engine/sqlite-database.js";
import { sqlOn } from "../engine/sqlite-sql.js";
import { migrate, schemaVersionOf } from "../engine/sqlite-upgrade.js";

const DIALECT: CopyDialect = {
  eventId: "e.id",
  isAlive: (event) => `${event}.gone = 0`,
  // Erased values are stored as blobs of zeros.
  unlessErased: (column) => `CASE typeof(${column}) WHEN 'text' THEN ${column} END`,
};

function rowsOf(table: Table, world?: string): string {
  if (table.name !== "sequences") {
    return selectionOf(table, DIALECT, world === undefined ? undefined : "?");
  }
  const names = SEQUENCES.map((name) => `('${name}')`).join();
  return `WITH names (name) AS (VALUES ${names})
    SELECT name, coalesce(seq, 0) FROM names LEFT JOIN sqlite_sequence USING (name)`;
}

/**
 * Copies a folder's database, and opens the copy. A server may write to the database concurrently.
 * A copy is needed because a long read of the original would keep erased bytes in its write-ahead
 * log.
 * @param scratch an empty folder for the copy.
 * @param report receives the number of copied pages and the total.
 * @throws {StoreError} `unusable` if the database is damaged.
 */
export async function sqliteSource(
  dataDir: string,
  scratch: string,
  report: (copied: number, total: number) => void,
): Promise<TableSource> {
  const file = join(scratch, DATABASE);
  await copyDatabase(dataDir, file, report);
  return {
    ...sourceOfFile(file),
    async fateOf(key) {
      const db = openForInspection(dataDir);
      try {
        return await fateIn(sqlOn(db), key);
      } finally {
        db.close();
      }
    },
  };
}

/**
 * Opens a copy of a database, for copying worlds. The copy's file is already unlinked when the
 * promise resolves. Unlike a backup, this function does not check the whole file first, because the
 * check would block the thread for seconds.
 */
export const unnamedSource = (dataDir: string): Promise<TableSource> =>
  withLockedFolder(
    join(tmpdir(), COPY),
    (name) => name === COPY,
    async (scratch) => {
      const file = join(scratch, DATABASE);
      await copyDatabase(dataDir, file, () => {});
      return sourceOf(openCopy(file));
    },
  );

/** Opens a snapshot of an in-memory database. */
export const memorySource = (db: Connection): TableSource => sourceOf(new Database(db.serialize()));

/** Name prefix of the folders that contain copies. */
const COPY = "foyer-copy-";

/** Number of pages copied between two progress reports. */
const PAGES = 2500;

/**
 * Copies a consistent snapshot of a folder's database to a new file. Other processes may write to
 * the database concurrently.
 * @param report receives the number of copied pages and the total.
 */
async function copyDatabase(
  dataDir: string,
  target: string,
  report: (copied: number, total: number) => void,
): Promise<void> {
  const db = openForInspection(dataDir);
  try {
    // Outside a transaction, the copy would restart whenever another process writes, and would
    // never finish on a busy server.
    db.exec("BEGIN");
    db.prepare("SELECT count(*) FROM worlds").get();
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
 * Opens a database file that no other process uses.
 * @param check inspects the whole database.
 * @throws {StoreError} `unusable` if the file does not belong to Foyer, or belongs to a newer
 * version of Foyer.
 */
function openCopy(file: string, check: (db: Connection) => void = () => {}): Connection {
  const db = new Database(file, { fileMustExist: true });
  try {
    schemaVersionOf(db);
    check(db);
    db.pragma("query_only = ON");
    return db;
  } catch (error) {
    db.close();
    throw storeErrorOf(error) ?? error;
  }
}

/**
 * Opens a database file that no other process uses, as a source of rows.
 * @throws {StoreError} `unusable` if SQLite finds structural faults.
 * @throws {Failure} if a row refers to a missing row.
 */
export const sourceOfFile = (file: string): TableSource => sourceOf(openCopy(file, refuseDamage));

function refuseDamage(db: Connection): void {
  const [fault] = damageOf(db);
  if (fault !== undefined) {
    throw new StoreError(
      "unusable",
      `the database is damaged: ${fault}; restore an earlier backup`,
    );
  }
  const [dangling] = danglingIn(db);
  if (dangling !== undefined) throw new Failure(`the database is damaged: ${dangling}`);
}

function sourceOf(db: Connection): TableSource {
  return {
    rows: (table, world) =>
      inBatches(
        db
          .prepare<string[], Row>(rowsOf(table, world))
          .raw()
          .iterate(...[world ?? []].flat()) as Iterable<Row>,
      ),
    count: (table) => countIn(sqlOn(db), table),
    fateOf: async () => "recorded",
    async close() {
      db.close();
    },
  };
}

/**
 * Creates a new database file, which must not be used before the commit. A crash may leave the file
 * incomplete, so the caller should move it into place only after the commit.
 */
export function sqliteTarget(file: string): TableTarget {
  let db: Connection | undefined;
  let sql: Sql | undefined;

  const open = (): Connection => {
    closeSync(openSync(file, "wx", 0o600));
    const made = new Database(file);
    made.pragma("journal_mode = OFF");
    made.pragma("synchronous = OFF");
    // The cache size, in KiB. The cache is large because a large table's indexes are written in
    // random order.
    made.pragma("cache_size = -65536");
    migrate(made);
    // The loaded rows include the log.
    made.exec("DELETE FROM log; DELETE FROM log_heads");
    // Foreign keys are checked together at the end.
    made.pragma("foreign_keys = OFF");
    made.exec("BEGIN");
    return made;
  };

  return tableTarget({
    isEmpty: async () => !existsSync(file),

    async begin() {
      db ??= open();
      return (sql ??= sqlOn(db));
    },

    // SQLite has already recorded the highest number that was loaded.
    async pass(table, number) {
      const noted = await sql!.value<number>("SELECT seq FROM sqlite_sequence WHERE name = $1", [
        table,
      ]);
      await sql!.run("DELETE FROM sqlite_sequence WHERE name = $1", [table]);
      await sql!.insert("sqlite_sequence", [{ name: table, seq: Math.max(noted ?? 0, number) }]);
    },

    async commit() {
      const [dangling] = danglingIn(db!);
      if (dangling !== undefined) throw new UnfitRow(dangling);
      db!.exec("COMMIT");
      db!.pragma("journal_mode = WAL");
      db!.close();
      db = undefined;
      const written = openSync(file, "r+");
      fsyncSync(written);
      closeSync(written);
    },

    async close() {
      db?.close();
      db = undefined;
    },

    refusals: /^SQLITE_CONSTRAINT/,
    explain(error) {
      throw storeErrorOf(error) ?? error;
    },
  });
}

/**
 * Opens a folder's database for a check.
 * @throws {StoreError} `unusable` if there is no database that can be checked.
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
        // Roll back, because nothing was written, and a damaged database may reject a commit.
        if (db.inTransaction) db.exec("ROLLBACK");
      }
    },
    close: async () => void db.close(),
  };
}

/** Maximum number of structural faults to list. */
const MAX_FAULTS = 10;

/** Returns up to {@link MAX_FAULTS} structural faults that SQLite finds in a database. */
function damageOf(db: Connection): string[] {
  try {
    return faultsIn(db, String(MAX_FAULTS));
  } catch (error) {
    // If the damage prevents SQLite from opening the full-text index, the check does not even
    // begin.
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

/** @param what the maximum number of faults, or the table to check. */
const faultsIn = (db: Connection, what: string): string[] =>
  (db.pragma(`integrity_check(${what})`) as { integrity_check: string }[])
    .flatMap(({ integrity_check }) => integrity_check.split("\n"))
    .filter((line) => line !== "ok" && !line.startsWith("***"));

/** Lists references to missing rows, sorted so that the order does not depend on SQLite's internals. */
const danglingIn = (db: Connection): string[] =>
  (db.pragma("foreign_key_check") as { table: string; parent: string }[])
    .map(
      ({ table, parent }) => `a row of ${table} refers to a row of ${parent} that does not exist`,
    )
    .sort();
