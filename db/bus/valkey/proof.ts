/** How long a proof may take, in milliseconds. */
const PATIENCE = 600;

/**
 * Finds out whether messages reach this process: it sends one, which has to come back. What
 * others sent before is here by then, or its absence shows by the numbers.
 */
export class Proof {
  readonly #send: (name: string) => void;
  #count = 0;
  /** When the message was sent that has to come back, as `performance.now()` gives it; 0 for none. */
  #sentAt = 0;
  readonly #waiting: { since: number; fail: () => void }[] = [];

  /** @param send sends a message that comes back, with its name. */
  constructor(send: (name: string) => void) {
    this.#send = send;
  }

  /** @param fail is called unless messages reach this process from now on. */
  ask(fail: () => void): void {
    this.#waiting.push({ since: performance.now(), fail });
    if (this.#sentAt === 0) this.#try();
  }

  /** A message with this name has come back. */
  came(name: string): void {
    const sentAt = this.#sentAt;
    if (sentAt === 0 || name !== `${this.#count}`) return;
    this.#sentAt = 0;
    const later = this.#waiting.findIndex(({ since }) => since > sentAt);
    this.#waiting.splice(0, later < 0 ? Infinity : later);
    if (this.#waiting.length > 0) this.#try();
  }

  /** Looks for proofs that take too long. It has to be called often. */
  look(): void {
    const late = performance.now() - PATIENCE;
    while (this.#waiting[0] && this.#waiting[0].since < late) {
      this.#waiting.shift()!.fail();
    }
    if (this.#waiting.length === 0) this.#sentAt = 0;
  }

  #try(): void {
    this.#sentAt = performance.now();
    this.#send(`${++this.#count}`);
  }
}
