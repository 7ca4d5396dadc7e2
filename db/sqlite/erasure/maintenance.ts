import { Worker } from "node:worker_threads";
import { type MaintenanceLog, OverdueErasures } from "../../overdue.js";
import { marksIn } from "./erasure-marks.js";

/** How soon an erasure is followed by the work on the files, in milliseconds: several share it. */
const SOON_MS = 1000;

/** How often it is looked whether another process has left work, in milliseconds. */
const PATROL_MS = 60_000;

/** What the thread says after each round: why it failed; undefined if nothing is left to do. */
export interface Round {
  failed?: string;
  /** What took long, for the log. */
  done?: string;
}

/** How {@link Maintenance} runs. */
interface MaintenanceOptions {
  readonly dataDir: string;
  /** How many writes of this process wait, in memory that threads share. */
  readonly waiting: Int32Array;
  /** Whether events of deleted channels are left. */
  readonly hasRemains: () => boolean;
  readonly log?: MaintenanceLog;
  /** After how long a failing erasure is logged, in milliseconds. */
  readonly overdueAfter?: number;
}

/**
 * Removes erased bytes from the files of the database, in a thread that no write waits for. The
 * thread starts when there is work, and ends when there is none.
 */
export class Maintenance {
  readonly #options: MaintenanceOptions;
  readonly #overdue: OverdueErasures;
  readonly #patrolling: NodeJS.Timeout;
  #soon: NodeJS.Timeout | undefined;
  #worker: Worker | undefined;
  #closing: (() => void) | undefined;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
    const { log, overdueAfter } = options;
    this.#overdue = new OverdueErasures(log, overdueAfter);
    this.#patrolling = setInterval(() => this.#patrol(), PATROL_MS).unref();
  }

  /** Finishes soon what an erasure, or a killed process, has left. */
  start(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#patrol();
    }, SOON_MS).unref();
  }

  /** Removes what can be removed in two seconds, and ends. */
  async close(): Promise<void> {
    clearInterval(this.#patrolling);
    clearTimeout(this.#soon);
    if (this.#closing) return;
    const closed = new Promise<void>((resolve) => (this.#closing = resolve));
    this.#patrol();
    if (!this.#worker) return;
    this.#worker.ref();
    this.#worker.postMessage("close");
    await closed;
  }

  /** How long something erased has been in the files, in seconds; 0 if nothing is. */
  age(): number {
    const times = marksIn(this.#options.dataDir).map(({ since }) => since);
    return Math.max(0, (Date.now() - Math.min(...times)) / 1000);
  }

  #patrol(): void {
    if (this.#worker) return this.#worker.postMessage("look");
    try {
      const { dataDir, hasRemains } = this.#options;
      const isDue = marksIn(dataDir).length > 0 || hasRemains();
      if (isDue) this.#start();
    } catch (error) {
      this.#overdue.failed(error);
    }
  }

  #start(): void {
    const { dataDir, waiting } = this.#options;
    const file = new URL("./maintenance-thread.js", import.meta.url);
    const worker = new Worker(file, {
      workerData: { dataDir, waiting },
      // Options of the process, such as what to preload, do not apply to this thread.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    this.#worker = worker;
    worker.unref();
    worker.on("message", ({ failed, done }: Round) => {
      if (done !== undefined) this.#options.log?.info(done);
      if (failed === undefined) this.#overdue.succeeded();
      else this.#overdue.failed(failed);
    });
    let hasFailed = false;
    worker.on("error", (error) => {
      hasFailed = true;
      this.#overdue.failed(error);
    });
    worker.on("exit", () => {
      this.#worker = undefined;
      if (this.#closing) this.#closing();
      // An erasure may have come after its last look. A thread that failed waits for the patrol.
      else if (!hasFailed) this.start();
    });
  }
}
