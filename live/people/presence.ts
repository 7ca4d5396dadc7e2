import { UserConnectionCounts } from "./hub.js";
import type { Content, Names, SharedUser, Snapshot, Snapshots } from "./snapshots.js";

// Who is where, in all processes. Who may see it is decided by `maySeeViewers` in live/rules/rights.ts.

/**
 * A process sends the ids of its users in a world to other processes only up to this number of
 * users. If there are more users, only their number is sent. Ids are sent again once the number has
 * dropped to {@link NAMED_AGAIN}, so that a single person does not cause repeated switching.
 */
const MAX_NAMED = 5000;
const NAMED_AGAIN = 4500;

/** Maximum number of ids in a snapshot: a user may be in several rooms, and is listed in each. */
const MAX_LISTED = 4 * MAX_NAMED;

/** A change to a connection of this process. */
export type Step =
  | { do: "open"; connection: string; user: string; at: number }
  | { do: "close"; connection: string }
  | { do: "enter"; connection: string; room: string }
  | { do: "leave"; connection: string; room: string }
  /** The connection starts or stops listening to the channel of a room. */
  | { do: "subscribe" | "unsubscribe"; connection: string; channel: string }
  /** The connection makes its user a member of the channel for as long as the connection listens. */
  | { do: "attend"; connection: string; channel: string }
  /**
   * No connection makes its user a member of the channel any longer; `silent` if the user is now a
   * lasting member.
   */
  | { do: "absent"; connection: string; channel: string; silent: boolean };

/** One of a user's connections, in any process. */
export interface KnownConnection {
  readonly connection: string;
  /** Login time, in milliseconds since 1970. */
  readonly at: number;
}

/** A connection of this process. */
interface Entry extends KnownConnection {
  readonly user: string;
  readonly rooms: Set<string>;
  /** The channels that the connection listens to. */
  readonly channels: Set<string>;
  /** The channels in which the connection makes its user a member; undefined if there have never been any. */
  attending: Set<string> | undefined;
}

interface World {
  /** The connections in this process, by user. */
  readonly users: Map<string, Set<Entry>>;
  connections: number;
  /** The users whose ids are known, in all processes, by room. {@link ANYWHERE} contains all of these users. */
  readonly places: UserConnectionCounts;
  /** For each room, the number of users whose ids are not known. */
  readonly unnamed: Map<string, number>;
  /** The users who are members of each channel through connections of this process. */
  readonly attending: UserConnectionCounts;
  /** Users who left a channel since the last snapshot. */
  left: [user: string, channel: string, silent: boolean][];
  /** Whether the last snapshot listed the ids of users. */
  isNamed: boolean;
}

/** Represents the whole world in places where a room id is expected. */
const ANYWHERE = "";

/** Listens to changes in presence. */
export interface CrowdListener {
  /** Called when a user of this process has opened another connection, perhaps in another process. */
  opened(world: string, user: string): void;
  /** Called when the number of people in a room has changed. */
  counted(world: string, room: string): void;
  /**
   * Called when a user has entered a room; `again` if the same connection was already in the room.
   * @param connection the id of the connection; undefined if the connection belongs to another
   * process.
   */
  entered(
    world: string,
    room: string,
    user: string,
    connection: string | undefined,
    again: boolean,
  ): void;
  /** Called when a user's last connection has left a room. */
  left(world: string, room: string, user: string): void;
  /**
   * Called when a user has become a member of a channel for as long as they listen, or when such a
   * membership has ended.
   * @param by the id of the connection that caused the change; undefined if the connection belongs
   * to another process.
   */
  attended(world: string, user: string, by: string | undefined): void;
}

/** Listens to the rooms of this process's users. */
export interface RoomListener {
  /** Called when a user has entered a room, possibly when another connection of the user is already in the room. */
  entered(world: string, room: string, user: string): void;
  /** Called when the last of a user's connections in this process has left the room. */
  left(world: string, room: string, user: string): void;
}

/**
 * The connected users and their rooms, in the worlds that this process follows. Kept in memory
 * only.
 *
 * A process knows its own users immediately, and learns of users in other processes from {@link
 * Snapshots}: by id, or only by number if there are very many. If a user has connections in several
 * processes, these processes also share the user's connections: a connection limit counts all of
 * them, and each can make the user a member of a channel.
 */
export class Presence {
  readonly #snapshots: Snapshots;
  readonly #listener: CrowdListener;
  readonly #rooms: RoomListener | undefined;
  readonly #worlds = new Map<string, World>();
  /** The connections of this process. */
  readonly #entries = new Map<string, Entry>();

  constructor(snapshots: Snapshots, listener: CrowdListener, rooms?: RoomListener) {
    this.#snapshots = snapshots;
    this.#listener = listener;
    this.#rooms = rooms;
    snapshots.add({
      describe: (world) => this.#describe(world),
      changed: (world, before, now) => this.#merge(world, before, now),
    });
  }

  /** Returns the number of connections and users in a world, and the number of users in each of its rooms. */
  in(id: string): {
    connections: number;
    users: number;
    rooms: { id: string; viewers: number }[];
  } {
    const world = this.#worlds.get(id);
    if (!world) return { connections: 0, users: 0, rooms: [] };
    let { connections } = world;
    for (const snapshot of this.#snapshots.of(id)) connections += snapshot.connections;
    const ids = new Set([...world.places.counts().map(([room]) => room), ...world.unnamed.keys()]);
    ids.delete(ANYWHERE);
    const rooms = [...ids].map((room) => ({ id: room, viewers: countIn(world, room) }));
    return { connections, users: countIn(world, ANYWHERE), rooms };
  }

  /** Returns the number of users in a room. */
  countIn(id: string, room: string): number {
    const world = this.#worlds.get(id);
    return world ? countIn(world, room) : 0;
  }

  /**
   * Returns a room's users, in the order of their arrival. Users whose ids this process does not
   * know are omitted.
   */
  usersIn(world: string, room: string): string[] {
    return this.#worlds.get(world)?.places.usersIn(room) ?? [];
  }

  /** Whether a user is in a room. */
  isIn(world: string, room: string, user: string): boolean {
    return this.#worlds.get(world)?.places.has(room, user) ?? false;
  }

  /** Whether a user has any connection that is logged in. */
  isOnline(world: string, user: string): boolean {
    return this.isIn(world, ANYWHERE, user);
  }

  /** Returns a user's known connections, newest first. */
  connectionsOf(world: string, user: string): KnownConnection[] {
    const own = this.#worlds.get(world)?.users.get(user) ?? [];
    const others = this.#elsewhere(world, user).flatMap(({ connections }) =>
      connections.map(([connection, at]) => ({ connection, at })),
    );
    return [...own, ...others].sort(
      (a, b) => b.at - a.at || (a.connection < b.connection ? 1 : -1),
    );
  }

  /** Whether a user is a member of a channel only for as long as they listen. */
  attends(world: string, channel: string, user: string): boolean {
    if (this.#worlds.get(world)?.attending.has(channel, user)) return true;
    return this.#elsewhere(world, user).some(({ attending }) => attending.includes(channel));
  }

  /**
   * Waits until this process knows which people are in a world through other processes. If this
   * process does not follow the world yet, it follows the world for some seconds.
   */
  async visit(world: string): Promise<void> {
    const known = this.#snapshots.follow(world);
    this.#snapshots.unfollow(world);
    await known;
  }

  /** Records a step taken by a connection of this process. */
  note(id: string, step: Step): void {
    const { connection } = step;
    if (step.do === "open") this.#open(id, step);
    const entry = this.#entries.get(connection);
    const world = this.#worlds.get(id);
    if (!entry || !world) return;
    switch (step.do) {
      case "enter":
        this.#enter(id, world, entry, step.room);
        break;
      case "leave":
        this.#leave(id, world, entry, step.room);
        break;
      case "subscribe":
        entry.channels.add(step.channel);
        this.#attendToo(id, world, entry.user, step.channel);
        break;
      case "unsubscribe":
        entry.channels.delete(step.channel);
        this.#quit(id, world, entry, step.channel, connection);
        break;
      case "attend":
        this.#attend(id, world, entry, step.channel);
        this.#attendToo(id, world, entry.user, step.channel);
        break;
      case "absent":
        this.#quitAll(id, world, entry.user, step.channel, step.silent, connection);
        if (!this.#snapshots.isAlone) world.left.push([entry.user, step.channel, step.silent]);
        break;
      case "close":
        this.#close(id, world, entry);
    }
    this.#snapshots.changed(id);
  }

  #open(id: string, { connection, user, at }: Step & { do: "open" }): void {
    if (this.#entries.has(connection)) return;
    const world = this.#worldOf(id);
    const rooms = new Set<string>();
    const channels = new Set<string>();
    const entry = { connection, user, at, rooms, channels, attending: undefined };
    this.#entries.set(connection, entry);
    const own = world.users.get(user);
    if (own) own.add(entry);
    else world.users.set(user, new Set([entry]));
    world.connections++;
    world.places.enter(ANYWHERE, user);
    this.#listener.opened(id, user);
  }

  #enter(id: string, { places }: World, { connection, user, rooms }: Entry, room: string): void {
    const again = rooms.has(room);
    if (!again) {
      rooms.add(room);
      if (places.enter(room, user)) this.#listener.counted(id, room);
    }
    this.#listener.entered(id, room, user, connection, again);
    this.#rooms?.entered(id, room, user);
  }

  #leave(id: string, { users, places }: World, { user, rooms }: Entry, room: string): void {
    if (!rooms.delete(room)) return;
    if (places.leave(room, user)) {
      this.#listener.left(id, room, user);
      this.#listener.counted(id, room);
    }
    const own = [...users.get(user)!];
    if (!own.some((entry) => entry.rooms.has(room))) this.#rooms?.left(id, room, user);
  }

  #close(id: string, world: World, entry: Entry): void {
    const { connection, user, rooms, attending = [] } = entry;
    for (const room of [...rooms]) this.#leave(id, world, entry, room);
    for (const channel of [...attending]) this.#quit(id, world, entry, channel, connection);
    this.#entries.delete(connection);
    const own = world.users.get(user)!;
    own.delete(entry);
    if (own.size === 0) world.users.delete(user);
    world.connections--;
    world.places.leave(ANYWHERE, user);
    this.#forgetIfEmpty(id, world);
  }

  #attend(id: string, world: World, entry: Entry, channel: string): void {
    const { connection, user, channels } = entry;
    if (!channels.has(channel) || entry.attending?.has(channel)) return;
    const isNew = !this.attends(id, channel, user);
    (entry.attending ??= new Set()).add(channel);
    world.attending.enter(channel, user);
    if (isNew) this.#listener.attended(id, user, connection);
  }

  /**
   * If any of a user's connections makes the user a member of a channel, so does every connection
   * of the user that listens to the channel: the membership ends with the last of these
   * connections.
   */
  #attendToo(id: string, world: World, user: string, channel: string): void {
    if (!this.attends(id, channel, user)) return;
    for (const entry of world.users.get(user) ?? []) this.#attend(id, world, entry, channel);
  }

  /**
   * Ends a connection's part in its user's membership.
   * @param by the id of the connection that caused the change; undefined if nobody is to be
   * notified.
   */
  #quit(id: string, world: World, entry: Entry, channel: string, by: string | undefined): void {
    if (!entry.attending?.delete(channel)) return;
    world.attending.leave(channel, entry.user);
    if (by === undefined || this.attends(id, channel, entry.user)) return;
    this.#listener.attended(id, entry.user, by);
  }

  /** Ends a user's membership in a channel through all connections of this process. */
  #quitAll(
    id: string,
    world: World,
    user: string,
    channel: string,
    silent: boolean,
    by: string | undefined,
  ): void {
    const wasMember = this.attends(id, channel, user);
    for (const entry of world.users.get(user) ?? []) {
      this.#quit(id, world, entry, channel, undefined);
    }
    if (wasMember && !silent) this.#listener.attended(id, user, by);
  }

  /** Returns what other processes share about a user of this process. */
  #elsewhere(world: string, user: string): SharedUser[] {
    const found: SharedUser[] = [];
    for (const { shared } of this.#snapshots.of(world)) {
      if (Object.hasOwn(shared, user)) found.push(shared[user]!);
    }
    return found;
  }

  #describe(id: string): Partial<Content> {
    const world = this.#worlds.get(id);
    if (!world) return {};
    const { users, connections, places, left } = world;
    world.left = [];
    const roomless: string[] = [];
    const rooms = new Map<string, string[]>();
    const shared: Record<string, SharedUser> = {};
    let listed = 0;
    for (const [user, own] of users) {
      const entered = roomsOf(own);
      if (entered.size === 0) roomless.push(user);
      listed += entered.size;
      for (const room of entered) {
        const names = rooms.get(room);
        if (names) names.push(user);
        else rooms.set(room, [user]);
      }
      if (places.timesIn(ANYWHERE, user) === own.size) continue;
      shared[user] = {
        connections: [...own].map(({ connection, at }) => [connection, at]),
        attending: [...new Set([...own].flatMap(({ attending = [] }) => [...attending]))],
      };
    }
    const most = world.isNamed ? MAX_NAMED : NAMED_AGAIN;
    world.isNamed = users.size <= most && listed <= MAX_LISTED;
    const namesOf = (names: string[]): Names => (world.isNamed ? names : names.length);
    this.#forgetIfEmpty(id, world);
    return {
      connections,
      roomless: world.isNamed ? roomless : users.size,
      rooms: [...rooms].map(([room, names]) => [room, namesOf(names)]),
      shared,
      left,
    };
  }

  /** Applies the next snapshot from another process, or removes that process's people if the process has ended. */
  #merge(id: string, before: Snapshot | undefined, now: Snapshot | undefined): void {
    const world = this.#worldOf(id);
    const [old, current] = [placesIn(before), placesIn(now)];
    if (now) decoded.set(now, current);
    for (const room of new Set([...old.keys(), ...current.keys()])) {
      this.#move(id, world, room, old.get(room), current.get(room));
    }
    const users = Object.keys({ ...before?.shared, ...now?.shared });
    for (const user of users) {
      if (world.users.has(user)) this.#share(id, world, user, before, now);
    }
    for (const [user, channel, silent] of now?.left ?? []) {
      if (world.users.has(user)) this.#quitAll(id, world, user, channel, silent, undefined);
    }
    this.#forgetIfEmpty(id, world);
  }

  /** Updates which users are in a room through another process. */
  #move(
    id: string,
    { users, places, unnamed }: World,
    room: string,
    before: ReadonlySet<string> | number = 0,
    now: ReadonlySet<string> | number = 0,
  ): void {
    const [old, current] = [before, now].map((names) => (typeof names === "number" ? none : names));
    const number = (typeof now === "number" ? now : 0) - (typeof before === "number" ? before : 0);
    const left = (unnamed.get(room) ?? 0) + number;
    if (left > 0) unnamed.set(room, left);
    else unnamed.delete(room);
    let isOther = number !== 0;
    for (const user of current!) {
      if (old!.has(user)) continue;
      if (room === ANYWHERE) {
        // The other processes must learn about this user's connections in this process.
        if (users.has(user)) this.#snapshots.changed(id);
        places.enter(room, user);
      } else if (places.enter(room, user)) {
        isOther = true;
        this.#listener.entered(id, room, user, undefined, false);
      }
    }
    for (const user of old!) {
      if (current!.has(user) || !places.leave(room, user) || room === ANYWHERE) continue;
      isOther = true;
      this.#listener.left(id, room, user);
    }
    if (isOther && room !== ANYWHERE) this.#listener.counted(id, room);
  }

  /** Applies what another process shares about a user of this process. */
  #share(
    id: string,
    world: World,
    user: string,
    before: Snapshot | undefined,
    now: Snapshot | undefined,
  ): void {
    const [old, current] = [before?.shared[user], now?.shared[user]];
    const known = new Set(old?.connections.map(([connection]) => connection));
    if (current?.connections.some(([connection]) => !known.has(connection))) {
      this.#listener.opened(id, user);
    }
    const [was, is] = [new Set(old?.attending), new Set(current?.attending)];
    for (const channel of new Set([...was, ...is])) {
      if (was.has(channel) === is.has(channel)) continue;
      // If connections of this process make the user a member, the user is a member both before and
      // after the change, so nobody is notified.
      if (!world.attending.has(channel, user)) this.#listener.attended(id, user, undefined);
      if (is.has(channel)) this.#attendToo(id, world, user, channel);
    }
  }

  #worldOf(id: string): World {
    let world = this.#worlds.get(id);
    if (!world) {
      world = {
        users: new Map(),
        connections: 0,
        places: new UserConnectionCounts(),
        unnamed: new Map(),
        attending: new UserConnectionCounts(),
        left: [],
        isNamed: true,
      };
      this.#worlds.set(id, world);
    }
    return world;
  }

  #forgetIfEmpty(id: string, { users, places, unnamed, left }: World): void {
    if (users.size > 0 || unnamed.size > 0 || left.length > 0 || !places.isEmpty) return;
    this.#worlds.delete(id);
  }
}

const none: ReadonlySet<string> = new Set();

/** Returns the rooms of a user's connections. Most people have a single connection. */
function roomsOf(connections: ReadonlySet<Entry>): ReadonlySet<string> {
  const [first] = connections;
  if (connections.size === 1) return first!.rooms;
  return new Set([...connections].flatMap(({ rooms }) => [...rooms]));
}

const countIn = ({ places, unnamed }: World, room: string): number =>
  places.countIn(room) + (unnamed.get(room) ?? 0);

/** The people in a snapshot, by room. {@link ANYWHERE} contains all of these people. */
type PeopleByRoom = ReadonlyMap<string, ReadonlySet<string> | number>;

/** The people in the newest snapshots, kept for comparison with the next snapshots. */
const decoded = new WeakMap<Snapshot, PeopleByRoom>();

function placesIn(snapshot: Snapshot | undefined): PeopleByRoom {
  const places = new Map<string, ReadonlySet<string> | number>();
  if (!snapshot) return places;
  const known = decoded.get(snapshot);
  if (known) return known;
  const { roomless, rooms } = snapshot;
  const all = new Set(typeof roomless === "number" ? [] : roomless);
  for (const [room, names] of rooms) {
    places.set(room, typeof names === "number" ? names : new Set(names));
    if (typeof names !== "number") for (const user of names) all.add(user);
  }
  return places.set(ANYWHERE, typeof roomless === "number" ? roomless : all);
}
