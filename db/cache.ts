interface Entry<V> {
  value: V;
  size: number;
}

/**
 * A cache bounded by the total size of its values. It keeps two generations of entries. A hit in
 * the old generation copies the entry to the young generation. When the young generation is full,
 * it replaces the old generation, and a new young generation begins. Unlike in an LRU list, a hit
 * in the young generation writes nothing.
 */
export class Cache<V> {
  readonly #generation: number;
  #young = new Map<string, Entry<V>>();
  #old = new Map<string, Entry<V>>();
  #size = 0;

  /** @param size the maximum total size of all values, in the unit passed to `set`. */
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

  /** Sets the value of a key. A value larger than one generation is not cached. */
  set(key: string, value: V, size: number): void {
    if (size > this.#generation) return this.delete(key);
    if (this.#size + size > this.#generation) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#size = 0;
    }
    this.#size += size - (this.#young.get(key)?.size ?? 0);
    this.#young.set(key, { value, size });
  }

  delete(key: string): void {
    this.#size -= this.#young.get(key)?.size ?? 0;
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#size = 0;
  }
}

/**
 * Maximum total size of the cached values of one kind, in characters before parsing. Parsed values
 * may use twenty times as much memory.
 */
const MAX_SIZE = 16 * 1024 * 1024;

/** The memory overhead of a cache entry, in characters. */
const ENTRY_OVERHEAD = 500;

/** Maximum age of a read in flight that more callers may join. */
const SHARED_READ_MS = 1000;

/** Determines when an engine's cached values are stale. */
export interface Freshness {
  /** Returns a token for the known state of a scope, such as a world. Every change in the scope changes the token. */
  state(scope: string): unknown;
  /** Whether this process knows all past changes to a world and will learn of all future changes. */
  isCurrent(world: string): boolean;
  /** Starts to follow a world. Called after a value has been read from that world. */
  follow(world: string): void;
  forget(scope: string): void;
}

interface Loaded<V> {
  value: V;
  size: number;
}

interface Kept<V> {
  readonly state: unknown;
  readonly value: V;
}

interface Loading<V> {
  readonly state: unknown;
  readonly began: number;
  readonly value: Promise<V>;
}

interface ReadOptions {
  /** Whether concurrent callers share the result or error of one read; true by default. */
  isShared?: boolean;
  /** The part of the world in which a change makes the value stale; the whole world by default. */
  scope?: string;
}

/**
 * Caches reads of one kind. A cached value is used until its state token changes: with SQLite, at
 * the next commit of any process; with PostgreSQL, at the next log entry about the scope, or as
 * soon as entries may be missing. Values are found by key alone, so keys must be unique across
 * worlds. Absent values are not cached, because clients may ask for any number of them.
 */
export class CachedReads<V> {
  readonly #freshness: Freshness;
  readonly #cache: Cache<Kept<V>>;
  /** Reads in flight. Concurrent callers share a read. */
  readonly #loading = new Map<string, Loading<V>>();

  /** @param size the maximum total size of all values, in characters before parsing. */
  constructor(freshness: Freshness, size = MAX_SIZE) {
    this.#freshness = freshness;
    this.#cache = new Cache(size);
  }

  find(world: string, key: string, scope = world): V | undefined {
    if (!this.#freshness.isCurrent(world)) return undefined;
    const known = this.#cache.get(key);
    return known && known.state === this.#freshness.state(scope) ? known.value : undefined;
  }

  /**
   * Returns a cached value, or loads the value.
   * @param world the world that contains the value.
   * @param key identifies the value across all worlds.
   * @param load reads the value.
   */
  async read(
    world: string,
    key: string,
    load: () => Promise<Loaded<V>>,
    { isShared = true, scope = world }: ReadOptions = {},
  ): Promise<V> {
    const known = this.find(world, key, scope);
    if (known !== undefined) return known;
    if (!isShared) return this.#load(world, key, scope, load);
    const state = this.#freshness.state(scope);
    const began = performance.now();
    const current = this.#loading.get(key);
    if (current && current.state === state && began - current.began < SHARED_READ_MS)
      return current.value;
    const own = { state, began, value: this.#load(world, key, scope, load) };
    this.#loading.set(key, own);
    try {
      return await own.value;
    } finally {
      if (this.#loading.get(key) === own) this.#loading.delete(key);
    }
  }

  /** Returns the last cached value, even if it is stale. */
  last(key: string): V | undefined {
    return this.#cache.get(key)?.value;
  }

  /**
   * Must be called before reading values without {@link read}.
   * @returns a function that caches such a value, unless the value has become stale since this
   * call.
   */
  begin(world: string, scope = world): (key: string, value: V, size: number) => void {
    const state = this.#freshness.state(scope);
    // Unless this process follows the world already, a later change could go unnoticed.
    const isCurrent = this.#freshness.isCurrent(world);
    return (key, value, size) => {
      if (!isCurrent) this.#freshness.follow(world);
      else if (state === this.#freshness.state(scope)) {
        this.#cache.set(key, { state, value }, ENTRY_OVERHEAD + key.length + size);
      }
    };
  }

  forget(scope: string): void {
    this.#freshness.forget(scope);
  }

  delete(key: string): void {
    this.#cache.delete(key);
  }

  clear(): void {
    this.#cache.clear();
  }

  async #load(
    world: string,
    key: string,
    scope: string,
    load: () => Promise<Loaded<V>>,
  ): Promise<V> {
    const keep = this.begin(world, scope);
    const { value, size } = await load();
    if (value !== undefined) keep(key, value, size);
    return value;
  }
}
