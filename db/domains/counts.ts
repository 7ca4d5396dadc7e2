import type { Counts } from "../contract/store.js";
import { ageOf } from "../erasure/erasures.js";
import { IS_KNOWN } from "../rules/rows.js";
import type { Sql } from "./sql.js";

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
