import type { Entry } from "../../db/log/entries.js";
import { published } from "../../db/log/log-events.js";
import { EVERYTHING, type TypeFilter } from "../../schemas/plain/feed.js";
import { type FeedStore, isErasing } from "../feed/feed-items.js";
import { type FeedPage, readPage } from "../feed/page.js";

/** How many entries are read at a time. */
const ENTRIES_PER_READ = 50;

/** For how long what was read may be sent, in milliseconds: a text may be erased meanwhile. */
const FRESH_MS = 1000;

/** How long new entries gather before they are read, in milliseconds. */
const GATHER_MS = 20;

/** Entries of all types, as they were read. */
export interface SourcePage extends FeedPage {
  /** Whether it may be sent no longer. */
  isStale(): boolean;
}

/**
 * The entries of one world for all its webhooks in this process. Webhooks that have come equally
 * far share a read, and those that want none of the new entries need no read at all.
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
  /** The entries after `from` and up to `to` all came here; the last one of each type. */
  #seen: { from: number; to: number; last: Map<string, number> } | undefined;

  /** @param wake is called after new entries, and then they can be read. */
  constructor(store: FeedStore, world: string, wake: () => void) {
    this.#store = store;
    this.#world = world;
    this.#wake = wake;
  }

  /** Takes a new entry. */
  take(entry: Entry): void {
    this.#note(entry);
    if (isErasing(entry)) {
      this.#erasures++;
      this.#pages.clear();
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#pages.clear();
      this.#wake();
    }, GATHER_MS).unref();
  }

  /** Forgets which entries came, as the log may be another one. */
  forget(): void {
    this.#seen = undefined;
  }

  /**
   * How far a webhook can go on without a read, as none of the entries up to there is of its
   * types; undefined if it has to read.
   */
  skip(after: number, filter: TypeFilter): number | undefined {
    const seen = this.#seen;
    if (!seen || after < seen.from) return undefined;
    for (const [type, seq] of seen.last) {
      if (seq > after && filter.has(type)) return undefined;
    }
    return Math.max(after, seen.to);
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
    page.then(() => setTimeout(forget, FRESH_MS).unref(), forget);
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
    const page = await readPage(store, world, from, EVERYTHING, ENTRIES_PER_READ);
    return {
      ...page,
      isStale: () => erasures !== this.#erasures || performance.now() - began > FRESH_MS,
    };
  }

  #note(entry: Entry): void {
    const { seq } = entry;
    if (this.#seen?.to !== seq - 1) {
      this.#seen = { from: seq - 1, to: seq, last: new Map() };
    }
    this.#seen.to = seq;
    const type = published(entry)?.type;
    if (type !== undefined) this.#seen.last.set(type, seq);
  }
}
