import type { Live } from "../../client/index.js";
import { nameOf, type Named } from "../lib/avatars.js";

/** How many users are offered. */
const MAX_FOUND = 8;
/** After which pause in the typing the server is asked, in milliseconds. */
const PAUSE = 150;

/** Finds the users whom somebody may mean by what follows an `@`. */
export class MentionSearch {
  readonly #live: Live;
  readonly #near: () => readonly Named[];
  #last = 0;

  /** @param near those who are offered first: who spoke last. */
  constructor(live: Live, near: () => readonly Named[]) {
    this.#live = live;
    this.#near = near;
  }

  /**
   * @param show gets who is known at once, and then, if it is still the last search, who
   *   else the server knows.
   */
  async find(
    term: string,
    show: (users: readonly Named[]) => void,
  ): Promise<void> {
    const search = ++this.#last;
    const me = this.#live.state?.user.id;
    const wanted = term.toLocaleLowerCase();
    const near = this.#near().filter(
      (user) =>
        user.id !== me && nameOf(user)?.toLocaleLowerCase().includes(wanted),
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
      // Those who are near are offered anyway.
    }
  }

  /** Nobody waits for an answer any longer. */
  stop(): void {
    this.#last++;
  }
}
