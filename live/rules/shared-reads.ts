import { LRUCache } from "lru-cache";
import type { UserRecord } from "../../db/contract/store.js";

/** Identifies a read. At minimum, the key names the world. */
interface ReadKey {
  readonly world: string;
}

/** A read in progress. */
interface Reading<K, V> {
  readonly key: K;
  readonly value: Promise<V>;
  /** Whether the value may have changed since the read began. */
  isStale: boolean;
}

/** A cached value. */
interface Kept<K, V> {
  readonly key: K;
  readonly value: V;
}

/** Options for {@link SharedReads}. Sizes are in characters of JSON. */
interface SharedReadsOptions<K, V> {
  /** Whether this process has received all entries that were committed to a world's log at least a second ago. */
  readonly isCurrent: (world: string) => boolean;
  /** Returns the id of the room or channel whose values are usually forgotten together. */
  readonly scopeOf: (key: K) => string;
  /** Maximum number of cached values: some log entries require a scan of all values. */
  readonly most: number;
  /** Maximum size of all cached values together, and of each value. A larger value is never cached. */
  readonly mostSize: number;
  readonly mostEach: number;
  readonly sizeOf: (value: V) => number;
}

/**
 * Values that many clients read at the same time, so that a crowd causes a single read. A value is
 * cached until its owner forgets the value, because a log entry may have changed it.
 */
export class SharedReads<K extends ReadKey, V extends object> {
  readonly #isCurrent: (world: string) => boolean;
  readonly #scopeOf: (key: K) => string;
  readonly #kept: LRUCache<string, Kept<K, V>>;
  /** The cached values, by scope. */
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
   * Returns a cached value, or reads it.
   * @param name a string that uniquely identifies the key.
   * @param read called if the value is not cached.
   */
  async get(name: string, key: K, read: () => Promise<V>): Promise<V> {
    // If entries from up to a second ago may be missing, any cached value may be stale.
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

  /**
   * Forgets values that may have changed.
   * @param isOver whether a value may have changed; the value is undefined while it is being read.
   */
  forget(isOver: (key: K, value?: V) => boolean): void {
    for (const values of this.#places.values()) this.#drop(values, isOver);
    this.#spoil(isOver);
  }

  /** Forgets a scope's values. */
  forgetScope(place: string): void {
    const values = this.#places.get(place);
    if (values) this.#drop(values, () => true);
    this.#spoil((key) => this.#scopeOf(key) === place);
  }

  /** Forgets a world's values. */
  forgetWorld(world: string): void {
    this.forget((key) => key.world === world);
  }

  #drop(values: ReadonlyMap<string, Kept<K, V>>, isOver: (key: K, value: V) => boolean): void {
    for (const [name, { key, value }] of values) {
      if (isOver(key, value)) this.#kept.delete(name);
    }
  }

  /** Prevents reads in progress from being cached. */
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
    // A newer value with the same name may have replaced this value.
    if (values?.get(name) === kept) values.delete(name);
    if (values?.size === 0) this.#places.delete(place);
  }
}

/**
 * Derives a value from each record once, and caches the value for as long as the record exists.
 * Records are frozen. The store returns the same object for an unchanged record, unless the record
 * was too large to be cached.
 */
export function oncePer<R extends object, T>(make: (record: R) => T): (record: R) => T {
  const made = new WeakMap<R, { readonly value: T }>();
  return (record) => {
    let known = made.get(record);
    if (!known) made.set(record, (known = { value: make(record) }));
    return known.value;
  };
}

/** Returns the size of a user's profile, in characters of JSON. */
export const sizeOfProfile = ({ stored }: UserRecord): number => stored.profile?.length ?? 0;
