import type { Clock } from "../../db/log/clock.js";
import { Joiner } from "./joiner.js";

/** How many sockets are written to before other work gets its turn. */
const SLICE = 500;

/** How long that may take, in milliseconds: the frames of a socket may be large. */
const LONGEST_SLICE = 5;

/** The writer of one connection. */
interface Due {
  flush(joiner: Joiner): void;
}

/** After how many sockets the clock is read. */
const LOOKED_AT = 32;

/**
 * Writes due frames to connections. All frames that become due to a socket within one
 * turn of the event loop are one write, because a write costs more than all other work.
 * After each slice of sockets the event loop goes on, so that requests are served while
 * an event goes to thousands.
 */
export class Pump {
  #due: Due[] = [];
  #next = 0;
  #since = 0;
  /** How many connections were taken, and how many of them were written to. */
  #added = 0;
  #written = 0;
  /** The callers that wait until so many sockets were written to, in order. */
  readonly #waiting: { count: number; resolve: () => void }[] = [];
  readonly #joiner = new Joiner();
  readonly #clock: Clock;
  readonly #onPass: (seconds: number) => void;

  /** @param onPass gets how long the first frame of a pass waited. */
  constructor(clock: Clock, onPass: (seconds: number) => void = () => {}) {
    this.#clock = clock;
    this.#onPass = onPass;
  }

  /** How many connections wait to be written to. */
  get waiting(): number {
    return this.#due.length - this.#next;
  }

  /** Takes the writer of a connection that has got its first frame. */
  add(writer: Due): void {
    this.#added++;
    if (this.#due.push(writer) > 1) return;
    this.#since = this.#clock.now();
    this.#clock.soon(this.#run);
  }

  /** Resolves when everything that is due now is written. */
  async drained(): Promise<void> {
    const count = this.#added;
    if (this.#written === count) return;
    await new Promise<void>((resolve) =>
      this.#waiting.push({ count, resolve }),
    );
  }

  readonly #run = (): void => {
    this.#writeSlice();
    while (this.#waiting[0] && this.#waiting[0].count <= this.#written) {
      this.#waiting.shift()!.resolve();
    }
    if (this.#next < this.#due.length) {
      this.#clock.soon(this.#run);
      return;
    }
    this.#onPass((this.#clock.now() - this.#since) / 1000);
    this.#joiner.forget();
    this.#due = [];
    this.#next = 0;
  };

  #writeSlice(): void {
    const end = Math.min(this.#next + SLICE, this.#due.length);
    const latest = this.#clock.now() + LONGEST_SLICE;
    while (this.#next < end) {
      this.#due[this.#next++]!.flush(this.#joiner);
      this.#written++;
      const looks = this.#next % LOOKED_AT === 0;
      if (looks && this.#clock.now() >= latest) return;
    }
  }
}
