import { schema } from "../schema/schema.js";
import { type Column, number, table, type Table, text } from "./columns.js";

export type { Column, Copies, Row, Table, Value } from "./columns.js";

/** The version of the backups and world documents that Foyer writes. */
export const BACKUP_VERSION = 5;

/** The oldest version that Foyer reads, which is the version that release 0.1.0 writes. */
export const OLDEST_BACKUP = 5;

/**
 * The tables in a backup: everything that a store keeps permanently. No row references a row in a
 * later table. Both engines have the same tables (`test/contract/db/sqlite.test.ts` compares them),
 * except:
 *
 * - A `number` counts a table's rows in creation order, across all worlds. In SQLite, it is the
 *   rowid.
 * - Each engine has a word index, `chat_words`, which copies omit.
 * - SQLite erases chat events in place. Each event has a `number` for the word index, and `gone`
 *   marks events that are gone; copies omit both columns. An erased `content` or `data` is a blob
 *   of zeros instead of null.
 * - `sequences` is not a table. It holds the last number assigned to a row in each table whose
 *   numbers are never reused.
 */
export const TABLES: readonly Table[] = [
  ...schema.filter((part) => typeof part !== "string"),
  table("sequences", "name", "none", { name: text, last: number }),
];

/** The tables in `sequences`, in key order. */
export const SEQUENCES = ["chat_channels", "questions"] as const;

/** Returns a table with only the columns that copies of a world contain. */
export const copied = (table: Table): Table => ({
  ...table,
  columns: table.columns.filter(({ derived }) => derived === undefined),
});

/**
 * Returns the column that numbers a table's rows, if there is one. Copies of a world order the rows
 * by this column, and renumber the rows from 1.
 */
export const counterOf = ({ name, columns }: Table): string | undefined =>
  name === "chat_events" ? "id" : columns.find((column) => column.name === "number")?.name;

/** Returns the table whose counter a column references by number. In the log, only chat events are referenced. */
export const countedBy = ({ kind, of }: Column): string | undefined =>
  kind === "number" ? (of === "log" ? "chat_events" : of) : undefined;

/** Returns the tables and columns that backups of a version contain. */
export const tablesOf = (version: number): Table[] =>
  TABLES.filter(({ since = OLDEST_BACKUP }) => since <= version).map((one) => ({
    ...one,
    columns: one.columns.filter(({ since = OLDEST_BACKUP }) => since <= version),
  }));
