import type { Clock } from "../../../db/log/clock.js";
import { TokenBucket } from "../../socket/pace.js";

/** How often the crowd of a room may change in a second, and how often at once. */
const RATE = 1;
const BURST = 4;

/** After how many milliseconds without a change every rate is full again. */
export const FORGOTTEN = (BURST / RATE) * 1000;

/** The crowds that the rooms of a world show. A rate limits the changes of each room. */
export class CrowdBoard<T> {
  /** The crowd that was sent last for each room. Empty rooms are not kept. */
  readonly #sent = new Map<string, T>();
  /** The rooms that show something else than was sent. */
  readonly #due = new Set<string>();
  /** How often each room may still change. */
  readonly #rates = new Map<string, TokenBucket>();
  readonly #clock: Clock;
  readonly #shownFor: (count: number) => T;

  /** @param shownFor gives the value to show for a number of people. */
  constructor(clock: Clock, shownFor: (count: number) => T) {
    this.#clock = clock;
    this.#shownFor = shownFor;
  }

  /** Whether nothing waits to be sent. */
  get isSettled(): boolean {
    return this.#due.size === 0;
  }

  /** Whether every room was empty when it was sent last. */
  get isEmpty(): boolean {
    return this.#sent.size === 0;
  }

  /** The crowd that was sent last for a room. */
  of(room: string): T {
    return this.#sent.get(room) ?? this.#shownFor(0);
  }

  /** So many people are in a room now. @returns whether something has to be sent. */
  changed(room: string, count: number): boolean {
    const isDue = this.#shownFor(count) !== this.of(room);
    if (isDue) this.#due.add(room);
    else this.#due.delete(room);
    return isDue;
  }

  /**
   * Takes the rooms for which something is sent now.
   * @param countIn how many people are in a room.
   */
  take(countIn: (room: string) => number): string[] {
    return [...this.#due].filter((room) => {
      const rate = this.#rates.get(room) ?? new TokenBucket(RATE, BURST, this.#clock);
      this.#rates.set(room, rate);
      const isTaken = rate.take();
      if (isTaken) this.set(room, countIn(room));
      return isTaken;
    });
  }

  /** So many people are sent for a room. */
  set(room: string, count: number): void {
    this.#due.delete(room);
    if (count < 1) this.#sent.delete(room);
    else this.#sent.set(room, this.#shownFor(count));
  }

  /** Every rate is full again. */
  forgetRates(): void {
    this.#rates.clear();
  }
}
