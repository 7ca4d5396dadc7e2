import { statSync } from "node:fs";
import type { Counts } from "../store.js";
import type { Connection } from "./database.js";

/**
 * Reads how much there is. Rooms and bytes are sums that writes keep up to
 * date, and users are counted in their indexes: nothing reads a row of a table
 * that grows.
 */
export function countReads(db: Connection): () => Counts {
  const select = db.prepare<[], Omit<Counts, "databaseBytes">>(
    `SELECT
       (SELECT count(*) FROM worlds) AS worlds,
       (SELECT coalesce(sum(rooms), 0) FROM view_groups) AS rooms,
       (SELECT count(*) FROM users WHERE token_id IS NOT NULL) +
       (SELECT count(*) FROM users WHERE client_id IS NOT NULL) AS users,
       (SELECT coalesce(sum(file_bytes), 0) FROM worlds) AS fileBytes`,
  );
  // What was written and is not yet in the database proper is in its log.
  const files = [db.name, `${db.name}-wal`];
  return () => ({
    ...select.get()!,
    databaseBytes: files.reduce((sum, path) => sum + sizeOf(path), 0),
  });
}

const sizeOf = (path: string) =>
  statSync(path, { throwIfNoEntry: false })?.size ?? 0;
