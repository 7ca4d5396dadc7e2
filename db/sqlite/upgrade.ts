import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { basename } from "node:path";
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
export function versionOf(db: Connection): number {
  const owner = db.pragma("application_id", { simple: true });
  const version = db.pragma("user_version", { simple: true }) as number;
  const tables = db.prepare("SELECT count(*) FROM sqlite_schema").pluck().get();
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
  if (versionOf(db) === LATEST) return;
  let copy: string | undefined;
  // Holds the lock of all writers from the copy to the end. Of two processes
  // one upgrades, and the other then finds nothing left to do.
  const run = db.transaction(() => {
    const version = versionOf(db);
    if (version === LATEST) return version;
    if (version > 0) copy = putAside(db.name, version);
    for (const migration of migrations.slice(version)) db.exec(migration);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${LATEST}`);
    return version;
  });
  try {
    const version = run.immediate();
    if (copy === undefined) return;
    tell(
      `The database was upgraded from version ${version} to ${LATEST}. What it was before is kept in ${copy}.`,
    );
  } catch (error) {
    // Whoever is started again and again would fill the disk with copies.
    if (copy !== undefined) rmSync(copy, { force: true });
    if (error instanceof StoreError) throw error;
    throw new StoreError(
      "unusable",
      `the upgrade to version ${LATEST} failed, and changed nothing: ${(error as Error).message}`,
    );
  }
}

/** Copies what is committed, on a connection of its own, to a file that is whole once it has its name. */
function putAside(file: string, version: number): string {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const copy = `${file}.v${version}-${time}`;
  const part = `${file}.v${version}.part`;
  rmSync(part, { force: true });
  const db = new Database(file, { readonly: true });
  try {
    db.prepare("VACUUM INTO ?").run(part);
    const written = openSync(part, "r+");
    fsyncSync(written);
    closeSync(written);
    renameSync(part, copy);
    return copy;
  } catch (error) {
    rmSync(part, { force: true });
    throw new Error(
      `cannot put ${basename(copy)} aside: ${(error as Error).message}`,
      { cause: error },
    );
  } finally {
    db.close();
  }
}
