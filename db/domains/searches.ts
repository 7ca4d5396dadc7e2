import { StoreError } from "../contract/store.js";
import { searchMessages } from "./chat/search.js";
import type { SearchAnswer, SearchKind, Sql, Wanted } from "./domain.js";
import { searchRooms } from "./rooms/room-lists.js";
import { searchUsers } from "./users/user-search.js";

/**
 * The reads that may scan a large number of a world's rows, by kind. They are queued. With SQLite,
 * they run in a separate thread; with PostgreSQL, in the database.
 */
const searches: {
  readonly [K in SearchKind]: (
    sql: Sql,
    world: string,
    wanted: Wanted<K>,
  ) => Promise<SearchAnswer<K>>;
} = { rooms: searchRooms, users: searchUsers, messages: searchMessages };

export const runSearch = <K extends SearchKind>(
  kind: K,
  sql: Sql,
  world: string,
  wanted: Wanted<K>,
): Promise<SearchAnswer<K>> => searches[kind](sql, world, wanted);

/** Maximum number of waiting searches of one kind in one world. */
const MAX_PENDING = 64;

interface Waiting {
  start: () => Promise<void>;
  reject: (error: unknown) => void;
  signal: AbortSignal | undefined;
}

/**
 * Runs a few searches at a time. Alternates between worlds, and between kinds of searches in a
 * world, so that no crowd holds up everyone else.
 */
export class SearchQueue {
  /** The waiting searches, by kind and world. The first search in the first list runs next. */
  readonly #pending = new Map<string, Waiting[]>();
  readonly #maxRunning: number;
  #running = 0;

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  /**
   * Queues a search.
   * @param kind the kind of search.
   * @param search called when the search reaches the front of the queue.
   * @param signal aborts when the client no longer waits for the result.
   * @throws {StoreError} `busy` when too many searches are waiting, or if this search is aborted
   * before it runs; otherwise, the errors of `search`.
   */
  run<T>(
    kind: SearchKind,
    world: string,
    search: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#dropAborted();
      const key = `${kind} ${world}`;
      const waiting = this.#pending.get(key) ?? [];
      if (waiting.length >= MAX_PENDING) {
        throw new StoreError("busy", "Too many searches are waiting.");
      }
      const start = async () => resolve(await search());
      waiting.push({ start, reject, signal });
      this.#pending.set(key, waiting);
      this.#next();
    });
  }

  #next(): void {
    this.#dropAborted();
    while (this.#running < this.#maxRunning) {
      const [turn] = this.#pending;
      if (!turn) return;
      const [key, [next, ...others]] = turn;
      // The remaining searches of this kind and world move to the back of the queue.
      this.#pending.delete(key);
      if (others.length > 0) this.#pending.set(key, others);
      this.#running++;
      void next!
        .start()
        .catch(next!.reject)
        .finally(() => {
          this.#running--;
          this.#next();
        });
    }
  }

  #dropAborted(): void {
    for (const [key, waiting] of this.#pending) {
      const left = waiting.filter(({ signal }) => !signal?.aborted);
      if (left.length === waiting.length) continue;
      for (const { signal, reject } of waiting) {
        if (!signal?.aborted) continue;
        reject(new StoreError("busy", "The caller of this search has left."));
      }
      if (left.length > 0) this.#pending.set(key, left);
      else this.#pending.delete(key);
    }
  }
}
