import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../db/log/clock.js";

interface Planned {
  readonly at: number;
  /** Counts up: of two at the same time, the first planned comes first. */
  readonly order: number;
  readonly run: () => void;
}

const isBefore = (a: Planned, b: Planned): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order);

/** Simulated time: it jumps from one planned call to the next. */
export class Timeline {
  now = 0;
  #order = 0;
  /** A heap: none comes before the one at half its index. */
  readonly #heap: Planned[] = [];

  /** Plans a call. */
  at(at: number, run: () => void): void {
    this.#add({ at: Math.max(at, this.now), order: this.#order++, run });
  }

  /** Lets time pass. All that follows from one call at once is done before the next. */
  async runUntil(end: number): Promise<void> {
    while (this.#runNext(end)) await setImmediate();
    this.now = end;
  }

  #runNext(end: number): boolean {
    const [next] = this.#heap;
    if (!next || next.at > end) return false;
    this.#removeFirst();
    this.now = next.at;
    next.run();
    return true;
  }

  #add(planned: Planned): void {
    const heap = this.#heap;
    let i = heap.push(planned) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(planned, heap[parent]!)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = planned;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) {
        child++;
      }
      if (!isBefore(heap[child]!, last)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
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
