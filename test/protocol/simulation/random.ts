import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

/** A seeded pseudorandom number generator. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). The generator is mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer from 0 (inclusive) to a bound (exclusive). */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Returns a string that looks like a UUID. */
  uuid(): string {
    const hex = Array.from({ length: 4 }, () =>
      this.below(2 ** 32)
        .toString(16)
        .padStart(8, "0"),
    ).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }
}

/**
 * Replaces the clock and the randomness of this process, so that a seed determines everything it
 * stores.
 * @returns a function that restores them.
 */
export function mockClockAndRandom(random: Random, date: () => number): () => void {
  const { now } = Date;
  const { random: chance } = Math;
  const { randomUUID } = crypto;
  const replace = (...own: [typeof now, typeof chance, typeof randomUUID]) => {
    [Date.now, Math.random, crypto.randomUUID] = own;
    syncBuiltinESMExports();
  };
  replace(
    date,
    () => random.next(),
    () => random.uuid() as ReturnType<typeof randomUUID>,
  );
  return () => replace(now, chance, randomUUID);
}
