import { resolve } from "node:path";
import type { Test } from "tap";
import { type Config, loadConfig } from "../../config.js";
import { openFiles } from "../../db/blobs/folder/local-files.js";
import type { Bus } from "../../db/bus/bus.js";
import type { EngineChoice } from "../../db/choice.js";
import type { EngineOptions, Engines } from "../../db/contract/engines.js";
import type { Store } from "../../db/contract/store.js";
import { openSqliteStore } from "../../db/engines/sqlite/index.js";
import { LogEvents } from "../../db/log/log-events.js";
import { openEngines } from "../../db/open.js";
import { ENGINE, type Engine, servers } from "./shared.js";

// Selects the engines of tests: SQLite and a folder, or the servers started by
// test/support/servers/with.ts. A test specifies a data folder, which determines its engines.

/** The tests' choices for data folders: an engine, or the variables of a test's own servers. */
const chosen = new Map<string, Engine | Record<string, string>>();

/** Chooses the engine for a folder's data. Must be called before anything is stored there. */
export const chooseEngine = (dataDir: string, engine: Engine | Record<string, string>): void =>
  void chosen.set(resolve(dataDir), engine);

/** Returns the engine of a data folder. `own` means servers that belong to one test. */
export function engineOf(dataDir: string): Engine | "own" {
  const engine = chosen.get(resolve(dataDir)) ?? ENGINE;
  return typeof engine === "string" ? engine : "own";
}

/** Returns the engines of a data folder, for `openEngines` and `Config`. */
export async function enginesOf(dataDir: string): Promise<EngineChoice> {
  if (engineOf(dataDir) === "own") return loadConfig(await variablesOf(dataDir)).engines;
  return engineOf(dataDir) === "shared" ? (await servers()).enginesOf(dataDir) : {};
}

/** Returns the variables that select a data folder's engines. */
export async function variablesOf(dataDir: string): Promise<Record<string, string>> {
  const engine = chosen.get(resolve(dataDir)) ?? ENGINE;
  if (engine === "sqlite") return { DATA_DIR: dataDir };
  const variables = engine === "shared" ? await (await servers()).variablesOf(dataDir) : engine;
  return { DATA_DIR: dataDir, ...variables };
}

/** Returns the part of a configuration that locates a folder's data. */
export const configOf = async (dataDir: string): Promise<Pick<Config, "dataDir" | "engines">> => ({
  dataDir,
  engines: await enginesOf(dataDir),
});

/** Opens the engines of a data folder. They are closed with the test unless already closed. */
export async function openIn(
  t: Pick<Test, "teardown">,
  dataDir: string,
  options: Partial<EngineOptions> = {},
): Promise<Engines> {
  const engines = await openEngines({ ...options, ...(await configOf(dataDir)).engines, dataDir });
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= engines.close());
  t.teardown(close);
  return { ...engines, close };
}

/** Opens the engines of a data folder with a given bus, which other processes may share. */
export async function openWith(bus: Bus, dataDir: string): Promise<Engines> {
  const { database, bucket } = await enginesOf(dataDir);
  if (database) {
    const { openSharedWith } = await import("../../db/engines/postgres/engine/open-shared.js");
    return openSharedWith(bus, { database, dataDir, bucket, onFault: rethrow });
  }
  const files = await openFiles(dataDir, bucket);
  const store = openSqliteStore(dataDir, { onAppended: (hints) => events.appended(hints) });
  const events: LogEvents = new LogEvents({ bus, log: store.log, onFault: rethrow });
  return {
    store,
    files,
    events,
    async close() {
      await files.close();
      await store.close();
      await events.close();
    },
  };
}

/** Rethrows an error outside of any promise, which fails the test. */
function rethrow(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** Opens the store of a data folder like a command that runs next to the servers. It is closed with the test. */
export const openStoreIn = async (t: Pick<Test, "teardown">, dataDir: string): Promise<Store> =>
  (await openIn(t, dataDir, { serves: false })).store;
