import { hash } from "node:crypto";
import { isCount, isId, type Shape } from "../../schemas/plain/shapes.js";
import { Places } from "./hub.js";
import type { Replica } from "./replica/replica.js";
import type { ForeignItem, Topic } from "./replica/topic.js";

/**
 * The numbers of one user that a process publishes, by {@link personOf} the user's id: how
 * many connections the user has there, and in which rooms.
 */
export type Seen = readonly [connections: number, ...rooms: string[]];

/** Whether something is a {@link Seen}. */
export const isSeen: Shape = (value) =>
  Array.isArray(value) &&
  isCount(value[0]) &&
  value[0] > 0 &&
  value.slice(1).every(isId);

/** How many different values a world keeps only once: most people are in the same few rooms. */
const MAX_KINDS = 1000;

/**
 * Stands for a user where only numbers are needed: 64 bits of a hash, as text. It tells
 * whether two processes count the same user, and identifies no user to a process without the id.
 */
function personOf(user: string): string {
  if (user !== lastUser) {
    lastUser = user;
    lastPerson = hash("sha256", user, "buffer").toString("base64url", 0, 8);
  }
  return lastPerson;
}

/** The user who was asked for last: one step of a connection asks several times. */
let lastUser = "";
let lastPerson = "";

interface World {
  /** By process and person. */
  readonly seen: Map<string, Map<string, Seen>>;
  /** In how many processes each person is. */
  readonly people: Map<string, number>;
  readonly rooms: Places;
  connections: number;
  readonly kinds: Map<string, Seen>;
}

interface HeadcountParts {
  /** The delay before changes are published together, in milliseconds. */
  readonly delay: number;
  /** The number of people in a room has changed. */
  readonly onChange: (world: string, room: string, isMore: boolean) => void;
  /** A user of this process now has connections in another one, too, or has none there any more. */
  readonly onElsewhere: (process: string, world: string, user: string) => void;
}

/**
 * How many people are where, in all processes, without their names. Counts of people are exact,
 * so a user with connections in several processes has to be recognized: numbers alone
 * could not be added up.
 */
export class Headcount {
  readonly #process: string;
  readonly #isAlone: boolean;
  readonly #parts: HeadcountParts;
  readonly #topic: Topic<Seen>;
  readonly #worlds = new Map<string, World>();
  /** The users of this process, by person and world. */
  readonly #users = new Map<string, string>();

  constructor(replica: Replica, parts: HeadcountParts) {
    this.#process = replica.process;
    this.#isAlone = replica.isAlone;
    this.#parts = parts;
    this.#topic = replica.topic<Seen>({
      name: "seen",
      delay: parts.delay,
      isValue: isSeen,
      put: (item, seen) => this.#take(item, seen),
      gone: (item) => this.#take(item, undefined),
    });
  }

  /** A process that is always alone tells no other of its people. */
  #personOf(user: string): string {
    return this.#isAlone ? user : personOf(user);
  }

  /** How many connections and people a world has, and how many people are in its rooms. */
  in(id: string): {
    connections: number;
    users: number;
    rooms: { id: string; viewers: number }[];
  } {
    const world = this.#worlds.get(id);
    const rooms = world?.rooms.counts() ?? [];
    return {
      connections: world?.connections ?? 0,
      users: world?.people.size ?? 0,
      rooms: rooms.map(([id, viewers]) => ({ id, viewers })),
    };
  }

  /** How many people are in a room. */
  countIn(world: string, room: string): number {
    return this.#worlds.get(world)?.rooms.countIn(room) ?? 0;
  }

  /** Whether a user has a connection in any process. */
  has(world: string, user: string): boolean {
    return this.#worlds.get(world)?.people.has(this.#personOf(user)) ?? false;
  }

  /** The other processes in which a user has a connection. */
  elsewhere(world: string, user: string): string[] {
    const person = this.#personOf(user);
    return [...(this.#worlds.get(world)?.seen ?? [])].flatMap(
      ([process, people]) =>
        process !== this.#process && people.has(person) ? [process] : [],
    );
  }

  /**
   * Counts a user of this process, and tells the others.
   * @param connections the rooms of each connection that the user has here.
   */
  count(
    world: string,
    user: string,
    connections: readonly (readonly string[])[],
  ): void {
    const person = this.#personOf(user);
    if (connections.length > 0) {
      // Most people have one connection, which is in a room once.
      const rooms =
        connections.length === 1
          ? connections[0]!
          : new Set(connections.flat());
      const seen: Seen = [connections.length, ...rooms];
      if (!this.#isAlone) this.#users.set(`${person} ${world}`, user);
      const kept = this.#set(this.#process, world, person, seen);
      if (kept) this.#topic.put(world, person, kept);
    } else {
      this.#users.delete(`${person} ${world}`);
      this.#set(this.#process, world, person, undefined);
      this.#topic.delete(world, person);
    }
  }

  /** Takes another process's numbers of a user. */
  #take(
    { process, scope: world, key: person }: ForeignItem,
    seen: Seen | undefined,
  ): void {
    const people = this.#worlds.get(world)?.seen.get(process);
    const wasThere = people?.has(person) ?? false;
    this.#set(process, world, person, seen);
    const user = this.#users.get(`${person} ${world}`);
    if (user === undefined || wasThere === (seen !== undefined)) return;
    this.#parts.onElsewhere(process, world, user);
  }

  /** @returns the value as it is kept. */
  #set(
    process: string,
    id: string,
    person: string,
    now: Seen | undefined,
  ): Seen | undefined {
    const world = this.#worldOf(id);
    const after = now && kindOf(world, now);
    let seen = world.seen.get(process);
    if (!seen) world.seen.set(process, (seen = new Map<string, Seen>()));
    const before = seen.get(person);
    if (after) seen.set(person, after);
    else seen.delete(person);
    if (seen.size === 0) world.seen.delete(process);
    world.connections += (after?.[0] ?? 0) - (before?.[0] ?? 0);
    const processes =
      (world.people.get(person) ?? 0) + Number(!!after) - Number(!!before);
    if (processes > 0) world.people.set(person, processes);
    else world.people.delete(person);
    this.#move(id, world.rooms, person, before, after);
    if (world.seen.size === 0) this.#worlds.delete(id);
    return after;
  }

  #move(
    world: string,
    places: Places,
    person: string,
    before: Seen | undefined,
    after: Seen | undefined,
  ): void {
    if (before === after) return;
    for (const room of roomsOnlyIn(after, before)) {
      if (places.enter(room, person)) this.#parts.onChange(world, room, true);
    }
    for (const room of roomsOnlyIn(before, after)) {
      if (places.leave(room, person)) this.#parts.onChange(world, room, false);
    }
  }

  #worldOf(id: string): World {
    let world = this.#worlds.get(id);
    if (!world) {
      world = {
        seen: new Map(),
        people: new Map(),
        rooms: new Places(),
        connections: 0,
        kinds: new Map(),
      };
      this.#worlds.set(id, world);
    }
    return world;
  }
}

const noRooms: readonly string[] = [];

/** The rooms of one value that another lacks. */
function roomsOnlyIn(
  one: Seen | undefined,
  other: Seen | undefined,
): readonly string[] {
  if (!one || one.length === 1) return noRooms;
  const [, ...rooms] = one;
  if (!other || other.length === 1) return rooms;
  const [, ...others] = other;
  const known = new Set(others);
  return rooms.filter((room) => !known.has(room));
}

/** An equal value that others use, too. */
function kindOf({ kinds }: World, seen: Seen): Seen {
  const name = seen.join(" ");
  const known = kinds.get(name);
  if (known) return known;
  if (kinds.size >= MAX_KINDS) kinds.clear();
  kinds.set(name, seen);
  return seen;
}
