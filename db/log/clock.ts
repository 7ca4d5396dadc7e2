/** Time, as the code that waits sees it. A simulation passes its own. */
export interface Clock {
  /** Milliseconds since some moment. It never goes back, whatever happens to the system's clock. */
  now(): number;
  /**
   * Calls a function once, after some milliseconds.
   * @returns a function that prevents the call.
   */
  after(delay: number, call: () => void): () => void;
}

/** The time of this process. Its timers do not keep the process alive. */
export const processClock: Clock = {
  now: () => performance.now(),
  after(delay, call) {
    const timer = setTimeout(call, delay).unref();
    return () => clearTimeout(timer);
  },
};
