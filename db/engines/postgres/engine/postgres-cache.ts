import { CachedReads, type Freshness } from "../../../cache.js";
import type { AnyEvent } from "../../../contract/events.js";
import { userKeyOf } from "../../../domains/users/user-reads.js";
import { type Entry, INDEX } from "../../../log/entries.js";
import type { LogEvents } from "../../../log/log-events.js";
import { type Clock, detach, processClock } from "../../../runtime.js";

/** The most worlds that are followed for what is cached of them. */
const MAX_FOLLOWED = 1000;

/** How long a world is followed after the last read of it. */
const FOLLOW_IDLE_MS = 60_000;

/** How often idle worlds are looked for, and how long a world stays at least. */
const PATROL_INTERVAL_MS = 10_000;

/**
 * For how long users are kept at most. Most logins of a known user append no
 * entry, so other nodes have an older `last_login`. It decides who is inactive, which takes far longer.
 */
const USERS_KEPT_MS = 3_600_000;

/** The worlds whose logs are followed for what is cached of them. */
class FollowedWorlds {
  readonly #events: LogEvents;
  readonly #clock: Clock;
  readonly #gaveUp: (world: string) => void;
  readonly #aged: () => void;
  /** When the users that are kept were forgotten. */
  #renewed: number;
  /** When each was read last, in that order. */
  readonly #read = new Map<string, number>();
  #stop = () => {};

  /**
   * @param gaveUp gets each world that is not followed any more.
   * @param aged is called each {@link USERS_KEPT_MS}.
   */
  constructor(events: LogEvents, clock: Clock, gaveUp: (world: string) => void, aged: () => void) {
    this.#events = events;
    this.#clock = clock;
    this.#gaveUp = gaveUp;
    this.#aged = aged;
    this.#renewed = clock.now();
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
      if (this.#clock.now() - time < PATROL_INTERVAL_MS) return;
      this.#giveUp(oldest);
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

  #giveUpLater(): void {
    this.#stop = this.#clock.after(PATROL_INTERVAL_MS, () => {
      const now = this.#clock.now();
      const since = now - FOLLOW_IDLE_MS;
      if (now - this.#renewed >= USERS_KEPT_MS) {
        this.#renewed = now;
        this.#aged();
      }
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

/** How many scopes may have changed until all count as changed. */
const MAX_STATES = 10_000;

/**
 * The states of what is cached, as the entries of logs renew them. What an entry makes stale
 * together is a scope.
 */
class ScopeStates implements Freshness {
  readonly #followed: Pick<FollowedWorlds, "isCurrent" | "follow">;
  readonly #caches: CachedReads<unknown>[] = [];
  /** The state of scopes that changed since all were forgotten. A later state is another object. */
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

  /** What was read of a scope is stale. A value with the scope as its key leaves the memory. */
  forget(scope: string): void {
    if (this.#states.size >= MAX_STATES) this.forgetAll();
    this.#states.set(scope, {});
    for (const cache of this.#caches) cache.delete(scope);
  }

  /** Everything is stale, and leaves the memory. */
  forgetAll(): void {
    this.#states.clear();
    this.#all = {};
    for (const cache of this.#caches) cache.clear();
  }
}

/** What is cached of a database. Nothing is, until it follows the logs. */
export class Caches {
  readonly worlds: ScopeStates;
  readonly rooms: ScopeStates;
  /** Users by {@link userKeyOf}, and their ids by their names. */
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

  /** Caches what is read from now on. @param events without other listeners so far. */
  follow(events: LogEvents, clock: Clock = processClock): void {
    this.#followed = new FollowedWorlds(
      events,
      clock,
      (world) => this.forgetWorld(world),
      () => this.users.forgetAll(),
    );
    events.subscribe((event) => this.#take(event));
  }

  /** Forgets what is stale after an entry of the log of a world, or after its reset. */
  forget(entry: Entry | { type: "world.reset"; world: string }): void {
    const { world, type } = entry;
    if (world === INDEX) this.worlds.forget(INDEX);
    // Nothing about the user stays in memory, their names included.
    else if (type === "user.erased") this.users.forgetAll();
    else if ("user" in entry && type.startsWith("user.")) {
      this.users.forget(userKeyOf(world, entry.user));
    }
    // It says nothing of users, and a crowd of them would be read again.
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
    // Rooms show the domain of their world, and lists depend on its rules.
    this.rooms.forget(world);
  }

  #take(event: AnyEvent): void {
    if (event.type === "snapshot" || !("world" in event)) return;
    this.forget(event);
  }
}
