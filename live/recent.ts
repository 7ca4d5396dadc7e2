/** A map that keeps what was asked for last. */
export class Recent<K, V> {
  readonly #entries = new Map<K, V>();

  /** @param most how many entries it keeps. */
  constructor(readonly most: number) {}

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.most) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest!);
  }
}
