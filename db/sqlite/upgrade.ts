import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { StoreError } from "../store.js";
import type { Connection } from "./database.js";
import { migrations } from "./migrations/index.js";
import { foldedNameOf } from "../rows.js";

/** SQLite's application_id of a Foyer database: "Foyr". */
const APPLICATION_ID = 0x466f7972;

/** The version of the schema that this Foyer uses. */
export const LATEST = migrations.length;

/**
 * The version of the schema of a database; 0 if it is empty.
 * @throws {StoreError} `unusable` when it is not Foyer's, or of a newer Foyer.
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
  if (version > LATEST) {
    throw new StoreError(
      "unusable",
      `it has version ${version}, and this Foyer knows versions up to ${LATEST}; use a newer Foyer`,
    );
  }
  return version;
}

/** Adds the functions that migrations call. */
export function addFunctions(db: Connection): void {
  db.function("folded_display_name", { deterministic: true }, (profile) =>
    foldedNameOf(JSON.parse(profile as string) as Record<string, unknown>),
  );
}

/**
 * Upgrades an empty or older database to the latest version, or leaves it as it
 * was. An older one is first copied to a file beside it.
 * @param log gets one line about the upgrade of an older one.
 */
export function upgrade(db: Connection, log: (line: string) => void): void {
  nameCopies(db, log);
  if (schemaVersionOf(db) === LATEST) return;
  addFunctions(db);
  let part: string | undefined;
  // The transaction holds the write lock from the copy to the end. Of two processes,
  // one upgrades, and the other then finds nothing to do.
  const run = db.transaction(() => {
    const version = schemaVersionOf(db);
    if (version === LATEST) return;
    if (version > 0) putAside(db.name, (part = partOf(db.name, version)));
    for (const migration of migrations.slice(version)) db.exec(migration);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${LATEST}`);
  });
  try {
    run.immediate();
  } catch (error) {
    if (part !== undefined) rmSync(part, { force: true });
    if (error instanceof StoreError) throw error;
    throw new StoreError(
      "unusable",
      `the upgrade to version ${LATEST} failed, and changed nothing: ${(error as Error).message}`,
    );
  }
  nameCopies(db, log);
}

/** The file that a version is copied to while it is upgraded. */
const partOf = (file: string, version: number) => `${file}.v${version}.part`;

/**
 * Gives the copy of an old version its final name after the upgrade. Until then
 * the next attempt overwrites it, so a server that is killed again and again does
 * not fill the disk. Runs also at the next start, in case this one was killed.
 */
function nameCopies(db: Connection, log: (line: string) => void): void {
  for (let version = 1; version < LATEST; version++) {
    const part = partOf(db.name, version);
    if (!existsSync(part) || schemaVersionOf(db) <= version) continue;
    const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
    const copy = `${db.name}.v${version}-${time}`;
    try {
      renameSync(part, copy);
    } catch (error) {
      // Another process has just renamed it.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") continue;
      throw error;
    }
    log(
      `The database was upgraded from version ${version} to ${LATEST}. A copy of the old version is kept in ${copy}.`,
    );
  }
}

/** Copies the committed state, on a connection of its own, to a file that is durable before the upgrade is. */
function putAside(file: string, part: string): void {
  rmSync(part, { force: true });
  const db = new Database(file, { readonly: true });
  try {
    db.prepare("VACUUM INTO ?").run(part);
    sync(part, "r+");
    // Windows cannot sync a folder and does not need to.
    if (process.platform !== "win32") sync(dirname(file), "r");
  } catch (error) {
    throw new Error(
      `cannot copy the old version: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  } finally {
    db.close();
  }
}

function sync(path: string, flags: string): void {
  const opened = openSync(path, flags);
  fsyncSync(opened);
  closeSync(opened);
}
