import type { EngineChoice } from "../choice.js";
import type { MaintenanceLog } from "../erasure/erasure-job.js";
import type { Events } from "./events.js";
import type { FileStore } from "./file-store.js";
import type { Store } from "./store.js";

/** A server that several machines share, as metrics show it. */
export interface SharedHealth {
  /** The connections of this process for statements, and the callers that wait for one. */
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
  /** Looks at the servers that several machines share; undefined if none does. */
  readonly health?: () => SharedHealth;
  /** Ends the preparations, see {@link EngineOptions.prepares}. */
  readonly prepared?: () => void;
  /** Finishes pending work and closes all three. */
  close(): Promise<void>;
}

export interface WorkerNames {
  /** The name that all workers of a server share. */
  group: string;
  /** The name of this process, under which the primary announces its end. */
  process: string;
}

export interface EngineOptions extends EngineChoice {
  /** The folder of the database and the files. */
  dataDir: string;
  /** Whether to create a missing database; true by default. Otherwise it must exist. */
  create?: boolean;
  /** Whether an older database is upgraded; true by default. Otherwise it is refused. */
  upgrade?: boolean;
  /** Whether this process is a server, and not a command beside one; true by default. */
  serves?: boolean;
  /**
   * Whether something is prepared before people come; false by default. SQLite writes on the event loop until
   * {@link Engines.prepared}: to start a thread costs more than a few writes.
   */
  prepares?: boolean;
  /** Given in a worker process only. */
  worker?: WorkerNames;
  /** Whether the audit is kept; true by default. */
  audits?: boolean;
  /** How long a write to SQLite waits for the lock of another process, in milliseconds; two seconds by default. */
  lockTimeout?: number;
  /** Gets one line about an upgrade of the database. */
  log?: (line: string) => void;
  /** Gets one line when a server is lost that several machines share, and when it is back. */
  warn?: (line: string) => void;
  /** Gets lines about erasures that fail, and about long work on the database. */
  maintenance?: MaintenanceLog;
  /** Takes the errors of listeners of events. By default an error ends the process. */
  onFault?: (error: unknown) => void;
}
