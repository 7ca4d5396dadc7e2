import type { Events } from "../db/events.js";

/** A step in who is where. It is applied alike in every process. */
export type Step =
  | { do: "open"; connection: string; user: string; at: number }
  | { do: "close"; connection: string }
  | { do: "enter"; connection: string; room: string }
  | { do: "leave"; connection: string; room: string };

/** What processes tell each other. */
type Report = { process: string } & (
  | /** A process has started, and asks for the state of the others. */ {
      report: "hello";
    }
  | /** Steps since the last report; with `to`, all that lead to the present state. */ {
      report: "steps";
      steps: [world: string, step: Step][];
      to?: string;
    }
);

interface Entry {
  readonly process: string;
  readonly world: string;
  readonly user: string;
  readonly at: number;
  readonly rooms: Set<string>;
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
  /** How many connections each user has in each room. */
  readonly rooms: Map<string, Map<string, number>>;
}

/** What changed for those who watch. */
export interface PresenceListener {
  opened(world: string, user: string): void;
  /** A connection entered a room; `again` if it was there before. */
  entered(
    world: string,
    room: string,
    user: string,
    connection: string,
    again: boolean,
  ): void;
  /** The last connection of a user left a room. */
  left(world: string, room: string, user: string): void;
}

const TOPIC = "presence";

/** After how many milliseconds steps are reported to other processes, together. */
const REPORT_DELAY = 20;

/**
 * Who is connected and in which rooms, in all processes that share events. It is
 * kept in memory: when a process ends, what it had is gone with it.
 */
export class Presence {
  readonly #events: Events;
  readonly #listener: PresenceListener;
  readonly #entries = new Map<string, Entry>();
  readonly #worlds = new Map<string, World>();
  readonly #unsubscribe: () => void;
  #unreported: [string, Step][] = [];

  constructor(events: Events, listener: PresenceListener) {
    this.#events = events;
    this.#listener = listener;
    this.#unsubscribe = events.subscribe((event) => {
      if (event.type === "process.ended") this.#endOf(event.process);
      else if (event.type === "live" && event.topic === TOPIC) {
        this.#receive(event.data as Report);
      }
    });
    this.#send({ report: "hello", process: events.process });
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Notes what a connection of this process does, and tells the others. */
  note(world: string, step: Step): void {
    this.#apply(this.#events.process, world, step);
    if (this.#unreported.push([world, step]) > 1) return;
    const { process } = this.#events;
    setTimeout(() => {
      const steps = this.#unreported;
      this.#unreported = [];
      this.#send({ report: "steps", process, steps });
    }, REPORT_DELAY).unref();
  }

  /** Whether a user has a connection that is logged in. */
  isOnline(world: string, user: string): boolean {
    return this.#worlds.get(world)?.users.has(user) ?? false;
  }

  /** The users in a room. */
  usersIn(world: string, room: string): string[] {
    return [...(this.#worlds.get(world)?.rooms.get(room)?.keys() ?? [])];
  }

  /** How many users are in a room. */
  countIn(world: string, room: string): number {
    return this.#worlds.get(world)?.rooms.get(room)?.size ?? 0;
  }

  /** The connections of a user in all processes, the newest first. */
  connectionsOf(world: string, user: string): KnownConnection[] {
    const ids = this.#worlds.get(world)?.users.get(user) ?? [];
    return [...ids]
      .map((connection) => {
        const { process, at } = this.#entries.get(connection)!;
        return { connection, process, at };
      })
      .sort((a, b) => b.at - a.at || (a.connection < b.connection ? 1 : -1));
  }

  #send(data: Report): void {
    this.#events.publish({ type: "live", topic: TOPIC, data });
  }

  #receive(report: Report): void {
    const { process } = report;
    const own = this.#events.process;
    if (process === own) return;
    if (report.report === "hello") {
      const steps = [...this.#entries]
        .filter(([, entry]) => entry.process === own)
        .flatMap(([connection, entry]) => stepsTo(connection, entry));
      // What is not reported yet is part of it. Steps may come twice.
      this.#send({ report: "steps", process: own, steps, to: process });
    } else if (report.to === undefined || report.to === own) {
      for (const [world, step] of report.steps) {
        this.#apply(process, world, step);
      }
    }
  }

  /** The connections of a process that has ended are gone. */
  #endOf(process: string): void {
    for (const [connection, entry] of this.#entries) {
      if (entry.process !== process) continue;
      this.#apply(process, entry.world, { do: "close", connection });
    }
  }

  #apply(process: string, worldId: string, step: Step): void {
    const { connection } = step;
    const entry = this.#entries.get(connection);
    if (step.do === "open") {
      if (entry) return;
      const { user, at } = step;
      const rooms = new Set<string>();
      this.#entries.set(connection, {
        process,
        world: worldId,
        user,
        at,
        rooms,
      });
      const { users } = this.#worldOf(worldId);
      const connections = users.get(user);
      if (connections) connections.add(connection);
      else users.set(user, new Set([connection]));
      this.#listener.opened(worldId, user);
      return;
    }
    if (!entry) return;
    if (step.do === "enter") this.#enter(connection, entry, step.room);
    else if (step.do === "leave") this.#leave(entry, step.room);
    else this.#close(connection, entry);
  }

  #enter(connection: string, entry: Entry, room: string): void {
    const { world, user, rooms } = entry;
    const again = rooms.has(room);
    if (!again) {
      rooms.add(room);
      const inWorld = this.#worldOf(world).rooms;
      const users = inWorld.get(room) ?? new Map<string, number>();
      inWorld.set(room, users);
      users.set(user, (users.get(user) ?? 0) + 1);
    }
    this.#listener.entered(world, room, user, connection, again);
  }

  #leave({ world, user, rooms }: Entry, room: string): void {
    if (!rooms.delete(room)) return;
    const inWorld = this.#worldOf(world).rooms;
    const users = inWorld.get(room)!;
    const left = users.get(user)! - 1;
    if (left > 0) {
      users.set(user, left);
      return;
    }
    users.delete(user);
    if (users.size === 0) inWorld.delete(room);
    this.#listener.left(world, room, user);
  }

  #close(connection: string, entry: Entry): void {
    for (const room of [...entry.rooms]) this.#leave(entry, room);
    this.#entries.delete(connection);
    const world = this.#worldOf(entry.world);
    const connections = world.users.get(entry.user)!;
    connections.delete(connection);
    if (connections.size > 0) return;
    world.users.delete(entry.user);
    if (world.users.size === 0) this.#worlds.delete(entry.world);
  }

  #worldOf(id: string): World {
    let world = this.#worlds.get(id);
    if (!world) {
      world = { users: new Map(), rooms: new Map() };
      this.#worlds.set(id, world);
    }
    return world;
  }
}

/** The steps that lead to an entry. */
const stepsTo = (
  connection: string,
  { world, user, at, rooms }: Entry,
): [string, Step][] => [
  [world, { do: "open", connection, user, at }],
  ...[...rooms].map((room): [string, Step] => [
    world,
    { do: "enter", connection, room },
  ]),
];
