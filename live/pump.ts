import type { Connection } from "./connection.js";

/** How many sockets are written to before other work gets its turn; about 3 ms. */
const SLICE = 500;

/**
 * Writes what is due to connections. All frames that become due to a socket within
 * one turn of the event loop are one write, because a write costs more than
 * everything else. After each slice of sockets the event loop goes on, so that
 * requests are served while an event goes to thousands.
 */
export class Pump {
  #due: Connection[] = [];
  #next = 0;
  #since = 0;
  readonly #onPass: (seconds: number) => void;

  /** @param onPass gets how long the first frame of a pass waited. */
  constructor(onPass: (seconds: number) => void = () => {}) {
    this.#onPass = onPass;
  }

  /** How many connections wait to be written to. */
  get waiting(): number {
    return this.#due.length - this.#next;
  }

  /** Takes a connection that has got its first frame. */
  add(connection: Connection): void {
    if (this.#due.push(connection) > 1) return;
    this.#since = performance.now();
    setImmediate(this.#run);
  }

  readonly #run = (): void => {
    const end = Math.min(this.#next + SLICE, this.#due.length);
    while (this.#next < end) this.#due[this.#next++]!.flush();
    if (this.#next < this.#due.length) {
      setImmediate(this.#run);
      return;
    }
    this.#onPass((performance.now() - this.#since) / 1000);
    this.#due = [];
    this.#next = 0;
  };
}
