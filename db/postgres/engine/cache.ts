import { Cache } from "../../cache.js";
import { detach } from "../../detach.js";
import type { AnyEvent } from "../../contract/events.js";
import { type Clock, processClock } from "../../log/clock.js";
import { type Entry, INDEX } from "../../log/entries.js";
import type { LogEvents } from "../../log/log-events.js";
import { UserCache, type UserEntry } from "../users/user-cache.js";

/** The bound for the values of one kind, in characters of what was read. */
const MAX_SIZE = 16 * 1024 * 1024;

/** How many worlds may have changed until all count as changed. */
const MAX_STATES = 10_000;

/** The memory of an entry beside its value, in characters. */
const ENTRY_OVERHEAD = 500;

/** The most worlds that are followed for what is cached of them. */
const MAX_FOLLOWED = 1000;

/** How long a world is followed after the last read of it, in milliseconds. */
const IDLE = 60_000;

/** How often idle worlds are looked for, and how long a world stays at least, in milliseconds. */
const PATROL = 10_000;

/** For how long others who ask get the answer of a read that is under way, in milliseconds. */
const SHARED = 1000;

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

/** A read that is under way. */
interface Loading<V> {
  readonly state: State;
  readonly began: number;
  readonly value: Promise<V>;
}

/** The worlds whose logs are followed for what is cached of them. */
class FollowedWorlds {
  readonly #events: LogEvents;
  readonly #clock: Clock;
  readonly #gaveUp: (world: string) => void;
  /** When each was read last, in that order. */
  readonly #read = new Map<string, number>();
  #stop = () => {};

  /** @param gaveUp gets each world that is not followed any more. */
  constructor(
    events: LogEvents,
    clock: Clock,
    gaveUp: (world: string) => void,
  ) {
    this.#events = events;
    this.#clock = clock;
    this.#gaveUp = gaveUp;
    detach(events.follow(INDEX));
    this.#giveUpLater();
  }

  /** Whether all changes of more than a second ago are known, and those to come will be. */
  isCurrent(world: string): boolean {
    if (!this.#events.isCurrent(world)) return false;
    if (world === INDEX) return true;
    return this.#read.delete(world) && this.#touch(world);
  }

  /** Follows a world from now on, unless too many are read all the time. */
  follow(world: string): void {
    if (world === INDEX || this.#read.has(world)) return;
    if (this.#read.size >= MAX_FOLLOWED) {
      const [[oldest, time]] = this.#read as unknown as [[string, number]];
      if (this.#clock.now() - time < PATROL) return;
      this.#giveUp(oldest);
    }
    this.#touch(world);
    detach(this.#events.follow(world));
  }

  /** The time that counts here, in milliseconds since some moment. */
  now(): number {
    return this.#clock.now();
  }

  close(): void {
    this.#stop();
  }

  #touch(world: string): true {
    this.#read.set(world, this.#clock.now());
    return true;
  }

  #giveUpLater(): void {
    this.#stop = this.#clock.after(PATROL, () => {
      const since = this.#clock.now() - IDLE;
      for (const [world, time] of this.#read) {
        if (time > since) break;
        this.#giveUp(world);
      }
      this.#giveUpLater();
    });
  }

  #giveUp(world: string): void {
    this.#read.delete(world);
    this.#events.unfollow(world);
    // Others may follow it still, or again, and entries may be missed in between.
    this.#gaveUp(world);
  }
}

/**
 * Caches what was read of each world until an entry of its log says that it is stale, or
 * until it is not sure any more that every entry arrives. A value is found by its key, so
 * values of several worlds need different keys.
 */
class WorldCache {
  readonly #followed: () => FollowedWorlds | undefined;
  /** The state of worlds that changed since all were forgotten. */
  readonly #states = new Map<string, State>();
  /** The state of all other worlds. */
  #all: State = {};

  constructor(followed: () => FollowedWorlds | undefined) {
    this.#followed = followed;
  }

  /** What was read of a world is stale. */
  forget(world: string): void {
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
    const loading = new Map<string, Loading<V>>();

    const find = (world: string, key: string): V | undefined => {
      if (!this.#followed()?.isCurrent(world)) return undefined;
      const known = cache.get(key);
      return known?.state === this.#stateOf(world) ? known.value : undefined;
    };

    const loaded = async (
      world: string,
      key: string,
      load: () => Promise<Loaded<V>>,
    ): Promise<V> => {
      const state = this.#stateOf(world);
      // Every change after this read will be known only if the log was followed before.
      const isFollowed = this.#followed()?.isCurrent(world);
      const { value, size } = await load();
      if (value === undefined) return value;
      if (!isFollowed) this.#followed()?.follow(world);
      else if (state === this.#stateOf(world)) {
        cache.set(key, { state, value }, ENTRY_OVERHEAD + key.length + size);
      }
      return value;
    };

    return {
      find,
      read: (world, key, load, isShared = true) => {
        const known = find(world, key);
        if (known !== undefined) return Promise.resolve(known);
        if (!isShared) return loaded(world, key, load);
        const state = this.#stateOf(world);
        const began = performance.now();
        const current = loading.get(key);
        if (current?.state === state && began - current.began < SHARED) {
          return current.value;
        }
        const own = { state, began, value: loaded(world, key, load) };
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

/** What is cached of a database. Nothing is, until it follows the logs. */
export class Caches {
  readonly worlds: WorldCache;
  readonly rooms: WorldCache;
  readonly announcements: WorldCache;
  readonly users: UserCache;
  #followed: FollowedWorlds | undefined;

  constructor() {
    const followed = () => this.#followed;
    this.worlds = new WorldCache(followed);
    this.rooms = new WorldCache(followed);
    this.announcements = new WorldCache(followed);
    this.users = new UserCache(followed);
  }

  /** Caches what is read from now on. @param events without other listeners so far. */
  follow(events: LogEvents, clock: Clock = processClock): void {
    const forget = (world: string) => this.forgetWorld(world);
    this.#followed = new FollowedWorlds(events, clock, forget);
    events.subscribe((event) => this.#take(event));
  }

  /** Forgets what is stale after an entry of the log of a world, or after its reset. */
  forget(entry: Entry | { type: "world.reset"; world: string }): void {
    const { world, type } = entry;
    if (world === INDEX) this.worlds.forget(INDEX);
    else if (type.startsWith("user.")) this.users.forget(entry as UserEntry);
    // It says nothing of users, and a crowd of them would be read again.
    else if (type === "world.updated") this.#forgetRules(world);
    else if (type.startsWith("world.")) this.forgetWorld(world);
    else if (type.startsWith("room")) this.rooms.forget(world);
    else if (type.startsWith("announcement.")) this.announcements.forget(world);
  }

  /** Forgets all of a world. */
  forgetWorld(world: string): void {
    this.#forgetRules(world);
    this.announcements.forget(world);
    this.users.forgetWorld(world);
  }

  /** Forgets all. */
  forgetAll(): void {
    this.worlds.forgetAll();
    this.rooms.forgetAll();
    this.announcements.forgetAll();
    this.users.forgetAll();
  }

  close(): void {
    this.#followed?.close();
  }

  #forgetRules(world: string): void {
    this.worlds.forget(world);
    // Rooms show the domain of their world, and lists depend on its rules.
    this.rooms.forget(world);
  }

  #take(event: AnyEvent): void {
    if (event.type === "live" || !("world" in event)) return;
    this.forget(event);
  }
}
