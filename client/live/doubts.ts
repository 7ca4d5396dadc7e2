/**
 * Whether a list may be stale: the server does not report the user's actions on other
 * connections. `certainly` means that something is missing.
 */
export type Doubt = "perhaps" | "certainly";

/** The longest first waits, in milliseconds. */
const FIRST = { perhaps: 60_000, certainly: 2000 };
const LONGEST = 300_000;

/**
 * Decides when a doubtful list is fetched again: after a random share of a delay. The delay
 * doubles as long as the answers bring nothing new. So most clients, whose users have one
 * connection, rarely ask, and never all at once.
 */
export class Doubts {
  readonly #ask: () => void;
  readonly #longest: Record<Doubt, number> = { ...FIRST };
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The pending timer. */
  #waiting: Doubt | undefined;
  /** Why it asked last. */
  #asked: Doubt = "perhaps";

  constructor(ask: () => void) {
    this.#ask = ask;
  }

  raise(doubt: Doubt): void {
    if (this.#waiting === "certainly" || this.#waiting === doubt) return;
    this.dismiss();
    this.#waiting = doubt;
    this.#timer = setTimeout(() => {
      this.#waiting = undefined;
      this.#asked = doubt;
      this.#ask();
    }, Math.random() * this.#longest[doubt]);
  }

  /** @param isNew whether the answer had an action of the user that was not known. */
  settle(isNew: boolean): void {
    if (isNew) Object.assign(this.#longest, FIRST);
    else {
      const longest = 2 * this.#longest[this.#asked];
      this.#longest[this.#asked] = Math.min(longest, LONGEST);
    }
  }

  /** Asks no more. */
  dismiss(): void {
    clearTimeout(this.#timer);
    this.#waiting = undefined;
  }
}
