interface Kept<V> {
  value: V;
  size: number;
}

/**
 * Remembers values up to a size, and forgets first what was not asked for of
 * late. What it holds is in two generations: when the younger is full, it
 * becomes the older, whose values are forgotten unless they are asked for. So,
 * unlike in a list by last use, a hit writes nothing.
 */
export class Memory<V> {
  readonly #generation: number;
  #young = new Map<string, Kept<V>>();
  #old = new Map<string, Kept<V>>();
  #size = 0;

  /** @param size what all values have together at most, in whatever measure. */
  constructor(size: number) {
    this.#generation = size / 2;
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young) return young.value;
    const old = this.#old.get(key);
    if (old) this.set(key, old.value, old.size);
    return old?.value;
  }

  set(key: string, value: V, size: number): void {
    if (this.#size + size > this.#generation) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#size = 0;
    }
    this.#young.set(key, { value, size });
    this.#size += size;
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#size = 0;
  }
}
