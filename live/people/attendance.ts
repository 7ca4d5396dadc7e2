import type { FastifyBaseLogger } from "fastify";
import type { AttendanceStore, Stay } from "../../db/contract/attendance.js";
import type { WorldStore } from "../../db/contract/store.js";
import type { Clock } from "../../db/log/clock.js";
import { attendanceIn } from "../../schemas/plain/attendance.js";
import type { Hub } from "./hub.js";
import type { Presence } from "./presence.js";

const MINUTE = 60_000;

/** How soon an arrival or a departure is noted, in milliseconds. */
const SOON = 1000;

/** How many stays one write notes. */
const SLICE = 200;

/** How many ended stays wait for a store that fails; more are lost. */
const MOST_ENDED = 50_000;

interface AttendancePorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly hub: Hub;
  readonly store: {
    readonly worlds: WorldStore;
    readonly attendance: AttendanceStore;
  };
  readonly numbersIn: (world: string) => ReturnType<Presence["in"]>;
}

/** A user who is in a room over connections of this process. */
interface Present {
  readonly user: string;
  readonly room: string;
  /** Up to when it is noted, in milliseconds since 1970. */
  since: number;
}

/** The people of one world. */
interface Places {
  readonly present: Map<string, Present>;
  ended: Stay[];
  /** Whether they are noted soon. */
  isDue: boolean;
}

/**
 * Notes how many people are in rooms, once a minute, and who was where, if the world keeps it.
 * Each process notes its own people; of the processes that serve a world, the first one notes
 * the numbers of a minute.
 */
export class Attendance {
  readonly #ports: AttendancePorts;
  readonly #places = new Map<string, Places>();
  readonly #timers = new Set<() => void>();
  #closed = false;

  constructor(ports: AttendancePorts) {
    this.#ports = ports;
    this.#atNextMinute();
  }

  /** A user came into a room, perhaps over one more connection. */
  entered(world: string, room: string, user: string): void {
    const places = this.#placesOf(world);
    const key = `${room} ${user}`;
    if (places.present.has(key)) return;
    const since = this.#ports.clock.date();
    places.present.set(key, { user, room, since });
    this.#soon(world, places);
  }

  /** The last connection of this process over which a user was in a room is gone. */
  left(world: string, room: string, user: string): void {
    const places = this.#placesOf(world);
    const key = `${room} ${user}`;
    const present = places.present.get(key);
    if (!present) return;
    places.present.delete(key);
    if (places.ended.length < MOST_ENDED)
      places.ended.push(this.#stayOf(present));
    this.#soon(world, places);
  }

  /** Notes what is only in memory. */
  async close(): Promise<void> {
    this.stop();
    for (const [world, places] of this.#places) await this.#note(world, places);
  }

  /** Stops all timers. */
  stop(): void {
    this.#closed = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  #placesOf(world: string): Places {
    let places = this.#places.get(world);
    if (!places) {
      places = { present: new Map(), ended: [], isDue: false };
      this.#places.set(world, places);
    }
    return places;
  }

  #stayOf({ user, room, since }: Present): Stay {
    const to = Math.max(since, this.#ports.clock.date());
    return { user, room, session: "", from: since, to };
  }

  #after(delay: number, act: () => Promise<void>): void {
    if (this.#closed) return;
    const cancel = this.#ports.clock.after(delay, () => {
      this.#timers.delete(cancel);
      act().catch((error: unknown) =>
        this.#ports.log.warn({ err: error }, "attendance was not noted"),
      );
    });
    this.#timers.add(cancel);
  }

  #soon(world: string, places: Places): void {
    if (places.isDue) return;
    places.isDue = true;
    this.#after(SOON, () => this.#note(world, places));
  }

  #atNextMinute(): void {
    const delay = MINUTE - (this.#ports.clock.date() % MINUTE);
    this.#after(delay, async () => {
      this.#atNextMinute();
      const at = this.#ports.clock.date();
      const minute = at - (at % MINUTE);
      for (const world of this.#ports.hub.worlds()) {
        await this.#sample(world, minute);
      }
      for (const [world, places] of this.#places) {
        await this.#note(world, places);
      }
    });
  }

  /** Notes the numbers of a minute, unless another process has. */
  async #sample(world: string, minute: number): Promise<void> {
    const { store, numbersIn } = this.#ports;
    const found = await store.worlds.get(world);
    if (!found || attendanceIn(found.value.config) === "off") return;
    const counts = numbersIn(world)
      .rooms.filter(({ viewers }) => viewers > 0)
      .map(({ id, viewers }) => ({ room: id, people: viewers }));
    if (counts.length === 0) return;
    await store.attendance.sample(world, minute, counts);
  }

  /** Notes the stays of a world that ended, and those that go on up to now. */
  async #note(world: string, places: Places): Promise<void> {
    places.isDue = false;
    const { store } = this.#ports;
    const found = await store.worlds.get(world);
    const { ended } = places;
    places.ended = [];
    if (!found || attendanceIn(found.value.config) !== "people") {
      // What is not kept now is not noted later, either.
      const now = this.#ports.clock.date();
      for (const present of places.present.values()) present.since = now;
    } else {
      const going = [...places.present.values()].map((present) => {
        const stay = this.#stayOf(present);
        present.since = stay.to;
        return stay;
      });
      const stays = [...ended, ...going];
      for (let at = 0; at < stays.length; at += SLICE) {
        await store.attendance.note(world, stays.slice(at, at + SLICE));
      }
    }
    if (places.present.size === 0 && places.ended.length === 0) {
      this.#places.delete(world);
    }
  }
}
