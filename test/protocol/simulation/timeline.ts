import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../../db/runtime.js";

interface Planned {
  readonly at: number;
  readonly run: () => void;
}

/** Simulated time: it jumps from one planned call to the next. */
export class Timeline {
  now = 0;
  /** The next one is the last. */
  readonly #planned: Planned[] = [];

  /** Plans a call. */
  at(at: number, run: () => void): void {
    const planned = { at: Math.max(at, this.now), run };
    // Of two at the same time, the first planned comes first: the new one comes after all others.
    let [low, high] = [0, this.#planned.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#planned[middle]!.at > planned.at) low = middle + 1;
      else high = middle;
    }
    this.#planned.splice(low, 0, planned);
  }

  /** Lets time pass. All that follows from one call at once is done before the next. */
  async runUntil(end: number): Promise<void> {
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.now = next.at;
      next.run();
      await setImmediate();
    }
    this.now = end;
  }

  #next(end: number): Planned | undefined {
    const next = this.#planned.at(-1);
    return next && next.at <= end ? this.#planned.pop() : undefined;
  }
}

/** Time begins with the first hour of 2027. */
export const ORIGIN = Date.UTC(2027, 0, 1);

/** The time of a process, which stands still while the process is paused, and ends with it. */
export class ProcessTime implements Clock {
  readonly origin = ORIGIN;
  readonly #timeline: Timeline;
  #pausedAt = 0;
  #pausedUntil = 0;
  /** For how long it was paused before. */
  #slept = 0;
  #isOver = false;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  now(): number {
    return this.#timeline.now;
  }

  date(): number {
    return ORIGIN + Math.floor(this.#timeline.now);
  }

  get isPaused(): boolean {
    return this.#pausedUntil > this.#timeline.now;
  }

  /** Whether the process has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** For how long the process has been able to do something, in milliseconds. */
  get awake(): number {
    const { now } = this.#timeline;
    return (this.isPaused ? this.#pausedAt : now) - this.#slept;
  }

  after(delay: number, call: () => void): () => void {
    let isStopped = false;
    this.#timeline.at(this.#timeline.now + delay, () =>
      this.whenAwake(() => {
        if (!isStopped) call();
      }),
    );
    return () => (isStopped = true);
  }

  soon(call: () => void): void {
    this.after(0, call);
  }

  /** Calls a function now, or when the process goes on; never if it has ended. */
  whenAwake(call: () => void): void {
    if (this.#isOver) return;
    if (this.isPaused) {
      this.#timeline.at(this.#pausedUntil, () => this.whenAwake(call));
    } else call();
  }

  pause(duration: number): void {
    const { now } = this.#timeline;
    if (this.isPaused) return;
    this.#pausedAt = now;
    this.#pausedUntil = now + duration;
    this.#timeline.at(this.#pausedUntil, () => (this.#slept += duration));
  }

  end(): void {
    this.#isOver = true;
  }
}
