import { TokenBucket } from "./token-bucket.js";

/** A burst of commands is this many times the rate. */
const BURST = 6;

/** Before login, a connection gets this part of the rate. */
const STRANGER = 0.1;

/**
 * How fast the messages of a connection are carried out. Those above the rate are
 * refused, but refusals cost time as well. So they have the same rate, and beyond
 * it messages wait.
 */
export class Pace {
  readonly #commands: TokenBucket;
  #strangers: TokenBucket | undefined;
  #refusals: TokenBucket | undefined;

  /** @param rate how many commands a second are carried out after login. */
  constructor(rate: number) {
    this.#commands = new TokenBucket(rate, BURST);
    this.#strangers = new TokenBucket(Math.max(1, STRANGER * rate), BURST);
  }

  /**
   * Counts a message.
   * @param isKnown whether the client has logged in.
   * @returns whether the message may be carried out; undefined if it can be neither
   *   carried out nor refused before {@link wait} has passed.
   */
  take(isKnown: boolean): boolean | undefined {
    if (isKnown && this.#strangers) {
      this.#strangers = undefined;
      this.#refusals = undefined;
    }
    const isWelcome = !this.#strangers || this.#strangers.take();
    if (isWelcome && this.#commands.take()) return true;
    const { rate } = this.#strangers ?? this.#commands;
    this.#refusals ??= new TokenBucket(rate, BURST);
    return this.#refusals.take() ? false : undefined;
  }

  /** After how many milliseconds to call {@link take} again. */
  get wait(): number {
    return this.#refusals?.wait ?? 0;
  }
}
