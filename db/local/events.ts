import { randomUUID } from "node:crypto";
import type { AnyEvent, Counted, Events, Listener } from "../events.js";
import { Tally } from "./tally.js";

/** Gets what a listener threw. */
export type OnFault = (error: unknown) => void;

/**
 * Events within one process. Listeners run before `publish` returns, unless a
 * listener publishes: then all get the present event first.
 */
export class LocalEvents implements Events {
  readonly #listeners = new Set<Listener>();
  readonly #onFault: OnFault;
  readonly process: string;
  readonly lossy: boolean = false;
  /** The event that listeners get now, and those that they published meanwhile. */
  readonly #due: AnyEvent[] = [];
  readonly #tally = new Tally();
  #closed = false;

  /** @param name the name of this process. */
  constructor(onFault: OnFault, name: string = randomUUID()) {
    this.#onFault = onFault;
    this.process = name;
  }

  publish(event: AnyEvent): void {
    if (this.#closed || this.#due.push(event) > 1) return;
    try {
      // It grows while listeners publish.
      for (const next of this.#due) this.#tell(next);
    } finally {
      this.#due.length = 0;
    }
  }

  tell(event: AnyEvent): void {
    this.publish(event);
  }

  #tell(event: AnyEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  subscribe(listener: Listener): () => void {
    // A new function, so that the same listener may subscribe twice.
    const own: Listener = (event) => listener(event);
    if (!this.#closed) this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  async count(key: string, window: number): Promise<Counted> {
    return this.#tally.count(key, window);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
  }
}
