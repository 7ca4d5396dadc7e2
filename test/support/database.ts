import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Test } from "tap";
import type { FileRecord, UserListing, RoomValue, Store } from "../../db/contract/store.js";
import type { Value } from "../../db/copies/tables.js";
import {
  openSqliteStore,
  type SqliteOptions,
  type SqliteStore,
} from "../../db/engines/sqlite/index.js";
import { openEngines } from "../../db/open.js";
import type { Room } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";
import { until } from "./helper.js";
import { servers } from "./shared.js";
import { chooseEngine, engineOf, enginesOf } from "./stack.js";

/** The bytes of databases created by this process, by content key. */
const made = new Map<string, Promise<Buffer>>();

/** The template folders of databases created by this process on the shared engines, by content key. */
const templates = new Map<string, Promise<string>>();

/**
 * Puts a database with some worlds into a folder, which is created if missing. A store creates the
 * first database with these worlds; all others are copies, because starting a writer takes longer
 * than most tests.
 */
export const putDatabase = (dataDir: string, worlds: readonly World[]): Promise<void> =>
  putPrepared(dataDir, `store ${JSON.stringify(worlds)}`, async (folder) => {
    const engines = await openEngines({
      ...(await enginesOf(folder)),
      dataDir: folder,
      serves: false,
    });
    for (const world of worlds) await engines.store.worlds.create(world);
    await engines.close();
  });

/**
 * Puts a copy of a database into a folder, which is created if missing.
 * @param key identifies the content of the database.
 * @param make creates the database in a folder and closes it; called for the first copy only.
 */
async function putPrepared(
  dataDir: string,
  key: string,
  make: (folder: string) => Promise<void>,
): Promise<void> {
  // A test's own servers hold no template to copy.
  if (engineOf(dataDir) === "own") return make(dataDir);
  if (engineOf(dataDir) === "shared") {
    const shared = await servers();
    let template = templates.get(key);
    if (!template) templates.set(key, (template = templateOf(make)));
    return shared.copyDatabase(await template, dataDir);
  }
  let bytes = made.get(key);
  if (!bytes) made.set(key, (bytes = bytesOf(make)));
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(join(dataDir, "foyer.db"), await bytes, { flag: "wx", mode: 0o600 });
}

/** @returns a folder that identifies the database, and no longer exists. */
async function templateOf(make: (folder: string) => Promise<void>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "foyer-template-"));
  chooseEngine(folder, "shared");
  try {
    await make(folder);
    return folder;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function bytesOf(make: (folder: string) => Promise<void>): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), "foyer-test-"));
  chooseEngine(folder, "sqlite");
  try {
    await make(folder);
    // No process may have it open: closing a file drops all of this process's locks on it.
    return readFileSync(join(folder, "foyer.db"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Opens the store in a folder. It is closed with the test unless already closed: the thread of an
 * open store would keep the process alive even after a test fails.
 */
export function openStore(t: Test, dataDir: string, options?: SqliteOptions): SqliteStore {
  const store = openSqliteStore(dataDir, options);
  t.teardown(() => store.close());
  return store;
}

/** Lists the database files that a killed process leaves behind. */
const databaseFiles = (dataDir: string): string[] =>
  readdirSync(dataDir).filter((name) => /^foyer\.db(-wal)?$/.test(name));

/** Uses a listed file. The log may disappear between the listing and the use. */
function unlessGone<T>(use: () => T): T[] {
  try {
    return [use()];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Returns the current bytes of each database file. */
export const databaseBytes = (dataDir: string): Buffer[] =>
  databaseFiles(dataDir).flatMap((name) => unlessGone(() => readFileSync(join(dataDir, name))));

/** Returns those of the given texts that the database files currently contain. */
export function heldIn(dataDir: string, texts: readonly string[]): string[] {
  const files = databaseBytes(dataDir);
  return texts.filter((text) => files.some((bytes) => bytes.includes(text)));
}

/** Copies what a process would leave behind if it were killed now. Returns the folder of the copy. */
export function copyAsKilled(dataDir: string): string {
  const killed = join(dataDir, "killed");
  mkdirSync(killed);
  for (const name of databaseFiles(dataDir)) {
    unlessGone(() => copyFileSync(join(dataDir, name), join(killed, name)));
  }
  return killed;
}

const all = { page: 1, pageSize: 10_000 };

/** Returns all users of a world, in one page. */
export const usersOf = async (store: Store, world: string): Promise<UserListing[]> =>
  (await store.users.list(world, all)).users;

/** Returns all files of a world, in one page. */
export const filesOf = async (store: Store, world: string): Promise<FileRecord[]> =>
  (await store.files.list(world, all)).files;

/** Returns a room as lists and answers show it. */
export function shown({ extras: _extras, ...room }: RoomValue): Room {
  return room;
}

/** A row of an export, by column name. */
type ExportedRow = Record<string, Value>;

/** The document of a world, as lines and as rows by table. */
export interface Exported {
  lines: string[];
  rows: Record<string, ExportedRow[]>;
}

/** Parses the rows from the lines of a document, with JSON as text. Omits tables without rows. */
export function rowsIn(lines: readonly string[]): Exported["rows"] {
  const {
    format: _format,
    version: _version,
    world,
    ...tables
  } = JSON.parse(lines.join("\n")) as Record<string, object[]>;
  return Object.fromEntries(
    Object.entries({ worlds: [world!], ...tables })
      .filter(([, rows]) => rows.length > 0)
      .map(([table, rows]) => [table, rows.map(asText)]),
  );
}

const asText = (row: object): ExportedRow =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]: [string, Value]) => [
      name,
      typeof value === "object" && value !== null ? JSON.stringify(value) : value,
    ]),
  );

/** Exports a world. @see WorldStore.export */
export async function exported(
  store: Store,
  world: string,
  options?: { history?: boolean },
): Promise<Exported> {
  const lines: string[] = [];
  for await (const line of store.worlds.export(world, options)) {
    lines.push(line);
  }
  return { lines, rows: rowsIn(lines) };
}

/** Returns the subjects of unfinished erasures. */
export function marksIn(dataDir: string): string[] {
  const db = new Database(join(dataDir, "foyer.db"), { readonly: true });
  try {
    return db.prepare<[], string>("SELECT subject FROM erasures").pluck().all();
  } finally {
    db.close();
  }
}

/** Waits until erased texts have left the files. Until then, the erasure must be recorded for the next process. */
export async function expectErased(dataDir: string, texts: readonly string[]): Promise<void> {
  const isHeld = () => heldIn(dataDir, texts).length > 0;
  // The text may disappear between two checks.
  if (isHeld() && marksIn(dataDir).length === 0 && isHeld()) {
    throw new Error(`${texts.join()} is neither erased nor marked`);
  }
  await until(() => !isHeld());
}
