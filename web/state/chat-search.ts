import { type Readable, writable } from "svelte/store";
import type { Live, SentEvent } from "../../client/index.js";
import { parseContent, withNames } from "./chat-content.js";
import type { ChatPast } from "./chat-window.js";
import { type Named, nameOf } from "./profile.js";

/** Maximum number of suggested users. */
const MAX_FOUND = 8;
/** Pause in typing before the server is queried, in milliseconds. */
const DEBOUNCE_MS = 150;

/** Finds the users who match the text after an `@`. */
export class MentionSearch {
  readonly #live: Live;
  readonly #near: () => readonly Named[];
  #last = 0;

  /** @param near returns the users to suggest first: the most recent authors. */
  constructor(live: Live, near: () => readonly Named[]) {
    this.#live = live;
    this.#near = near;
  }

  /**
   * Searches for users.
   * @param show receives the known users immediately and then, unless a later search has started,
   * the server's matches as well.
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
    await new Promise((done) => setTimeout(done, DEBOUNCE_MS));
    if (search !== this.#last) return;
    try {
      const payload = { search_term: term.trim(), page: 1 };
      const { results } = await this.#live.call("user.list.search", payload);
      if (search !== this.#last) return;
      const known = new Set([me, ...near.map(({ id }) => id)]);
      const others = results.filter(({ id }) => !known.has(id));
      show([...near, ...others].slice(0, MAX_FOUND));
    } catch {
      // The known users are already shown.
    }
  }

  /** Ignores the response to a pending search. */
  stop(): void {
    this.#last++;
  }
}

/** The state of a search. */
interface FinderView {
  /** The messages found so far, newest first. */
  readonly found: readonly SentEvent[];
  readonly isBusy: boolean;
  /** Whether a search has completed. */
  readonly isOver: boolean;
  /** Whether there are more results. */
  readonly hasMore: boolean;
  readonly problem?: unknown;
}

const nothing: FinderView = { found: [], isBusy: false, isOver: false, hasMore: false };

/** Searches a chat's messages. */
export class Finder implements Readable<FinderView> {
  readonly #store = writable<FinderView>(nothing);
  readonly subscribe = this.#store.subscribe;
  readonly #past: Pick<ChatPast, "search">;
  readonly #nameOf: (id: string) => string;
  #query = "";
  #view = nothing;
  /** Incremented per search, to ignore the responses to outdated searches. */
  #run = 0;

  constructor(past: Pick<ChatPast, "search">, nameOf: (id: string | null) => string) {
    this.#past = past;
    this.#nameOf = nameOf;
  }

  /**
   * Starts a search at the newest message. Each word of the query must match the beginning of a
   * word in the message.
   */
  begin(query: string): Promise<void> {
    this.#query = query.trim();
    this.#view = nothing;
    return this.searchOlder();
  }

  /** Continues the search before the last message found. */
  async searchOlder(): Promise<void> {
    const { found } = this.#view;
    const run = ++this.#run;
    this.#show({ isBusy: true, problem: undefined });
    try {
      const { results, more } = await this.#past.search(this.#query, found.at(-1)?.event_id);
      if (run !== this.#run) return;
      this.#show({ found: [...found, ...results], hasMore: more, isOver: true, isBusy: false });
    } catch (problem) {
      if (run === this.#run) this.#show({ problem, isBusy: false });
    }
  }

  /** Returns a message's text as users read it. */
  textOf({ content }: SentEvent): string {
    const said = parseContent(content);
    if (said.is !== "text" && said.is !== "files") return "";
    const names = said.is === "files" ? said.files.map(({ name }) => name) : [];
    const { text } = withNames(said.body, this.#nameOf);
    return [text, ...names].filter(Boolean).join(" · ");
  }

  #show(changes: Partial<FinderView>): void {
    this.#view = { ...this.#view, ...changes };
    this.#store.set(this.#view);
  }
}
