/** Runs something at once, and again at most once in an interval. */
export class Paced {
  readonly #interval: number;
  readonly #act: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ranAt = 0;

  /** @param interval in milliseconds. */
  constructor(interval: number, act: () => void) {
    this.#interval = interval;
    this.#act = act;
  }

  /** Runs it as soon as the interval lets it. */
  soon(): void {
    if (this.#timer !== undefined) return;
    const wait = this.#ranAt + this.#interval - Date.now();
    // The clock of a computer may go back.
    if (wait <= 0 || wait > this.#interval) return this.now();
    this.#timer = setTimeout(() => this.now(), wait);
  }

  /** Runs it now. */
  now(): void {
    this.stop();
    this.#ranAt = Date.now();
    this.#act();
  }

  /** What waits does not run any more. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
