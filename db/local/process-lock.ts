import Database from "better-sqlite3";

/**
 * Takes a lock that the operating system releases when this process exits, however
 * it exits: SQLite's lock of a file. A process id would tell less, because ids are
 * reused and mean something else in another container.
 * @param path a file that serves only as a lock; created if missing.
 * @returns a function that releases the lock; undefined if another process holds it.
 */
export function holdLock(path: string): (() => void) | undefined {
  const db = new Database(path, { timeout: 0 });
  try {
    // Nothing is ever written, so no journal file is needed.
    db.pragma("journal_mode = MEMORY");
    db.exec("BEGIN EXCLUSIVE");
    return () => db.close();
  } catch (error) {
    db.close();
    if ((error as { code?: string }).code === "SQLITE_BUSY") return undefined;
    throw error;
  }
}
