import { closeSync, existsSync, fsyncSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { Failure } from "../../../schemas/plain/failure.js";
import {
  inBatches,
  restOf,
  type TableSource,
  type TableTarget,
  UnfitRow,
} from "../../copies/dump.js";
import {
  FORMER_SEQUENCE,
  type Row,
  SEQUENCES,
  type Table,
} from "../../copies/tables.js";
import { withLockedFolder } from "../../local/locked-folder.js";
import { loaded } from "../../copies/loaded.js";
import { passAudit } from "../../shared/migrations/audit-in-log.js";
import { beginLogs } from "../migrations/0010-log.js";
import {
  DATABASE,
  openForInspection,
  storeErrorOf,
} from "../engine/database.js";
import type { Connection } from "../engine/connection.js";
import {
  copyDatabase,
  danglingIn,
  openCopy,
  whatBecameOf,
} from "../inspection/inspection.js";
import { LATEST, migrate, schemaVersionOf } from "../engine/upgrade.js";

/** Whether an event is neither gone nor of a deleted channel. */
const isAlive = (event: string) =>
  `EXISTS (SELECT 1 FROM chat_events AS e JOIN chat_channels AS c
       ON c.world_id = e.world_id AND c.number = e.channel
     WHERE e.world_id = t.world_id AND e.id = ${event} AND e.gone = 0)`;

/** Which rows of other tables are copied. */
const CONDITIONS: Readonly<Record<string, string>> = {
  chat_events: `t.gone = 0 AND EXISTS (SELECT 1 FROM chat_channels AS c
      WHERE c.world_id = t.world_id AND c.number = t.channel)`,
  chat_edits: `${isAlive("t.event")} AND ${isAlive("t.edit")}`,
  chat_reactions: `${isAlive("t.event")}`,
};

/** The columns of copies that may be erased. */
const ERASABLE: Readonly<Record<string, readonly string[]>> = {
  chat_events: ["content"],
  log: ["audit", "changes", "request"],
};

function selectionOf(table: Table, world?: string): string {
  if (table.name === "sequences") {
    const names = SEQUENCES.map((name) => `('${name}')`).join();
    return `WITH names (name) AS (VALUES ${names})
      SELECT name, coalesce(seq, 0) FROM names LEFT JOIN sqlite_sequence USING (name)`;
  }
  const columns = table.columns.map(({ name }) => {
    // An erased value is a blob of zeros.
    return ERASABLE[table.name]?.includes(name)
      ? `CASE typeof(t.${name}) WHEN 'text' THEN t.${name} END`
      : `t.${name}`;
  });
  const conditions = [CONDITIONS[table.name] ?? []].flat();
  return `SELECT ${columns.join()} FROM ${table.name} AS t
    ${restOf(table, conditions, world === undefined ? undefined : "?")}`;
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
        return whatBecameOf(db, key);
      } finally {
        db.close();
      }
    },
  };
}

/**
 * The rows of a database, which the copies of worlds read. Its file has no name any more
 * when they begin.
 */
export const unnamedSource = (dataDir: string): Promise<TableSource> =>
  withLockedFolder(
    join(tmpdir(), COPY),
    (name) => name === COPY,
    (scratch) => sqliteSource(dataDir, scratch, () => {}),
  );

/** The beginning of the names of the folders with copies. */
const COPY = "foyer-copy-";

/**
 * The rows of a database without other users. An older one is upgraded.
 * @throws {StoreError} `unusable` when it is damaged, not Foyer's, or of a newer Foyer.
 */
export function sourceOfFile(file: string): TableSource {
  const db = openLatest(file);
  const [dangling] = danglingIn(db);
  if (dangling !== undefined) {
    db.close();
    throw new Failure(`the database is damaged: ${dangling}`);
  }
  return {
    rows: (table, world) =>
      inBatches(
        db
          .prepare<string[], Row>(selectionOf(table, world))
          .raw()
          .iterate(...[world ?? []].flat()) as Iterable<Row>,
      ),
    async count({ name }) {
      if (name === "sequences") return SEQUENCES.length;
      return db
        .prepare<[], number>(`SELECT count(*) FROM ${name}`)
        .pluck()
        .get()!;
    },
    fateOf: async () => "recorded",
    async close() {
      db.close();
    },
  };
}

function openLatest(file: string): Connection {
  const db = openCopy(file);
  if (schemaVersionOf(db) === LATEST) return db;
  db.pragma("query_only = OFF");
  try {
    migrate(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * A new database file, unused before it is finished. Until then a crash
 * may leave half of it, so the caller puts it into place afterwards.
 */
export function sqliteTarget(file: string): TableTarget {
  let db: Connection | undefined;
  /** The last id of an event that an older backup names. */
  let lastId = 0;

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

  return {
    isEmpty: async () => !existsSync(file),

    async load(table, rows) {
      db ??= open();
      const insert = insertInto(db, table);
      for await (const batch of rows) {
        for (const row of batch) {
          const [name, last] = row;
          if (table.name === "sequences" && name === FORMER_SEQUENCE) {
            lastId = last as number;
          } else explained(table, () => insert(row));
        }
      }
    },

    async finish() {
      // A whole database may have been put there in place of rows.
      if (!db && existsSync(file)) return;
      db ??= open();
      db.exec(
        `UPDATE worlds SET file_bytes =
           (SELECT coalesce(sum(size), 0) FROM files WHERE world_id = worlds.id)`,
      );
      beginLogs(db, lastId);
      db.exec(passAudit);
      const [dangling] = danglingIn(db);
      if (dangling !== undefined) throw new UnfitRow(dangling);
      db.exec("COMMIT");
      db.pragma("journal_mode = WAL");
      db.close();
      db = undefined;
      const written = openSync(file, "r+");
      fsyncSync(written);
      closeSync(written);
    },

    async close() {
      db?.close();
      db = undefined;
    },
  };
}

function insertInto(db: Connection, table: Table): (row: Row) => void {
  if (table.name === "sequences") return sequenceWriter(db);
  const [stored, complete] = loaded(table);
  const names = stored.columns.map(({ name }) => name);
  const values = names.map((name) =>
    table.name === "chat_events" && name === "content"
      ? "coalesce(?, zeroblob(0))"
      : "?",
  );
  const insert = db.prepare(
    `INSERT INTO ${stored.name} (${names.join()}) VALUES (${values.join()})`,
  );
  return (row) => void insert.run(complete(row));
}

/** SQLite itself has already noted the highest number that was loaded. */
function sequenceWriter(db: Connection): (row: Row) => void {
  const noted = db
    .prepare<[string], number>("SELECT seq FROM sqlite_sequence WHERE name = ?")
    .pluck();
  const forget = db.prepare("DELETE FROM sqlite_sequence WHERE name = ?");
  const note = db.prepare(
    "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)",
  );
  return ([name, last]) => {
    if (!SEQUENCES.includes(name as never)) {
      throw new UnfitRow(`there is no sequence ${String(name)}`);
    }
    const highest = Math.max(noted.get(name as string) ?? 0, last as number);
    forget.run(name);
    note.run(name, highest);
  };
}

/** Runs an insertion, with a one-line error if a row cannot be in the database. */
function explained(table: Table, insert: () => void): void {
  try {
    insert();
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (!code?.startsWith("SQLITE_CONSTRAINT")) {
      throw storeErrorOf(error) ?? error;
    }
    throw new UnfitRow(`a row of ${table.name} cannot be stored: ${message}`);
  }
}
