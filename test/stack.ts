import type { Test } from "tap";
import type { Config } from "../config.js";
import type { DatabaseOptions, EngineChoice } from "../db/choice.js";
import type { Events } from "../db/events.js";
import { type EngineOptions, type Engines, openEngines } from "../db/open.js";
import { openFiles } from "../db/open-files.js";
import { publishing } from "../db/publishing/index.js";
import { openSqliteStore } from "../db/sqlite/index.js";
import type { Store } from "../db/store.js";
import { shared } from "./shared.js";

// The engines of tests: the embedded ones, or those of the servers that
// test/run-stack.ts starts. A test says which data folder it uses and gets what
// belongs to that.

/** The engines of a data folder, for `openEngines` and `Config`. */
export const enginesOf = async (dataDir: string): Promise<EngineChoice> =>
  shared ? shared.enginesOf(dataDir) : {};

/** The variables that select the engines of a data folder. */
export const variablesOf = async (
  dataDir: string,
): Promise<Record<string, string>> => ({
  DATA_DIR: dataDir,
  ...(shared && (await shared.variablesOf(dataDir))),
});

/** The part of a configuration that says where the data is. */
export const configOf = async (
  dataDir: string,
): Promise<Pick<Config, "dataDir" | "engines">> => ({
  dataDir,
  engines: await enginesOf(dataDir),
});

/** Opens the engines of a data folder. They are closed with the test, unless that was done before. */
export async function openIn(
  t: Pick<Test, "teardown">,
  dataDir: string,
  options: Partial<EngineOptions> = {},
): Promise<Engines> {
  const engines = await openEngines({
    ...options,
    ...(await configOf(dataDir)).engines,
    dataDir,
  });
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= engines.close());
  t.teardown(close);
  return { ...engines, close };
}

/**
 * Opens the engines of a data folder with other events, which those of other processes come
 * with that open the same folder so.
 */
export async function openWith(
  events: Events,
  dataDir: string,
): Promise<Engines> {
  const { database, bucket } = await enginesOf(dataDir);
  const files = await openFiles(dataDir, bucket);
  const store = database
    ? await sharedStore(events, database)
    : openSqliteStore(dataDir, { origin: "stack" });
  return {
    store: publishing(store, events),
    files,
    events,
    async close() {
      await files.close();
      await store.close();
      await events.close();
    },
  };
}

async function sharedStore(
  events: Events,
  database: DatabaseOptions,
): Promise<Store> {
  const { Database } = await import("../db/postgres/database.js");
  const { postgresStore } = await import("../db/postgres/index.js");
  const { forgetting } = await import("../db/postgres/open.js");
  const db = await Database.open(database, { create: true });
  forgetting(db, events);
  const ignore = () => {};
  db.tell({
    ...{ told: () => "stack", onTold: ignore },
    ...{ onTouched: ignore, onMissed: ignore },
  });
  return postgresStore(db);
}

/** Opens the store of a data folder as a command does, beside the servers. It is closed with the test. */
export const openStoreIn = async (
  t: Pick<Test, "teardown">,
  dataDir: string,
): Promise<Store> => (await openIn(t, dataDir, { serves: false })).store;
