import { Cache } from "../cache.js";
import type { Staleness } from "./notes.js";

/** The bound for the values of one kind, in characters of what was read. */
const MAX_SIZE = 16 * 1024 * 1024;

/** How many worlds may have changed until all count as changed. */
const MAX_STATES = 10_000;

/** The memory of an entry beside its value, in characters. */
const ENTRY_OVERHEAD = 500;

/** A value, and its size in characters. */
interface Loaded<V> {
  value: V;
  size: number;
}

/** A cache of values of one kind. What is absent is not cached, as anybody may ask for anything. */
interface CachedReads<V> {
  /**
   * @param world whose changes make the value stale.
   * @returns the value, if it is known.
   */
  find(world: string, key: string): V | undefined;
  /**
   * @param key names the value among all worlds.
   * @param load reads the value.
   * @param isShared whether others who ask meanwhile get the same answer, or the same error.
   */
  read(
    world: string,
    key: string,
    load: () => Promise<Loaded<V>>,
    isShared?: boolean,
  ): Promise<V>;
}

/** A state of the values of a world. A later one is another object. */
type State = object;

/** Stands for all worlds: by it, they are found by host names and issuers. */
export const INDEX = "";

/**
 * Caches what was read of each world until a notification says that it is stale, or
 * until it is not sure any more that every notification arrives. A value is found by
 * its key, so values of several worlds need different keys.
 */
class WorldCache {
  readonly #isTrusted: () => boolean;
  /** The state of worlds that changed since all were forgotten. */
  readonly #states = new Map<string, State>();
  /** The state of all other worlds. */
  #all: State = {};

  /** @param isTrusted whether every change of more than a second ago is known. */
  constructor(isTrusted: () => boolean) {
    this.#isTrusted = isTrusted;
  }

  /** What was read of a world is stale. */
  forget(world: string): void {
    // A role that may notify can also name worlds that do not exist.
    if (this.#states.size >= MAX_STATES) this.forgetAll();
    this.#states.set(world, {});
  }

  /** Everything is stale. */
  forgetAll(): void {
    this.#states.clear();
    this.#all = {};
  }

  #stateOf(world: string): State {
    return this.#states.get(world) ?? this.#all;
  }

  /** @param size the bound for all values together, in characters of what was read. */
  reads<V>(size = MAX_SIZE): CachedReads<V> {
    const cache = new Cache<{ state: State; value: V }>(size);
    /** What is being read, so that a crowd asks once. */
    const loading = new Map<string, { state: State; value: Promise<V> }>();

    const find = (world: string, key: string): V | undefined => {
      if (!this.#isTrusted()) return undefined;
      const known = cache.get(key);
      return known?.state === this.#stateOf(world) ? known.value : undefined;
    };

    const loaded = async (
      world: string,
      key: string,
      load: () => Promise<Loaded<V>>,
    ): Promise<V> => {
      const state = this.#stateOf(world);
      const { value, size } = await load();
      if (value !== undefined && state === this.#stateOf(world)) {
        cache.set(key, { state, value }, ENTRY_OVERHEAD + key.length + size);
      }
      return value;
    };

    return {
      find,
      read: (world, key, load, isShared = true) => {
        if (!this.#isTrusted()) return load().then(({ value }) => value);
        const known = find(world, key);
        if (known !== undefined) return Promise.resolve(known);
        if (!isShared) return loaded(world, key, load);
        const state = this.#stateOf(world);
        const current = loading.get(key);
        if (current?.state === state) return current.value;
        const own = { state, value: loaded(world, key, load) };
        loading.set(key, own);
        const done = () => {
          if (loading.get(key) === own) loading.delete(key);
        };
        own.value.then(done, done);
        return own.value;
      },
    };
  }
}

/** What is cached of a database. */
export class Caches {
  readonly worlds: WorldCache;
  readonly rooms: WorldCache;

  /** @param isTrusted whether every change of more than a second ago is known. */
  constructor(isTrusted: () => boolean) {
    this.worlds = new WorldCache(isTrusted);
    this.rooms = new WorldCache(isTrusted);
  }

  /** Forgets what is stale of a world. */
  forget(
    world: string,
    { isStale, areRoomsStale, isIndexStale }: Staleness,
  ): void {
    if (isStale) this.worlds.forget(world);
    // Rooms show the domain of their world, and lists depend on its rules.
    if (isStale || areRoomsStale) this.rooms.forget(world);
    if (isIndexStale) this.worlds.forget(INDEX);
  }

  /** Forgets all. */
  forgetAll(): void {
    this.worlds.forgetAll();
    this.rooms.forgetAll();
  }
}
