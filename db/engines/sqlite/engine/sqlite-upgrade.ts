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

/** SQLite's application_id of a Foyer database: "Foyr". */
const APPLICATION_ID = 0x466f7972;

/**
 * The version of the schema of a database; 0 if it is empty.
 * @throws {StoreError} `unusable` when it is not Foyer's, of a newer Foyer, or of a build
 *   before release 0.1.0.
 */
export function schemaVersionOf(db: Connection): number {
  // In one transaction, as another process may be creating the database.
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
 * Upgrades an older database to the latest version, or leaves it as it was. First it
 * is copied to a file beside it. No other process may have it open meanwhile, as a
 * server of an older Foyer would go on to write to it.
 * @param log gets one line about the upgrade.
 * @throws {StoreError} `unusable` if it fails, or if another process has it open.
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

/** How long an upgrade waits for commands that have the database open. */
const CLOSE_WAIT_MS = 3000;

/** How long another process may take to upgrade. */
export const UPGRADE_TIMEOUT_MS = 10 * 60 * 1000;

/** Waits, but not always for the same time, as two may wait for each other. */
const pause = () =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20 + 50 * Math.random());

/** The version of a database file, once no process upgrades it. */
export function versionIn(file: string): number {
  const db = new Database(file, { timeout: UPGRADE_TIMEOUT_MS });
  try {
    return schemaVersionOf(db);
  } finally {
    db.close();
  }
}

/**
 * Opens a database that no other process has open. In WAL mode, each connection holds
 * a lock of the file that all share, for as long as it is open, in every version of
 * Foyer; this one holds it alone.
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
 * Creates or upgrades the tables of a database, wholly or not at all.
 * @throws {StoreError} `unusable` if that fails.
 */
export function migrate(db: Connection): void {
  const latest = latestVersion();
  if (schemaVersionOf(db) === latest) return;
  // Of two processes that create one, the other then finds nothing to do.
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

/** The file that a version is copied to while it is upgraded. */
const partOf = (file: string, version: number) => `${file}.v${version}.part`;

/**
 * Gives the copy of an old version its final name after the upgrade. Until then
 * the next attempt overwrites it, so a server that is killed again and again does
 * not fill the disk. Runs also at the next start, in case this one was killed.
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
      // Another process has just renamed it.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") continue;
      throw error;
    }
    log(
      `The database was upgraded from version ${version} to ${present}. A copy of the old version is kept in ${copy}.`,
    );
  }
}

/** Copies a database to a file for its owner only, which is durable before the upgrade is. */
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
