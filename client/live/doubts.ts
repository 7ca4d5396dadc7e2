/**
 * Whether the server has told all: it does not tell a client what its user does on
 * another connection. `certainly` means that something is missing.
 */
export type Doubt = "perhaps" | "certainly";

/** The longest first waits, in milliseconds. */
const FIRST = { perhaps: 60_000, certainly: 2000 };
const LONGEST = 300_000;

/**
 * Decides when to ask the server again because of doubts: after a random share of a time
 * that doubles as long as that brings nothing new. So most clients, whose users have one
 * connection, rarely ask, and all of them never ask at once.
 */
export class Doubts {
  readonly #ask: () => void;
  readonly #longest: Record<Doubt, number> = { ...FIRST };
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What it waits for. */
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

  /** @param isNew whether the server told anything new of what the user did. */
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
