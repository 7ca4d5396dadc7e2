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

/** Marks the file as Foyer's (SQLite's application_id): "Foyr". */
const APPLICATION_ID = 0x466f7972;

/** The version that this Foyer works on. */
export const LATEST = migrations.length;

/**
 * Which version a database has; 0 while it is empty.
 * @throws {StoreError} `unusable`, when it is not Foyer's or of a newer one.
 */
export function schemaVersionOf(db: Connection): number {
  // In one transaction, as another process may be creating the database.
  const { owner, version, tables } = db.transaction(() => ({
    owner: db.pragma("application_id", { simple: true }),
    version: db.pragma("user_version", { simple: true }) as number,
    tables: db.prepare("SELECT count(*) FROM sqlite_schema").pluck().get(),
  }))();
  if (owner !== APPLICATION_ID && tables !== 0) {
    throw new StoreError("unusable", "it is not a database of Foyer");
  }
  if (version > LATEST) {
    throw new StoreError(
      "unusable",
      `it has version ${version}, and this Foyer knows versions up to ${LATEST}; use a newer Foyer`,
    );
  }
  return version;
}

/**
 * Makes a database of the latest version out of an empty or older one, or
 * leaves all as it was. An older one is first copied to a file beside it.
 * @param tell is told in one line of an older one.
 */
export function upgrade(db: Connection, tell: (line: string) => void): void {
  nameCopies(db, tell);
  if (schemaVersionOf(db) === LATEST) return;
  let part: string | undefined;
  // Holds the lock of all writers from the copy to the end. Of two processes
  // one upgrades, and the other then finds nothing left to do.
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
  nameCopies(db, tell);
}

/** What a version is copied to while it is upgraded. */
const partOf = (file: string, version: number) => `${file}.v${version}.part`;

/**
 * Gives the copy of an upgrade its name once the upgrade is there. Not before:
 * one that is killed and started again and again would fill the disk with
 * them. And also at the next start, if it was killed in between.
 */
function nameCopies(db: Connection, tell: (line: string) => void): void {
  for (let version = 1; version < LATEST; version++) {
    const part = partOf(db.name, version);
    if (!existsSync(part) || schemaVersionOf(db) <= version) continue;
    const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
    const copy = `${db.name}.v${version}-${time}`;
    try {
      renameSync(part, copy);
    } catch (error) {
      // Another process has just done it.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") continue;
      throw error;
    }
    tell(
      `The database was upgraded from version ${version} to ${LATEST}. What it was before is kept in ${copy}.`,
    );
  }
}

/** Copies what is committed, on a connection of its own, to a file that is whole before the upgrade is. */
function putAside(file: string, part: string): void {
  rmSync(part, { force: true });
  const db = new Database(file, { readonly: true });
  try {
    db.prepare("VACUUM INTO ?").run(part);
    sync(part, "r+");
    // Windows syncs no folders, and needs none.
    if (process.platform !== "win32") sync(dirname(file), "r");
  } catch (error) {
    throw new Error(`cannot put a copy aside: ${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    db.close();
  }
}

function sync(path: string, flags: string): void {
  const opened = openSync(path, flags);
  fsyncSync(opened);
  closeSync(opened);
}
