import { Places } from "./hub.js";
import type { Stay, Step } from "./stays.js";

interface Entry {
  readonly process: string;
  readonly world: string;
  readonly user: string;
  readonly at: number;
  readonly rooms: Set<string>;
  /** The channels that it listens to. */
  readonly channels: Set<string>;
  /** The channels in which it makes its user a member; undefined if it never did. */
  attending: Set<string> | undefined;
}

/** A connection of a user, in any process. */
export interface KnownConnection {
  readonly connection: string;
  readonly process: string;
  /** When it logged in, in milliseconds since 1970. */
  readonly at: number;
}

interface World {
  /** The connections of each user. */
  readonly users: Map<string, Set<string>>;
  readonly rooms: Places;
  /** The volatile members of each channel. */
  readonly attending: Places;
}

/** A listener to changes of the places of users. */
export interface PresenceListener {
  opened(world: string, user: string): void;
  /**
   * A user entered a room; `again` if they were there before, with the same connection.
   * @param connection undefined for one of another process.
   */
  entered(
    world: string,
    room: string,
    user: string,
    connection: string | undefined,
    again: boolean,
  ): void;
  /** The last connection of a user left a room. */
  left(world: string, room: string, user: string): void;
  /**
   * A user became or ceased to be a member of a channel for as long as they listen.
   * @param by the id of the connection that did it.
   */
  attended(world: string, user: string, by: string): void;
}

/** The users that this process knows by name, and their places. It follows from steps. */
export class Whereabouts {
  readonly #listener: PresenceListener;
  readonly #entries = new Map<string, Entry>();
  readonly #worlds = new Map<string, World>();

  constructor(listener: PresenceListener) {
    this.#listener = listener;
  }

  /** The users in a room. */
  usersIn(world: string, room: string): string[] {
    return this.#worlds.get(world)?.rooms.usersIn(room) ?? [];
  }

  /** Whether a user is in a room. */
  isIn(world: string, room: string, user: string): boolean {
    return this.#worlds.get(world)?.rooms.has(room, user) ?? false;
  }

  /** Whether a user is a member of a channel for as long as they listen. */
  attends(world: string, channel: string, user: string): boolean {
    return this.#worlds.get(world)?.attending.has(channel, user) ?? false;
  }

  /**
   * The connections of a user in one process that listen to a channel.
   * @param attending whether they make the user a member.
   */
  listening(
    process: string,
    { world, user, channel }: { world: string; user: string; channel: string },
    attending: boolean,
  ): string[] {
    const all = this.#worlds.get(world)?.users.get(user) ?? [];
    return [...all].filter((id) => {
      const entry = this.#entries.get(id)!;
      return (
        entry.process === process &&
        entry.channels.has(channel) &&
        (entry.attending?.has(channel) ?? false) === attending
      );
    });
  }

  /** The user of a connection, and its process; undefined if it is not known. */
  ownerOf(connection: string): { user: string; process: string } | undefined {
    return this.#entries.get(connection);
  }

  /**
   * The known connections of a user, the newest first.
   * @param process only connections of this one; of all processes by default.
   */
  connectionsOf(
    world: string,
    user: string,
    process?: string,
  ): KnownConnection[] {
    const found: KnownConnection[] = [];
    for (const connection of this.#worlds.get(world)?.users.get(user) ?? []) {
      const entry = this.#entries.get(connection)!;
      if (process !== undefined && entry.process !== process) continue;
      found.push({ connection, process: entry.process, at: entry.at });
    }
    return found.sort(
      (a, b) => b.at - a.at || (a.connection < b.connection ? 1 : -1),
    );
  }

  /** The rooms that a connection of this process has entered. */
  roomsOf(connection: string): readonly string[] {
    return [...(this.#entries.get(connection)?.rooms ?? [])];
  }

  /** Whether a connection of this process is in a room. */
  isInRoom(connection: string, room: string): boolean {
    return this.#entries.get(connection)?.rooms.has(room) ?? false;
  }

  /** A connection in its form for other processes; undefined if it is not known. */
  stayOf(connection: string): Stay | undefined {
    const entry = this.#entries.get(connection);
    if (!entry) return undefined;
    const { user, at, attending } = entry;
    return { user, at, attending: [...(attending ?? [])] };
  }

  /** Takes a step of a connection of a process. */
  apply(process: string, worldId: string, step: Step): void {
    const { connection } = step;
    const entry = this.#entries.get(connection);
    if (step.do === "open") {
      if (entry) return;
      const { user, at } = step;
      this.#entries.set(connection, {
        process,
        world: worldId,
        user,
        at,
        rooms: new Set(),
        channels: new Set(),
        attending: undefined,
      });
      const { users } = this.#worldOf(worldId);
      const connections = users.get(user);
      if (connections) connections.add(connection);
      else users.set(user, new Set([connection]));
      this.#listener.opened(worldId, user);
      return;
    }
    if (!entry) return;
    switch (step.do) {
      case "enter":
        return this.#enter(connection, entry, step.room);
      case "leave":
        return this.#leave(entry, step.room);
      case "subscribe":
        return void entry.channels.add(step.channel);
      case "unsubscribe":
        entry.channels.delete(step.channel);
        return this.quit(connection, connection, step.channel, false);
      case "attend":
        return this.#attend(connection, entry, step.channel);
      case "absent":
        for (const id of this.#worldOf(worldId).users.get(entry.user) ?? []) {
          this.quit(id, connection, step.channel, step.silent);
        }
        return;
      case "close":
        return this.#close(connection, entry);
    }
  }

  /** A user of another process entered a room. Nothing else is known of them. */
  enterByName(world: string, room: string, user: string, again: boolean): void {
    if (!again) this.#worldOf(world).rooms.enter(room, user);
    this.#listener.entered(world, room, user, undefined, again);
  }

  /** The user has left it. */
  leaveByName(world: string, room: string, user: string): void {
    const { users, rooms } = this.#worldOf(world);
    if (rooms.leave(room, user)) this.#listener.left(world, room, user);
    if (users.size === 0 && rooms.isEmpty) this.#worlds.delete(world);
  }

  #enter(connection: string, entry: Entry, room: string): void {
    const { world, user, rooms } = entry;
    const again = rooms.has(room);
    if (!again) {
      rooms.add(room);
      this.#worldOf(world).rooms.enter(room, user);
    }
    this.#listener.entered(world, room, user, connection, again);
  }

  #leave({ world, user, rooms }: Entry, room: string): void {
    if (!rooms.delete(room)) return;
    if (this.#worldOf(world).rooms.leave(room, user)) {
      this.#listener.left(world, room, user);
    }
  }

  #attend(connection: string, entry: Entry, channel: string): void {
    const { world, user, channels } = entry;
    if (!channels.has(channel) || entry.attending?.has(channel)) return;
    (entry.attending ??= new Set()).add(channel);
    if (this.#worldOf(world).attending.enter(channel, user)) {
      this.#listener.attended(world, user, connection);
    }
  }

  /**
   * A connection makes its user a member of a channel no longer.
   * @param by the id of the connection that caused it.
   */
  quit(connection: string, by: string, channel: string, silent: boolean) {
    const { world, user, attending } = this.#entries.get(connection)!;
    if (!attending?.delete(channel)) return;
    const isLast = this.#worldOf(world).attending.leave(channel, user);
    if (isLast && !silent) this.#listener.attended(world, user, by);
  }

  #close(connection: string, entry: Entry): void {
    for (const room of [...entry.rooms]) this.#leave(entry, room);
    for (const channel of [...(entry.attending ?? [])]) {
      this.quit(connection, connection, channel, false);
    }
    this.#entries.delete(connection);
    const world = this.#worldOf(entry.world);
    const connections = world.users.get(entry.user)!;
    connections.delete(connection);
    if (connections.size > 0) return;
    world.users.delete(entry.user);
    if (world.users.size > 0 || !world.rooms.isEmpty) return;
    this.#worlds.delete(entry.world);
  }

  #worldOf(id: string): World {
    let world = this.#worlds.get(id);
    if (!world) {
      world = {
        users: new Map(),
        rooms: new Places(),
        attending: new Places(),
      };
      this.#worlds.set(id, world);
    }
    return world;
  }
}
