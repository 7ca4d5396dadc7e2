import { randomUUID } from "node:crypto";
import type { Bus, BusListener, BusMessage } from "./bus.js";

/** Takes the error of a listener. */
export type OnFault = (error: unknown) => void;

/**
 * The bus of one process. Listeners run before `publish` returns, unless a
 * listener publishes: then all get the present message first.
 */
export class LocalBus implements Bus {
  readonly #listeners = new Set<BusListener>();
  readonly #onFault: OnFault;
  readonly process: string;
  readonly isAlone: boolean = true;
  readonly others = new Set<string>();
  /** The message that listeners get now, and the messages published meanwhile. */
  readonly #due: BusMessage[] = [];
  #closed = false;

  /** @param name the name of this process. */
  constructor(onFault: OnFault, name: string = randomUUID()) {
    this.#onFault = onFault;
    this.process = name;
  }

  publish(message: BusMessage): void {
    if (this.#closed || this.#due.push(message) > 1) return;
    try {
      // It grows while listeners publish.
      for (const next of this.#due) this.#tell(next);
    } finally {
      this.#due.length = 0;
    }
  }

  #tell(message: BusMessage): void {
    if (message.type === "process.began") this.others.add(message.process);
    else if (message.type === "process.ended") this.others.delete(message.process);
    for (const listener of this.#listeners) {
      try {
        listener(message);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  /** Every message comes here in any case. */
  join(): void {}

  leave(): void {}

  subscribe(listener: BusListener): () => void {
    // A new function, so that the same listener may subscribe twice.
    const own: BusListener = (message) => listener(message);
    if (!this.#closed) this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
  }
}
