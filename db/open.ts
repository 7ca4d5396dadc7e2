import { publishing } from "./publishing/index.js";
import type { Events } from "./events.js";
import type { FileStore } from "./files.js";
import { LocalFiles } from "./local/files.js";
import { LocalEvents } from "./local/events.js";
import { hasDatabase, refuseMissing } from "./sqlite/database.js";
import { openSqliteStore } from "./sqlite/index.js";
import type { Store } from "./store.js";
import { ClusterEvents } from "./cluster/events.js";

/** The three engines of a server. */
export interface Engines {
  readonly store: Store;
  readonly files: FileStore;
  readonly events: Events;
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
export interface EngineOptions {
  /** The folder of the database and the files. */
  dataDir: string;
  /** Whether to create a missing database; true by default. Otherwise it must exist. */
  create?: boolean;
  /** Given in a worker process only. */
  worker?: WorkerNames;
  /** How long a write waits for the lock of another process, in milliseconds; two seconds by default. */
  lockTimeout?: number;
  /** Gets one line about an upgrade of the database. */
  log?: (line: string) => void;
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
 * Opens the store, the files and the events. This is the only module that selects
 * engines; db/maintenance/ works on the files of the embedded ones.
 * @throws {StoreError} `unusable`, with one line for the operator.
 */
export async function openEngines({
  dataDir,
  create = true,
  worker,
  lockTimeout,
  log,
  onFault = rethrow,
}: EngineOptions): Promise<Engines> {
  if (!create) refuseMissing(dataDir);
  const events = worker
    ? new ClusterEvents(process, onFault, worker.process)
    : new LocalEvents(onFault);
  const store = openSqliteStore(dataDir, {
    ...(log && { log }),
    ...(lockTimeout !== undefined && { lockTimeout }),
    ...(worker && { origin: worker.group }),
    onTouched: (worlds) => {
      for (const world of worlds) {
        events.publish({ type: "world.touched", world });
      }
    },
  });
  const files = new LocalFiles(dataDir);
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

/** Whether a folder has a store that {@link openEngines} opens without `create`. */
export const hasStore = (dataDir: string): boolean => hasDatabase(dataDir);
