import { type EngineChoice, refuseMissingPackages } from "./choice.js";
import type { Events } from "./contract/events.js";
import type { FileStore } from "./contract/files.js";
import { LocalBus } from "./bus/local.js";
import { openFiles } from "./open-files.js";
import { hasDatabase, refuseMissing } from "./sqlite/engine/database.js";
import { openSqliteStore } from "./sqlite/index.js";
import type { Store } from "./contract/store.js";
import { ClusterBus } from "./bus/cluster.js";
import { LogEvents } from "./log/log-events.js";

/** A server that several machines share, as metrics show it. */
export interface SharedHealth {
  /** The connections of this process for statements, and the callers that wait for one. */
  readonly database: PoolHealth & { readonly isUp: boolean };
  /** Whether events reach other nodes; undefined without Valkey. */
  readonly isValkeyUp: boolean | undefined;
}

/** How the connections of a pool are used. */
export interface PoolHealth {
  readonly idle: number;
  readonly used: number;
  readonly waiting: number;
}

/** The three engines of a server. */
export interface Engines {
  readonly store: Store;
  readonly files: FileStore;
  readonly events: Events;
  /** Looks at the servers that several machines share; undefined if none does. */
  readonly health?: () => SharedHealth;
  /** Finishes pending work and closes all three. */
  close(): Promise<void>;
}

/** The names of a worker process. */
export interface WorkerNames {
  /** The name that all workers of a server share. */
  group: string;
  /** The name of this process, under which the primary announces its end. */
  process: string;
}

/** What selects the engines. */
export interface EngineOptions extends EngineChoice {
  /** The folder of the database and the files. */
  dataDir: string;
  /** Whether to create a missing database; true by default. Otherwise it must exist. */
  create?: boolean;
  /** Whether an older database is upgraded; true by default. Otherwise it is refused. */
  upgrade?: boolean;
  /** Whether this process serves, and is no command beside a server; true by default. */
  serves?: boolean;
  /** Given in a worker process only. */
  worker?: WorkerNames;
  /** How long a write to SQLite waits for the lock of another process, in milliseconds; two seconds by default. */
  lockTimeout?: number;
  /** Gets one line about an upgrade of the database. */
  log?: (line: string) => void;
  /** Gets one line when a server is lost that several machines share, and when it is back. */
  warn?: (line: string) => void;
  /** Gets what a listener of events threw. By default it ends the process. */
  onFault?: (error: unknown) => void;
}

/** Throws an error as an uncaught exception, which ends the process. */
function rethrow(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/**
 * Opens the store, the files and the events that the options select. What works on whole
 * tables selects by the same options in db/maintenance/open.ts.
 * @throws {StoreError} `unusable`, with one line for the operator.
 */
export async function openEngines(options: EngineOptions): Promise<Engines> {
  const { database, dataDir, create = true } = options;
  refuseMissingPackages(options);
  if (database) {
    const { openShared } = await import("./postgres/engine/open.js");
    return openShared({ onFault: rethrow, ...options, database });
  }
  if (!create) refuseMissing(dataDir);
  return openEmbedded(options);
}

/** The store is opened before the files: a folder that it refuses stays as it is. */
async function openEmbedded({
  dataDir,
  bucket,
  worker,
  upgrade = true,
  serves = true,
  lockTimeout,
  log,
  warn = () => {},
  onFault = rethrow,
}: EngineOptions): Promise<Engines> {
  const store = openSqliteStore(dataDir, {
    upgrade,
    author: { kind: serves ? "server" : "command" },
    ...(log && { log }),
    ...(lockTimeout !== undefined && { lockTimeout }),
    onAppended: (hints) => events.took(hints),
  });
  const bus = worker
    ? new ClusterBus(process, onFault, worker.process)
    : new LocalBus(onFault);
  const onUnread = (error: unknown) =>
    warn(`The log cannot be read: ${(error as Error).message}`);
  const parts = { bus, log: store.log, onFault, onUnread };
  const events: LogEvents = new LogEvents(parts);
  const files = await openFiles(dataDir, bucket).catch(async (error) => {
    await store.close();
    await events.close();
    throw error;
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

/** Whether there is a store that {@link openEngines} opens without `create`. */
export async function hasStore({
  dataDir,
  database,
}: Pick<EngineOptions, "dataDir" | "database">): Promise<boolean> {
  if (!database) return hasDatabase(dataDir);
  const { hasTables } = await import("./postgres/engine/open.js");
  return hasTables(database);
}
