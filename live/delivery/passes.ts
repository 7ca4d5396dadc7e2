import { detach } from "../../db/detach.js";
import { type Clock, nextTurn, sleep } from "../../db/log/clock.js";
import type { Pump } from "../socket/socket-writer.js";

/** How many connections make a crowd. To fewer, everything is sent at once. */
const CROWD = 200;

/** The time from the start of one pass to the start of the next, in milliseconds. */
const SHORTEST = 8;
const LONGEST = 100;

/** Passes over the people of one place. It exists only while one runs or has just ended. */
interface Pass {
  /** The senders that wait for the next pass. */
  waiting: (() => void)[];
}

/**
 * Later, kind two: with others. Sends to the crowd of a place in passes, because a write to a socket costs the same
 * whatever its size. The first message after a quiet moment is sent at once. What
 * comes while the sockets are written to waits, and is sent together in the next
 * pass. As long as passes follow each other, the time between them grows, so a busy
 * place makes its pieces larger by itself.
 */
export class Passes {
  readonly #clock: Clock;
  readonly #pump: Pump;
  readonly #places = new Map<string, Pass>();

  /** @param pump writes to the sockets. A pass ends when nothing is due there. */
  constructor(clock: Clock, pump: Pump) {
    this.#clock = clock;
    this.#pump = pump;
  }

  /** Whether so many connections get what happens in a place in passes. */
  isCrowd(size: number): boolean {
    return size >= CROWD;
  }

  /**
   * Asks whether something may be sent to the people of a place.
   * @param place the id of a room or channel.
   * @param size how many connections get it.
   * @returns what to wait for; undefined if it may be sent now.
   */
  turn(place: string, size: number): Promise<void> | undefined {
    if (!this.isCrowd(size)) return undefined;
    const pass = this.#places.get(place);
    if (pass) return new Promise((resolve) => pass.waiting.push(resolve));
    const first: Pass = { waiting: [] };
    this.#places.set(place, first);
    detach(this.#run(place, first));
    return undefined;
  }

  async #run(place: string, pass: Pass): Promise<void> {
    const clock = this.#clock;
    for (let window = SHORTEST; ; window = Math.min(2 * window, LONGEST)) {
      const next = clock.now() + window;
      // By then, those whose turn it is have sent, or begun to.
      await nextTurn(clock);
      await this.#pump.drained();
      const rest = next - clock.now();
      if (rest >= 1) await sleep(clock, rest);
      if (pass.waiting.length === 0) break;
      for (const resolve of pass.waiting.splice(0)) resolve();
    }
    this.#places.delete(place);
  }
}

/** How long something is done before other work gets its turn, in milliseconds. */
const SLICE = 5;

/** Does something with each of many items, and lets requests be served meanwhile. */
export async function inSlices<T>(
  clock: Clock,
  items: Iterable<T>,
  act: (item: T) => void,
): Promise<void> {
  let since = clock.now();
  for (const item of items) {
    act(item);
    if (clock.now() - since < SLICE) continue;
    await nextTurn(clock);
    since = clock.now();
  }
}
