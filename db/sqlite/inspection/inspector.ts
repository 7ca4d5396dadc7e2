import type { Inspector } from "../../maintenance/inspector.js";
import type { FileDigest } from "../../contract/store.js";
import { openForInspection, storeErrorOf } from "../engine/database.js";
import { contradictionsIn, countRows, damageOf } from "./inspection.js";

/** How many records are read at a time. */
const PAGE = 1000;

/**
 * Opens the database of a folder for a check.
 * @throws {StoreError} `unusable` if there is none that can be checked.
 */
export function sqliteInspector(dataDir: string): Inspector {
  const db = openForInspection(dataDir);
  const read = async <T>(what: () => T): Promise<T> => {
    try {
      return what();
    } catch (error) {
      throw storeErrorOf(error) ?? error;
    }
  };
  return {
    damage: () => read(() => damageOf(db)),
    // One transaction, so that counts are compared with the rows of the same moment.
    contradictions: () => read(() => db.transaction(contradictionsIn)(db)),
    counts: () => read(() => countRows(db)),
    bytes: () =>
      read(() =>
        db
          .prepare<[], number>("SELECT coalesce(sum(size), 0) FROM files")
          .pluck()
          .get()!,
      ),
    records: (after) =>
      read(() =>
        db
          .prepare<[string], FileDigest>(
            `SELECT key, size, sha256 FROM files WHERE key > ? ORDER BY key LIMIT ${PAGE}`,
          )
          .all(after),
      ),
    has: (key) =>
      read(
        () =>
          db.prepare("SELECT 1 FROM files WHERE key = ?").get(key) !==
          undefined,
      ),
    close: async () => void db.close(),
  };
}
