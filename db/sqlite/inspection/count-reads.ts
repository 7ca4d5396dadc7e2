import type { Counts } from "../../contract/store.js";
import { fileSize } from "../engine/database.js";
import type { Connection } from "../engine/connection.js";

/**
 * Counts the records of the store. Writes keep the sums of rooms and bytes up to
 * date, and users are counted in their indexes, so no count reads the rows of a
 * table that grows.
 * @param erasureAge how long something erased has been in the files, in seconds.
 */
export function countReads(
  db: Connection,
  erasureAge: () => number,
): () => Counts {
  const select = db.prepare<[], Omit<Counts, "databaseBytes" | "erasureAge">>(
    `SELECT
       (SELECT count(*) FROM worlds) AS worlds,
       (SELECT coalesce(sum(rooms), 0) FROM view_groups) AS rooms,
       (SELECT count(*) FROM users WHERE token_id IS NOT NULL) +
       (SELECT count(*) FROM users WHERE client_id IS NOT NULL) AS users,
       (SELECT coalesce(sum(file_bytes), 0) FROM worlds) AS fileBytes`,
  );
  // The write-ahead log holds the pages that are not yet in the database file.
  const files = [db.name, `${db.name}-wal`];
  return () => ({
    ...select.get()!,
    erasureAge: erasureAge(),
    databaseBytes: files.reduce((sum, path) => sum + fileSize(path), 0),
  });
}
