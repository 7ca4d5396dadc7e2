import type { Entry } from "../../db/log/entries.js";
import type { FeedStore } from "../feed/items.js";
import { type FeedPage, readPage } from "../feed/page.js";
import { typeFilter } from "../../schemas/plain/feed.js";

/** How many entries are read at a time. */
const PAGE = 50;

/** For how long what was read may be sent, in milliseconds: a text may be erased meanwhile. */
const FRESH = 1000;

/** How long new entries gather before they are read, in milliseconds. */
const GATHER = 20;

/** Entries of all types, as they were read. */
export interface SourcePage extends FeedPage {
  /** Whether it may be sent no longer. */
  isStale(): boolean;
}

/**
 * The entries of one world for all its webhooks in this process. Webhooks that have come equally
 * far share a read, so a write costs one read and not one for each webhook.
 */
export class Source {
  readonly #store: FeedStore;
  readonly #world: string;
  readonly #wake: () => void;
  /** Pages by the number after which they begin. */
  readonly #pages = new Map<number, Promise<SourcePage>>();
  #timer: NodeJS.Timeout | undefined;
  /** Counts what was erased. */
  #erasures = 0;

  /** @param wake is called after new entries, and then they can be read. */
  constructor(store: FeedStore, world: string, wake: () => void) {
    this.#store = store;
    this.#world = world;
    this.#wake = wake;
  }

  /** Takes a new entry. */
  take(entry: Entry): void {
    if (isErasing(entry)) {
      this.#erasures++;
      this.#pages.clear();
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#pages.clear();
      this.#wake();
    }, GATHER).unref();
  }

  /** The entries after a position, of all types. */
  read(after: number): Promise<SourcePage> {
    const known = this.#pages.get(after);
    if (known) return known;
    const page = this.#read(after);
    this.#pages.set(after, page);
    const forget = () => {
      if (this.#pages.get(after) === page) this.#pages.delete(after);
    };
    page.then(() => setTimeout(forget, FRESH).unref(), forget);
    return page;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #read(after: number): Promise<SourcePage> {
    const [store, world] = [this.#store, this.#world];
    const erasures = this.#erasures;
    const began = performance.now();
    const floor = await store.log.floor(world);
    const from = Math.max(after, floor);
    const page = await readPage(store, world, from, typeFilter(["*"]), PAGE);
    return {
      ...page,
      isStale: () =>
        erasures !== this.#erasures || performance.now() - began > FRESH,
    };
  }
}

/** Whether texts of earlier entries may be gone. */
const isErasing = (entry: Entry): boolean =>
  entry.type === "user.erased" ||
  entry.type === "chat.erased" ||
  (entry.type === "chat.event" && entry.delivery.event.replaces !== null);
