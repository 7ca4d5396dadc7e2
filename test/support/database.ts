import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Test } from "tap";
import type { FileRecord, ListedUser, RoomValue, Store } from "../../db/contract/store.js";
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

/** The bytes of databases that this process has made, by what is in them. */
const made = new Map<string, Promise<Buffer>>();

/** The folders of databases that this process has made on the shared engines. */
const templates = new Map<string, Promise<string>>();

/**
 * Puts a database with some worlds into a folder, which is made if missing. The
 * first with these worlds is made by a store, all others are copies of it: to
 * start a writer takes longer than most tests do.
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
 * Puts a copy of a database into a folder, which is made if missing.
 * @param key names what is in the database.
 * @param make makes the database in a folder, and closes it; called for the first
 *   copy only.
 */
async function putPrepared(
  dataDir: string,
  key: string,
  make: (folder: string) => Promise<void>,
): Promise<void> {
  // Nothing else is in servers of its own.
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

/** @returns a folder that stands for the database; it is not there any more. */
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
    // No process has it open: closing a file drops all locks of this process on it.
    return readFileSync(join(folder, "foyer.db"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Opens the store in a folder. It is closed with the test, unless that was done before:
 * the thread of an open store keeps the process from ending, also when a test fails.
 */
export function openStore(t: Test, dataDir: string, options?: SqliteOptions): SqliteStore {
  const store = openSqliteStore(dataDir, options);
  t.teardown(() => store.close());
  return store;
}

/** The files of a database that a killed process leaves. */
const databaseFiles = (dataDir: string): string[] =>
  readdirSync(dataDir).filter((name) => /^foyer\.db(-wal)?$/.test(name));

/**
 * Uses a file that was listed. The log may go between the listing and the use.
 */
function unlessGone<T>(use: () => T): T[] {
  try {
    return [use()];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** The bytes of each file of a database at this moment. */
export const databaseBytes = (dataDir: string): Buffer[] =>
  databaseFiles(dataDir).flatMap((name) => unlessGone(() => readFileSync(join(dataDir, name))));

/** Which of some texts the files of a database hold at this moment. */
export function heldIn(dataDir: string, texts: readonly string[]): string[] {
  const files = databaseBytes(dataDir);
  return texts.filter((text) => files.some((bytes) => bytes.includes(text)));
}

/** Copies what a process would leave that is killed now; the folder of the copy. */
export function copyAsKilled(dataDir: string): string {
  const killed = join(dataDir, "killed");
  mkdirSync(killed);
  for (const name of databaseFiles(dataDir)) {
    unlessGone(() => copyFileSync(join(dataDir, name), join(killed, name)));
  }
  return killed;
}

const all = { page: 1, pageSize: 10_000 };

/** All users of a world, in one page. */
export const usersOf = async (store: Store, world: string): Promise<ListedUser[]> =>
  (await store.users.list(world, all)).users;

/** All files of a world, in one page. */
export const filesOf = async (store: Store, world: string): Promise<FileRecord[]> =>
  (await store.files.list(world, all)).files;

/** A room as lists and answers show it. */
export function shown({ extras: _extras, ...room }: RoomValue): Room {
  return room;
}

/** A row of an export by the names of its columns. */
type ExportedRow = Record<string, Value>;

/** The document of a world: its lines, and the same as rows by tables. */
export interface Exported {
  lines: string[];
  rows: Record<string, ExportedRow[]>;
}

/** The rows in the lines of a document, with JSON as text. Tables without rows are left out. */
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

/** The marks of erasures that are not over. */
export function marksIn(dataDir: string): string[] {
  const db = new Database(join(dataDir, "foyer.db"), { readonly: true });
  try {
    return db.prepare<[], string>("SELECT subject FROM erasures").pluck().all();
  } finally {
    db.close();
  }
}

/** What was erased leaves the files soon. Until then, a mark says so to the next process. */
export async function expectErased(dataDir: string, texts: readonly string[]): Promise<void> {
  const isHeld = () => heldIn(dataDir, texts).length > 0;
  // It may go between two looks.
  if (isHeld() && marksIn(dataDir).length === 0 && isHeld()) {
    throw new Error(`${texts.join()} is neither erased nor marked`);
  }
  await until(() => !isHeld());
}
