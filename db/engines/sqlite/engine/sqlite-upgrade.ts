import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import type { Database as Connection } from "better-sqlite3";
import { StoreError } from "../../../contract/store.js";
import { baseline, beginIndex } from "../../../schema/baseline.js";
import {
  BASELINE,
  forSqlite,
  latestVersion,
  migrations,
  tooOld,
} from "../../../schema/migrations.js";

/** The SQLite application_id of a Foyer database: ASCII for "Foyr". */
const APPLICATION_ID = 0x466f7972;

/**
 * Returns the schema version of a database, or 0 if it is empty.
 * @throws {StoreError} `unusable` if the database does not belong to Foyer, belongs to a newer
 * version, or was created by a build before release 0.1.0.
 */
export function schemaVersionOf(db: Connection): number {
  // Read the values in one transaction, because another process may be creating the database.
  const { owner, version, tables } = db.transaction(() => ({
    owner: db.pragma("application_id", { simple: true }),
    version: db.pragma("user_version", { simple: true }) as number,
    tables: db.prepare("SELECT count(*) FROM sqlite_schema").pluck().get(),
  }))();
  if (owner !== APPLICATION_ID && tables !== 0) {
    throw new StoreError("unusable", "it is not a Foyer database");
  }
  if (version > latestVersion()) {
    throw new StoreError(
      "unusable",
      `it has version ${version}, and this Foyer knows versions up to ${latestVersion()}; use a newer Foyer`,
    );
  }
  if (version > 0 && version < BASELINE) throw new StoreError("unusable", tooOld(version));
  return version;
}

/**
 * Upgrades an outdated database to the latest version, or leaves it unchanged on failure. The
 * database is first copied to a file next to it. No other process may have the database open,
 * because a server that runs the old version would keep writing to it.
 * @param log receives a one-line message after the upgrade.
 * @throws {StoreError} `unusable` if the upgrade fails, or if another process has the database
 * open.
 */
export function upgradeFile(file: string, log: (line: string) => void): void {
  const deadline = performance.now() + CLOSE_WAIT_MS;
  for (;;) {
    const version = versionIn(file);
    nameCopies(file, version, log);
    if (version === 0 || version === latestVersion()) return;
    const db = openAlone(file);
    if (db === undefined) {
      if (performance.now() < deadline) {
        pause();
        continue;
      }
      throw new StoreError(
        "unusable",
        `another process has its version ${version} open; stop all servers first, so that this Foyer can upgrade it`,
      );
    }
    const part = partOf(file, version);
    try {
      putAside(db, part);
      migrate(db);
    } catch (error) {
      rmSync(part, { force: true });
      throw error;
    } finally {
      db.close();
    }
  }
}

/** How long an upgrade waits for commands to close the database. */
const CLOSE_WAIT_MS = 3000;

/** How long to wait for another process to finish an upgrade. */
export const UPGRADE_TIMEOUT_MS = 10 * 60 * 1000;

/** Waits for a random time, because two processes may be waiting for each other. */
const pause = () =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20 + 50 * Math.random());

/** Returns the version of a database file, after waiting for any upgrade in progress. */
export function versionIn(file: string): number {
  const db = new Database(file, { timeout: UPGRADE_TIMEOUT_MS });
  try {
    return schemaVersionOf(db);
  } finally {
    db.close();
  }
}

/**
 * Opens a database exclusively. In WAL mode, every open connection, in every version of Foyer,
 * holds a shared lock on the file; this connection holds an exclusive lock.
 * @returns undefined if there is another connection.
 */
function openAlone(file: string): Connection | undefined {
  const db = new Database(file, { timeout: 0 });
  try {
    db.pragma("main.locking_mode = EXCLUSIVE");
    db.exec("BEGIN EXCLUSIVE; COMMIT");
    db.pragma("synchronous = FULL");
    db.pragma("foreign_keys = ON");
    db.pragma("secure_delete = ON");
    return db;
  } catch (error) {
    db.close();
    const { code = "" } = error as { code?: string };
    if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return undefined;
    throw error;
  }
}

/**
 * Creates or upgrades the tables of a database atomically.
 * @throws {StoreError} `unusable` if the upgrade fails.
 */
export function migrate(db: Connection): void {
  const latest = latestVersion();
  if (schemaVersionOf(db) === latest) return;
  // If two processes create the tables simultaneously, the second process finds nothing to do.
  const run = db.transaction(() => {
    const version = schemaVersionOf(db);
    if (version === latest) return;
    if (version === 0) db.exec(forSqlite(baseline) + beginIndex());
    const applied = Math.max(0, version - BASELINE);
    for (const migration of migrations.slice(applied)) db.exec(forSqlite(migration));
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${latest}`);
  });
  try {
    run.immediate();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(
      "unusable",
      `the upgrade to version ${latestVersion()} failed, and changed nothing: ${(error as Error).message}`,
    );
  }
}

/** Returns the path of the file to which an upgrade copies the old version. */
const partOf = (file: string, version: number) => `${file}.v${version}.part`;

/**
 * Gives the copy of the old database its final name after the upgrade. Until then, each new attempt
 * overwrites the copy, so that a server that is killed repeatedly does not fill the disk. Also runs
 * at the next start, in case this process is killed first.
 */
function nameCopies(file: string, present: number, log: (line: string) => void): void {
  for (let version = BASELINE; version < present; version++) {
    const part = partOf(file, version);
    if (!existsSync(part)) continue;
    const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
    const copy = `${file}.v${version}-${time}`;
    try {
      renameSync(part, copy);
    } catch (error) {
      // Another process has just renamed the copy.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") continue;
      throw error;
    }
    log(
      `The database was upgraded from version ${version} to ${present}. A copy of the old version is kept in ${copy}.`,
    );
  }
}

/** Copies a database to a file readable only by its owner. The copy is durable before the upgrade begins. */
function putAside(db: Connection, part: string): void {
  try {
    rmSync(part, { force: true });
    closeSync(openSync(part, "wx", 0o600));
    db.prepare("VACUUM INTO ?").run(part);
    sync(part, "r+");
    // Windows cannot sync a folder and does not need to.
    if (process.platform !== "win32") sync(dirname(part), "r");
  } catch (error) {
    throw new StoreError(
      "unusable",
      `the upgrade to version ${latestVersion()} failed, and changed nothing: cannot copy the old version: ${(error as Error).message}`,
    );
  }
}

function sync(path: string, flags: string): void {
  const opened = openSync(path, flags);
  fsyncSync(opened);
  closeSync(opened);
}
