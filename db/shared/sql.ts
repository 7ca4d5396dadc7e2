import type { Value } from "../copies/tables.js";

/** A row by the names of its columns. SQLite has blobs in place of erased texts. */
export type Inserted = Readonly<Record<string, Value | Uint8Array>>;

/**
 * Statements of SQL on either engine. A text is written once, in the SQL that both engines have
 * in common ([DESIGN.md](../DESIGN.md#a-domain-of-the-store) says what that is), with
 * parameters `$1`, `$2` and so on. It is prepared once, so there are few texts, and no values in
 * them. Numbers are whole, and exact in a double.
 */
export interface Sql {
  /** All rows. */
  all<R extends object>(
    text: string,
    params?: readonly unknown[],
  ): Promise<R[]>;
  /** The first row. */
  one<R extends object>(
    text: string,
    params?: readonly unknown[],
  ): Promise<R | undefined>;
  /** The first column of the first row. */
  value<T>(text: string, params?: readonly unknown[]): Promise<T | undefined>;
  /** The first column of all rows. */
  column<T>(text: string, params?: readonly unknown[]): Promise<T[]>;
  /** How many rows a statement changed. */
  run(text: string, params?: readonly unknown[]): Promise<number>;
  /**
   * Inserts rows into a table, in their order.
   * @param rows their columns by name; all have the columns of the first.
   */
  insert(table: string, rows: readonly Inserted[]): Promise<void>;
}

/** The statements of reads. Each sees all that is committed. */
export interface Reading extends Sql {
  /** Several statements that see one moment. They wait for nothing else in between. */
  snapshot<T>(read: (sql: Sql) => Promise<T>): Promise<T>;
}
