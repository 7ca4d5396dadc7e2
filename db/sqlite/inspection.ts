import Database from "better-sqlite3";
import { type FileDigest, StoreError } from "../store.js";
import {
  type Connection,
  openForInspection,
  storeErrorOf,
} from "./database.js";
import { rewriteTable, withoutForeignKeys } from "./scrub.js";
import { schemaVersionOf } from "./upgrade.js";

/** How many pages of a database are copied at once, between two reports. */
const PAGES = 2500;

/** What is counted of a database. */
export interface RowCounts {
  worlds: number;
  rooms: number;
  files: number;
}

/**
 * Copies the database of a folder to a new file, as it is at one moment, while
 * others go on writing to it.
 */
export async function copyDatabase(
  dataDir: string,
  target: string,
  report: (copied: number, total: number) => void,
): Promise<void> {
  const db = openForInspection(dataDir);
  try {
    // Without a transaction around it, the copy would begin again with every
    // write of another process, and never end on a busy server.
    db.exec("BEGIN");
    countRows(db);
    await db.backup(target, {
      progress({ totalPages, remainingPages }) {
        report(totalPages - remainingPages, totalPages);
        return PAGES;
      },
    });
  } catch (error) {
    throw storeErrorOf(error) ?? error;
  } finally {
    db.close();
  }
}

/**
 * Opens a database file that nobody else uses, and reads all of it.
 * @throws {StoreError} `unusable`, when it is damaged, not Foyer's, or of a newer one.
 */
export function openCopy(file: string): Connection {
  const db = new Database(file, { fileMustExist: true });
  try {
    schemaVersionOf(db);
    const [fault] = damageOf(db);
    if (fault !== undefined) {
      throw new StoreError(
        "unusable",
        `the database is damaged: ${fault}; restore an earlier backup`,
      );
    }
    db.pragma("query_only = ON");
    return db;
  } catch (error) {
    db.close();
    throw storeErrorOf(error) ?? error;
  }
}

export function countRows(db: Connection): RowCounts {
  return db
    .prepare<[], RowCounts>(
      `SELECT (SELECT count(*) FROM worlds) AS worlds, (SELECT count(*) FROM rooms) AS rooms,
         (SELECT count(*) FROM files) AS files`,
    )
    .get()!;
}

/** The files of all worlds. */
export function allFiles(db: Connection): FileDigest[] {
  return db
    .prepare<[], FileDigest>("SELECT key, size, sha256 FROM files ORDER BY key")
    .all();
}

/** The size of all files together, in bytes. */
export const totalSize = (files: readonly FileDigest[]): number =>
  files.reduce((sum, { size }) => sum + size, 0);

/** What became of a file that a copy names: its record may be gone, alone or with its world. */
export function whatBecameOf(
  db: Connection,
  key: string,
): "recorded" | "deleted" | "gone with its world" {
  const [, worldId] = key.split("/");
  const found = db
    .prepare<[string, string | undefined], { world: number; file: number }>(
      `SELECT EXISTS (SELECT 1 FROM files WHERE key = ?) AS file,
         EXISTS (SELECT 1 FROM worlds WHERE id = ?) AS world`,
    )
    .get(key, worldId)!;
  if (found.file) return "recorded";
  return found.world ? "deleted" : "gone with its world";
}

/** Takes the records of files out of a copy of a database, which nobody else uses. */
export function dropFiles(file: string, keys: Iterable<string>): void {
  const db = new Database(file, { fileMustExist: true });
  try {
    db.pragma("secure_delete = ON");
    const remove = db.prepare<[string], { world_id: string; size: number }>(
      "DELETE FROM files WHERE key = ? RETURNING world_id, size",
    );
    const takeBytes = db.prepare<[number, string]>(
      "UPDATE worlds SET file_bytes = file_bytes - ? WHERE id = ?",
    );
    const drop = db.transaction(() => {
      for (const key of keys) {
        const row = remove.get(key);
        if (row) takeBytes.run(row.size, row.world_id);
      }
      rewriteTable(db, "files");
    });
    withoutForeignKeys(db, drop);
  } finally {
    // With the last connection, SQLite takes away its log.
    db.close();
  }
}

/** What SQLite finds wrong with how a database is written down; of much, the beginning. */
export function damageOf(db: Connection): string[] {
  const rows = db.pragma("integrity_check(10)") as {
    integrity_check: string;
  }[];
  return rows
    .flatMap(({ integrity_check }) => integrity_check.split("\n"))
    .filter((line) => line !== "ok" && !line.startsWith("***"));
}

/** What is wrong with what a database says: rows that point nowhere, and counts that are none. */
export function contradictionsIn(db: Connection): string[] {
  const rows = <T>(sql: string) => db.prepare<[], T>(sql).all();
  return [
    ...(
      db.pragma("foreign_key_check") as { table: string; parent: string }[]
    ).map(
      ({ table, parent }) =>
        `a row of ${table} belongs to one of ${parent} that is not there`,
    ),
    ...rows<{ kind: string; id: string }>(
      `SELECT 'world' AS kind, id FROM worlds
         WHERE NOT (json_valid(config) AND json_valid(permission_config))
       UNION ALL SELECT 'room', id FROM rooms
         WHERE NOT (json_valid(module_config) AND json_valid(permission_config))`,
    ).map(({ kind, id }) => `the ${kind} ${id} cannot be read`),
    ...rows<{ world_id: string; rooms: number; counted: number }>(
      `SELECT world_id, rooms, (SELECT count(*) FROM rooms WHERE view_group = view_groups.id) AS counted
       FROM view_groups WHERE rooms != counted`,
    ).map(
      ({ world_id, rooms, counted }) =>
        `a view group of the world ${world_id} counts ${rooms} rooms, and has ${counted}`,
    ),
    ...rows<{ id: string; file_bytes: number; counted: number }>(
      `SELECT id, file_bytes,
         (SELECT coalesce(sum(size), 0) FROM files WHERE world_id = worlds.id) AS counted
       FROM worlds WHERE file_bytes != counted`,
    ).map(
      ({ id, file_bytes, counted }) =>
        `the world ${id} counts ${file_bytes} bytes of files, and has ${counted}`,
    ),
  ];
}
