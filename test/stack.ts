import type { Test } from "tap";
import type { Config } from "../config.js";
import type { EngineChoice } from "../db/choice.js";
import type { Bus } from "../db/bus/bus.js";
import { LogEvents } from "../db/log/log-events.js";
import { openEngines } from "../db/open.js";
import type { EngineOptions, Engines } from "../db/contract/engines.js";
import { openFiles } from "../db/open-files.js";
import { openSqliteStore } from "../db/sqlite/index.js";
import type { Store } from "../db/contract/store.js";
import { shared } from "./shared.js";

// The engines of tests: the embedded ones, or the ones of the servers that
// test/run.ts starts. A test says which data folder it uses and gets what
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

/** Opens the engines of a data folder with another bus, which other processes may share. */
export async function openWith(bus: Bus, dataDir: string): Promise<Engines> {
  const { database, bucket } = await enginesOf(dataDir);
  if (database) {
    const { openSharedWith } = await import("../db/postgres/engine/open.js");
    return openSharedWith(bus, { database, dataDir, bucket, onFault: rethrow });
  }
  const files = await openFiles(dataDir, bucket);
  const store = openSqliteStore(dataDir, {
    onAppended: (hints) => events.took(hints),
  });
  const events: LogEvents = new LogEvents({
    ...{ bus, log: store.log, onFault: rethrow },
  });
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

/** Ends the test. */
function rethrow(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** Opens the store of a data folder as a command does, beside the servers. It is closed with the test. */
export const openStoreIn = async (
  t: Pick<Test, "teardown">,
  dataDir: string,
): Promise<Store> => (await openIn(t, dataDir, { serves: false })).store;
