import type { Clock } from "../../db/log/clock.js";

/** How long messages may be carried out in one turn of the event loop, in milliseconds. */
const BUDGET = 4;

/** How many connections that waited go on in one turn. */
const BATCH = 8;

/**
 * Shares the event loop between the messages of all connections and everything
 * else. Messages are often carried out in microtasks alone, so without it a client
 * that sends without end would stop the process.
 */
export class Turns {
  /** When the budget of this turn ends; 0 while it is unused. */
  #end = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Asks whether a message may be carried out. @returns a promise to wait for; undefined if it may be now. */
  take(): Promise<void> | undefined {
    const now = this.#clock.now();
    if (this.#end === 0) {
      this.#end = now + BUDGET;
      this.#clock.soon(this.#next);
    } else if (now >= this.#end) {
      return new Promise((resolve) => this.#waiting.push(resolve));
    }
    return undefined;
  }

  readonly #next = (): void => {
    if (this.#waiting.length === 0) {
      this.#end = 0;
      return;
    }
    this.#end = this.#clock.now() + BUDGET;
    this.#clock.soon(this.#next);
    for (const goOn of this.#waiting.splice(0, BATCH)) goOn();
  };
}
