/**
 * Whether the server has told all: it does not tell a client what its user does on
 * another connection. `certainly` means that something is missing.
 */
export type Doubt = "perhaps" | "certainly";

/** The longest first wait, in milliseconds. */
const FIRST = 2000;
const LONGEST = 300_000;

/**
 * Decides when to ask the server again because of doubts: after a random share of a time
 * that doubles as long as that brings nothing new. So most clients, whose users have one
 * connection, rarely ask, and all of them never ask at once.
 */
export class Doubts {
  readonly #ask: () => void;
  #longest = FIRST;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What it waits for. */
  #doubt: Doubt | undefined;

  constructor(ask: () => void) {
    this.#ask = ask;
  }

  raise(doubt: Doubt): void {
    if (this.#doubt === "certainly" || this.#doubt === doubt) return;
    if (doubt === "certainly") this.#longest = FIRST;
    this.dismiss();
    this.#doubt = doubt;
    this.#timer = setTimeout(() => {
      this.#doubt = undefined;
      this.#ask();
    }, Math.random() * this.#longest);
  }

  /** @param isFounded whether the server told anything new. */
  settle(isFounded: boolean): void {
    this.#longest = isFounded ? FIRST : Math.min(2 * this.#longest, LONGEST);
  }

  /** Asks no more. */
  dismiss(): void {
    clearTimeout(this.#timer);
    this.#doubt = undefined;
  }
}
