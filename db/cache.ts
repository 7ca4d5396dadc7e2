interface Entry<V> {
  value: V;
  size: number;
}

/**
 * A cache that is bounded by the size of its values. It keeps two generations.
 * When the younger one is full, it replaces the older one, whose entries survive
 * only if they were read in the meantime. Unlike in an LRU list, a hit in the
 * younger generation writes nothing.
 */
export class Cache<V> {
  readonly #generation: number;
  #young = new Map<string, Entry<V>>();
  #old = new Map<string, Entry<V>>();
  #size = 0;

  /** @param size the bound for all values together, in the unit that `set` is given. */
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

  /** Keeps a value instead of the one before. One that is larger than all together may be is not kept. */
  set(key: string, value: V, size: number): void {
    if (size > this.#generation) {
      this.#size -= this.#young.get(key)?.size ?? 0;
      this.#young.delete(key);
      this.#old.delete(key);
      return;
    }
    if (this.#size + size > this.#generation) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#size = 0;
    }
    this.#size += size - (this.#young.get(key)?.size ?? 0);
    this.#young.set(key, { value, size });
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#size = 0;
  }
}
