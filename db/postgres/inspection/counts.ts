import type { Counts } from "../../contract/store.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { Database } from "../engine/database.js";

/**
 * How much the database holds.
 * @param erasureAge how long something erased has been there, in seconds.
 */
export const counts = async (
  db: Database,
  erasureAge: number,
): Promise<Counts> => ({
  erasureAge,
  ...(await db.sql.one<Omit<Counts, "erasureAge">>(
    `SELECT (SELECT count(*) FROM worlds) AS worlds,
       (SELECT coalesce(sum(rooms), 0) FROM view_groups) AS rooms,
       (SELECT count(*) FROM users WHERE ${IS_KNOWN}) AS users,
       (SELECT coalesce(sum(file_bytes), 0) FROM worlds) AS "fileBytes",
       pg_database_size(current_database()) AS "databaseBytes"`,
  ))!,
});
