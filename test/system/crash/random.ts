/** Chances that can be had again: the same seed makes the same choices. */
export interface Random {
  /** A number from 0 to below 1. */
  next(): number;
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number;
  pick<T>(of: readonly T[]): T;
}

/** Mulberry32, as `Math.random` takes no seed. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return { next, below, pick: (of) => of[below(of.length)]! };
}

/** How long and with which choices the crash tests run. */
export function plan(fewRounds: number): { rounds: number; seed: number } {
  const { ROUNDS, SEED } = process.env;
  return {
    rounds: Number(ROUNDS ?? fewRounds),
    seed: Number(SEED ?? Math.floor(Math.random() * 2 ** 31)),
  };
}
