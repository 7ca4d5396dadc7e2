import { Follower } from "../../db/log/follower.js";
import type { Hint, Logged, Position } from "../../db/log/log.js";
import { SimulatedLog, type SimulatedEntry } from "./log.js";
import type { Random } from "./random.js";
import { ProcessTime, type Timeline } from "./timeline.js";

/** The faults, each as a probability. */
export interface Faults {
  lost: number;
  doubled: number;
  late: number;
  failed: number;
}

export const NO_FAULTS: Faults = { lost: 0, doubled: 0, late: 0, failed: 0 };

/** The processes of a cluster, their bus and their database, of which any may fail. */
export class Cluster {
  faults = NO_FAULTS;
  readonly log = new SimulatedLog();
  /** When the database last went back. */
  wentBack = -Infinity;
  readonly processes: Process[];
  readonly timeline: Timeline;
  readonly random: Random;
  /** Violations, which must never happen. */
  readonly violations: string[] = [];

  constructor(timeline: Timeline, random: Random, size: number) {
    this.timeline = timeline;
    this.random = random;
    this.processes = Array.from(
      { length: size },
      (_, name) => new Process(this, name),
    );
  }

  /** A process commits a write, and sends a hint of it to all. */
  write(writer: Process, world: string): void {
    const entry = this.log.append(world, this.timeline.now);
    const hint = { entry, previous: entry.parent.tag };
    for (const process of this.processes) {
      if (process === writer) process.hear(hint);
      else this.#send(process, hint);
    }
  }

  #send(process: Process, hint: Hint<SimulatedEntry>): void {
    const { random, faults, timeline } = this;
    const copies = random.chance(faults.doubled) ? 2 : 1;
    for (let i = 0; i < copies; i++) {
      if (random.chance(faults.lost)) continue;
      const delay = random.chance(faults.late)
        ? random.between(0, 3_000)
        : random.between(0, 5);
      timeline.at(timeline.now + delay, () => process.hear(hint));
    }
  }

  /** Reads the database at some moment between the call and its answer. */
  read<T>(reader: ProcessTime, read: () => T): Promise<T> {
    const { random, faults, timeline } = this;
    const fails = random.chance(faults.failed);
    const duration = random.between(0, fails ? 1_500 : 30);
    const moment = timeline.now + random.next() * duration;
    const end = timeline.now + duration;
    return new Promise((resolve, reject) => {
      timeline.at(moment, () => {
        const found = read();
        timeline.at(end, () =>
          reader.whenAwake(() =>
            fails ? reject(new Error("busy")) : resolve(found),
          ),
        );
      });
    });
  }

  goBack(duration: number): void {
    this.wentBack = this.timeline.now;
    this.log.goBackTo(this.timeline.now - duration);
  }
}

/** A process with its follower. It records the calls of the follower, and complains about wrong ones. */
export class Process {
  readonly #cluster: Cluster;
  readonly #name: number;
  /** The last entry that was applied in each world. */
  readonly #applied = new Map<string, Position>();
  readonly followed = new Set<string>();
  #time!: ProcessTime;
  #follower!: Follower<SimulatedEntry>;

  constructor(cluster: Cluster, name: number) {
    this.#cluster = cluster;
    this.#name = name;
    this.start();
  }

  /** Starts, and first ends the previous run. */
  start(): void {
    const cluster = this.#cluster;
    this.#time?.end();
    this.#follower?.close();
    this.#applied.clear();
    this.followed.clear();
    const time = new ProcessTime(cluster.timeline);
    this.#time = time;
    this.#follower = new Follower<SimulatedEntry>(
      time,
      {
        heads: (worlds) =>
          cluster.read(time, () =>
            worlds.map((world) => cluster.log.head(world)),
          ),
        since: (...args) =>
          cluster.read(time, () => cluster.log.since(...args)),
      },
      {
        apply: (entry) => this.#apply(entry),
        reset: (world, known) => {
          this.#applied.delete(world);
          cluster.log.raise(world, known.seq);
        },
        failed: () => {},
      },
    );
  }

  hear(hint: Hint<SimulatedEntry>): void {
    this.#time.whenAwake(() => this.#follower.hint(hint));
  }

  pause(duration: number): void {
    this.#time.pause(duration);
  }

  follow(world: string): void {
    if (this.followed.has(world)) return;
    this.followed.add(world);
    void this.#follower.follow(world);
  }

  unfollow(world: string): void {
    if (!this.followed.delete(world)) return;
    this.#follower.unfollow(world);
    this.#applied.delete(world);
  }

  #apply(entry: SimulatedEntry): void {
    const { world, parent } = entry;
    const before = this.#applied.get(world);
    if (before && before.tag !== parent.tag) {
      this.#complain(entry, `follows ${parent.seq}, not ${before.seq}`);
    }
    this.#applied.set(world, entry);
  }

  /** Whatever a process takes for current has to be so. */
  checkCurrent(age: number): void {
    const { log, timeline, wentBack } = this.#cluster;
    if (this.#time.isPaused || timeline.now - wentBack <= age) return;
    for (const world of this.followed) {
      if (!this.#follower.isCurrent(world, age)) continue;
      const { seq } = this.#follower.cursorOf(world)!;
      const missed = log
        .since(world, seq, Infinity)
        .entries.find(({ at }) => at < timeline.now - age);
      if (missed) this.#complain(missed, `is missed at ${seq}`);
    }
  }

  /** When faults have ended, everything has arrived. */
  checkSettled(): void {
    const { log } = this.#cluster;
    for (const world of this.followed) {
      const head = log.head(world);
      const cursor = this.#follower.cursorOf(world);
      if (cursor?.tag !== head.tag) {
        const entry = { world, ...head };
        this.#complain(entry, `has not arrived; the cursor is ${cursor?.seq}`);
      }
      const applied = this.#applied.get(world);
      if (applied && applied.tag !== head.tag) {
        const entry = { world, ...head };
        this.#complain(entry, `was not applied, only ${applied.seq}`);
      }
      if (!this.#follower.isCurrent(world, 1_000)) {
        this.#complain({ world, ...head }, "is not current");
      }
    }
  }

  close(): void {
    this.#follower.close();
    this.#time.end();
  }

  #complain({ world, seq }: Logged, what: string): void {
    const { violations, timeline } = this.#cluster;
    const at = Math.round(timeline.now);
    violations.push(
      `at ${at} ms, process ${this.#name}: entry ${seq} of ${world} ${what}`,
    );
  }
}
