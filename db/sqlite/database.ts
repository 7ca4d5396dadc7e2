import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { StoreError } from "../store.js";
import { migrations } from "./migrations/index.js";

export type Connection = Database.Database;

/** Marks the file as Foyer's (SQLite's application_id): "Foyr". */
const APPLICATION_ID = 0x466f7972;

/** How long a writer waits for the lock of another process, in milliseconds. */
const LOCK_TIMEOUT = 2000;

const fileOf = (dataDir: string) => join(dataDir, "foyer.db");

/**
 * Opens the database for writing, and makes it or brings it up to date first.
 * @param dataDir the folder it lies in; made if missing, for its owner only,
 *   as the database holds the keys of every world.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export function openForWriting(dataDir: string): Connection {
  return explained(dataDir, () => {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const db = new Database(fileOf(dataDir), { timeout: LOCK_TIMEOUT });
    try {
      // First of all, as the mode of the journal is written to the file.
      db.transaction(checkOurs)(db);
      turnToWal(db);
      // An answered write survives a power cut, not only a crash.
      db.pragma("synchronous = FULL");
      db.pragma("foreign_keys = ON");
      // What is deleted is overwritten: an erased name is gone from the file too.
      db.pragma("secure_delete = ON");
      db.transaction(migrate).immediate(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

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
  const deadline = Date.now() + LOCK_TIMEOUT;
  for (;;) {
    try {
      db.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if (storeErrorOf(error)?.problem !== "busy" || Date.now() > deadline) {
        throw error;
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/**
 * Nothing is done to a database that this version cannot serve.
 * @returns its version.
 */
function checkOurs(db: Connection): number {
  const owner = db.pragma("application_id", { simple: true });
  const version = db.pragma("user_version", { simple: true }) as number;
  const tables = db.prepare("SELECT count(*) FROM sqlite_schema").pluck().get();
  if (owner !== APPLICATION_ID && tables !== 0) {
    throw new StoreError("unusable", "it is not a database of Foyer");
  }
  if (version > migrations.length) {
    throw new StoreError(
      "unusable",
      `it has version ${version}, and this Foyer knows versions up to ${migrations.length}; use a newer Foyer`,
    );
  }
  return version;
}

function migrate(db: Connection): void {
  const version = checkOurs(db);
  if (version === migrations.length) return;
  for (const migration of migrations.slice(version)) db.exec(migration);
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma(`user_version = ${migrations.length}`);
}

function explained<T>(dataDir: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw new StoreError(
      "unusable",
      `cannot open the database in ${dataDir}: ${(error as Error).message}`,
    );
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
    return new StoreError("unusable", message);
  }
  return undefined;
}
