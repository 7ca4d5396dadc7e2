import type { Clock } from "../../db/log/clock.js";
import { TokenBucket } from "./token-bucket.js";

/** A burst of commands is this many times the rate. */
const BURST = 6;

/**
 * How fast the messages of a connection are carried out. Messages above the rate are
 * refused, but refusals cost time as well. So they have the same rate, and beyond it
 * messages wait.
 */
export class Pace {
  readonly #commands: TokenBucket;
  #refusals: TokenBucket | undefined;

  /** @param rate how many commands a second are carried out. */
  constructor(clock: Clock, rate: number) {
    this.#commands = new TokenBucket(rate, BURST, clock);
  }

  /**
   * Counts a message.
   * @returns whether the message may be carried out; undefined if it can be neither
   *   carried out nor refused before {@link wait} has passed.
   */
  take(): boolean | undefined {
    if (this.#commands.take()) return true;
    this.#refusals ??= new TokenBucket(
      this.#commands.rate,
      BURST,
      this.#commands.clock,
    );
    return this.#refusals.take() ? false : undefined;
  }

  /** After how many milliseconds to call {@link take} again. */
  get wait(): number {
    return this.#refusals?.wait ?? 0;
  }
}
