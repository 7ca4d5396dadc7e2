import type { AnyEvent } from "../events.js";

/** How large the events of one message get before the next one begins, in characters. */
const FULL = 256 * 1024;

/** How much may be on its way to Valkey, in bytes. More is dropped. */
const MAX_UNSENT = 8 * 1024 * 1024;

interface OutboxParts {
  /**
   * Sends a message. @returns a promise for when Valkey has it, which rejects if that is
   * not certain; undefined while there is no connection.
   */
  send: (text: string) => Promise<unknown> | undefined;
  /** Makes a message with events. */
  textOf: (number: number, events: string) => string;
  /** Events were dropped, and others can be sent again. */
  onDropped: () => void;
}

/**
 * Collects the events of one turn of the event loop into messages, and numbers these.
 * A message that cannot be sent is dropped, and its number is missing for the others.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  #events: string[] = [];
  #size = 0;
  #turn: NodeJS.Immediate | undefined;
  /** How many bytes are on their way. */
  #unsent = 0;
  #hasDropped = false;
  #number = 0;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /** The number of the last message. */
  get number(): number {
    return this.#number;
  }

  add(event: AnyEvent): void {
    const json = JSON.stringify(event);
    this.#events.push(json);
    this.#size += json.length;
    if (this.#size >= FULL) this.flush();
    else this.#turn ??= setImmediate(() => this.flush());
  }

  /** Sends what was collected. */
  flush(): void {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    if (this.#events.length === 0) return;
    const events = `[${this.#events.join()}]`;
    this.#events = [];
    this.#size = 0;
    this.#send(this.#parts.textOf(++this.#number, events));
  }

  #send(text: string): void {
    const size = Buffer.byteLength(text);
    if (this.#unsent + size > MAX_UNSENT) {
      this.#hasDropped = true;
      return;
    }
    const sent = this.#parts.send(text);
    // The connection tells everybody when it is there again.
    if (!sent) return;
    this.#unsent += size;
    sent
      .catch(() => (this.#hasDropped = true))
      .finally(() => {
        this.#unsent -= size;
        if (!this.#hasDropped || this.#unsent > MAX_UNSENT / 2) return;
        this.#hasDropped = false;
        this.#parts.onDropped();
      });
  }
}
