import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../db/log/clock.js";

interface Planned {
  at: number;
  /** Counts up: of two at the same time, the first planned comes first. */
  order: number;
  run: () => void;
}

/** Simulated time: it jumps from one planned call to the next. */
export class Timeline {
  now = 0;
  #order = 0;
  #planned: Planned[] = [];

  /** Plans a call. @returns a function that takes it back. */
  at(at: number, run: () => void): () => void {
    const planned = { at: Math.max(at, this.now), order: this.#order++, run };
    const behind = this.#planned.findIndex((other) => other.at > planned.at);
    this.#planned.splice(
      behind < 0 ? this.#planned.length : behind,
      0,
      planned,
    );
    return () => {
      const index = this.#planned.indexOf(planned);
      if (index >= 0) this.#planned.splice(index, 1);
    };
  }

  /** Lets time pass. All that follows from one call at once is done before the next. */
  async runUntil(end: number): Promise<void> {
    while (this.#runNext(end)) await setImmediate();
    this.now = end;
  }

  /** Lets time pass for code that waits for no promise. */
  runAtOnce(end: number): void {
    while (this.#runNext(end));
    this.now = end;
  }

  #runNext(end: number): boolean {
    const next = this.#planned[0];
    if (!next || next.at > end) return false;
    this.#planned.shift();
    this.now = next.at;
    next.run();
    return true;
  }
}

/** The time of a process, which stands still while the process is paused, and ends with it. */
export class ProcessTime implements Clock {
  readonly #timeline: Timeline;
  #pausedUntil = 0;
  #isOver = false;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  /** Time begins with the first hour of 2027. */
  readonly origin = Date.UTC(2027, 0, 1);

  now(): number {
    return this.#timeline.now;
  }

  date(): number {
    return this.origin + Math.floor(this.#timeline.now);
  }

  soon(call: () => void): void {
    this.after(0, call);
  }

  get isPaused(): boolean {
    return this.#pausedUntil > this.#timeline.now;
  }

  after(delay: number, call: () => void): () => void {
    return this.#timeline.at(this.#timeline.now + delay, () =>
      this.whenAwake(call),
    );
  }

  /** Calls a function now, or when the process goes on; never if it has ended. */
  whenAwake(call: () => void): void {
    if (this.#isOver) return;
    if (this.isPaused) {
      this.#timeline.at(this.#pausedUntil, () => this.whenAwake(call));
    } else call();
  }

  pause(duration: number): void {
    this.#pausedUntil = this.#timeline.now + duration;
  }

  end(): void {
    this.#isOver = true;
  }
}
