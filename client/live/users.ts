import type { PublicUser } from "../../schemas/live/index.js";

/**
 * The users of whom a server told in chats. It tells each connection of a user once,
 * whatever the channel, so all channels of a client share them.
 */
export class KnownUsers {
  readonly #max: number;
  readonly #byId = new Map<string, PublicUser>();

  /** @param max how many are kept: those told of last. */
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
