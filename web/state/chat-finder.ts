import { writable, type Readable } from "svelte/store";
import type { SentEvent } from "../../client/index.js";
import type { ChatPast } from "./chat-past.js";
import { saidIn } from "./chat-content.js";
import { withNames } from "./chat-mentions.js";

/** The state of a search. */
export interface FinderView {
  /** The newest first. */
  readonly found: readonly SentEvent[];
  readonly isBusy: boolean;
  /** Whether it has searched at all. */
  readonly isOver: boolean;
  /** Whether there are older messages that it has not read. */
  readonly mayGoOn: boolean;
  /** The time of the oldest message that was found, while there are older ones. */
  readonly back?: string | undefined;
  readonly problem?: unknown;
}

const nothing: FinderView = {
  ...{ found: [], isBusy: false, isOver: false, mayGoOn: false },
};

/** It stops to ask after so many messages. */
const MANY = 30;

/** Looks for messages in the history of a chat: the server has no search of its own. */
export class Finder implements Readable<FinderView> {
  readonly #store = writable<FinderView>(nothing);
  readonly subscribe = this.#store.subscribe;
  readonly #past: Pick<ChatPast, "search">;
  readonly #nameOf: (id: string) => string;
  #words: readonly string[] = [];
  #found: readonly SentEvent[] = [];
  /** Before which id it goes on. */
  #next: number | undefined;
  #mayGoOn = false;
  /** Counts up: a new search ends the one before. */
  #run = 0;

  constructor(
    past: Pick<ChatPast, "search">,
    nameOf: (id: string | null) => string,
  ) {
    this.#past = past;
    this.#nameOf = nameOf;
  }

  /** Begins at the newest message. A message must have all words, or its author's name. */
  async begin(term: string): Promise<void> {
    this.#words = folded(term).split(/\s+/).filter(Boolean);
    this.#found = [];
    this.#next = undefined;
    if (this.#words.length > 0) await this.goOn();
  }

  /** Searches older messages. */
  async goOn(): Promise<void> {
    const before = this.#next;
    const run = ++this.#run;
    this.#show({ isBusy: true });
    try {
      const { found, next } = await this.#past.search({
        ...{ before, most: MANY, isFound: (event) => this.#has(event) },
      });
      if (run !== this.#run) return;
      this.#found = [...this.#found, ...found];
      this.#next = next;
      this.#mayGoOn = next !== undefined;
      this.#show({ isOver: true });
    } catch (problem) {
      if (run === this.#run) this.#show({ problem });
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

  #has(event: SentEvent): boolean {
    const text = folded(
      `${this.#nameOf(event.sender ?? "")} ${this.textOf(event)}`,
    );
    return this.#words.every((word) => text.includes(word));
  }

  #show(changes: Partial<FinderView>): void {
    const mayGoOn = this.#mayGoOn;
    this.#store.set({
      ...{ ...nothing, found: this.#found, mayGoOn },
      back: mayGoOn ? this.#found.at(-1)?.timestamp : undefined,
      ...changes,
    });
  }
}

/** A text without case and accents. */
const folded = (text: string): string =>
  text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
