import type { Database as Connection } from "better-sqlite3";

// Deleting a row is not enough. SQLite overwrites deleted rows (`secure_delete`). But when
// it moves a row to another page, the old page keeps its bytes, and no deletion finds them
// there.

/** The tables whose rows are erased: such as users, who have names, files, which have secret keys, and user texts. */
export const ERASED_TABLES = [
  "users",
  "blocks",
  "files",
  "announcements",
  "questions",
  "polls",
  "poll_options",
  "programs",
  "program_places",
  "program_sessions",
  "program_speakers",
  "program_favorites",
  "program_links",
  "push_subscriptions",
  "webhooks",
  "log_kept",
  "api_callers",
  "chat_words",
] as const;
export type ErasedTable = (typeof ERASED_TABLES)[number];

export const isErasedTable = (name: string): name is ErasedTable =>
  ERASED_TABLES.includes(name as ErasedTable);

/**
 * Empties the index of messages, with every page of it. Searches make it anew, which takes less
 * than to rewrite it for channels that nobody searches again.
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
 * Rewrites the rows of a table, and with them every page that ever held one. The
 * cost depends on the size of the table, not of the database. The rows
 * keep their rowids, and ids of AUTOINCREMENT are not given again.
 *
 * Runs in a transaction and, unless nothing refers to the table, without foreign
 * keys. With them, emptying the table of users would remove the owners of files.
 * @param kept the condition for the rows to keep; all by default.
 * @param goOn an SQL function that is called for each row, and throws to stop the work.
 */
export function rewriteTable(
  db: Connection,
  table: ErasedTable | "chat_events",
  kept?: string,
  goOn?: string,
): void {
  // With the same columns and indexes, SQLite copies from table to table without
  // decoding rows and without inserting them into the indexes one by one.
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
        // It would bring a table `sqlite_sequence` that hides the real one.
        .replace("PRIMARY KEY AUTOINCREMENT", "PRIMARY KEY")
        .replace(/ INDEX (\w+) ON \w+/, " INDEX temp.$1 ON kept_rows"),
    );
  }
  const where = (...conditions: (string | undefined)[]) => {
    const given = conditions.filter((one) => one !== undefined);
    // In the order of an index, a copy of some rows would take many times as long.
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
 * The replacement of an erased text: as many zero bytes. The row keeps its size, so SQLite
 * overwrites the text in its place.
 */
export const blankOf = (column: string): string => `zeroblob(length(CAST(${column} AS BLOB)))`;

/** Blanks what the audit has of the entries of the log that meet a condition. */
export const blankAudit = (condition: string): string =>
  `UPDATE log SET audit = ${blankOf("audit")}, changes = ${blankOf("changes")},
     request = CASE WHEN request IS NOT NULL THEN ${blankOf("request")} END
   WHERE typeof(audit) = 'text' AND ${condition}`;

/**
 * Copies the write-ahead log into the database, and empties it: it holds earlier states of pages.
 * Writers wait only while the last few pages are copied. Nothing waits for a reader.
 * @returns whether it is empty. It is not while something reads an earlier state.
 */
export function checkpoint(db: Connection): boolean {
  // It copies what no reader needs, beside all writers.
  db.pragma("wal_checkpoint(PASSIVE)");
  // This one holds the lock of writers while it waits for readers.
  const timeout = db.pragma("busy_timeout", { simple: true }) as number;
  db.pragma("busy_timeout = 0");
  try {
    return db.pragma("wal_checkpoint(TRUNCATE)", { simple: true }) === 0;
  } finally {
    db.pragma(`busy_timeout = ${timeout}`);
  }
}
