import { randomFillSync } from "node:crypto";
import { Worker } from "node:worker_threads";

/** The clock that waiting code uses. The simulation replaces it. */
export interface Clock {
  /** Milliseconds since some moment. It never goes back, even if the system's clock does. */
  now(): number;
  /** When {@link now} was 0, in milliseconds since 1970. */
  readonly origin: number;
  /** The time of day, in whole milliseconds since 1970. The system may set it. */
  date(): number;
  /**
   * Calls a function once, after some milliseconds.
   * @param keepsAlive whether the process stays alive for the call; false by default.
   * @returns a function that prevents the call.
   */
  after(delay: number, call: () => void, keepsAlive?: boolean): () => void;
  /** Calls a function once, in the next turn of the event loop. Nothing prevents it. */
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

/** Waits for some milliseconds. */
export const sleep = (clock: Clock, delay: number): Promise<void> =>
  new Promise((resolve) => void clock.after(delay, resolve));

/** Resolves in the next turn of the event loop, so that other work can run. */
export const nextTurn = (clock: Clock): Promise<void> =>
  new Promise((resolve) => clock.soon(resolve));

/** Makes ids that nobody can guess. */
export interface Random {
  /** An id: 96 random bits in base64url. */
  id(): string;
}

/** The length of an id in bytes: 96 random bits cannot be guessed. */
const SIZE = 12;

/** Random bytes for 64 ids: a call to get some takes twenty times as long as an id of the pool. */
const pool = Buffer.allocUnsafe(64 * SIZE);
let used = pool.length;

/** Source of randomness; the simulation replaces it. */
export const processRandom: Random = {
  /** Unlike a UUID, which Node.js joins of parts, it is one string in memory. */
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
 * Runs work that handles its own failures, without waiting for it. If it fails all the
 * same, that is a fault of Foyer: the process warns of it, and continues.
 */
export function detach(work: Promise<unknown>): void {
  work.catch((error: unknown) => process.emitWarning(String((error as Error)?.stack ?? error)));
}

/** Starts a thread. Options of the process, such as what to preload, do not apply to it. */
export const startThread = (file: URL, workerData: unknown): Worker =>
  new Worker(file, { workerData, execArgv: [], env: { ...process.env, NODE_OPTIONS: "" } });
