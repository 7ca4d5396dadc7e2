import { writable, type Readable } from "svelte/store";
import type { SentEvent } from "../../client/index.js";
import { saidIn } from "./chat-content.js";
import { withNames } from "./chat-mentions.js";
import type { ChatPast } from "./chat-past.js";

/** The state of a search. */
export interface FinderView {
  /** The newest first. */
  readonly found: readonly SentEvent[];
  readonly isBusy: boolean;
  /** Whether it has searched at all. */
  readonly isOver: boolean;
  /** Whether there is more to find. */
  readonly hasMore: boolean;
  readonly problem?: unknown;
}

const nothing: FinderView = { found: [], isBusy: false, isOver: false, hasMore: false };

/** Looks for messages of a chat. */
export class Finder implements Readable<FinderView> {
  readonly #store = writable<FinderView>(nothing);
  readonly subscribe = this.#store.subscribe;
  readonly #past: Pick<ChatPast, "search">;
  readonly #nameOf: (id: string) => string;
  #query = "";
  #view = nothing;
  /** Counts up: a new search ends the one before. */
  #run = 0;

  constructor(past: Pick<ChatPast, "search">, nameOf: (id: string | null) => string) {
    this.#past = past;
    this.#nameOf = nameOf;
  }

  /** Begins at the newest message. Each word must begin a word of the message. */
  begin(query: string): Promise<void> {
    this.#query = query.trim();
    this.#view = nothing;
    return this.goOn();
  }

  /** Searches older messages. */
  async goOn(): Promise<void> {
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

  /** The text of a message, as people read it. */
  textOf({ content }: SentEvent): string {
    const said = saidIn(content);
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
