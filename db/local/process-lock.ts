import Database from "better-sqlite3";

/**
 * Holds a lock that dies with this process, however it dies: SQLite's lock of
 * a file, which the operating system takes back. A number of a process tells
 * less: it is given out again, and means another thing in another container.
 * @param path of a file that is only there to be locked; made if missing.
 * @returns a function that lets go; undefined if somebody holds it.
 */
export function holdLock(path: string): (() => void) | undefined {
  const db = new Database(path, { timeout: 0 });
  try {
    // Nothing is ever written, so nothing has to be rolled back.
    db.pragma("journal_mode = MEMORY");
    db.exec("BEGIN EXCLUSIVE");
    return () => db.close();
  } catch (error) {
    db.close();
    if ((error as { code?: string }).code === "SQLITE_BUSY") return undefined;
    throw error;
  }
}
