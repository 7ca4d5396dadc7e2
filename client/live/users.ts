import type { PublicUser } from "../../schemas/live/index.js";

/**
 * The users that a server sent with chats. It sends each user once to a connection, for all
 * channels together, so all channels of a client share them.
 */
export class KnownUsers {
  readonly #max: number;
  readonly #byId = new Map<string, PublicUser>();

  /** @param max how many are kept: the last ones sent. */
  constructor(max: number) {
    this.#max = max;
  }

  get all(): ReadonlyMap<string, PublicUser> {
    return this.#byId;
  }

  add(users: Iterable<PublicUser>): void {
    for (const user of users) {
      this.#byId.delete(user.id);
      this.#byId.set(user.id, user);
    }
    for (const id of this.#byId.keys()) {
      if (this.#byId.size <= this.#max) return;
      this.#byId.delete(id);
    }
  }
}
