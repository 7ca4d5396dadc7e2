import type { Connection } from "./database.js";

// To delete a row is not enough. SQLite overwrites what it deletes
// (`secure_delete`), but when it moves a row to another page, the bytes stay
// behind in the old one, where no deletion finds them.

/** The tables whose rows are erased: users have names, and files secret keys. */
export type ErasedTable = "users" | "files";

/**
 * Writes all rows of a table anew, and with them every page that ever held one:
 * the cost is that of the table, however large the rest of the database is. The
 * rows keep their rowids.
 * To be run in a transaction, and without foreign keys: otherwise to empty the
 * table of users would take them from their files, and nothing would be copied
 * as it is.
 */
export function rewriteTable(db: Connection, table: ErasedTable): void {
  // Made of the same columns and indexes, as then SQLite copies from table to
  // table without taking rows apart, or sorting them into the indexes one by one.
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
        .replace(/ INDEX (\w+) ON \w+/, " INDEX temp.$1 ON kept_rows"),
    );
  }
  // A page that is emptied as a whole is overwritten as a whole.
  db.exec(`
    INSERT INTO temp.kept_rows SELECT * FROM main.${table};
    DELETE FROM main.${table};
    INSERT INTO main.${table} SELECT * FROM temp.kept_rows;
    DROP TABLE temp.kept_rows;
  `);
}

/** Foreign keys cannot be put off inside a transaction. */
export function withoutForeignKeys<T>(db: Connection, work: () => T): T {
  db.pragma("foreign_keys = OFF");
  try {
    return work();
  } finally {
    db.pragma("foreign_keys = ON");
  }
}

/**
 * Empties the write-ahead log, which holds pages as they were before.
 * @param patience how many milliseconds to wait for readers. Other writes wait
 *   with it, so nobody should wait for the end of a backup.
 * @returns whether it is empty.
 */
export function emptyLog(db: Connection, patience: number): boolean {
  const usual = db.pragma("busy_timeout", { simple: true }) as number;
  db.pragma(`busy_timeout = ${patience}`);
  try {
    return db.pragma("wal_checkpoint(TRUNCATE)", { simple: true }) === 0;
  } catch {
    return false;
  } finally {
    db.pragma(`busy_timeout = ${usual}`);
  }
}
