import type { FastifyBaseLogger } from "fastify";
import type { AttendanceStore, Stay } from "../../db/contract/attendance-store.js";
import type { WorldStore } from "../../db/contract/store.js";
import type { Clock } from "../../db/runtime.js";
import { attendanceIn } from "../../schemas/plain/attendance.js";
import type { Hub } from "./hub.js";
import type { Presence, RoomListener } from "./presence.js";

const MINUTE_MS = 60_000;

/** Delay before an arrival or departure is written, in milliseconds. */
const WRITE_DELAY_MS = 1000;

/** Maximum number of counts, and of stays, per write. Other writes to the store wait in the meantime. */
const COUNTS_PER_WRITE = 200;
const STAYS_PER_WRITE = 50;

/** Maximum number of a world's ended stays kept while the store fails. At the maximum, newly ended stays are lost. */
const MAX_ENDED = 50_000;

interface AttendancePorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly hub: Pick<Hub, "worlds">;
  readonly store: {
    readonly worlds: Pick<WorldStore, "get">;
    readonly attendance: Pick<AttendanceStore, "sample" | "note">;
  };
  /** Returns the number of people in each room of a world, across all processes. */
  readonly numbersIn: (world: string) => ReturnType<Presence["in"]>;
}

/** A user who is in a room through connections of this process. */
interface Present {
  readonly user: string;
  readonly room: string;
  /** Time up to which the stay has been recorded, in milliseconds since 1970. */
  since: number;
}

/** The people in one world who have connections in this process. */
class Attendees {
  readonly present = new Map<string, Present>();
  /** The people whose arrival has not been recorded yet. */
  readonly arrived = new Set<Present>();
  ended: Stay[] = [];
  isDue = false;
  /** The last write. Writes run one after another. */
  noting = Promise.resolve();
}

/**
 * If a world keeps attendance, records the number of people in each room once a minute and,
 * depending on the world's settings, the stays of people in rooms.
 *
 * Each process records the numbers across all processes, as known to presence; the store keeps the
 * largest number per minute. So no process has to lead, and nothing is lost when a process stops. A
 * stay is recorded by the process that serves the user's connections: when the stay begins and
 * ends, and once a minute. So a process that is killed loses at most a minute.
 */
export class Attendance implements RoomListener {
  readonly #ports: AttendancePorts;
  readonly #worlds = new Map<string, Attendees>();
  readonly #timers = new Set<() => void>();
  #closed = false;

  constructor(ports: AttendancePorts) {
    this.#ports = ports;
    this.#nextMinute();
  }

  entered(world: string, room: string, user: string): void {
    let places = this.#worlds.get(world);
    if (!places) this.#worlds.set(world, (places = new Attendees()));
    const key = keyOf(room, user);
    if (places.present.has(key)) return;
    const present = { user, room, since: this.#ports.clock.date() };
    places.present.set(key, present);
    places.arrived.add(present);
    this.#soon(world, places);
  }

  left(world: string, room: string, user: string): void {
    const places = this.#worlds.get(world);
    const present = places?.present.get(keyOf(room, user));
    if (!places || !present) return;
    places.present.delete(keyOf(room, user));
    places.arrived.delete(present);
    if (places.ended.length < MAX_ENDED) {
      places.ended.push(this.#stayOf(present));
    }
    this.#soon(world, places);
  }

  /** Stops all timers. */
  stop(): void {
    this.#closed = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  /** Records state that is held only in memory. */
  async close(): Promise<void> {
    this.stop();
    for (const [world, places] of this.#worlds) {
      await this.#note(world, places, places.present.values());
    }
  }

  #stayOf({ user, room, since }: Present): Stay {
    // The system clock may have been set back.
    const to = Math.max(since, this.#ports.clock.date());
    return { user, room, from: since, to };
  }

  /** @param call must not return a promise that rejects. */
  #after(delay: number, call: () => unknown): void {
    if (this.#closed) return;
    const cancel = this.#ports.clock.after(delay, () => {
      this.#timers.delete(cancel);
      call();
    });
    this.#timers.add(cancel);
  }

  #soon(world: string, places: Attendees): void {
    if (places.isDue) return;
    places.isDue = true;
    this.#after(WRITE_DELAY_MS, () => this.#note(world, places, places.arrived));
  }

  #nextMinute(): void {
    const delay = MINUTE_MS - (this.#ports.clock.date() % MINUTE_MS);
    this.#after(delay, async () => {
      this.#nextMinute();
      const now = this.#ports.clock.date();
      const notes = [...this.#worlds].map(([world, places]) =>
        this.#note(world, places, places.present.values()),
      );
      await this.#sampleAll(Math.round(now / MINUTE_MS) * MINUTE_MS);
      await Promise.all(notes);
    });
  }

  async #sampleAll(minute: number): Promise<void> {
    for (const world of this.#ports.hub.worlds()) {
      const counts = this.#ports
        .numbersIn(world)
        .rooms.map(({ id, viewers }) => ({ room: id, people: viewers }));
      try {
        await this.#sample(world, minute, counts);
      } catch (error) {
        this.#failed(world, error);
      }
    }
  }

  async #sample(
    world: string,
    minute: number,
    counts: { room: string; people: number }[],
  ): Promise<void> {
    if (counts.length === 0 || (await this.#modeOf(world)) === "off") return;
    const { attendance } = this.#ports.store;
    for (let at = 0; at < counts.length; at += COUNTS_PER_WRITE) {
      await attendance.sample(world, minute, counts.slice(at, at + COUNTS_PER_WRITE));
    }
  }

  /** Records stays that have ended, and the given stays, which continue. Never rejects. */
  #note(world: string, places: Attendees, going: Iterable<Present>): Promise<void> {
    places.isDue = false;
    places.noting = places.noting.then(async () => {
      try {
        await this.#write(world, places, [...going]);
      } catch (error) {
        this.#failed(world, error);
      }
      const { present, ended } = places;
      if (present.size === 0 && ended.length === 0 && !places.isDue) {
        this.#worlds.delete(world);
      }
    });
    return places.noting;
  }

  async #write(world: string, places: Attendees, going: readonly Present[]): Promise<void> {
    const mode = await this.#modeOf(world);
    if (mode !== "people") {
      // Time that passed while the world did not keep stays must not be recorded at a later write.
      const now = this.#ports.clock.date();
      for (const present of places.present.values()) present.since = now;
      places.arrived.clear();
      places.ended = [];
      return;
    }
    const { attendance } = this.#ports.store;
    while (places.ended.length > 0) {
      const slice = places.ended.slice(0, STAYS_PER_WRITE);
      await attendance.note(world, slice);
      places.ended.splice(0, slice.length);
    }
    for (let at = 0; at < going.length; at += STAYS_PER_WRITE) {
      const slice = going.slice(at, at + STAYS_PER_WRITE);
      const stays = slice.map((present) => this.#stayOf(present));
      await attendance.note(world, stays);
      slice.forEach((present, i) => {
        present.since = stays[i]!.to;
        places.arrived.delete(present);
      });
    }
  }

  async #modeOf(world: string) {
    const found = await this.#ports.store.worlds.get(world);
    return found ? attendanceIn(found.value.config) : "off";
  }

  #failed(world: string, err: unknown): void {
    this.#ports.log.warn({ err, world }, "cannot keep attendance");
  }
}

const keyOf = (room: string, user: string) => `${room} ${user}`;
