import type { Clock } from "../../db/log/clock.js";

/** Bounds a rate: a bucket that refills at a rate and holds a burst. */
export class TokenBucket {
  #tokens: number;
  #at: number;

  /**
   * @param rate how many a second.
   * @param burst how many times the rate may come at once.
   */
  constructor(
    readonly rate: number,
    readonly burst: number,
    readonly clock: Clock,
  ) {
    this.#tokens = rate * burst;
    this.#at = clock.now();
  }

  /** Takes tokens. @returns whether there were enough; otherwise it takes none. */
  take(count = 1): boolean {
    this.#refill();
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** Takes tokens, even in advance: the next caller waits for them. */
  spend(count: number): void {
    this.#refill();
    this.#tokens -= count;
  }

  #refill(): void {
    const now = this.clock.now();
    const refilled = this.#tokens + ((now - this.#at) / 1000) * this.rate;
    this.#tokens = Math.min(this.rate * this.burst, refilled);
    this.#at = now;
  }

  /** Whether nothing was taken that is not refilled. */
  get isFull(): boolean {
    this.#refill();
    return this.#tokens >= this.rate * this.burst;
  }

  /** After how many milliseconds there is a token. */
  get wait(): number {
    this.#refill();
    return Math.max(0, (1000 * (1 - this.#tokens)) / this.rate);
  }
}
