import { writable, type Readable } from "svelte/store";
import type { Live } from "../../client/index.js";

/** How often it is asked, in milliseconds. */
const EVERY = 30_000;

/** The online status of some users, kept current while it has subscribers. */
export class Online implements Readable<ReadonlySet<string>> {
  readonly #live: Live;
  readonly #store;
  readonly subscribe: Readable<ReadonlySet<string>>["subscribe"];
  #ids: readonly string[] = [];

  /** @param every how often it is asked, in milliseconds. */
  constructor(live: Live, every = EVERY) {
    this.#live = live;
    this.#store = writable<ReadonlySet<string>>(new Set(), () => {
      void this.#ask();
      const timer = setInterval(() => void this.#ask(), every);
      return () => clearInterval(timer);
    });
    this.subscribe = this.#store.subscribe;
  }

  /** Sets the users to follow; a new one is queried at once. */
  watch(ids: readonly string[]): void {
    const isNew = ids.some((id) => !this.#ids.includes(id));
    this.#ids = ids;
    if (isNew) void this.#ask();
  }

  async #ask(): Promise<void> {
    const ids = this.#ids;
    // A call without a connection would wait, and many of them would come at once.
    if (ids.length === 0 || !this.#live.isConnected) return;
    try {
      const answer = await this.#live.call("user.online_status", { ids: [...ids] });
      this.#store.set(new Set(ids.filter((id) => answer[id])));
    } catch {
      // The next one tells.
    }
  }
}
