import { announcing } from "./announcing.js";
import type { Events } from "./events.js";
import type { FileStore } from "./files.js";
import { LocalFiles } from "./local-files.js";
import { LocalEvents } from "./local/events.js";
import { hasDatabase, refuseMissing } from "./sqlite/database.js";
import { openSqliteStore } from "./sqlite/index.js";
import type { Store } from "./store.js";
import { WorkerEvents } from "./workers/events.js";

/** All that a server keeps, and how its processes tell each other of changes. */
export interface Engines {
  readonly store: Store;
  readonly files: FileStore;
  readonly events: Events;
  /** Finishes what is under way and closes all three. */
  close(): Promise<void>;
}

/** What selects the engines. */
export interface EngineOptions {
  /** The folder of the database and the files. */
  dataDir: string;
  /** Whether to make a database where there is none; otherwise it must exist. */
  create?: boolean;
  /** Names the workers that this process shares its events with, if it is one of them. */
  workers?: string;
  /** How long a write waits for the lock of another process, in milliseconds; two seconds by default. */
  lockTimeout?: number;
  /** Is told in one line of an upgrade that was made. */
  log?: (line: string) => void;
  /** Is told what a listener of events threw. */
  onFault?: (error: unknown) => void;
}

/** Ends the process, as an error in a callback does that nobody handles. */
function rethrow(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/**
 * Opens the store, the files and the events. The only place that names an engine.
 * @throws {StoreError} `unusable`, with one line for the operator.
 */
export async function openEngines({
  dataDir,
  create = true,
  workers,
  lockTimeout,
  log,
  onFault = rethrow,
}: EngineOptions): Promise<Engines> {
  if (!create) refuseMissing(dataDir);
  const events =
    workers === undefined
      ? new LocalEvents(onFault)
      : new WorkerEvents(process, onFault);
  const store = openSqliteStore(dataDir, {
    ...(log && { log }),
    ...(lockTimeout !== undefined && { lockTimeout }),
    ...(workers !== undefined && { origin: workers }),
    onTouched: (worlds) => {
      for (const world of worlds) {
        events.publish({ type: "world.touched", world });
      }
    },
  });
  const files = new LocalFiles(dataDir);
  return {
    store: announcing(store, events),
    files,
    events,
    async close() {
      await files.close();
      await store.close();
      await events.close();
    },
  };
}

/** Whether a folder has a store that {@link openEngines} would open. */
export const hasStore = (dataDir: string): boolean => hasDatabase(dataDir);
