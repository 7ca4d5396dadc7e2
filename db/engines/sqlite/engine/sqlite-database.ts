import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Database as Connection } from "better-sqlite3";
import type { SchemaVersions } from "../../../choice.js";
import { StoreError } from "../../../contract/store.js";
import { latestVersion } from "../../../schema/migrations.js";
import {
  migrate,
  schemaVersionOf,
  UPGRADE_TIMEOUT_MS,
  upgradeFile,
  versionIn,
} from "./sqlite-upgrade.js";

/** How long a writer waits for the lock of another process by default. */
export const LOCK_TIMEOUT_MS = 2000;

/** The size to which the write-ahead log is cut after a checkpoint, in bytes. */
const LOG_KEPT = 64 * 1024 * 1024;

export const DATABASE = "foyer.db";

const fileOf = (dataDir: string) => join(dataDir, DATABASE);

export interface OpeningOptions {
  /** Whether an older database is upgraded first; true by default. Otherwise it is refused. */
  upgrade?: boolean;
  /** Gets one line about an upgrade. */
  log?: (line: string) => void;
  /** How long each write waits for another process, in milliseconds. */
  lockTimeout?: number;
}

/**
 * Opens the database for writing, and creates or upgrades it first.
 * @param dataDir its folder. A missing one is created for its owner only, because
 *   the database has the keys of every world.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export function openForWriting(
  dataDir: string,
  { upgrade = true, log = () => {}, lockTimeout = LOCK_TIMEOUT_MS }: OpeningOptions = {},
): Connection {
  return explainOpening(dataDir, () => {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    refuseRemains(dataDir);
    const file = fileOf(dataDir);
    createForOwner(file);
    if (upgrade) upgradeFile(file, log);
    const db = new Database(file, { timeout: UPGRADE_TIMEOUT_MS });
    try {
      // This check comes first, because the mode of the journal is written to the file.
      const version = schemaVersionOf(db);
      if (version > 0) refuseOld(version);
      turnToWal(db);
      // An answered write survives a power cut, not only a crash.
      db.pragma("synchronous = FULL");
      // A log that grew during a long backup shrinks again.
      db.pragma(`journal_size_limit = ${LOG_KEPT}`);
      db.pragma("foreign_keys = ON");
      // Deleted content is overwritten, so that an erased name leaves the file too.
      db.pragma("secure_delete = ON");
      migrate(db);
      db.pragma(`busy_timeout = ${lockTimeout}`);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/**
 * Creates a database in memory. All stores that get the connection share it, and it ends with the
 * connection.
 */
export function openInMemory(): Connection {
  const db = new Database(":memory:");
  db.pragma("foreign_keys = ON");
  migrate(db);
  return db;
}

/**
 * Upgrades the database of a folder, if it is older.
 * @param log gets one line about it.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export function upgradeIn(dataDir: string, log: (line: string) => void): void {
  refuseMissing(dataDir);
  explainOpening(dataDir, () => upgradeFile(fileOf(dataDir), log));
}

/** @throws {StoreError} `unusable` with one line for the operator. */
export function versionsIn(dataDir: string): SchemaVersions {
  refuseMissing(dataDir);
  return explainOpening(dataDir, () => ({
    present: versionIn(fileOf(dataDir)),
    latest: latestVersion(),
  }));
}

/** @throws {StoreError} if a database has to be upgraded. */
function refuseOld(version: number): void {
  if (version === latestVersion()) return;
  throw new StoreError(
    "unusable",
    `it has version ${version} instead of ${latestVersion()}; stop the server, and run foyer upgrade`,
  );
}

/**
 * Creates the empty file of a new database, readable by its owner only. The folder
 * may be open to everybody, and SQLite gives its log the mode of the database.
 *
 * Nothing but SQLite may open a database that exists. Closing any descriptor of a
 * file drops all POSIX locks that the process holds on it, and other processes may
 * then delete the log (https://sqlite.org/howtocorrupt.html, section 2.2).
 */
function createForOwner(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * Refuses a folder that has lost its database. SQLite would start with an empty
 * one, and first delete the log, which may contain the latest writes.
 */
function refuseRemains(dataDir: string): void {
  // The remains are looked for first. Another process may be creating the database,
  // and creates the other files after it.
  const remains = remainsIn(dataDir);
  if (remains && fileSize(fileOf(dataDir)) === 0) {
    throw new StoreError("unusable", remains);
  }
}

/** The message about the remains of a lost database; undefined without any. */
function remainsIn(dataDir: string): string | undefined {
  if (existsSync(join(dataDir, "restore"))) {
    return "a restore into it has not finished; wait for it, or start it again";
  }
  if (fileSize(`${fileOf(dataDir)}-wal`) > 0) {
    return "foyer.db is missing, but its log exists; restore a backup";
  }
  if (existsSync(join(dataDir, "media", "pub"))) {
    return "foyer.db is missing, but uploaded files exist; restore a backup, or move media away to start over";
  }
  return undefined;
}

/** The size of a file in bytes; 0 where there is none. */
export const fileSize = (path: string): number =>
  statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/**
 * Opens an existing database for reading. It never waits for a lock: in WAL mode, a
 * lock excludes readers only while the database is being recovered.
 */
export function openForReading(dataDir: string): Connection {
  return explainOpening(
    dataDir,
    () => new Database(fileOf(dataDir), { readonly: true, timeout: 0 }),
  );
}

/**
 * Turns on WAL mode. That needs an exclusive lock on a new database, and SQLite does
 * not wait for it: of several processes that open it at once, some would fail.
 */
const turnToWal = (db: Connection): void =>
  retryWhileBusy(() => void db.pragma("journal_mode = WAL"), LOCK_TIMEOUT_MS, 10);

/**
 * Runs something again while another process holds a lock that it needs. It blocks the thread.
 * @param timeout how long, in milliseconds, with pauses of so many milliseconds.
 */
export function retryWhileBusy(run: () => void, timeout: number, pause: number): void {
  const deadline = performance.now() + timeout;
  for (;;) {
    try {
      return run();
    } catch (error) {
      if (storeErrorOf(error)?.problem !== "busy" || performance.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause);
    }
  }
}

/**
 * Opens an existing database of this version to inspect or copy it. It changes no
 * data, but the last connection that closes deletes the log.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export function openForInspection(dataDir: string): Connection {
  refuseMissing(dataDir);
  return explainOpening(dataDir, () => {
    const db = new Database(fileOf(dataDir), { timeout: LOCK_TIMEOUT_MS });
    try {
      const version = schemaVersionOf(db);
      if (version === 0) throw new StoreError("unusable", "it is empty");
      refuseOld(version);
      db.pragma("query_only = ON");
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** The size of a database on its disk. The write-ahead log holds the pages that are not yet in the file. */
export const bytesOf = (db: Connection): number =>
  db.memory
    ? (db
        .prepare<[], number>(
          "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        )
        .pluck()
        .get() ?? 0)
    : [db.name, `${db.name}-wal`].reduce((sum, path) => sum + fileSize(path), 0);

/**
 * Whether a folder has a database. It opens and creates nothing.
 * @throws {StoreError} `unusable` with one line for the operator, if the folder has
 *   lost its database, has an empty one, or is not accessible to this user.
 */
export function hasDatabase(dataDir: string): boolean {
  return explainOpening(dataDir, () => {
    const stats = statSync(fileOf(dataDir), { throwIfNoEntry: false });
    if (stats && stats.size > 0) return true;
    refuseRemains(dataDir);
    if (stats) throw new StoreError("unusable", "it is empty");
    return false;
  });
}

/** @throws {StoreError} like {@link hasDatabase}, and if there is none. */
export function refuseMissing(dataDir: string): void {
  if (!hasDatabase(dataDir)) {
    throw new StoreError("unusable", `there is no database in ${dataDir}`);
  }
}

/**
 * Opens something, and explains errors.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
function explainOpening<T>(dataDir: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const { code = "", message } = error as Error & { code?: string };
    if (code === "EEXIST" || code === "ENOTDIR") {
      throw new StoreError("unusable", `DATA_DIR: ${dataDir} is not a folder`);
    }
    // The other lines of a missing native addon say where it was searched.
    const [first = ""] = message.split("\n", 1);
    const advice = first.startsWith("Could not locate the bindings file")
      ? " It was not built for this Node.js: npm rebuild better-sqlite3"
      : adviceOnCode(code);
    throw new StoreError("unusable", `cannot open the database in ${dataDir}: ${first}${advice}`);
  }
}

/** The advice to an operator about an error of SQLite or of the system. */
function adviceOnCode(code: string): string {
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
    // The user has no name, as in some containers.
    return `with the number ${process.getuid?.()}`;
  }
}

/** The {@link StoreError} for an error of SQLite; undefined if the error is a bug of Foyer. */
export function storeErrorOf(error: unknown): StoreError | undefined {
  if (error instanceof StoreError) return error;
  if (!(error instanceof Database.SqliteError)) return undefined;
  const { code, message } = error;
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return new StoreError("busy", message);
  if (code === "SQLITE_FULL") return new StoreError("full", message);
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB|CANTOPEN|READONLY|PERM)/.test(code)) {
    return new StoreError("unusable", message + adviceOnCode(code));
  }
  return undefined;
}
