import type { Entry } from "../../db/log/entries.js";
import { published } from "../../db/log/log-events.js";
import { EVERYTHING, type TypeFilter } from "../../schemas/plain/feed.js";
import { type FeedStore, isErasing } from "../feed/feed-items.js";
import { type FeedPage, readPage } from "../feed/page.js";

/** Number of entries per read. */
const ENTRIES_PER_READ = 50;

/**
 * Time for which entries may be sent after they are read, in milliseconds. The time is limited
 * because text may be erased.
 */
const FRESH_MS = 1000;

/** Time to batch new entries before they are read, in milliseconds. */
const GATHER_MS = 20;

/** A page of entries of all types. */
export interface SourcePage extends FeedPage {
  /** Whether the page is too old to be sent. */
  isStale(): boolean;
}

/**
 * Reads one world's entries for all of its webhooks in this process. Webhooks at the same position
 * share a read, and webhooks that select none of the new entries need no read at all.
 */
export class Source {
  readonly #store: FeedStore;
  readonly #world: string;
  readonly #wake: () => void;
  /** Pages, by the number of the entry that precedes the page. */
  readonly #pages = new Map<number, Promise<SourcePage>>();
  #timer: NodeJS.Timeout | undefined;
  /** Number of erasures so far. Each erasure makes all pages read so far stale. */
  #erasures = 0;
  /**
   * This process has received every entry after `from` and up to `to`. `last` holds the number of
   * the latest entry, by type.
   */
  #seen: { from: number; to: number; last: Map<string, number> } | undefined;

  /** @param wake called when new entries are ready to be read. */
  constructor(store: FeedStore, world: string, wake: () => void) {
    this.#store = store;
    this.#world = world;
    this.#wake = wake;
  }

  /** Processes a new entry. */
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

  /** Forgets which entries were received, because the log may have been replaced. */
  forget(): void {
    this.#seen = undefined;
  }

  /**
   * Returns the position to which a webhook can skip, because its filter matches no entry up to
   * that position. Returns undefined if the webhook has to read the entries.
   */
  skip(after: number, filter: TypeFilter): number | undefined {
    const seen = this.#seen;
    if (!seen || after < seen.from) return undefined;
    for (const [type, seq] of seen.last) {
      if (seq > after && filter.has(type)) return undefined;
    }
    return Math.max(after, seen.to);
  }

  /** Reads the entries of all types after a position. */
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
