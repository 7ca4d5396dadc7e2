import type { Events, Listener, WorldEvent } from "../events.js";

/** Gets what a listener threw. */
export type OnFault = (error: unknown) => void;

/** Events within one process. Listeners run before `publish` returns. */
export class LocalEvents implements Events {
  readonly #listeners = new Set<Listener>();
  readonly #onFault: OnFault;

  constructor(onFault: OnFault) {
    this.#onFault = onFault;
  }

  publish(event: WorldEvent): void {
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
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }
}
