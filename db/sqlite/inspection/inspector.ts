import type { Inspector } from "../../maintenance/inspector.js";
import type { FileDigest } from "../../contract/store.js";
import { openForInspection, storeErrorOf } from "../engine/database.js";
import { marksIn } from "../erasure/erasure-marks.js";
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
    overdue: async () => overdueMarks(dataDir),
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

/** After how long erased bytes in the write-ahead log are a finding, in milliseconds. */
const LOG_OVERDUE_MS = 60_000;

/** The same for those in a table, which is rewritten while nothing is written. */
const TABLE_OVERDUE_MS = 24 * 3_600_000;

/** The erasures that should be over by now. A server finishes those that a killed process has left. */
function overdueMarks(dataDir: string): string[] {
  const now = Date.now();
  const overdue = marksIn(dataDir).filter(
    ({ tables, since }) =>
      now - since > (tables.length === 0 ? LOG_OVERDUE_MS : TABLE_OVERDUE_MS),
  );
  if (overdue.length === 0) return [];
  const oldest = Math.min(...overdue.map(({ since }) => since));
  return [
    `still holds data that was erased at ${new Date(oldest).toISOString()}; a running server removes it, unless its log says why it cannot`,
  ];
}
