import type { Authenticated } from "../../schemas/live/index.js";

type Limits = NonNullable<Authenticated["limits"]>;

/** The limits of a server that names none. */
const DEFAULTS: Limits = { messages_per_second: 5, messages_at_once: 20 };

/** Spaces the messages of the user over all channels, so that the server takes each. */
export class Pace {
  #limits = DEFAULTS;
  #left = DEFAULTS.messages_at_once;
  #at = performance.now();
  #last: Promise<void> = Promise.resolve();

  /** @param limits the limits that the server sent at login. */
  loggedIn(limits = DEFAULTS): void {
    this.#refill();
    this.#left += limits.messages_at_once - this.#limits.messages_at_once;
    this.#limits = limits;
  }

  /** The server refused a message: the user sends some elsewhere, too. */
  refused(): void {
    this.#refill();
    this.#left = Math.min(this.#left, 0);
  }

  /** Waits until one more message may be sent, after all earlier ones. */
  turn(): Promise<void> {
    return (this.#last = this.#last.then(async () => {
      for (this.#refill(); this.#left < 1; this.#refill()) {
        const { messages_per_second } = this.#limits;
        const wait = (1000 * (1 - this.#left)) / messages_per_second;
        await new Promise((done) => setTimeout(done, Math.ceil(wait)));
      }
      this.#left--;
    }));
  }

  #refill(): void {
    const { messages_per_second, messages_at_once } = this.#limits;
    const now = performance.now();
    const refilled = ((now - this.#at) / 1000) * messages_per_second;
    this.#left = Math.min(messages_at_once, this.#left + refilled);
    this.#at = now;
  }
}
