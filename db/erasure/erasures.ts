import type { Counts } from "../contract/store.js";
import type { Sql } from "../domains/sql.js";
import { abandonedSince } from "../domains/worlds/removal.js";
import { IS_KNOWN } from "../rules/rows.js";

// Writes keep the sums of rooms and bytes up to date, and users are counted in an index. So no
// count reads the rows of a table that grows.
const COUNTS = `SELECT (SELECT count(*) FROM worlds) AS worlds,
  (SELECT coalesce(sum(rooms), 0) FROM view_groups) AS rooms,
  (SELECT count(*) FROM users WHERE ${IS_KNOWN}) AS users,
  (SELECT coalesce(sum(file_bytes), 0) FROM worlds) AS "fileBytes",
  (SELECT min(at) FROM erasures) AS oldest`;

/** How much a store holds. @param databaseBytes the size of its files. */
export async function countsIn(
  sql: Sql,
  databaseBytes: () => number | Promise<number>,
): Promise<Counts> {
  const { oldest, ...counts } = (await sql.one<
    Omit<Counts, "erasureAge" | "databaseBytes"> & { oldest: number | null }
  >(COUNTS))!;
  return { ...counts, databaseBytes: await databaseBytes(), erasureAge: ageOf(oldest) };
}

// A write that erases data adds a row to the table `erasures` for each table whose pages may still
// hold the bytes. The job that removes the bytes deletes these rows. So the job of another process
// continues after a kill, and every process can tell the age of the oldest pending erasure.

/** The subject that stands for the write-ahead log of SQLite. */
export const WAL = "wal";

/** After how long bytes in the write-ahead log are overdue, in milliseconds. */
const WAL_OVERDUE_MS = 60_000;

/** The same for those in a table. */
export const TABLE_OVERDUE_MS = 24 * 3_600_000;

/**
 * When the first of what is left was erased, in milliseconds since 1970; undefined if nothing is
 * left. The events of deleted channels, and the rows of worlds that a process has abandoned, are not
 * even erased yet.
 */
export async function oldestErasure(sql: Sql): Promise<number | undefined> {
  const found = await sql.value<number | null>(
    `SELECT coalesce((SELECT min(at) FROM erasures),
       (SELECT CAST($1 AS BIGINT) FROM chat_remains LIMIT 1)) AS at`,
    [Date.now()],
  );
  return found ?? abandonedSince(sql);
}

/** The seconds since a time, in milliseconds since 1970; 0 if there is none. */
const ageOf = (oldest: number | null | undefined): number =>
  typeof oldest === "number" ? Math.max(0, (Date.now() - oldest) / 1000) : 0;

/** What `foyer check` says of erasures that should be over by now. A server finishes what a killed process has left. */
export async function overdueErasures(sql: Sql): Promise<string[]> {
  const now = Date.now();
  const oldest = await sql.value<number | null>(
    `SELECT min(at) AS at FROM erasures
     WHERE at < CASE subject WHEN '${WAL}' THEN CAST($1 AS BIGINT) ELSE CAST($2 AS BIGINT) END`,
    [now - WAL_OVERDUE_MS, now - TABLE_OVERDUE_MS],
  );
  const since = oldest ?? (await abandonedSince(sql));
  if (since === undefined || now - since < WAL_OVERDUE_MS) return [];
  return [
    `still holds data that was erased at ${new Date(since).toISOString()}; a running server removes it, unless its log says why it cannot, and foyer maintain removes it at once`,
  ];
}
