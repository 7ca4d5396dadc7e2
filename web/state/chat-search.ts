import type { Live } from "../../client/index.js";
import { nameOf, type Named } from "../lib/avatars.js";

/** How many users are offered. */
const MAX_FOUND = 8;
/** After which pause in the typing the server is asked, in milliseconds. */
const PAUSE = 150;

/** Finds the users who match the text after an `@`. */
export class MentionSearch {
  readonly #live: Live;
  readonly #near: () => readonly Named[];
  #last = 0;

  /** @param near the users to offer first: the latest speakers. */
  constructor(live: Live, near: () => readonly Named[]) {
    this.#live = live;
    this.#near = near;
  }

  /**
   * @param show gets the known users at once, and then, if this is still the last search,
   *   the server's matches, too.
   */
  async find(term: string, show: (users: readonly Named[]) => void): Promise<void> {
    const search = ++this.#last;
    const me = this.#live.state?.user.id;
    const wanted = term.toLocaleLowerCase();
    const near = this.#near().filter(
      (user) => user.id !== me && nameOf(user)?.toLocaleLowerCase().includes(wanted),
    );
    show(near.slice(0, MAX_FOUND));
    if (term.trim() === "") return;
    await new Promise((done) => setTimeout(done, PAUSE));
    if (search !== this.#last) return;
    try {
      const payload = { search_term: term.trim(), page: 1 };
      const { results } = await this.#live.call("user.list.search", payload);
      if (search !== this.#last) return;
      const known = new Set([me, ...near.map(({ id }) => id)]);
      const others = results.filter(({ id }) => !known.has(id));
      show([...near, ...others].slice(0, MAX_FOUND));
    } catch {
      // The near users are offered anyway.
    }
  }

  /** Drops a pending answer. */
  stop(): void {
    this.#last++;
  }
}
