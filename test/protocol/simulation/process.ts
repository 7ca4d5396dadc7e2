import type { Store } from "../../../db/contract/store.js";
import { LogEvents } from "../../../db/log/log-events.js";
import type { SharedDatabase } from "./database.js";
import { type BusFaults, type Network, SimulatedBus } from "./network.js";
import type { Random } from "./random.js";
import { simulatedStore, type StoreFaults } from "./store.js";
import { ProcessTime, type Timeline } from "./timeline.js";

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

/** What processes share. */
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
      onAppended: (hints) => this.events.took(hints),
      seen: () => this.events.seen(),
    });
    this.events = new LogEvents({ bus: this.bus, log: this.store.log, clock: time, onFault });
  }

  pause(duration: number): void {
    if (this.time.isPaused || this.time.isOver) return;
    this.time.pause(duration);
    this.#cluster.network.paused(this.bus, duration);
  }

  /** The process dies. */
  kill(): void {
    this.time.end();
    this.#cluster.network.detach(this.bus);
  }

  close(): void {
    this.time.end();
    void this.events.close();
  }
}
