import type { Clock } from "../../db/log/clock.js";
import { isCount, isNumber, isRecord } from "../../schemas/plain/shapes.js";
import type { Gone } from "./replica/copies.js";
import type { Replica } from "./replica/replica.js";
import { EVERYWHERE, type ForeignItem, type Topic } from "./replica/topic.js";

/** The counts of one world. */
export interface Totals {
  /** Chat messages that were sent, without edits. */
  messages: number;
  /** Websockets that were dropped because they did not read. */
  slowReaders: number;
  /** When it began, in milliseconds since 1970. */
  since: number;
}

const isTotals = isRecord({
  messages: isCount,
  slowReaders: isCount,
  since: isNumber,
});

/** The counts of one process in a world. They only grow. */
interface Tally {
  totals: Totals;
  /** The processes that publish it: the one that counted, or others after its end. */
  readonly tellers: Set<string>;
  /** When the last of them ended. */
  lostAt: number;
}

/** How many ended processes keep tallies of their own. Tallies of earlier ones are added up. */
const MAX_ENDED = 16;

/** The delay before changes are published together, in milliseconds. */
const REPORT_DELAY = 500;

/** How long a process publishes a tally before it adds it to its own, in milliseconds. */
const SETTLED = 60_000;

/** How long a process waits for each earlier process to adopt the tallies of ended ones, in milliseconds. */
const TURN = 2000;

/**
 * Counts the activity of each world, in all processes. The counts of a process outlive it
 * as long as any process goes on: the first of the others adopts them. To count is one
 * lookup and one addition.
 */
export class Activity {
  readonly #clock: Clock;
  readonly #replica: Replica;
  readonly #topic: Topic<Totals>;
  /** The worlds that were deleted a moment ago. */
  readonly #deleted: Topic<true>;
  readonly #since: number;
  /** By world and process. */
  readonly #worlds = new Map<string, Map<string, Tally>>();
  /** The ended processes whose tallies this one publishes, in order of adoption. */
  readonly #adopted = new Set<string>();
  #stopAdopting: (() => void) | undefined;

  constructor(clock: Clock, replica: Replica) {
    this.#clock = clock;
    this.#replica = replica;
    this.#since = clock.date();
    this.#topic = replica.topic<Totals>({
      name: "activity",
      delay: REPORT_DELAY,
      isValue: isTotals,
      put: (item, totals) => this.#take(item, totals),
      gone: (item, why) => this.#lose(item, why),
    });
    this.#deleted = replica.topic<true>({
      name: "deleted",
      delay: 0,
      isValue: (value) => value === true,
      put: ({ key: world }) => this.#forget(world),
      gone: () => {},
    });
    // The others get the time when this process began to count.
    this.#share(EVERYWHERE, replica.process);
  }

  /** Counts one more. */
  count(world: string, what: "messages" | "slowReaders"): void {
    const { process } = this.#replica;
    this.#tallyOf(world, process).totals[what]++;
    this.#share(world, process);
  }

  /** The counts of all processes, and when the first of them began. */
  of(world: string): Totals {
    const sum = { messages: 0, slowReaders: 0, since: this.#since };
    for (const { totals } of this.#worlds.get(EVERYWHERE)!.values()) {
      sum.since = Math.min(sum.since, totals.since);
    }
    for (const { totals } of this.#worlds.get(world)?.values() ?? []) {
      add(sum, totals);
    }
    return sum;
  }

  close(): void {
    this.#stopAdopting?.();
  }

  #tallyOf(world: string, process: string): Tally {
    let tallies = this.#worlds.get(world);
    if (!tallies) this.#worlds.set(world, (tallies = new Map<string, Tally>()));
    let tally = tallies.get(process);
    if (!tally) {
      const totals = { messages: 0, slowReaders: 0, since: this.#since };
      tally = { totals, tellers: new Set(), lostAt: 0 };
      tallies.set(process, tally);
    }
    return tally;
  }

  /** Publishes the counts of a process. */
  #share(world: string, process: string): void {
    const { totals, tellers } = this.#tallyOf(world, process);
    tellers.add(this.#replica.process);
    this.#topic.put(EVERYWHERE, keyOf(world, process), { ...totals });
  }

  /** Several processes may publish one. The largest of each number is the latest. */
  #take({ process: teller, key }: ForeignItem, totals: Totals): void {
    const [world, process] = partsOf(key);
    if (process === this.#replica.process) return;
    const tally = this.#tallyOf(world, process);
    tally.tellers.add(teller);
    const before = tally.totals;
    tally.totals = {
      messages: Math.max(before.messages, totals.messages),
      slowReaders: Math.max(before.slowReaders, totals.slowReaders),
      since: Math.min(before.since, totals.since),
    };
  }

  #lose({ process: teller, key }: ForeignItem, why: Gone): void {
    const [world, process] = partsOf(key);
    const tally = this.#worlds.get(world)?.get(process);
    if (!tally?.tellers.delete(teller) || tally.tellers.size > 0) return;
    tally.lostAt = this.#clock.now();
    if (why === "deleted") this.#drop(world, process);
    else this.#adoptLater(this.#turn());
  }

  #drop(world: string, process: string): void {
    const tallies = this.#worlds.get(world);
    if (!tallies?.delete(process) || tallies.size > 0) return;
    this.#worlds.delete(world);
  }

  /** The delay before this process adopts orphaned tallies, in milliseconds: the first process does so at once. */
  #turn(): number {
    const { process } = this.#replica;
    const others = this.#replica.othersIn(EVERYWHERE);
    return TURN * others.filter((other) => other < process).length;
  }

  #adoptLater(delay: number): void {
    this.#stopAdopting ??= this.#clock.after(delay, () => {
      this.#stopAdopting = undefined;
      this.#adopt();
    });
  }

  #adopt(): void {
    const turn = this.#turn();
    for (const [world, tallies] of this.#worlds) {
      for (const [process, { tellers, lostAt }] of tallies) {
        if (tellers.size > 0) continue;
        const wait = lostAt + turn - this.#clock.now();
        if (wait > 0) {
          this.#adoptLater(wait);
          continue;
        }
        this.#adopted.add(process);
        this.#share(world, process);
      }
    }
    // Until then the others know the adopting process, or whether the old one lives.
    if (this.#adopted.size > MAX_ENDED) {
      this.#clock.after(SETTLED, () => this.#addUpOldest());
    }
  }

  #addUpOldest(): void {
    const others = this.#replica.othersIn(EVERYWHERE);
    // The others may live, and only be out of reach.
    if (others.length === 0) return;
    for (const process of this.#adopted) {
      if (this.#adopted.size <= MAX_ENDED) return;
      if (others.includes(process)) this.#abandon(process);
      else if (!this.#isShared(process)) this.#addUp(process);
      // Of several that have adopted it, all but the first forget it.
      else if (this.#isAfterAnother(process)) this.#abandon(process);
    }
  }

  /** The tallies that this process publishes for another. */
  *#adoptedOf(process: string): Iterable<[world: string, tally: Tally]> {
    const own = this.#replica.process;
    for (const [world, tallies] of this.#worlds) {
      const tally = tallies.get(process);
      if (tally?.tellers.has(own)) yield [world, tally];
    }
  }

  /** Whether other processes publish the counts of a process, too. */
  #isShared(process: string): boolean {
    return [...this.#adoptedOf(process)].some(
      ([, { tellers }]) => tellers.size > 1,
    );
  }

  /** Whether one of them comes before this one. */
  #isAfterAnother(process: string): boolean {
    const own = this.#replica.process;
    return [...this.#adoptedOf(process)].every(([, { tellers }]) =>
      [...tellers].some((teller) => teller < own),
    );
  }

  /** Stops publishing the counts of a process. */
  #abandon(process: string): void {
    this.#adopted.delete(process);
    for (const [world, { tellers }] of [...this.#adoptedOf(process)]) {
      tellers.delete(this.#replica.process);
      this.#topic.delete(EVERYWHERE, keyOf(world, process));
    }
  }

  /** Adds the counts of a process that ended long ago to its own. */
  #addUp(process: string): void {
    const own = this.#replica.process;
    const tallies = [...this.#adoptedOf(process)];
    this.#abandon(process);
    for (const [world, { totals }] of tallies) {
      this.#drop(world, process);
      add(this.#tallyOf(world, own).totals, totals);
      this.#share(world, own);
    }
  }

  /** A world was deleted. Processes that follow its log tell the others. */
  forget(world: string): void {
    // It stands for all worlds.
    if (world === EVERYWHERE) return;
    this.#forget(world);
    this.#deleted.put(EVERYWHERE, world, true);
    this.#clock.after(SETTLED, () => this.#deleted.delete(EVERYWHERE, world));
  }

  #forget(world: string): void {
    if (world === EVERYWHERE) return;
    const own = this.#replica.process;
    for (const [process, { tellers }] of this.#worlds.get(world) ?? []) {
      if (!tellers.has(own)) continue;
      this.#topic.delete(EVERYWHERE, keyOf(world, process));
    }
    this.#worlds.delete(world);
  }
}

/** Adds counts to a sum. */
function add(sum: Totals, { messages, slowReaders, since }: Totals): void {
  sum.messages += messages;
  sum.slowReaders += slowReaders;
  sum.since = Math.min(sum.since, since);
}

/** The names of processes have no spaces. */
const keyOf = (world: string, process: string) => `${process} ${world}`;

function partsOf(key: string): [world: string, process: string] {
  const end = key.indexOf(" ");
  return [key.slice(end + 1), key.slice(0, end)];
}
