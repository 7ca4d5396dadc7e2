import type { Clock } from "../../../db/log/clock.js";
import type { Copies } from "./copies.js";

/** How long others may take to send their items of a scope, in milliseconds. */
const PATIENCE = 250;

/** A scope that this process follows. */
export class Followed {
  readonly copies: Copies;
  /** Resolves when all other processes have sent their items, or after a moment. */
  readonly ready: Promise<void>;
  /** How many callers follow it. */
  holders = 1;
  /** When it was first followed, or last left. */
  since: number;
  /** The processes that have not sent their items yet. */
  readonly #awaited: Set<string>;
  #onReady = () => {};

  /**
   * @param since the time, as its owner counts it.
   * @param others the processes that will send their items.
   */
  constructor(
    clock: Clock,
    copies: Copies,
    since: number,
    others: Iterable<string>,
  ) {
    this.copies = copies;
    this.since = since;
    this.#awaited = new Set(others);
    this.ready = new Promise((resolve) => (this.#onReady = resolve));
    if (this.#awaited.size === 0) this.#onReady();
    else clock.after(PATIENCE, this.#onReady);
  }

  /** A process has sent all its items, or has ended. */
  told(process: string): void {
    if (this.#awaited.delete(process) && this.#awaited.size === 0) {
      this.#onReady();
    }
  }
}
