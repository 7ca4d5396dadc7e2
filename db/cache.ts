interface Entry<V> {
  value: V;
  size: number;
}

/**
 * A cache that is bounded by the size of its values. It keeps two generations. When the younger one
 * is full, it replaces the older one, whose entries survive only if they were read in the meantime.
 * Unlike in an LRU list, a hit in the younger generation writes nothing.
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
 * The bound for the values of one kind, in characters as they were read. Parsed, they
 * may take twenty times as much memory.
 */
const MAX_SIZE = 16 * 1024 * 1024;

/** The memory of an entry beside its value, in characters. */
const ENTRY_OVERHEAD = 500;

/** For how long others who ask get the answer of a read that is under way. */
const SHARED_READ_MS = 1000;

/** How an engine learns that cached values are stale. */
export interface Freshness {
  /** The known state of a part of a world. Any change of the part gives it another one. */
  state(scope: string): unknown;
  /** Whether all changes of a world are known, and those to come will be. */
  isCurrent(world: string): boolean;
  /** Starts to follow a world of which something was read. */
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
  /** Whether others who ask meanwhile get the same answer, or the same error; true by default. */
  isShared?: boolean;
  /** The part of the world whose changes make the value stale; by default the whole. */
  scope?: string;
}

/**
 * What was read of one kind. A value is used until its state has changed: with SQLite that is the
 * next commit of any process, and with PostgreSQL the next entry of the log about its scope, or the
 * moment when entries may be missing. A value is found by its key, so values of several worlds need
 * different keys. What is absent is not kept, as anybody may ask for anything.
 */
export class CachedReads<V> {
  readonly #freshness: Freshness;
  readonly #cache: Cache<Kept<V>>;
  /** What is being read, so that a crowd asks once. */
  readonly #loading = new Map<string, Loading<V>>();

  /** @param size the bound for all values together, in characters of what was read. */
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
   * @param world the world of the value.
   * @param key names the value among all worlds.
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

  /** The value that was kept last, which may be stale. */
  last(key: string): V | undefined {
    return this.#cache.get(key)?.value;
  }

  /**
   * To be called before values are read elsewhere.
   * @returns what keeps such a value, unless it became stale meanwhile.
   */
  begin(world: string, scope = world): (key: string, value: V, size: number) => void {
    const state = this.#freshness.state(scope);
    // Every change after this read will be known only if all were before.
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
