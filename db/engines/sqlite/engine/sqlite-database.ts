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

/** Default timeout for a writer that waits for another process's lock. */
export const LOCK_TIMEOUT_MS = 2000;

/** The size to which the write-ahead log is truncated after a checkpoint, in bytes. */
const LOG_KEPT = 64 * 1024 * 1024;

export const DATABASE = "foyer.db";

const fileOf = (dataDir: string) => join(dataDir, DATABASE);

export interface OpeningOptions {
  /**
   * Whether to first upgrade a database with an outdated schema version; true by default. If false,
   * an outdated database is rejected.
   */
  upgrade?: boolean;
  /** Receives a one-line message after an upgrade. */
  log?: (line: string) => void;
  /** How long each write waits for another process's lock, in milliseconds. */
  lockTimeout?: number;
}

/**
 * Opens the database for writing, creating or upgrading it if necessary.
 * @param dataDir the database's folder. If the folder is missing, it is created with access only
 * for its owner, because the database contains the keys of every world.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
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
      // Check the version before setting the journal mode, which writes to the file.
      const version = schemaVersionOf(db);
      if (version > 0) refuseOld(version);
      turnToWal(db);
      // A confirmed write survives not only a crash but also a power failure.
      db.pragma("synchronous = FULL");
      // Lets a log that grew during a long backup shrink again.
      db.pragma(`journal_size_limit = ${LOG_KEPT}`);
      db.pragma("foreign_keys = ON");
      // Overwrites deleted content, so that an erased name also disappears from the file.
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
 * Creates an in-memory database, shared by all stores that use the connection. Closing the
 * connection deletes the database.
 */
export function openInMemory(): Connection {
  const db = new Database(":memory:");
  db.pragma("foreign_keys = ON");
  migrate(db);
  return db;
}

/**
 * Upgrades a folder's database if its schema version is outdated.
 * @param log receives a one-line message after the upgrade.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export function upgradeIn(dataDir: string, log: (line: string) => void): void {
  refuseMissing(dataDir);
  explainOpening(dataDir, () => upgradeFile(fileOf(dataDir), log));
}

/**
 * Returns the schema version of a folder's database, and the latest version.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export function versionsIn(dataDir: string): SchemaVersions {
  refuseMissing(dataDir);
  return explainOpening(dataDir, () => ({
    present: versionIn(fileOf(dataDir)),
    latest: latestVersion(),
  }));
}

/** @throws {StoreError} if the database needs an upgrade. */
function refuseOld(version: number): void {
  if (version === latestVersion()) return;
  throw new StoreError(
    "unusable",
    `it has version ${version} instead of ${latestVersion()}; stop the server, and run foyer upgrade`,
  );
}

/**
 * Creates the empty file of a new database, readable only by its owner. The folder may be
 * accessible to everyone, and SQLite creates its log with the mode of the database file.
 *
 * Only SQLite may open an existing database. Closing any descriptor of a file drops all POSIX locks
 * that the process holds on the file, and other processes may then delete the log
 * (https://sqlite.org/howtocorrupt.html, section 2.2).
 */
function createForOwner(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * Rejects a folder that has lost its database. SQLite would start with an empty database, after
 * deleting the log, which may contain the latest writes.
 */
function refuseRemains(dataDir: string): void {
  // Look for remains before looking for the database: another process may be creating the database
  // right now, and creates it before any other file.
  const remains = remainsIn(dataDir);
  if (remains && fileSize(fileOf(dataDir)) === 0) {
    throw new StoreError("unusable", remains);
  }
}

/** Returns the error message about remains of a lost database, or undefined if there are no remains. */
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

/** Returns the size of a file in bytes, or 0 if the file does not exist. */
export const fileSize = (path: string): number =>
  statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/**
 * Opens an existing database for reading. Never waits for a lock, because in WAL mode, a lock
 * excludes readers only during recovery.
 */
export function openForReading(dataDir: string): Connection {
  return explainOpening(
    dataDir,
    () => new Database(fileOf(dataDir), { readonly: true, timeout: 0 }),
  );
}

/**
 * Enables WAL mode. On a new database, this needs an exclusive lock, which SQLite does not wait
 * for. Without retries, processes that open a new database simultaneously could fail.
 */
const turnToWal = (db: Connection): void =>
  retryWhileBusy(() => void db.pragma("journal_mode = WAL"), LOCK_TIMEOUT_MS, 10);

/**
 * Retries a function while another process holds a lock that the function needs. Blocks the thread.
 * @param timeout total time for the retries, in milliseconds.
 * @param pause delay between retries, in milliseconds.
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
 * Opens an existing database of this version to inspect or copy it. Changes no data, but SQLite
 * deletes the log if this is the last connection to close.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
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

/**
 * Returns the size of a database in bytes, including the write-ahead log, whose pages are not yet
 * in the main file.
 */
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
 * Checks whether a folder has a database, without opening or creating anything.
 * @throws {StoreError} `unusable`, with a one-line message for the operator, if the folder has lost
 * its database, the database is empty, or this user cannot access the folder.
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

/** @throws {StoreError} if {@link hasDatabase} throws or returns false. */
export function refuseMissing(dataDir: string): void {
  if (!hasDatabase(dataDir)) {
    throw new StoreError("unusable", `there is no database in ${dataDir}`);
  }
}

/**
 * Opens a database, and converts errors to messages for the operator.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
function explainOpening<T>(dataDir: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const { code = "", message } = error as Error & { code?: string };
    if (code === "EEXIST" || code === "ENOTDIR") {
      throw new StoreError("unusable", `DATA_DIR: ${dataDir} is not a folder`);
    }
    // For a missing native addon, the remaining lines only list the paths that were searched.
    const [first = ""] = message.split("\n", 1);
    const advice = first.startsWith("Could not locate the bindings file")
      ? " It was not built for this Node.js: npm rebuild better-sqlite3"
      : adviceOnCode(code);
    throw new StoreError("unusable", `cannot open the database in ${dataDir}: ${first}${advice}`);
  }
}

/** Returns advice for the operator about an error from SQLite or the operating system. */
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
    // The user has no name, for example in some containers.
    return `with the number ${process.getuid?.()}`;
  }
}

/** Converts an SQLite error to a {@link StoreError}. Returns undefined if the error is a bug in Foyer. */
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
