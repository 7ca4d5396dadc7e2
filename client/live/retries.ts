import type { End } from "./connection.js";

/** The close code of a server that restarts. */
const SERVICE_RESTART = 1012;

/** How many times the longest next delay a connection has to last to count as a success. */
const LASTS = 10;

/** Decides whether to connect again after a connection ended, and when. */
export class Retries {
  readonly #delay: number;
  readonly #maxDelay: number;
  readonly #hasFreshTokens: boolean;
  /** How often in a row no stable connection came about. */
  #failures = 0;
  /** How often in a row a token was refused. */
  #refusals = 0;

  /**
   * @param delay the longest delay before the first try, in milliseconds.
   * @param maxDelay the bound of the doubling, in milliseconds.
   * @param hasFreshTokens whether the next login may have another token.
   */
  constructor(delay: number, maxDelay: number, hasFreshTokens: boolean) {
    this.#delay = delay;
    this.#maxDelay = maxDelay;
    this.#hasFreshTokens = hasFreshTokens;
  }

  loggedIn(): void {
    this.#refusals = 0;
  }

  /** Whether to stay away: to connect again would be of no use, or would harm. */
  isOver({ error: { code } }: End): boolean {
    switch (code) {
      // The network was too slow, or too many came from it.
      case "auth.timeout":
      case "auth.too_many_guests":
        return false;
      case "auth.expired_token":
      case "auth.invalid_token":
        return !this.#hasFreshTokens || ++this.#refusals > 1;
      // Two clients beyond the limit would replace each other forever.
      case "connection.replaced":
      case "world.unknown_world":
      case "protocol.invalid_payload":
        return true;
      default:
        return code.startsWith("auth.");
    }
  }

  /**
   * How many milliseconds to wait: a random share of a time that doubles with each
   * failure, so that the clients of a server that was down do not come at once. A connection
   * that lasted {@link LASTS} times as long as the next delay may be counts as a success. If it were less, the clients of
   * a server that ends every few seconds would all come back within the shortest delay, each time.
   */
  next({ code, lasted }: End): number {
    const isStable =
      lasted !== undefined &&
      (lasted >= Math.min(this.#maxDelay, LASTS * this.#longest()) || code === SERVICE_RESTART);
    if (isStable) this.#failures = 0;
    const longest = this.#longest();
    this.#failures++;
    return Math.random() * longest;
  }

  #longest(): number {
    return Math.min(this.#maxDelay, this.#delay * 2 ** this.#failures);
  }
}
