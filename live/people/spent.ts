import type { Clock } from "../../db/log/clock.js";
import { isNumber } from "../../schemas/plain/shapes.js";
import type { Replica } from "./replica/replica.js";
import type { ForeignItem, Topic } from "./replica/topic.js";

/** The delay before spendings are published together, in milliseconds. */
const REPORT_DELAY = 100;

/** How many sums are kept at most. Beyond it, the oldest goes. */
const MAX_SUMS = 100_000;

interface SpentParts {
  /** How long others have to know a spending, in milliseconds. */
  readonly kept: number;
  /** Something was spent in another process. */
  readonly onSpent: (scope: string, key: string, count: number) => void;
}

/** The sum spent under one key in this process, and the time of the last spending. */
interface Sum {
  readonly scope: string;
  readonly key: string;
  readonly total: number;
  readonly at: number;
}

/** Publishes the spendings of this process, and takes the spendings of others. */
export class Spent {
  readonly #clock: Clock;
  readonly #topic: Topic<number>;
  readonly #kept: number;
  readonly #isAlone: boolean;
  /** The latest spending comes last. */
  readonly #sums = new Map<string, Sum>();
  /** How much of the sums of other processes was handed on. */
  readonly #heard = new Map<string, number>();
  #stop: (() => void) | undefined;

  constructor(clock: Clock, replica: Replica, { kept, onSpent }: SpentParts) {
    this.#clock = clock;
    this.#kept = kept;
    this.#isAlone = replica.isAlone;
    this.#topic = replica.topic<number>({
      name: "spent",
      delay: REPORT_DELAY,
      isValue: (value) => isNumber(value) && (value as number) >= 0,
      put: (item, total) => {
        const name = nameOf(item);
        const before = this.#heard.get(name) ?? 0;
        this.#heard.set(name, total);
        // A sum that was forgotten has begun again.
        const count = total < before ? total : total - before;
        onSpent(item.scope, item.key, count);
      },
      gone: (item) => void this.#heard.delete(nameOf(item)),
    });
  }

  add(scope: string, key: string, count: number): void {
    if (this.#isAlone) return;
    // Neither the id of a world nor of a process has a space.
    const name = `${scope} ${key}`;
    const total = (this.#sums.get(name)?.total ?? 0) + count;
    this.#sums.delete(name);
    this.#sums.set(name, { scope, key, total, at: this.#clock.now() });
    this.#topic.put(scope, key, total);
    if (this.#sums.size > MAX_SUMS) this.#forget(Infinity, 1);
    this.#sweepLater();
  }

  close(): void {
    this.#stop?.();
  }

  #sweepLater(): void {
    this.#stop ??= this.#clock.after(this.#kept, () => {
      this.#stop = undefined;
      this.#forget(this.#clock.now() - this.#kept, Infinity);
      if (this.#sums.size > 0) this.#sweepLater();
    });
  }

  /** Forgets the oldest sums, up to a time and a number. */
  #forget(until: number, most: number): void {
    let count = 0;
    for (const [name, { scope, key, at }] of this.#sums) {
      if (at > until || ++count > most) return;
      this.#sums.delete(name);
      this.#topic.delete(scope, key);
    }
  }
}

const nameOf = ({ process, scope, key }: ForeignItem): string =>
  `${process} ${scope} ${key}`;
