import { setImmediate } from "node:timers/promises";
import type { Store } from "../../../db/contract/store.js";
import { LogEvents } from "../../../db/log/log-events.js";
import type { Clock } from "../../../db/runtime.js";
import type { SharedDatabase } from "./database.js";
import { type BusFaults, type Network, SimulatedBus } from "./network.js";
import type { Random } from "./random.js";
import { simulatedStore, type StoreFaults } from "./store.js";

interface Planned {
  readonly at: number;
  readonly run: () => void;
}

/** Simulated time, which jumps from one scheduled call to the next. */
export class Timeline {
  now = 0;
  /** Sorted by descending time: the next call is the last element. */
  readonly #planned: Planned[] = [];

  /** Schedules a call. */
  at(at: number, run: () => void): void {
    const planned = { at: Math.max(at, this.now), run };
    // Calls scheduled for the same time run in the order in which they were scheduled.
    let [low, high] = [0, this.#planned.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#planned[middle]!.at > planned.at) low = middle + 1;
      else high = middle;
    }
    this.#planned.splice(low, 0, planned);
  }

  /** Advances the time. The immediate consequences of each call complete before the next call runs. */
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

/** Simulated time starts with the year 2027. */
export const ORIGIN = Date.UTC(2027, 0, 1);

/** A process's clock, which stops while the process is paused, and ends with it. */
export class ProcessTime implements Clock {
  readonly origin = ORIGIN;
  readonly #timeline: Timeline;
  #pausedAt = 0;
  #pausedUntil = 0;
  /** Total duration of earlier pauses, in milliseconds. */
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

  /** Total time during which the process was not paused, in milliseconds. */
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

  /** Calls a function now, or once the process resumes; never if it has ended. */
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

/** All faults, each as a probability. */
export type Faults = StoreFaults & BusFaults;

export const NO_FAULTS: Faults = { failed: 0, doubtful: 0, slow: 0, lost: 0, doubled: 0, late: 0 };

export function faultsOf(random: Random): Faults {
  const some = () => (random.chance(0.5) ? random.next() ** 2 : 0);
  return {
    failed: 0.7 * some(),
    doubtful: 0.5 * some(),
    slow: some(),
    lost: some(),
    doubled: some(),
    late: some(),
  };
}

/** The resources that processes share. */
export interface Cluster {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly database: SharedDatabase;
  readonly network: Network;
  readonly faults: Faults;
}

/** A process of a simulated server: its bus, its store, and its log. */
export class Process {
  readonly time: ProcessTime;
  readonly store: Store;
  readonly bus: SimulatedBus;
  readonly events: LogEvents;
  readonly #cluster: Cluster;

  constructor(cluster: Cluster, name: string, onFault: (error: unknown) => void) {
    this.#cluster = cluster;
    const time = new ProcessTime(cluster.timeline);
    this.time = time;
    this.bus = new SimulatedBus(cluster.network, time, name, onFault);
    this.store = simulatedStore(cluster, {
      time,
      onAppended: (hints) => this.events.appended(hints),
      seen: () => this.events.seen(),
    });
    this.events = new LogEvents({ bus: this.bus, log: this.store.log, clock: time, onFault });
  }

  pause(duration: number): void {
    if (this.time.isPaused || this.time.isOver) return;
    this.time.pause(duration);
    this.#cluster.network.paused(this.bus, duration);
  }

  kill(): void {
    this.time.end();
    this.#cluster.network.detach(this.bus);
  }

  close(): void {
    this.time.end();
    void this.events.close();
  }
}
