import type { Connection } from "../socket/connection.js";

const none: ReadonlySet<Connection> = new Set();

function add<K>(map: Map<K, Set<Connection>>, key: K, connection: Connection) {
  const set = map.get(key);
  if (set) set.add(connection);
  else map.set(key, new Set([connection]));
}

function remove<K>(map: Map<K, Set<Connection>>, key: K, connection: Connection) {
  const set = map.get(key);
  if (set?.delete(connection) && set.size === 0) map.delete(key);
}

/**
 * The connections to one world in this process, from the first connection's arrival until the last
 * connection's departure. People who arrive later read everything at login, perhaps from a history
 * that has been rolled back. So a push that waits for a gathering reaches only the gathering's
 * members, and is dropped once the gathering is over.
 */
export class Gathering {
  /** All connections that are logged in. */
  readonly all = new Set<Connection>();
  readonly byUser = new Map<string, Set<Connection>>();
  readonly byRoom = new Map<string, Set<Connection>>();
  /** The connections in a room that watch the room's viewers. */
  readonly byWatched = new Map<string, Set<Connection>>();

  /** Whether everyone has left. */
  get isOver(): boolean {
    return this.all.size === 0;
  }

  /** A user's connections. */
  of(user: string): ReadonlySet<Connection> {
    return this.byUser.get(user) ?? none;
  }

  /** The connections that are in a room. */
  inRoom(room: string): ReadonlySet<Connection> {
    return this.byRoom.get(room) ?? none;
  }

  /** The connections in a room that watch the room's viewers. */
  watching(room: string): ReadonlySet<Connection> {
    return this.byWatched.get(room) ?? none;
  }
}

/**
 * Tracks which connections in this process are logged in to which worlds, and which rooms these
 * connections are in.
 */
export class Hub {
  readonly #worlds = new Map<string, Gathering>();

  /** Adds a connection that has logged in. */
  add(connection: Connection, user: string): void {
    let world = this.#worlds.get(connection.world);
    if (!world) this.#worlds.set(connection.world, (world = new Gathering()));
    world.all.add(connection);
    add(world.byUser, user, connection);
  }

  remove(connection: Connection): void {
    const world = this.#worlds.get(connection.world);
    if (!world?.all.delete(connection)) return;
    remove(world.byUser, connection.login!.user, connection);
    for (const room of connection.rooms) {
      remove(world.byRoom, room, connection);
      remove(world.byWatched, room, connection);
    }
    if (world.all.size === 0) this.#worlds.delete(connection.world);
  }

  /** @param watches whether the connection is notified of other viewers of the room. */
  enter(connection: Connection, room: string, watches: boolean): void {
    const world = this.#worlds.get(connection.world);
    if (!world?.all.has(connection)) return;
    connection.rooms.add(room);
    add(world.byRoom, room, connection);
    if (watches) add(world.byWatched, room, connection);
    else remove(world.byWatched, room, connection);
  }

  leave(connection: Connection, room: string): void {
    connection.rooms.delete(room);
    const world = this.#worlds.get(connection.world);
    if (!world) return;
    remove(world.byRoom, room, connection);
    remove(world.byWatched, room, connection);
  }

  /** The worlds that have connections. */
  worlds(): string[] {
    return [...this.#worlds.keys()];
  }

  /** The gathering in a world; undefined if the world is empty. */
  gathering(world: string): Gathering | undefined {
    return this.#worlds.get(world);
  }

  /** All connections that are logged in to a world. */
  in(world: string): ReadonlySet<Connection> {
    return this.#worlds.get(world)?.all ?? none;
  }

  /** A user's connections in a world. */
  of(world: string, user: string): ReadonlySet<Connection> {
    return this.#worlds.get(world)?.of(user) ?? none;
  }

  /** The connections that are in a room. */
  inRoom(world: string, room: string): ReadonlySet<Connection> {
    return this.#worlds.get(world)?.inRoom(room) ?? none;
  }

  /** The connections in a room that watch the room's viewers. */
  watching(world: string, room: string): ReadonlySet<Connection> {
    return this.#worlds.get(world)?.watching(room) ?? none;
  }
}

/** Counts the connections of each user in each place, such as a room. */
export class UserConnectionCounts {
  readonly #places = new Map<string, Map<string, number>>();

  /**
   * Adds one of a user's connections.
   * @returns whether it is the user's first connection in the place.
   */
  enter(place: string, user: string): boolean {
    let users = this.#places.get(place);
    if (!users) this.#places.set(place, (users = new Map<string, number>()));
    const count = users.get(user) ?? 0;
    users.set(user, count + 1);
    return count === 0;
  }

  has(place: string, user: string): boolean {
    return this.#places.get(place)?.has(user) ?? false;
  }

  /** Returns the number of connections that a user has in a place. */
  timesIn(place: string, user: string): number {
    return this.#places.get(place)?.get(user) ?? 0;
  }

  /**
   * Removes one of a user's connections.
   * @returns whether it was the user's last connection in the place.
   */
  leave(place: string, user: string): boolean {
    const users = this.#places.get(place)!;
    const left = users.get(user)! - 1;
    if (left > 0) {
      users.set(user, left);
      return false;
    }
    users.delete(user);
    if (users.size === 0) this.#places.delete(place);
    return true;
  }

  /** Whether all places are empty. */
  get isEmpty(): boolean {
    return this.#places.size === 0;
  }

  /** The users in a place, in the order of their arrival. */
  usersIn(place: string): string[] {
    return [...(this.#places.get(place)?.keys() ?? [])];
  }

  /** The places that have users, and the number of users in each place. */
  counts(): [place: string, count: number][] {
    return [...this.#places].map(([place, users]) => [place, users.size]);
  }

  /** Returns the number of users in a place. */
  countIn(place: string): number {
    return this.#places.get(place)?.size ?? 0;
  }
}
