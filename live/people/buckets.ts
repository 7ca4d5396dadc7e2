import type { Clock } from "../../db/log/clock.js";
import { TokenBucket } from "../socket/token-bucket.js";

/** How many buckets are kept at most. Beyond it, the older half goes. */
const MAX_BUCKETS = 100_000;

/** The number of buckets from which on full ones are removed. */
const SWEPT = 1000;

/**
 * A rate for each of many keys. A bucket is kept until it is full again: from then on it
 * is like a new one.
 */
export class Buckets {
  /** The oldest comes first. */
  readonly #buckets = new Map<string, TokenBucket>();
  /** With how many buckets the full ones are forgotten. */
  #sweepAt = SWEPT;

  /**
   * @param rate how many a second.
   * @param burst how many times the rate may come at once.
   */
  constructor(
    readonly clock: Clock,
    readonly rate: number,
    readonly burst: number,
  ) {}

  /** How many buckets are kept. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Takes tokens of a key. @returns whether there were enough; otherwise it takes none. */
  take(key: string, count: number): boolean {
    return this.#of(key).take(count);
  }

  /** Takes tokens, at most a burst, even in advance: the next caller waits for them. */
  spend(key: string, count: number): void {
    this.#of(key).spend(Math.min(count, this.rate * this.burst));
  }

  #of(key: string): TokenBucket {
    let bucket = this.#buckets.get(key);
    if (!bucket) {
      if (this.#buckets.size >= this.#sweepAt) this.#sweep();
      bucket = new TokenBucket(this.rate, this.burst, this.clock);
      this.#buckets.set(key, bucket);
    }
    return bucket;
  }

  /** Forgets the full ones. It runs again with twice as many, so each costs little. */
  #sweep(): void {
    const buckets = this.#buckets;
    for (const [key, bucket] of buckets) {
      if (bucket.isFull) buckets.delete(key);
    }
    if (buckets.size >= MAX_BUCKETS) {
      for (const key of [...buckets.keys()].slice(0, MAX_BUCKETS / 2)) {
        buckets.delete(key);
      }
    }
    this.#sweepAt = Math.min(Math.max(SWEPT, 2 * buckets.size), MAX_BUCKETS);
  }
}
