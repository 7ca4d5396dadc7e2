import type { SentRoom } from "../schemas/live/index.js";
import { broadcast } from "./hub.js";
import type { Live } from "./live.js";

type Crowd = SentRoom["users"];

/** Up to this number of people are few. */
const FEW = 10;

/** The word for a room is sent at most once in this time, in milliseconds. */
const INTERVAL = 250;

const wordFor = (count: number): Crowd =>
  count < 1 ? "none" : count <= FEW ? "few" : "many";

interface Known {
  word: Crowd;
  at: number;
  timer?: NodeJS.Timeout;
}

/** Tells the people of a world when a room gets empty, or few or many people. */
export class Crowds {
  readonly #live: Live;
  /** The words that were sent last, by world and room. Empty rooms are not kept. */
  readonly #known = new Map<string, Map<string, Known>>();
  #changes = 0;

  constructor(live: Live) {
    this.#live = live;
  }

  /** Counts how often any word has changed. */
  get changes(): number {
    return this.#changes;
  }

  /** The word for a room, as it was sent last. */
  of(world: string, room: string): Crowd {
    return this.#known.get(world)?.get(room)?.word ?? "none";
  }

  /** Somebody entered or left a room. */
  changed(world: string, room: string): void {
    const known = this.#known.get(world)?.get(room) ?? { word: "none", at: 0 };
    const word = wordFor(this.#live.presence.countIn(world, room));
    if (word === known.word || known.timer) return;
    const wait = known.at + INTERVAL - Date.now();
    if (wait <= 0) this.#send(world, room, word);
    else {
      known.timer = setTimeout(() => {
        delete known.timer;
        this.changed(world, room);
      }, wait).unref();
    }
  }

  #send(world: string, room: string, word: Crowd): void {
    const rooms = this.#known.get(world) ?? new Map<string, Known>();
    this.#known.set(world, rooms);
    rooms.set(room, { word, at: Date.now() });
    this.#changes++;
    const live = this.#live;
    live.inOrder(world, async () => {
      const state = await live.states.get(world);
      if (!state) return;
      broadcast(
        live.hub.in(world),
        "world.user_count_change",
        { room, users: word },
        (connection) => live.viewOf(connection, state).sees(room),
      );
    });
    if (word !== "none") return;
    // It is kept for a while, so that it is not sent more often than it should be.
    setTimeout(() => {
      if (rooms.get(room)?.word !== "none") return;
      rooms.delete(room);
      if (rooms.size === 0 && this.#known.get(world) === rooms) {
        this.#known.delete(world);
      }
    }, INTERVAL).unref();
  }

  close(): void {
    for (const rooms of this.#known.values()) {
      for (const { timer } of rooms.values()) clearTimeout(timer);
    }
  }
}
