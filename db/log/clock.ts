/** Time, as the code that waits sees it. A simulation passes its own. */
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

/** The time of this process. */
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

/** Lets other work have its turn of the event loop. */
export const nextTurn = (clock: Clock): Promise<void> =>
  new Promise((resolve) => clock.soon(resolve));
