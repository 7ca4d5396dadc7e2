import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../../db/contract/store.js";
import type { Entry } from "../../db/log/entries.js";
import { changesGrant } from "../../db/rules/invitation-rows.js";
import { type FeedItem, type FeedStore, isErasing, itemsOf } from "./feed-items.js";
import { encoded, type Live, type FeedReader } from "./reader.js";

/** Maximum number of entries prepared together. */
const BATCH_ENTRIES = 500;

/** Maximum number of queued entries. Beyond this number, streams are ended and clients resume from the log. */
const MAX_WAITING = 20_000;

/**
 * Time for which new entries are collected after a write: the number of milliseconds per reader,
 * and the maximum. A socket write costs the same regardless of its size, so batching reduces the
 * load.
 */
const GATHER = 0.2;
const MAX_GATHER_MS = 250;

/** Bounds of the backoff after a failed read, in milliseconds. */
const FIRST_RETRY_DELAY_MS = 50;
const MAX_RETRY_DELAY_MS = 1000;

/** Types of entries that may revoke callers' rights. */
const RIGHTS = new Set<Entry["type"]>([
  "world.updated",
  "world.deleted",
  "user.moderated",
  "user.erased",
  "invitation.updated",
  "invitation.deleted",
]);

/** Distributes one world's new entries to the world's readers in this process. */
export class WorldFeed implements Live {
  readonly #store: FeedStore;
  readonly #world: string;
  readonly #onFault: (error: unknown) => void;
  /** Readers, by filter. Readers with the same filter share encoded bytes. */
  readonly #groups = new Map<string, Set<FeedReader>>();
  readonly #waiting: Entry[] = [];
  /** Number of received entries that erase text. */
  #erasures = 0;
  #isRunning = false;
  #position = 0;

  /** @param onFault receives an error that ended the streams. */
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

  /** Sets the position of the entry that precedes the first entry passed to {@link take}. */
  began(position: number): void {
    this.#position = Math.max(this.#position, position);
  }

  *readers(): Iterable<FeedReader> {
    for (const group of this.#groups.values()) yield* group;
  }

  add(reader: FeedReader): void {
    const { key } = reader.filter;
    const group = this.#groups.get(key);
    if (group) group.add(reader);
    else this.#groups.set(key, new Set([reader]));
  }

  remove(reader: FeedReader): void {
    const { key } = reader.filter;
    const group = this.#groups.get(key);
    if (group?.delete(reader) && group.size === 0) this.#groups.delete(key);
  }

  /** Enqueues a new entry. */
  take(entry: Entry): void {
    this.#waiting.push(entry);
    if (isErasing(entry)) this.#erasures++;
    if (this.#waiting.length > MAX_WAITING) this.endAll();
    if (this.#isRunning) return;
    this.#isRunning = true;
    // Deferred, to batch the entries of one commit, which arrive one after the other.
    queueMicrotask(() => {
      this.#run().catch((error: unknown) => {
        this.#onFault(error);
        this.#isRunning = false;
        this.endAll();
      });
    });
  }

  /** Ends all streams. Clients reconnect with their cursors. */
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
      if (entries.some((entry) => RIGHTS.has(entry.type) && changesGrant(entry)))
        await this.#check();
      const items = await this.#presentItems(entries);
      this.#position = entries.at(-1)!.seq;
      const pause = Math.min(GATHER * this.#send(items), MAX_GATHER_MS);
      if (pause >= 1) await sleep(pause, undefined, { ref: false });
    }
    this.#isRunning = false;
  }

  /** Builds the entries' feed items. Starts over if text was erased in the meantime. */
  async #presentItems(entries: readonly Entry[]): Promise<FeedItem[]> {
    for (;;) {
      const known = this.#erasures;
      const items = await this.#itemsOf(entries);
      if (known === this.#erasures || this.isEmpty) return items;
    }
  }

  /** @returns the number of readers written to. */
  #send(items: readonly FeedItem[]): number {
    let count = 0;
    for (const group of this.#groups.values()) {
      const [{ filter }] = group as unknown as [FeedReader];
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
        // An unavailable store recovers. Any other error is a bug, and a retry would fail again.
        if (!(error instanceof StoreError)) throw error;
        if (this.isEmpty) return [];
        await sleep(pause, undefined, { ref: false });
      }
    }
  }

  /**
   * Re-reads entries from the log if any of these entries, or an entry still queued, erases text in
   * other entries.
   */
  async #present(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const later = this.#waiting;
    const isSingle = entries.length === 1 && later.length === 0;
    if (isSingle || ![...entries, ...later].some(isErasing)) return entries;
    const { log } = this.#store;
    const [{ seq: first }] = entries as [Entry];
    const last = entries.at(-1)!.seq;
    const present = await log.since(this.#world, first - 1, entries.length);
    // The read returns later entries in place of removed entries.
    return present.entries.filter(({ seq }) => seq <= last);
  }

  /** Ends the streams of callers whose rights were revoked. */
  async #check(): Promise<void> {
    const checks = new Map<string, { by: FeedReader; answer: Promise<boolean> }>();
    const readers = [...this.readers()];
    await Promise.all(
      readers.map(async (reader) => {
        const { credentials } = reader;
        let check = checks.get(credentials);
        if (!check) checks.set(credentials, (check = { by: reader, answer: reader.isAdmitted() }));
        if (await check.answer) {
          reader.shareCaller(check.by);
          return;
        }
        reader.end();
        this.remove(reader);
      }),
    );
  }
}
