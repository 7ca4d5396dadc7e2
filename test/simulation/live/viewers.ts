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
    this.ids = viewers && new Set(viewers.map(({ id }) => id));
  }

  pushed(name: string, data: unknown): void {
    if (name === "room.viewer.added") {
      this.ids?.add((data as { user: Viewer }).user.id);
    }
    if (name === "room.viewer.removed") {
      this.ids?.delete((data as { user_id: string }).user_id);
    }
    const may = this.#mayWatch();
    if (may === this.#may) return;
    this.#may = may;
    if (!may) this.ids = undefined;
    // The list comes with the answer.
    const [room] = this.#client.lists.rooms.keys();
    if (may && room) void this.#client.persist("room.enter", { room });
  }

  #mayWatch(): boolean {
    const [room] = this.#client.lists.rooms.keys();
    const found = this.#client.state?.rooms.find(({ id }) => id === room);
    return found?.permissions.includes("room:viewers") ?? false;
  }
}
