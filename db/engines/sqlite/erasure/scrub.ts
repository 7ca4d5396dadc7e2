import type { Database as Connection } from "better-sqlite3";
import { TABLES } from "../../../copies/tables.js";

// Deleting a row is not enough. SQLite overwrites deleted rows (`secure_delete`). However, when it
// moves a row to another page, the old page keeps a copy of the row's bytes, which a later deletion
// does not overwrite.

/** The tables whose rows are erased, and the word index, which copies omit. */
const ERASABLE: ReadonlySet<string> = new Set([
  ...TABLES.filter(({ isErasable }) => isErasable).map(({ name }) => name),
  "chat_words",
]);

export const isErasable = (table: string): boolean => ERASABLE.has(table);

/**
 * Empties the word index, including all of its pages. Searches rebuild it lazily, which costs less
 * than rewriting the index for channels that are never searched again.
 */
export function emptyIndex(db: Connection): void {
  const create = db
    .prepare<[], string>("SELECT sql FROM main.sqlite_schema WHERE name = 'chat_words'")
    .pluck()
    .get()!;
  db.exec(`DROP TABLE main.chat_words; ${create};
    UPDATE chat_channels SET searched = 0 WHERE searched > 0`);
}

/**
 * Rewrites a table's rows, and thereby every page that has ever held a row. The cost depends on the
 * table's size rather than the database's size. Rows keep their rowids, and AUTOINCREMENT ids are
 * not reused.
 *
 * Must run in a transaction and, unless nothing refers to the table, without foreign keys. With
 * foreign keys, emptying the `users` table would remove the owners of files.
 * @param kept the condition for the rows to keep; by default, all rows are kept.
 * @param goOn an SQL function that is called for each row, and throws to stop the work.
 */
export function rewriteTable(db: Connection, table: string, kept?: string, goOn?: string): void {
  // Because both tables have the same columns and indexes, SQLite copies rows without decoding them
  // and without inserting them into the indexes one by one.
  const definitions = db
    .prepare<[string], string>(
      "SELECT sql FROM main.sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY type DESC",
    )
    .pluck()
    .all(table);
  for (const sql of definitions) {
    db.exec(
      sql
        .replace(/^CREATE TABLE \w+/, "CREATE TEMP TABLE kept_rows")
        // AUTOINCREMENT would create a temporary `sqlite_sequence` table that hides the real table.
        .replace("PRIMARY KEY AUTOINCREMENT", "PRIMARY KEY")
        .replace(/ INDEX (\w+) ON \w+/, " INDEX temp.$1 ON kept_rows"),
    );
  }
  const where = (...conditions: (string | undefined)[]) => {
    const given = conditions.filter((one) => one !== undefined);
    // Reading in the order of an index would make a partial copy many times slower.
    return given.length > 0 ? `NOT INDEXED WHERE ${given.join(" AND ")}` : "";
  };
  // A page that becomes empty is overwritten completely.
  db.exec(`
    INSERT INTO temp.kept_rows SELECT * FROM main.${table} ${where(kept, goOn)};
    DELETE FROM main.${table};
    INSERT INTO main.${table} SELECT * FROM temp.kept_rows ${where(goOn)};
    DROP TABLE temp.kept_rows;
  `);
}

/**
 * Returns the replacement for an erased string: the same number of zero bytes. The row keeps its
 * size, so SQLite overwrites the string in place.
 */
export const blankOf = (column: string): string => `zeroblob(length(CAST(${column} AS BLOB)))`;

/** Returns the statement that blanks the audit's data in log entries that meet a condition. */
export const blankAudit = (condition: string): string =>
  `UPDATE log SET audit = ${blankOf("audit")}, changes = ${blankOf("changes")},
     request = CASE WHEN request IS NOT NULL THEN ${blankOf("request")} END
   WHERE typeof(audit) = 'text' AND ${condition}`;

/**
 * Copies the write-ahead log into the database, and empties the log, because it contains earlier
 * states of pages. Writers wait only while the last few pages are copied. Nothing waits for
 * readers.
 * @returns whether the log is empty. It is not empty while a reader sees an earlier state.
 */
export function checkpoint(db: Connection): boolean {
  // Copies everything that no reader needs, without blocking writers.
  db.pragma("wal_checkpoint(PASSIVE)");
  // TRUNCATE holds the write lock while it waits for readers, so it must not wait.
  const timeout = db.pragma("busy_timeout", { simple: true }) as number;
  db.pragma("busy_timeout = 0");
  try {
    return db.pragma("wal_checkpoint(TRUNCATE)", { simple: true }) === 0;
  } finally {
    db.pragma(`busy_timeout = ${timeout}`);
  }
}
