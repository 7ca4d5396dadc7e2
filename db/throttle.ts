/** Runs something at once, but not all the time: what is asked for in a pause runs once after it. */
export class Throttle {
  readonly #run: () => void;
  readonly #pause: number;
  #timer: NodeJS.Timeout | undefined;
  #isAskedAgain = false;

  /** @param pause in milliseconds. */
  constructor(run: () => void, pause: number) {
    this.#run = run;
    this.#pause = pause;
  }

  ask(): void {
    if (this.#timer) {
      this.#isAskedAgain = true;
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#isAskedAgain) return;
      this.#isAskedAgain = false;
      this.ask();
    }, this.#pause).unref();
    this.#run();
  }

  /** Runs nothing any more that was asked for. */
  close(): void {
    clearTimeout(this.#timer);
  }
}
