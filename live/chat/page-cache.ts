import { LRUCache } from "lru-cache";
import type { AnyEvent } from "../../db/events.js";
import type { UserRecord } from "../../db/store.js";
import type { PublicUser, TypedEvent } from "../../schemas/live/index.js";
import type { Json } from "../encoding.js";
import type { Live } from "../live.js";

/** How many pages are kept: each event of a user looks at all of them. */
const MAX_PAGES = 256;

/**
 * How large they are, all together and each, in characters of JSON. No page is larger:
 * the largest is the one that costs most to read.
 */
const MAX_SIZE = 16 * 1024 * 1024;
const MAX_PAGE = 8 * 1024 * 1024;

/** What a user of a page counts for, likewise. */
const USER = 1000;

/**
 * How long a page is kept, in milliseconds. A process is told of what changes in a
 * page, but it may miss that.
 */
const MAX_AGE = 1000;

/** A page of events, as everybody gets it. Do not change it. */
export interface Page {
  /** How large the results are, in characters of JSON. */
  readonly size: number;
  /** The ids of those of whom it tells. */
  readonly involved: readonly string[];
  /** Those of them who are known. */
  readonly found: ReadonlyMap<string, UserRecord>;
  readonly results: Json<TypedEvent[]>;
  /** All of them as somebody gets them who was told of nobody, by whether they manage users. */
  readonly everybody: Map<boolean, ShownUsers>;
}

/** A page that is being read, and the state when the read began. */
interface Reading {
  readonly last: number;
  readonly changes: number;
  readonly page: Promise<Page>;
}

/** Users by their ids, and the ids. */
export interface ShownUsers {
  readonly ids: readonly string[];
  readonly json: Json<Record<string, PublicUser>>;
}

/** Which page it is. */
export interface PageKey {
  readonly channel: string;
  readonly before: number | undefined;
  readonly after: number | undefined;
  readonly limit: number;
  readonly withoutMembers: boolean;
}

/**
 * Pages that many people ask for at the same time: all who arrive in a room fetch what
 * was said last.
 */
export class PageCache {
  readonly #live: Live;
  readonly #pages = new LRUCache<string, { page: Page; last: number }>({
    max: MAX_PAGES,
    maxSize: MAX_SIZE,
    maxEntrySize: MAX_PAGE,
    sizeCalculation: ({ page }) => page.size + USER * (1 + page.found.size),
    ttl: MAX_AGE,
  });
  /** The reads under way, so that a crowd reads once. */
  readonly #reading = new Map<string, Reading>();
  readonly #unsubscribe: () => void;
  /** Counts up with all that may change a page. */
  #changes = 0;

  constructor(live: Live) {
    this.#live = live;
    this.#unsubscribe = live.events.subscribe((event) => this.#receive(event));
  }

  /** @param make reads a page that is not kept. */
  async get(key: PageKey, make: () => Promise<Page>): Promise<Page> {
    const { channel, before, after, limit, withoutMembers } = key;
    const name = `${channel} ${before} ${after} ${limit} ${withoutMembers}`;
    // There are no new events since the page was read if no id is new.
    const last = await this.#live.store.chat.lastId();
    const known = this.#pages.get(name);
    if (known?.last === last) return known.page;
    const changes = this.#changes;
    const current = this.#reading.get(name);
    // It may miss changes since it began.
    if (current?.last === last && current.changes === changes) {
      return current.page;
    }
    const reading = { last, changes, page: make() };
    this.#reading.set(name, reading);
    try {
      const page = await reading.page;
      if (changes === this.#changes) this.#pages.set(name, { page, last });
      return page;
    } finally {
      if (this.#reading.get(name) === reading) this.#reading.delete(name);
    }
  }

  #receive(event: AnyEvent): void {
    switch (event.type) {
      case "chat.reacted":
        this.#forget((_, name) => name.startsWith(event.channel));
        break;
      case "user.entered":
      case "user.updated":
      case "user.moderated":
      case "user.erased":
        this.#forget(({ found }) => found.has(event.user));
        break;
      case "room.deleted":
      case "world.updated":
      case "world.deleted":
      case "world.touched":
      case "events.missed":
        this.#forget(() => true);
    }
  }

  #forget(isOver: (page: Page, name: string) => boolean): void {
    this.#changes++;
    for (const [name, { page }] of [...this.#pages.entries()]) {
      if (isOver(page, name)) this.#pages.delete(name);
    }
  }

  close(): void {
    this.#unsubscribe();
  }
}
