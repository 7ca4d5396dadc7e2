import type { Client } from "./client.js";

/** A user, as lists and pushes have them. */
interface Viewer {
  readonly id: string;
}

/**
 * The viewers of the only room of a client, as it knows them: pushes do not say which room they
 * are about.
 */
export class Viewers {
  /** The ids of the users; undefined if the client may not see them. */
  ids: Set<string> | undefined;
  readonly #client: Client;
  #may = false;

  constructor(client: Client) {
    this.#client = client;
  }

  loggedIn(): void {
    this.#may = this.#mayWatch();
  }

  disconnected(): void {
    this.ids = undefined;
  }

  answered(name: string, result: unknown): void {
    if (name === "room.leave") this.ids = undefined;
    if (name !== "room.enter") return;
    const { viewers } = result as { viewers?: Viewer[] };
    // The answer may have been made before a push that took the right.
    const ids = this.#mayWatch() ? viewers?.map(({ id }) => id) : undefined;
    this.ids = ids && new Set(ids);
  }

  pushed(name: string, data: unknown): void {
    if (name === "room.viewer.added") {
      this.ids?.add((data as { user: Viewer }).user.id);
    }
    if (name === "room.viewer.removed") {
      this.ids?.delete((data as { user_id: string }).user_id);
    }
    const before = this.#may;
    this.#may = this.#mayWatch();
    if (!this.#may) this.ids = undefined;
    if (before || !this.#may) return;
    // The list comes with the answer.
    const [room] = this.#client.lists.rooms.keys();
    void this.#client.persist("room.enter", { room });
  }

  #mayWatch(): boolean {
    const [room] = this.#client.lists.rooms.keys();
    const found = this.#client.state?.rooms.find(({ id }) => id === room);
    return found?.permissions.includes("room:viewers") ?? false;
  }
}
