import { type Readable, writable } from "svelte/store";
import type { Live } from "../../client/index.js";
import { may } from "../lib/rights.js";

/** A guest who waits for approval. */
export interface WaitingGuest {
  readonly id: string;
  readonly profile: Record<string, unknown>;
  /** In ISO 8601. */
  readonly since: string;
}

export interface GuestQueue {
  readonly count: number;
  readonly guests: readonly WaitingGuest[];
}

const NOBODY: GuestQueue = { count: 0, guests: [] };

/** The guests who wait for approval. Empty for users who do not manage people. */
export class WaitingGuests implements Readable<GuestQueue> {
  readonly #live: Live;
  readonly #store = writable<GuestQueue>(NOBODY);
  readonly subscribe = this.#store.subscribe;
  readonly #ends: (() => void)[];
  #asked = 0;

  constructor(live: Live) {
    this.#live = live;
    this.#ends = [
      live.on("guest.waiting", () => void this.load()),
      live.on("authenticated", () => void this.load()),
    ];
    void this.load();
  }

  /** Reads the queue. An error keeps what is shown, because the next push or login reads again. */
  async load(): Promise<void> {
    const asked = ++this.#asked;
    if (!may(this.#live.state, "world:users.manage")) return void this.#store.set(NOBODY);
    try {
      const queue = await this.#live.call("guest.list", null);
      if (asked === this.#asked) this.#store.set(queue);
    } catch {
      // Shown as before.
    }
  }

  /** Answers a guest. The first answer of all moderators counts. */
  async answer(id: string, admits: boolean): Promise<void> {
    await this.#live.call(admits ? "guest.approve" : "guest.reject", { id });
    await this.load();
  }

  close(): void {
    for (const end of this.#ends) end();
  }
}
