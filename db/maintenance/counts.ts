import type { TableRows } from "./manifest.js";

/** The tables whose rows reports to operators count. */
export const COUNTED = ["worlds", "rooms", "files", "chat_events", "questions", "polls"] as const;

/** The numbers of rows in a database. Of chat, the events that are over do not count. */
export type RowCounts = Record<(typeof COUNTED)[number], number>;

/** The numbers of rows in an empty database. */
export const NO_ROWS = Object.fromEntries(COUNTED.map((table) => [table, 0])) as RowCounts;

/** The numbers of rows in a backup. */
export const rowCountsOf = (tables: readonly TableRows[]): RowCounts =>
  Object.fromEntries(
    COUNTED.map((counted) => [counted, tables.find(({ name }) => name === counted)!.rows]),
  ) as RowCounts;
