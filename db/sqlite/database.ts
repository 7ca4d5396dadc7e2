import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { StoreError } from "../store.js";
import { LATEST, upgrade, versionOf } from "./upgrade.js";

export type Connection = Database.Database;

/** How long a writer waits for the lock of another process, in milliseconds, unless it is told. */
export const LOCK_TIMEOUT = 2000;

/** How long it waits at the start: another process may be upgrading a large database. */
const UPGRADE_TIMEOUT = 10 * 60 * 1000;

/** How much of the write-ahead log is kept for the next writes, in bytes. */
const LOG_KEPT = 64 * 1024 * 1024;

const fileOf = (dataDir: string) => join(dataDir, "foyer.db");

/**
 * Opens the database for writing, and makes it or brings it up to date first.
 * @param dataDir the folder it lies in; made if missing, for its owner only,
 *   as the database holds the keys of every world.
 * @param tell is told in one line of an upgrade that was made.
 * @param lockTimeout how long each write waits for another process, in milliseconds.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export function openForWriting(
  dataDir: string,
  tell: (line: string) => void = () => {},
  lockTimeout = LOCK_TIMEOUT,
): Connection {
  return explained(dataDir, () => {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    refuseRemains(dataDir);
    const file = fileOf(dataDir);
    createForOwner(file);
    const db = new Database(file, { timeout: UPGRADE_TIMEOUT });
    try {
      // First of all, as the mode of the journal is written to the file.
      db.transaction(versionOf)(db);
      turnToWal(db);
      // An answered write survives a power cut, not only a crash.
      db.pragma("synchronous = FULL");
      // A log that grew behind a long backup gives its room back.
      db.pragma(`journal_size_limit = ${LOG_KEPT}`);
      db.pragma("foreign_keys = ON");
      // What is deleted is overwritten: an erased name is gone from the file too.
      db.pragma("secure_delete = ON");
      upgrade(db, tell);
      db.pragma(`busy_timeout = ${lockTimeout}`);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/**
 * Creates the file that SQLite will fill, readable by its owner only: the folder
 * may be open to everybody, and SQLite gives its log the mode of the database.
 * Nothing but SQLite may ever open a database that exists. Closing any descriptor
 * of a file drops all POSIX locks that the process holds on it, after which other
 * processes may delete the log (https://sqlite.org/howtocorrupt.html, section 2.2).
 */
function createForOwner(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * Without a database, or with an empty one, SQLite would begin anew, and first
 * of all delete the log that may hold what was written last.
 */
function refuseRemains(dataDir: string): void {
  // In this order: another process may be making the database, and then these.
  const remains = remainsIn(dataDir);
  if (remains && sizeOf(fileOf(dataDir)) === 0) {
    throw new StoreError("unusable", remains);
  }
}

/** What says that there was a database. */
function remainsIn(dataDir: string): string | undefined {
  if (existsSync(join(dataDir, "restore"))) {
    return "a restore into it has not ended; wait for it, or start it again";
  }
  if (sizeOf(`${fileOf(dataDir)}-wal`) > 0) {
    return "foyer.db is gone, and its log is there; restore a backup";
  }
  if (existsSync(join(dataDir, "media", "pub"))) {
    return "foyer.db is gone, and uploaded files are there; restore a backup, or move media away to begin anew";
  }
  return undefined;
}

const sizeOf = (path: string) =>
  statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/**
 * Opens an existing database for reading. It never waits for a lock: in WAL
 * mode a reader meets one only while the database is being repaired.
 */
export function openForReading(dataDir: string): Connection {
  return explained(
    dataDir,
    () => new Database(fileOf(dataDir), { readonly: true, timeout: 0 }),
  );
}

/**
 * A new database must be held alone to become WAL, and SQLite does not wait
 * for that by itself: of processes that open it at once, some would fail.
 */
function turnToWal(db: Connection): void {
  const deadline = performance.now() + LOCK_TIMEOUT;
  for (;;) {
    try {
      db.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if (
        storeErrorOf(error)?.problem !== "busy" ||
        performance.now() > deadline
      ) {
        throw error;
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/**
 * Opens an existing database of this version to look at it or to copy it. It
 * changes nothing, but may be the last to close, and then tidies up the log.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export function openForInspection(dataDir: string): Connection {
  refuseMissing(dataDir);
  return explained(dataDir, () => {
    const db = new Database(fileOf(dataDir), { timeout: LOCK_TIMEOUT });
    try {
      const version = versionOf(db);
      if (version === LATEST) {
        db.pragma("query_only = ON");
        return db;
      }
      if (version === 0) throw new StoreError("unusable", "it is empty");
      throw new StoreError(
        "unusable",
        `it has version ${version}, and not yet ${LATEST}; foyer serve upgrades it`,
      );
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/**
 * Tells whether a folder has a database, without opening or making anything.
 * @throws {StoreError} `unusable` with one line for the operator, when it had
 *   one, has an empty one, or is closed to this user.
 */
export function hasDatabase(dataDir: string): boolean {
  return explained(dataDir, () => {
    const stats = statSync(fileOf(dataDir), { throwIfNoEntry: false });
    if (stats && stats.size > 0) return true;
    refuseRemains(dataDir);
    if (stats) throw new StoreError("unusable", "it is empty");
    return false;
  });
}

/** @throws {StoreError} like {@link hasDatabase}, and where there is none. */
export function refuseMissing(dataDir: string): void {
  if (!hasDatabase(dataDir)) {
    throw new StoreError("unusable", `there is no database in ${dataDir}`);
  }
}

function explained<T>(dataDir: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const { code = "", message } = error as Error & { code?: string };
    // Of a native part that is missing, the rest is where it was looked for.
    const [first = ""] = message.split("\n", 1);
    const advice = first.startsWith("Could not locate the bindings file")
      ? " It was not built for this Node.js: npm rebuild better-sqlite3"
      : adviceOn(code);
    throw new StoreError(
      "unusable",
      `cannot open the database in ${dataDir}: ${first}${advice}`,
    );
  }
}

/** What an operator can do about an error of SQLite or of the system. */
function adviceOn(code: string): string {
  if (/^(EACCES|EPERM|EROFS|SQLITE_(CANTOPEN|READONLY|PERM))/.test(code)) {
    return `; the user ${userName()} must be able to read and write there`;
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) {
    return "; the file is damaged, so stop the server and restore a backup";
  }
  if (/^(ENOSPC|EDQUOT|SQLITE_FULL)/.test(code)) {
    return "; make room on the disk";
  }
  return "";
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // One without a name, as in a container.
    return `with the number ${process.getuid?.()}`;
  }
}

/** The store's word for what SQLite reports; undefined if it is a fault of our own. */
export function storeErrorOf(error: unknown): StoreError | undefined {
  if (error instanceof StoreError) return error;
  if (!(error instanceof Database.SqliteError)) return undefined;
  const { code, message } = error;
  if (/^SQLITE_(BUSY|LOCKED)/.test(code))
    return new StoreError("busy", message);
  if (code === "SQLITE_FULL") return new StoreError("full", message);
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB|CANTOPEN|READONLY|PERM)/.test(code)) {
    return new StoreError("unusable", message + adviceOn(code));
  }
  return undefined;
}
