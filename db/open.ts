import { openFiles } from "./blobs/folder/local-files.js";
import { LocalBus } from "./bus/bus.js";
import { ClusterBus } from "./bus/cluster.js";
import { refuseMissingPackages } from "./choice.js";
import type { EngineOptions, Engines } from "./contract/engines.js";
import { hasDatabase, refuseMissing } from "./engines/sqlite/engine/sqlite-database.js";
import { openSqliteStore } from "./engines/sqlite/index.js";
import { LogEvents } from "./log/log-events.js";

/** Rethrows an error as an uncaught exception, which ends the process. */
function rethrow(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/**
 * Opens the store, the files and the events that the options select. For operations on whole
 * tables, db/maintenance/storage-location.ts interprets the same options.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export async function openEngines(options: EngineOptions): Promise<Engines> {
  const { database, dataDir, create = true } = options;
  refuseMissingPackages(options);
  if (database) {
    const { openShared } = await import("./engines/postgres/engine/open-shared.js");
    return openShared({ onFault: rethrow, ...options, database });
  }
  if (!create) refuseMissing(dataDir);
  return openEmbedded(options);
}

/**
 * Opens embedded engines. The store is opened before the files, so that a folder that the store
 * rejects is left unchanged.
 */
async function openEmbedded(options: EngineOptions): Promise<Engines> {
  const { dataDir, bucket, worker, upgrade = true, serves = true } = options;
  const { lockTimeout, audits, log, maintenance, warn = () => {} } = options;
  const { onFault = rethrow, prepares = false } = options;
  const store = openSqliteStore(dataDir, {
    upgrade,
    startsHere: prepares,
    author: { kind: serves ? "server" : "command" },
    ...(log && { log }),
    ...(maintenance && { maintenance }),
    ...(audits !== undefined && { audits }),
    ...(lockTimeout !== undefined && { lockTimeout }),
    onAppended: (hints) => events.appended(hints),
  });
  const bus = worker ? new ClusterBus(process, onFault, worker.process) : new LocalBus(onFault);
  const onUnread = (error: unknown) => warn(`The log cannot be read: ${(error as Error).message}`);
  const parts = { bus, log: store.log, onFault, onUnread };
  const events: LogEvents = new LogEvents(parts);
  // All reads in one turn of the event loop see the same state of the store, but another worker may
  // have committed this entry during the turn. Caches keep values that are read after an entry, so
  // these reads must not see the state before the entry. All other messages between processes leave
  // the store unchanged.
  events.subscribe((event) => {
    if ("seq" in event || event.type === "world.reset") store.refresh(event);
  });
  const files = await openFiles(dataDir, bucket).catch(async (error) => {
    await store.close();
    await events.close();
    throw error;
  });
  return {
    store,
    files,
    events,
    prepared: () => store.serve(),
    async close() {
      await files.close();
      await store.close();
      await events.close();
    },
  };
}

/** Whether a store exists that {@link openEngines} can open without `create`. */
export async function hasStore({
  dataDir,
  database,
}: Pick<EngineOptions, "dataDir" | "database">): Promise<boolean> {
  if (!database) return hasDatabase(dataDir);
  const { hasTables } = await import("./engines/postgres/engine/open-shared.js");
  return hasTables(database);
}
