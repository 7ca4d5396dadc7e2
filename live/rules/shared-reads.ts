import { LRUCache } from "lru-cache";
import type { UserRecord } from "../../db/contract/store.js";

/** What a read is about: at least its world. */
interface ReadKey {
  readonly world: string;
}

/** A read under way. */
interface Reading<K, V> {
  readonly key: K;
  readonly value: Promise<V>;
  /** Whether the value may have changed since the read began. */
  isStale: boolean;
}

/** A value that is kept. */
interface Kept<K, V> {
  readonly key: K;
  readonly value: V;
}

/** How {@link SharedReads} are made. Sizes are in characters of JSON. */
interface SharedReadsOptions<K, V> {
  /** Whether this process has got all entries of a world up to a second ago. */
  readonly isCurrent: (world: string) => boolean;
  /** The room or channel whose values are mostly forgotten together. */
  readonly scopeOf: (key: K) => string;
  /** How many values are kept: some entries of the log look at all of them. */
  readonly most: number;
  /** How large they are, all together and each. A larger value is read each time. */
  readonly mostSize: number;
  readonly mostEach: number;
  readonly sizeOf: (value: V) => number;
}

/**
 * Values that many clients read at the same time, so that a crowd reads once. A value is kept
 * until its owner forgets it, which it does when an entry of the log may have changed the value.
 */
export class SharedReads<K extends ReadKey, V extends object> {
  readonly #isCurrent: (world: string) => boolean;
  readonly #scopeOf: (key: K) => string;
  readonly #kept: LRUCache<string, Kept<K, V>>;
  /** The same values by their places. */
  readonly #places = new Map<string, Map<string, Kept<K, V>>>();
  readonly #reading = new Map<string, Reading<K, V>>();

  constructor(options: SharedReadsOptions<K, V>) {
    this.#isCurrent = options.isCurrent;
    this.#scopeOf = options.scopeOf;
    this.#kept = new LRUCache({
      max: options.most,
      maxSize: options.mostSize,
      maxEntrySize: options.mostEach,
      sizeCalculation: ({ value }) => options.sizeOf(value),
      onInsert: (kept, name) => this.#note(kept, name),
      dispose: (kept, name) => this.#lose(kept, name),
    });
  }

  /**
   * @param name of the key: another for each.
   * @param read is called if the value is not kept.
   */
  async get(name: string, key: K, read: () => Promise<V>): Promise<V> {
    // Without all entries of the last second, any value may have changed.
    if (!this.#isCurrent(key.world)) return read();
    const known = this.#kept.get(name);
    if (known) return known.value;
    const current = this.#reading.get(name);
    if (current && !current.isStale) return current.value;
    const reading: Reading<K, V> = { key, value: read(), isStale: false };
    this.#reading.set(name, reading);
    try {
      const value = await reading.value;
      if (!reading.isStale) this.#kept.set(name, { key, value });
      return value;
    } finally {
      if (this.#reading.get(name) === reading) this.#reading.delete(name);
    }
  }

  /** @param isOver whether a value may have changed, which is undefined while it is read. */
  forget(isOver: (key: K, value?: V) => boolean): void {
    for (const values of this.#places.values()) this.#drop(values, isOver);
    this.#spoil(isOver);
  }

  /** Forgets the values of a place. */
  forgetScope(place: string): void {
    const values = this.#places.get(place);
    if (values) this.#drop(values, () => true);
    this.#spoil((key) => this.#scopeOf(key) === place);
  }

  /** Forgets the values of a world. */
  forgetWorld(world: string): void {
    this.forget((key) => key.world === world);
  }

  #drop(values: ReadonlyMap<string, Kept<K, V>>, isOver: (key: K, value: V) => boolean): void {
    for (const [name, { key, value }] of values) {
      if (isOver(key, value)) this.#kept.delete(name);
    }
  }

  /** Keeps no value that is being read now. */
  #spoil(isOver: (key: K) => boolean): void {
    for (const reading of this.#reading.values()) {
      if (isOver(reading.key)) reading.isStale = true;
    }
  }

  #note(kept: Kept<K, V>, name: string): void {
    const place = this.#scopeOf(kept.key);
    const values = this.#places.get(place);
    if (values) values.set(name, kept);
    else this.#places.set(place, new Map([[name, kept]]));
  }

  #lose(kept: Kept<K, V>, name: string): void {
    const place = this.#scopeOf(kept.key);
    const values = this.#places.get(place);
    // Another value of the same name may have replaced it.
    if (values?.get(name) === kept) values.delete(name);
    if (values?.size === 0) this.#places.delete(place);
  }
}

/**
 * Makes something of each record once, and keeps it as long as the record. Records are
 * frozen. The store gives the same object again for an unchanged record, unless it was
 * too large to be kept.
 */
export function oncePer<R extends object, T>(make: (record: R) => T): (record: R) => T {
  const made = new WeakMap<R, { readonly value: T }>();
  return (record) => {
    let known = made.get(record);
    if (!known) made.set(record, (known = { value: make(record) }));
    return known.value;
  };
}

/** How large the profile of a user is, in characters of JSON. */
export const sizeOfProfile = ({ stored }: UserRecord): number => stored.profile?.length ?? 0;
