import { type CrowdListener, Presence } from "../../live/people/presence.js";
import { Replica } from "../../live/people/replica/replica.js";
import { FaultyBus } from "./faulty-bus.js";
import type { Random } from "./random.js";
import { ProcessTime, type Timeline } from "./timeline.js";

const WORLD = "sample";

/** A connection as it is in truth. */
interface Person {
  readonly user: string;
  readonly rooms: Set<string>;
}

/** Processes with presence, and the truth about their people. */
export class PresenceCluster {
  readonly bus: FaultyBus;
  readonly timeline: Timeline;
  readonly violations: string[] = [];
  readonly processes: PresenceProcess[] = [];
  readonly #random: Random;
  #started = 0;

  constructor(timeline: Timeline, random: Random, size: number) {
    this.timeline = timeline;
    this.#random = random;
    this.bus = new FaultyBus(timeline, random);
    for (let i = 0; i < size; i++) this.processes.push(this.#start());
  }

  #start(): PresenceProcess {
    return new PresenceProcess(this, `p${this.#started++}`);
  }

  /** A process ends without a word, and another one takes its place. */
  kill(index: number): void {
    const { name } = this.processes[index]!;
    this.bus.kill(name);
    this.processes[index] = this.#start();
    if (this.#random.chance(0.5)) {
      this.bus.end(name, this.#random.between(0, 2_000));
    }
  }

  /** Every process knows the right numbers, and exactly the names that it needs. */
  checkSettled(): void {
    const people = this.processes.flatMap(({ name, people }) =>
      [...people].map(([connection, person]) => ({
        ...{ process: name, connection, ...person },
      })),
    );
    const rooms = [...new Set(people.flatMap(({ rooms }) => [...rooms]))];
    for (const process of this.processes) {
      process.expect("connections and users", process.presence.in(WORLD), {
        connections: people.length,
        users: new Set(people.map(({ user }) => user)).size,
        rooms: rooms.map((room) => ({
          id: room,
          viewers: usersIn(people, room).length,
        })),
      });
      const own = new Set([...process.people.values()].map(({ user }) => user));
      for (const { connection, user } of people) {
        const isKnown = process.presence.ownerOf(connection) !== undefined;
        process.expect(`the user of ${connection}`, isKnown, own.has(user));
      }
      for (const room of rooms) {
        if (process.watched.has(room)) continue;
        const named = process.presence.usersIn(WORLD, room).sort();
        const own = usersIn([...process.people.values()], room);
        process.expect(`the names in ${room}`, named, own);
      }
      for (const user of own) {
        process.expect(
          `connections of ${user}`,
          process.presence
            .connectionsOf(WORLD, user)
            .map(({ connection }) => connection)
            .sort(),
          people
            .flatMap((one) => (one.user === user ? one.connection : []))
            .sort(),
        );
      }
      for (const room of process.watched) {
        const expected = usersIn(people, room);
        const { presence, shown } = process;
        const found = presence.usersIn(WORLD, room).sort();
        process.expect(`the people in ${room}`, found, expected);
        const pushed = [...(shown.get(room) ?? [])].sort();
        process.expect(`those shown in ${room}`, pushed, expected);
      }
    }
  }
}

const usersIn = (people: readonly Person[], room: string): string[] =>
  [
    ...new Set(
      people.flatMap(({ user, rooms }) => (rooms.has(room) ? user : [])),
    ),
  ].sort();

/** A process with some people. */
export class PresenceProcess implements CrowdListener {
  readonly presence: Presence;
  /** Its connections. */
  readonly people = new Map<string, Person>();
  /** The rooms of which its people may see who is there. */
  readonly watched = new Set<string>();
  /** Whom those people were shown in each room. */
  readonly shown = new Map<string, Set<string>>();
  /** Some places for connections, each of which may be used again. */
  readonly #connections = new Map<string, string>();
  readonly #cluster: PresenceCluster;
  readonly #time: ProcessTime;
  #opened = 0;

  constructor(
    cluster: PresenceCluster,
    readonly name: string,
  ) {
    this.#cluster = cluster;
    this.#time = new ProcessTime(cluster.timeline);
    const replica = new Replica(
      cluster.bus.attach(name, this.#time),
      this.#time,
    );
    void replica.follow(WORLD);
    this.presence = new Presence(this.#time, replica, this);
  }

  /** Does something now, or after a pause. */
  do(call: (process: this) => void): void {
    this.#time.whenAwake(() => call(this));
  }

  open(place: string, user: string): void {
    if (this.#connections.has(place)) return;
    const connection = `${this.name}-c${this.#opened++}`;
    this.#connections.set(place, connection);
    this.people.set(connection, { user, rooms: new Set() });
    this.presence.note(WORLD, { do: "open", connection, user, at: 1 });
  }

  close(place: string): void {
    const connection = this.#connections.get(place);
    if (connection === undefined) return;
    this.#connections.delete(place);
    this.people.delete(connection);
    this.presence.note(WORLD, { do: "close", connection });
  }

  move(how: "enter" | "leave", place: string, room: string): void {
    const connection = this.#connections.get(place);
    if (connection === undefined) return;
    const { rooms } = this.people.get(connection)!;
    if (how === "enter") rooms.add(room);
    else if (!rooms.delete(room)) return;
    this.presence.note(WORLD, { do: how, connection, room });
  }

  /** A user asks for the viewers of a room, and gets its changes from then on. */
  watch(room: string): void {
    this.watched.add(room);
    const list = () => {
      if (this.#time.isOver || !this.watched.has(room)) return;
      this.shown.set(room, new Set(this.presence.usersIn(WORLD, room)));
    };
    void this.presence.watch(WORLD, room);
    // By then it is ready. Promises resolve only after the run.
    this.#time.after(300, list);
  }

  /** The last user who may see it is gone. */
  unwatch(room: string): void {
    this.watched.delete(room);
    this.shown.delete(room);
  }

  pause(duration: number): void {
    this.#time.pause(duration);
  }

  opened(): void {}
  attended(): void {}
  counted(): void {}

  isWatched(_: string, room: string): boolean {
    return this.watched.has(room);
  }

  entered(_: string, room: string, user: string): void {
    this.shown.get(room)?.add(user);
  }

  left(_: string, room: string, user: string): void {
    this.shown.get(room)?.delete(user);
  }

  expect(what: string, found: unknown, expected: unknown): void {
    const [is, should] = [found, expected].map(textOf);
    if (is === should) return;
    this.#cluster.violations.push(
      `${this.name} has ${is} for ${what}, not ${should}`,
    );
  }
}

/** The order of rooms does not matter. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (key, inner: unknown) =>
    key === "rooms"
      ? (inner as { id: string }[]).toSorted((a, b) => (a.id < b.id ? -1 : 1))
      : inner,
  );
