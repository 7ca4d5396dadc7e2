import type { EngineChoice } from "../choice.js";
import type { MaintenanceLog } from "../erasure/erasure-job.js";
import type { Events } from "./events.js";
import type { FileStore } from "./file-store.js";
import type { Store } from "./store.js";

/** The state of the servers that several machines share, for the metrics. */
export interface SharedHealth {
  /** This process's pool of database connections, with the number of callers waiting for a connection. */
  readonly database: PoolHealth & { readonly isUp: boolean };
  /** Whether events reach other nodes; undefined without Valkey. */
  readonly isValkeyUp: boolean | undefined;
}

export interface PoolHealth {
  readonly idle: number;
  readonly used: number;
  readonly waiting: number;
}

export interface Engines {
  readonly store: Store;
  readonly files: FileStore;
  readonly events: Events;
  /** Returns the state of the servers that several machines share; undefined if there are none. */
  readonly health?: () => SharedHealth;
  /** Ends the setup phase; see {@link EngineOptions.prepares}. */
  readonly prepared?: () => void;
  /** Finishes pending work, then closes the store, the files and the events. */
  close(): Promise<void>;
}

export interface WorkerNames {
  /** The name shared by all workers of a server. */
  group: string;
  /** The name of this process. The primary uses the name to announce that the process has ended. */
  process: string;
}

export interface EngineOptions extends EngineChoice {
  /** The folder that contains the database and the files. */
  dataDir: string;
  /** Whether to create the database if it is missing; true by default. If false, the database must exist. */
  create?: boolean;
  /** Whether to upgrade a database of an earlier version; true by default. If false, such a database is rejected. */
  upgrade?: boolean;
  /** Whether this process is a server rather than a command that runs alongside one; true by default. */
  serves?: boolean;
  /**
   * Whether the process does setup work before users connect; false by default. Until {@link
   * Engines.prepared} is called, SQLite writes on the event loop, because starting a thread costs
   * more than a few writes.
   */
  prepares?: boolean;
  /** Set only in a worker process. */
  worker?: WorkerNames;
  /** Whether to record audit entries; true by default. */
  audits?: boolean;
  /**
   * How long an SQLite write waits for a lock that another process holds, in milliseconds; two
   * seconds by default.
   */
  lockTimeout?: number;
  /** Called with one line about a database upgrade. */
  log?: (line: string) => void;
  /** Called with one line when the connection to a shared server is lost, and when it is restored. */
  warn?: (line: string) => void;
  /** Receives messages about failed erasures and long-running database work. */
  maintenance?: MaintenanceLog;
  /** Handles errors thrown by event listeners. By default, such an error ends the process. */
  onFault?: (error: unknown) => void;
}
