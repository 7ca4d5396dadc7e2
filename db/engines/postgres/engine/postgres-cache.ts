import { CachedReads, type Freshness } from "../../../cache.js";
import type { AnyEvent } from "../../../contract/events.js";
import { userKeyOf } from "../../../domains/users/user-reads.js";
import { type Entry, INDEX } from "../../../log/entries.js";
import type { LogEvents } from "../../../log/log-events.js";
import { type Clock, detach, processClock } from "../../../runtime.js";

/** Maximum number of worlds to follow for the sake of cached values. */
const MAX_FOLLOWED = 1000;

/** Time for which a world is followed after it was last read. */
const FOLLOW_IDLE_MS = 60_000;

/** The interval between checks for idle worlds, and the minimum time that a world stays followed. */
const PATROL_INTERVAL_MS = 10_000;

/**
 * Maximum age of cached users. Most logins of a known user append no entry, so other nodes have an
 * outdated `last_login`. The outdated value is harmless, because a user counts as inactive only
 * after a far longer time.
 */
const USERS_KEPT_MS = 3_600_000;

/** The worlds whose logs are followed for the sake of cached values. */
class FollowedWorlds {
  readonly #events: LogEvents;
  readonly #clock: Clock;
  readonly #gaveUp: (world: string) => void;
  readonly #aged: () => void;
  /** The time at which the cached users were last evicted. */
  #renewed: number;
  /** The time at which each followed world was last read, in chronological order. */
  readonly #read = new Map<string, number>();
  #stop = () => {};

  /**
   * @param gaveUp called with each world that is no longer followed.
   * @param aged called at intervals of {@link USERS_KEPT_MS}.
   */
  constructor(events: LogEvents, clock: Clock, gaveUp: (world: string) => void, aged: () => void) {
    this.#events = events;
    this.#clock = clock;
    this.#gaveUp = gaveUp;
    this.#aged = aged;
    this.#renewed = clock.now();
    detach(events.follow(INDEX));
    this.#dropLater();
  }

  /** Whether this process knows all changes made more than a second ago, and will learn of all future changes. */
  isCurrent(world: string): boolean {
    if (!this.#events.isCurrent(world)) return false;
    if (world === INDEX) return true;
    return this.#read.delete(world) && this.#touch(world);
  }

  /** Starts to follow a world, unless too many other worlds were read recently. */
  follow(world: string): void {
    if (world === INDEX || this.#read.has(world)) return;
    if (this.#read.size >= MAX_FOLLOWED) {
      const [[oldest, time]] = this.#read as unknown as [[string, number]];
      if (this.#clock.now() - time < PATROL_INTERVAL_MS) return;
      this.#drop(oldest);
    }
    this.#touch(world);
    detach(this.#events.follow(world));
  }

  close(): void {
    this.#stop();
  }

  #touch(world: string): true {
    this.#read.set(world, this.#clock.now());
    return true;
  }

  #dropLater(): void {
    this.#stop = this.#clock.after(PATROL_INTERVAL_MS, () => {
      const now = this.#clock.now();
      const since = now - FOLLOW_IDLE_MS;
      if (now - this.#renewed >= USERS_KEPT_MS) {
        this.#renewed = now;
        this.#aged();
      }
      for (const [world, time] of this.#read) {
        if (time > since) break;
        this.#drop(world);
      }
      this.#dropLater();
    });
  }

  #drop(world: string): void {
    this.#read.delete(world);
    this.#events.unfollow(world);
    // Evict the world's values. Something else may still follow the world, or follow it later, but
    // the cache may miss entries in between.
    this.#gaveUp(world);
  }
}

/** Number of changed scopes at which all scopes are treated as changed. */
const MAX_STATES = 10_000;

/**
 * Tracks the states of cached values, which change with log entries. A scope is a set of values
 * that an entry invalidates together.
 */
class ScopeStates implements Freshness {
  readonly #followed: Pick<FollowedWorlds, "isCurrent" | "follow">;
  readonly #caches: CachedReads<unknown>[] = [];
  /**
   * The states of the scopes that have changed since the last full invalidation. Each change
   * creates a new object.
   */
  readonly #states = new Map<string, object>();
  #all = {};

  constructor(followed: Pick<FollowedWorlds, "isCurrent" | "follow">) {
    this.#followed = followed;
  }

  state(scope: string): object {
    return this.#states.get(scope) ?? this.#all;
  }

  isCurrent(world: string): boolean {
    return this.#followed.isCurrent(world);
  }

  follow(world: string): void {
    this.#followed.follow(world);
  }

  /** @param size see {@link CachedReads}. */
  reads<V>(size?: number): CachedReads<V> {
    const cache = new CachedReads<V>(this, size);
    this.#caches.push(cache as CachedReads<unknown>);
    return cache;
  }

  /** Invalidates a scope's values. Immediately evicts the value whose key is the scope itself. */
  forget(scope: string): void {
    if (this.#states.size >= MAX_STATES) this.forgetAll();
    this.#states.set(scope, {});
    for (const cache of this.#caches) cache.delete(scope);
  }

  /** Invalidates and evicts all values. */
  forgetAll(): void {
    this.#states.clear();
    this.#all = {};
    for (const cache of this.#caches) cache.clear();
  }
}

/** A database's caches. They stay empty until the logs are followed. */
export class Caches {
  readonly worlds: ScopeStates;
  readonly rooms: ScopeStates;
  /** Users by {@link userKeyOf}, and user ids by name. */
  readonly users: ScopeStates;
  #followed: FollowedWorlds | undefined;

  constructor() {
    const followed = {
      isCurrent: (world: string) => this.#followed?.isCurrent(world) ?? false,
      follow: (world: string) => this.#followed?.follow(world),
    };
    this.worlds = new ScopeStates(followed);
    this.rooms = new ScopeStates(followed);
    this.users = new ScopeStates(followed);
  }

  /** Starts caching reads. @param events must not have other listeners yet. */
  follow(events: LogEvents, clock: Clock = processClock): void {
    this.#followed = new FollowedWorlds(
      events,
      clock,
      (world) => this.forgetWorld(world),
      () => this.users.forgetAll(),
    );
    events.subscribe((event) => this.#take(event));
  }

  /** Invalidates the values that an entry in a world's log affects, or that the world's reset affects. */
  forget(entry: Entry | { type: "world.reset"; world: string }): void {
    const { world, type } = entry;
    if (world === INDEX) this.worlds.forget(INDEX);
    // Nothing about an erased user may remain in memory, including the user's names.
    else if (type === "user.erased") this.users.forgetAll();
    else if ("user" in entry && type.startsWith("user.")) {
      this.users.forget(userKeyOf(world, entry.user));
    }
    // What an invitation grants is cached with the users.
    else if ("invitation" in entry) this.users.forget(userKeyOf(world, entry.invitation));
    // Keep the cached users: the entry does not affect them, and reading a whole crowd again would
    // be expensive.
    else if (type === "world.updated") this.#forgetRules(world);
    else if (type.startsWith("world.")) this.forgetWorld(world);
    else if (type.startsWith("room")) this.rooms.forget(world);
  }

  forgetWorld(world: string): void {
    this.#forgetRules(world);
    this.users.forgetAll();
  }

  forgetAll(): void {
    this.worlds.forgetAll();
    this.rooms.forgetAll();
    this.users.forgetAll();
  }

  close(): void {
    this.#followed?.close();
  }

  #forgetRules(world: string): void {
    this.worlds.forget(world);
    // A room may use the world's domain, and lists of rooms depend on the world's rules.
    this.rooms.forget(world);
  }

  #take(event: AnyEvent): void {
    if (event.type === "snapshot" || !("world" in event)) return;
    this.forget(event);
  }
}
