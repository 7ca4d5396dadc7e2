import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../../db/contract/store.js";
import type { Entry } from "../../db/log/entries.js";
import { type FeedItem, type FeedStore, isErasing, itemsOf } from "./feed-items.js";
import { encoded, type Live, type Reader } from "./reader.js";

/** How many entries are made ready together. */
const BATCH_ENTRIES = 500;

/** How many entries may wait. Beyond that, readers begin again from the log. */
const MAX_WAITING = 20_000;

/**
 * For how long new entries gather after a write to that many readers, in milliseconds for each, and
 * at most: a write to a socket costs the same whatever its size.
 */
const GATHER = 0.2;
const MAX_GATHER_MS = 250;

/** The first and the longest pause after a read that failed, in milliseconds. */
const FIRST_RETRY_DELAY_MS = 50;
const MAX_RETRY_DELAY_MS = 1000;

/** The entries after which callers may have lost their rights. */
const RIGHTS = new Set<Entry["type"]>([
  "world.updated",
  "world.deleted",
  "user.moderated",
  "user.erased",
]);

/** The new entries of one world, for its readers in this process. */
export class WorldFeed implements Live {
  readonly #store: FeedStore;
  readonly #world: string;
  readonly #onFault: (error: unknown) => void;
  /** The readers by the types that they want: they share what is sent. */
  readonly #groups = new Map<string, Set<Reader>>();
  readonly #waiting: Entry[] = [];
  /** How many entries that erase texts have come. */
  #erasures = 0;
  #isRunning = false;
  #position = 0;

  /** @param onFault gets an error that ends the streams. */
  constructor(store: FeedStore, world: string, onFault: (error: unknown) => void) {
    this.#store = store;
    this.#world = world;
    this.#onFault = onFault;
  }

  get position(): number {
    return this.#position;
  }

  get isEmpty(): boolean {
    return this.#groups.size === 0;
  }

  /** The last entry before the first that {@link take} gets. */
  began(position: number): void {
    this.#position = Math.max(this.#position, position);
  }

  *readers(): Iterable<Reader> {
    for (const group of this.#groups.values()) yield* group;
  }

  add(reader: Reader): void {
    const { key } = reader.filter;
    const group = this.#groups.get(key);
    if (group) group.add(reader);
    else this.#groups.set(key, new Set([reader]));
  }

  remove(reader: Reader): void {
    const { key } = reader.filter;
    const group = this.#groups.get(key);
    if (group?.delete(reader) && group.size === 0) this.#groups.delete(key);
  }

  /** Takes a new entry. */
  take(entry: Entry): void {
    this.#waiting.push(entry);
    if (isErasing(entry)) this.#erasures++;
    if (this.#waiting.length > MAX_WAITING) this.endAll();
    if (this.#isRunning) return;
    this.#isRunning = true;
    // Entries of one commit come one after the other.
    queueMicrotask(() => {
      this.#run().catch((error: unknown) => {
        this.#onFault(error);
        this.#isRunning = false;
        this.endAll();
      });
    });
  }

  /** Ends all streams, whose clients come back with their cursors. */
  endAll(): void {
    this.#waiting.length = 0;
    for (const reader of [...this.readers()]) {
      reader.end();
      this.remove(reader);
    }
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const entries = this.#waiting.splice(0, BATCH_ENTRIES);
      if (entries.some(({ type }) => RIGHTS.has(type))) await this.#check();
      const items = await this.#presentItems(entries);
      this.#position = entries.at(-1)!.seq;
      const pause = Math.min(GATHER * this.#send(items), MAX_GATHER_MS);
      if (pause >= 1) await sleep(pause, undefined, { ref: false });
    }
    this.#isRunning = false;
  }

  /** The items of entries, without texts that were erased while they were made. */
  async #presentItems(entries: readonly Entry[]): Promise<FeedItem[]> {
    for (;;) {
      const known = this.#erasures;
      const items = await this.#itemsOf(entries);
      if (known === this.#erasures || this.isEmpty) return items;
    }
  }

  /** @returns to how many readers it wrote. */
  #send(items: readonly FeedItem[]): number {
    let count = 0;
    for (const group of this.#groups.values()) {
      const [{ filter }] = group as unknown as [Reader];
      const own = items.filter(({ type }) => filter.has(type));
      if (own.length === 0) continue;
      const bytes = encoded(own);
      for (const reader of group) reader.take(own, bytes);
      count += group.size;
    }
    return count;
  }

  async #itemsOf(entries: readonly Entry[]): Promise<FeedItem[]> {
    for (let pause = FIRST_RETRY_DELAY_MS; ; pause = Math.min(2 * pause, MAX_RETRY_DELAY_MS)) {
      try {
        return await itemsOf(this.#store, this.#world, await this.#present(entries));
      } catch (error) {
        // A store that cannot be read comes back. Anything else is a bug, and would fail again.
        if (!(error instanceof StoreError)) throw error;
        if (this.isEmpty) return [];
        await sleep(pause, undefined, { ref: false });
      }
    }
  }

  /** Entries as they are in the log now, if one of them or a later one erases texts of the others. */
  async #present(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const later = this.#waiting;
    const isSingle = entries.length === 1 && later.length === 0;
    if (isSingle || ![...entries, ...later].some(isErasing)) return entries;
    const { log } = this.#store;
    const [{ seq: first }] = entries as [Entry];
    const last = entries.at(-1)!.seq;
    const present = await log.since(this.#world, first - 1, entries.length);
    // Of entries that are gone, later ones take the places.
    return present.entries.filter(({ seq }) => seq <= last);
  }

  /** Ends the streams of callers who have lost their rights. */
  async #check(): Promise<void> {
    const admitted = new Map<string, Promise<boolean>>();
    const readers = [...this.readers()];
    await Promise.all(
      readers.map(async (reader) => {
        const { credentials } = reader;
        let answer = admitted.get(credentials);
        if (!answer) admitted.set(credentials, (answer = reader.isAdmitted()));
        if (await answer) return;
        reader.end();
        this.remove(reader);
      }),
    );
  }
}
