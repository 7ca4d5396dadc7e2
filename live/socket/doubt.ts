import type { Clock } from "../../db/log/clock.js";

/** How long an answer waits until the rights of its user are known, in milliseconds. */
const LONGEST = 2000;

/** Whether the user of a connection may still get what is sent to it. */
export class Doubt {
  readonly #clock: Clock;
  #known: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isOpen(): boolean {
    return this.#known !== undefined;
  }

  /** Settles when the doubt ends or another one replaces it; undefined if there is none. */
  get known(): Promise<void> | undefined {
    return this.#known;
  }

  /**
   * Doubts until something is known.
   * @param known settles after the promise of an earlier call.
   * @param onEnd called in the moment when the doubt ends, unless a later call has replaced it.
   * @throws what `known` rejects with: then the doubt stays.
   */
  until(known: Promise<void>, onEnd: () => void): Promise<void> {
    this.#known = known;
    return known.then(() => {
      if (this.#known !== known) return;
      this.#known = undefined;
      onEnd();
    });
  }

  /** Waits for the end of the doubt. @returns false if it does not come for some time. */
  async ends(): Promise<boolean> {
    let isLate = false;
    let stop = () => {};
    const late = new Promise<void>((resolve) => {
      stop = this.#clock.after(LONGEST, () => {
        isLate = true;
        resolve();
      });
    });
    // Another doubt may have replaced the one that ended.
    while (this.#known && !isLate) {
      await Promise.race([this.#known.catch(() => {}), late]);
    }
    stop();
    return !isLate;
  }
}
