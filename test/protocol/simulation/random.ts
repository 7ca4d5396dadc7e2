import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

/** Numbers that look random and follow from a seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1. The generator is mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number below a bound. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A UUID, as far as one can tell. */
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
 * Replaces the time of day and the randomness of this process: all that it stores follows from a
 * seed.
 * @returns a function that takes that back.
 */
export function replaceChance(random: Random, date: () => number): () => void {
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
