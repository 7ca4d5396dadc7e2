import { Replica } from "../../live/people/replica/replica.js";
import type { Topic } from "../../live/people/replica/topic.js";
import { isCount } from "../../schemas/plain/shapes.js";
import { FaultyBus } from "./faulty-bus.js";
import type { Random } from "./random.js";
import { ProcessTime, type Timeline } from "./timeline.js";

type Values = Map<string, number>;

/** Values in scopes. */
class Scopes {
  readonly #scopes = new Map<string, Values>();

  in(scope: string): Values {
    let values = this.#scopes.get(scope);
    if (!values) this.#scopes.set(scope, (values = new Map<string, number>()));
    return values;
  }

  get names(): string[] {
    return [...this.#scopes.keys()];
  }
}

/** Processes, each with a replica, and the bus between them. */
export class ReplicaCluster {
  readonly bus: FaultyBus;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly violations: string[] = [];
  readonly processes: ReplicaProcess[] = [];
  #started = 0;

  constructor(timeline: Timeline, random: Random, size: number) {
    this.timeline = timeline;
    this.random = random;
    this.bus = new FaultyBus(timeline, random);
    for (let i = 0; i < size; i++) this.processes.push(this.#start());
  }

  #start(): ReplicaProcess {
    return new ReplicaProcess(this, `p${this.#started++}`);
  }

  /** A process ends without a word, and another one takes its place. */
  kill(index: number): void {
    const { random, bus } = this;
    const { name } = this.processes[index]!;
    bus.kill(name);
    this.processes[index] = this.#start();
    if (random.chance(0.5)) bus.end(name, random.between(0, 2_000));
  }

  /** Every process has exactly what the others own in the scopes that it follows. */
  checkSettled(): void {
    for (const process of this.processes) {
      const living = this.processes.filter((other) => other !== process);
      process.checkSettled(living);
    }
  }
}

/** A process: what it owns, and what it has copied of the others. */
export class ReplicaProcess {
  readonly #cluster: ReplicaCluster;
  readonly name: string;
  readonly own = new Scopes();
  readonly #copies = new Map<string, Scopes>();
  readonly #followed = new Map<string, number>();
  readonly #time: ProcessTime;
  readonly #replica: Replica;
  readonly #topic: Topic<number>;
  #value = 0;
  /** How many items of others have gone. */
  gone = 0;

  constructor(cluster: ReplicaCluster, name: string) {
    this.#cluster = cluster;
    this.name = name;
    this.#time = new ProcessTime(cluster.timeline);
    this.#replica = new Replica(
      cluster.bus.attach(name, this.#time),
      this.#time,
    );
    this.#topic = this.#replica.topic<number>({
      name: "test",
      delay: 20,
      isValue: isCount,
      put: ({ process, scope, key }, value) => {
        const values = this.#of(process).in(scope);
        const before = values.get(key) ?? 0;
        if (value <= before) this.#complain(`${key} went back to ${value}`);
        values.set(key, value);
      },
      gone: ({ process, scope, key }) => {
        this.gone++;
        const isKnown = this.#of(process).in(scope).delete(key);
        if (!isKnown) this.#complain(`${key} of ${process} is gone twice`);
      },
    });
  }

  copyOf(process: string, scope: string): ReadonlyMap<string, number> {
    return this.#of(process).in(scope);
  }

  put(scope: string, key: string): void {
    this.#time.whenAwake(() => {
      this.own.in(scope).set(key, ++this.#value);
      this.#topic.put(scope, key, this.#value);
    });
  }

  delete(scope: string, key: string): void {
    this.#time.whenAwake(() => {
      this.own.in(scope).delete(key);
      this.#topic.delete(scope, key);
    });
  }

  follow(scope: string): void {
    this.#time.whenAwake(() => {
      this.#followed.set(scope, (this.#followed.get(scope) ?? 0) + 1);
      void this.#replica.follow(scope);
    });
  }

  unfollow(scope: string): void {
    this.#time.whenAwake(() => {
      const holders = this.#followed.get(scope) ?? 0;
      if (holders === 0) return;
      this.#followed.set(scope, holders - 1);
      this.#replica.unfollow(scope);
    });
  }

  pause(duration: number): void {
    this.#time.pause(duration);
  }

  checkSettled(others: readonly ReplicaProcess[]): void {
    for (const [process, scopes] of this.#copies) {
      for (const scope of scopes.names) {
        const other = others.find(({ name }) => name === process);
        if (scopes.in(scope).size > 0 && !other) {
          this.#complain(`still has items of ${process}, which has ended`);
        }
        if (scopes.in(scope).size > 0 && !this.#follows(scope)) {
          this.#complain(`has items in ${scope}, which it does not follow`);
        }
      }
    }
    for (const other of others) {
      for (const scope of other.own.names) {
        if (!this.#follows(scope)) continue;
        const expected = textOf(other.own.in(scope));
        const found = textOf(this.#of(other.name).in(scope));
        if (found === expected) continue;
        this.#complain(
          `has ${found} of ${other.name} in ${scope}, not ${expected}`,
        );
      }
    }
  }

  #follows(scope: string): boolean {
    return (this.#followed.get(scope) ?? 0) > 0 || scope === "";
  }

  #of(process: string): Scopes {
    let scopes = this.#copies.get(process);
    if (!scopes) this.#copies.set(process, (scopes = new Scopes()));
    return scopes;
  }

  #complain(what: string): void {
    const { violations, timeline } = this.#cluster;
    violations.push(`at ${Math.round(timeline.now)} ms, ${this.name}: ${what}`);
  }
}

const textOf = (values: ReadonlyMap<string, number>): string =>
  JSON.stringify([...values].sort(([a], [b]) => (a < b ? -1 : 1)));
