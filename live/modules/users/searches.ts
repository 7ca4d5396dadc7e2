import type { Connection } from "../../socket/connection.js";
import { rateLimited } from "../../rules/problems.js";
import type { Rates } from "../../people/rates.js";

/** The ports of searches. */
export interface SearchPorts {
  readonly rates: Rates;
}

interface Search {
  readonly connection: Connection;
  readonly abort: AbortController;
}

/**
 * The searches for users that are under way. A user has one at a time in this process,
 * over whichever connection: all searches share one thread. They also have a rate.
 */
export class Searches {
  readonly #rates: Rates;
  readonly #byUser = new Map<string, Search>();

  constructor({ rates }: SearchPorts) {
    this.#rates = rates;
  }

  /**
   * Searches for a connection.
   * @param search gets a signal that aborts when the connection ends.
   * @throws {LiveError} if another search of the user is under way, or there were too many.
   */
  async run<T>(connection: Connection, search: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { user } = connection.login!;
    if (this.#byUser.has(user) || !this.#rates.maySearch(connection)) {
      throw rateLimited();
    }
    const abort = new AbortController();
    const underWay = { connection, abort };
    this.#byUser.set(user, underWay);
    try {
      return await search(abort.signal);
    } finally {
      if (this.#byUser.get(user) === underWay) this.#byUser.delete(user);
    }
  }

  /** A connection ended: its search is no longer needed. */
  end(connection: Connection): void {
    const { user } = connection.login!;
    const search = this.#byUser.get(user);
    if (search?.connection !== connection) return;
    search.abort.abort();
    this.#byUser.delete(user);
  }
}
