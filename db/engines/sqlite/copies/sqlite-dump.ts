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
  // An erased value is a blob of zeros.
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
 * Copies the database of a folder, and gives the rows of the copy. A server may
 * write meanwhile. A long read of the original would keep erased bytes in its log.
 * @param scratch an empty folder for the copy.
 * @param report gets the copied part and the whole.
 * @throws {StoreError} `unusable`, if the database is damaged.
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
 * The rows of a database, which the copies of worlds read. Its file has no name any more
 * when they begin. Unlike a backup, it does not check the whole file first: that takes seconds, in
 * which nothing else runs in this thread.
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

/** The rows of a database in memory, as they are now. */
export const memorySource = (db: Connection): TableSource => sourceOf(new Database(db.serialize()));

/** The beginning of the names of the folders with copies. */
const COPY = "foyer-copy-";

/** How many pages of a database are copied between two reports. */
const PAGES = 2500;

/**
 * Copies the database of a folder to a new file, as it is at one moment. Other processes may write
 * to it meanwhile.
 * @param report gets the numbers of pages that are copied and of all pages.
 */
async function copyDatabase(
  dataDir: string,
  target: string,
  report: (copied: number, total: number) => void,
): Promise<void> {
  const db = openForInspection(dataDir);
  try {
    // Without a transaction around it, the copy would start over with every write
    // of another process, and never end on a busy server.
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
 * Opens a database file without other users.
 * @param check looks at all of it.
 * @throws {StoreError} `unusable` when it is not Foyer's, or of a newer Foyer.
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
 * The rows of a database without other users. @throws {StoreError} `unusable` when it is damaged.
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
 * A new database file, unused before it is finished. Until then a crash
 * may leave half of it, so the caller puts it into place afterwards.
 */
export function sqliteTarget(file: string): TableTarget {
  let db: Connection | undefined;
  let sql: Sql | undefined;

  const open = (): Connection => {
    closeSync(openSync(file, "wx", 0o600));
    const made = new Database(file);
    made.pragma("journal_mode = OFF");
    made.pragma("synchronous = OFF");
    // In KiB. The indexes of a large table are written in any order.
    made.pragma("cache_size = -65536");
    migrate(made);
    // Its log comes with the rows.
    made.exec("DELETE FROM log; DELETE FROM log_heads");
    // Checked at the end, all at once.
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

    // SQLite itself has noted the highest number that was loaded.
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
function damageOf(db: Connection): string[] {
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
const danglingIn = (db: Connection): string[] =>
  (db.pragma("foreign_key_check") as { table: string; parent: string }[])
    .map(
      ({ table, parent }) => `a row of ${table} refers to a row of ${parent} that does not exist`,
    )
    .sort();
