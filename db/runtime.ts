import { randomFillSync } from "node:crypto";
import { Worker } from "node:worker_threads";

/** The clock used for waiting. The simulation replaces it. */
export interface Clock {
  /** Milliseconds since an arbitrary moment. Monotonic, even if the system clock is set back. */
  now(): number;
  /** The time at which {@link now} was 0, in milliseconds since 1970. */
  readonly origin: number;
  /** The wall-clock time, in whole milliseconds since 1970. The system may adjust it. */
  date(): number;
  /**
   * Calls a function once, after a delay in milliseconds.
   * @param keepsAlive whether the pending call keeps the process alive; false by default.
   * @returns a function that cancels the call.
   */
  after(delay: number, call: () => void, keepsAlive?: boolean): () => void;
  /** Calls a function once, in the next turn of the event loop. Cannot be canceled. */
  soon(call: () => void): void;
}

export const processClock: Clock = {
  now: () => performance.now(),
  origin: performance.timeOrigin,
  date: () => Date.now(),
  after(delay, call, keepsAlive = false) {
    const timer = setTimeout(call, delay);
    if (!keepsAlive) timer.unref();
    return () => clearTimeout(timer);
  },
  soon: (call) => void setImmediate(call),
};

/** Resolves after a delay in milliseconds. */
export const sleep = (clock: Clock, delay: number): Promise<void> =>
  new Promise((resolve) => void clock.after(delay, resolve));

/** Resolves in the next turn of the event loop, to let other work run. */
export const nextTurn = (clock: Clock): Promise<void> =>
  new Promise((resolve) => clock.soon(resolve));

/** Generates unguessable ids. */
export interface Random {
  /** Generates an id: 96 random bits in base64url. */
  id(): string;
}

/** The length of an id in bytes: 96 random bits are infeasible to guess. */
const SIZE = 12;

/** A pool of random bytes for 64 ids. Generating bytes takes twenty times as long as reading an id from the pool. */
const pool = Buffer.allocUnsafe(64 * SIZE);
let used = pool.length;

/** The process's source of randomness; the simulation replaces it. */
export const processRandom: Random = {
  /** Unlike a UUID, which Node.js concatenates from parts, the id is a flat string in memory. */
  id() {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const id = pool.toString("base64url", used, used + SIZE);
    used += SIZE;
    return id;
  },
};

/**
 * Runs work that handles its own failures, without waiting for it. A rejection is a bug, which is
 * reported as a warning and otherwise ignored.
 */
export function detach(work: Promise<unknown>): void {
  work.catch((error: unknown) => process.emitWarning(String((error as Error)?.stack ?? error)));
}

/** Starts a worker thread. The thread does not inherit the process's options, such as preloaded modules. */
export const startThread = (file: URL, workerData: unknown): Worker =>
  new Worker(file, { workerData, execArgv: [], env: { ...process.env, NODE_OPTIONS: "" } });
