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
 * The connections of one world in this process, from the first that comes to the last that
 * leaves. People who come later read everything at their login, perhaps in a history that went
 * back. So a push that waits for a gathering reaches only its members, and is dropped once the
 * gathering is over.
 */
export class Gathering {
  /** All connections that are logged in. */
  readonly all = new Set<Connection>();
  readonly byUser = new Map<string, Set<Connection>>();
  readonly byRoom = new Map<string, Set<Connection>>();
  /** The connections in a room that watch its viewers. */
  readonly byWatched = new Map<string, Set<Connection>>();

  /** Whether all have left. */
  get isOver(): boolean {
    return this.all.size === 0;
  }

  /** The connections of a user. */
  of(user: string): ReadonlySet<Connection> {
    return this.byUser.get(user) ?? none;
  }

  /** The connections that entered a room and did not leave. */
  inRoom(room: string): ReadonlySet<Connection> {
    return this.byRoom.get(room) ?? none;
  }

  /** The ones among them that watch the viewers of the room. */
  watching(room: string): ReadonlySet<Connection> {
    return this.byWatched.get(room) ?? none;
  }
}

/** Which connections of this process are logged in where. */
export class Hub {
  readonly #worlds = new Map<string, Gathering>();

  /** Takes a connection that has logged in. */
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

  /** @param watches whether the connection gets the other viewers of the room. */
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

  /** The worlds with connections. */
  worlds(): string[] {
    return [...this.#worlds.keys()];
  }

  /** The people of a world; undefined if there are none. */
  gathering(world: string): Gathering | undefined {
    return this.#worlds.get(world);
  }

  /** All connections of a world that are logged in. */
  in(world: string): ReadonlySet<Connection> {
    return this.#worlds.get(world)?.all ?? none;
  }

  /** The connections of a user. */
  of(world: string, user: string): ReadonlySet<Connection> {
    return this.#worlds.get(world)?.of(user) ?? none;
  }

  /** The connections that entered a room and did not leave. */
  inRoom(world: string, room: string): ReadonlySet<Connection> {
    return this.#worlds.get(world)?.inRoom(room) ?? none;
  }

  /** The ones among them that watch the viewers of the room. */
  watching(world: string, room: string): ReadonlySet<Connection> {
    return this.#worlds.get(world)?.watching(room) ?? none;
  }
}

/** The users in places, such as rooms, with the number of their connections. */
export class Places {
  readonly #places = new Map<string, Map<string, number>>();

  /** A connection of a user comes. @returns whether it is the first one. */
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

  /** How often a user is in a place. */
  timesIn(place: string, user: string): number {
    return this.#places.get(place)?.get(user) ?? 0;
  }

  /** A connection of a user leaves a place. @returns whether it was the last one. */
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

  /** The users in a place, in the order of their coming. */
  usersIn(place: string): string[] {
    return [...(this.#places.get(place)?.keys() ?? [])];
  }

  /** The places with users, and the number of users in each. */
  counts(): [place: string, count: number][] {
    return [...this.#places].map(([place, users]) => [place, users.size]);
  }

  /** How many users are in a place. */
  countIn(place: string): number {
    return this.#places.get(place)?.size ?? 0;
  }
}
