import { writable, type Readable } from "svelte/store";
import type { Live, PublicUser } from "../../client/index.js";

/** How many users are asked for at once. */
const BATCH = 100;

/** The users that a page has met, by id. It fetches unknown ones in batches. */
export class People implements Readable<ReadonlyMap<string, PublicUser>> {
  readonly #live: Live;
  readonly #known = new Map<string, PublicUser>();
  readonly #store = writable<ReadonlyMap<string, PublicUser>>(this.#known);
  readonly subscribe = this.#store.subscribe;
  /** The ids that are being fetched, or were fetched in vain. */
  readonly #asked = new Set<string>();
  #wanted: string[] = [];

  constructor(live: Live) {
    this.#live = live;
    live.on("user.updated", (user) => this.add([user]));
    live.on("authenticated", () => this.#asked.clear());
  }

  get(id: string): PublicUser | undefined {
    return this.#known.get(id);
  }

  /** Remembers users that the server has sent. */
  add(users: Iterable<PublicUser>): void {
    let isChanged = false;
    for (const user of users) {
      if (this.#known.get(user.id) === user) continue;
      this.#known.set(user.id, user);
      isChanged = true;
    }
    if (isChanged) this.#store.set(this.#known);
  }

  /** Fetches unknown users. */
  want(ids: Iterable<string>): void {
    for (const id of ids) {
      if (this.#known.has(id) || this.#asked.has(id)) continue;
      this.#asked.add(id);
      if (this.#wanted.push(id) === 1) queueMicrotask(() => void this.#fetch());
    }
  }

  async #fetch(): Promise<void> {
    const ids = this.#wanted;
    this.#wanted = [];
    for (let at = 0; at < ids.length; at += BATCH) {
      const batch = ids.slice(at, at + BATCH);
      try {
        const found = await this.#live.call("user.fetch", { ids: batch });
        this.add(Object.values(found as Record<string, PublicUser>));
      } catch {
        // Without a connection; the next that wants them asks again.
        batch.forEach((id) => this.#asked.delete(id));
      }
    }
  }
}
