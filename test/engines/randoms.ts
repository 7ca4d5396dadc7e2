/** Random choices that are the same for the same seed (mulberry32). */
export function randoms(seed: number) {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (below: number): number => Math.floor(next() * below);
  return {
    /** A whole number from 0 on. */
    whole,
    /** Whether something happens that has this probability. */
    chance: (probability: number): boolean => next() < probability,
    pick: <T>(list: readonly T[]): T => list[whole(list.length)]!,
  };
}
