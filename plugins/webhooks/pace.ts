/** How many requests a process begins in a second, at most: each takes time that attendees wait for. */
const RATE = 500;

/** How many may begin at once after a pause. */
const BURST = 20;

/** How often waiting requests get their turn, in milliseconds. */
const STEP = 10;

/** Lets requests begin at a bounded rate, in the order in which they asked. */
export class Pace {
  readonly #waiting: (() => void)[] = [];
  #left = BURST;
  #seen = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** Resolves when a request may begin. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#timer) this.#serve();
    });
  }

  #serve(): void {
    this.#timer = undefined;
    const now = performance.now();
    const earned = ((now - this.#seen) * RATE) / 1000;
    this.#left = Math.min(BURST, this.#left + earned);
    this.#seen = now;
    while (this.#left >= 1 && this.#waiting.length > 0) {
      this.#left--;
      this.#waiting.shift()!();
    }
    if (this.#waiting.length > 0) {
      this.#timer = setTimeout(() => this.#serve(), STEP).unref();
    }
  }
}
