import { writable, type Readable } from "svelte/store";
import type { Commands, Live } from "../../client/index.js";
import { messageOf } from "./session.js";

/** The pause in typing before a search starts, in milliseconds. */
const DEBOUNCE_MS = 250;

type Found = Commands["user.list.search"]["result"]["results"][number];

/** The results of a search so far. */
export interface Results {
  readonly is: "searching" | "done" | "failed";
  readonly users: readonly Found[];
  readonly hasMore: boolean;
  /** The reason for a failure. */
  readonly reason?: string;
}

const nothing: Results = { is: "searching", users: [], hasMore: false };

/** Searches for people by name. Only the response to the latest query counts. */
export class PeopleSearch implements Readable<Results> {
  readonly #live: Live;
  readonly #pause: number;
  readonly #store = writable<Results>(nothing);
  readonly subscribe = this.#store.subscribe;
  #term = "";
  #page = 0;
  #users: readonly Found[] = [];
  #count = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param pause the pause in typing before a search starts, in milliseconds. */
  constructor(live: Live, pause = DEBOUNCE_MS) {
    this.#live = live;
    this.#pause = pause;
  }

  /** Searches for users whose name contains the given text. Empty text matches all users. */
  search(term: string): void {
    clearTimeout(this.#timer);
    // From now on, ignore responses to the searches started so far.
    this.#count++;
    this.#timer = setTimeout(() => {
      this.#term = term.trim();
      this.#page = 0;
      this.#users = [];
      this.#store.set(nothing);
      void this.more();
    }, this.#pause);
  }

  /** Fetches the next page, or retries the page that failed. */
  async more(): Promise<void> {
    const count = ++this.#count;
    this.#set({ is: "searching", hasMore: false });
    try {
      const { results, isLastPage } = await this.#live.call("user.list.search", {
        search_term: this.#term,
        page: this.#page + 1,
        include_banned: false,
      });
      if (count !== this.#count) return;
      const me = this.#live.state?.user.id;
      const known = new Set([me, ...this.#users.map(({ id }) => id)]);
      this.#page++;
      this.#users = [...this.#users, ...results.filter(({ id }) => !known.has(id))];
      this.#set({ is: "done", hasMore: !isLastPage });
    } catch (error) {
      if (count !== this.#count) return;
      this.#set({ is: "failed", hasMore: false, reason: messageOf(error) });
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#count++;
  }

  #set(results: Omit<Results, "users">): void {
    this.#store.set({ ...results, users: this.#users });
  }
}
