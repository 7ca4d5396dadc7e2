import { StoreError } from "../contract/store.js";
import { searchMessages } from "./chat/search.js";
import type { Found, SearchKind, Sql, Wanted } from "./domain.js";
import { searchRooms } from "./rooms/room-lists.js";
import { searchUsers } from "./users/user-search.js";

/**
 * The reads that may look at very many rows of a world, by the kind of their records. They take
 * turns: in SQLite in a thread, and in PostgreSQL in the database.
 */
const searches: {
  readonly [K in SearchKind]: (sql: Sql, world: string, wanted: Wanted<K>) => Promise<Found<K>>;
} = { rooms: searchRooms, users: searchUsers, messages: searchMessages };

export const runSearch = <K extends SearchKind>(
  kind: K,
  sql: Sql,
  world: string,
  wanted: Wanted<K>,
): Promise<Found<K>> => searches[kind](sql, world, wanted);

/** How many searches of one kind in one world may wait for their turn. */
const MAX_PENDING = 64;

interface Waiting {
  start: () => Promise<void>;
  reject: (error: unknown) => void;
  signal: AbortSignal | undefined;
}

/**
 * Runs searches, a few at a time. Worlds take turns, and so do the kinds of searches in a world: no
 * crowd holds up all others.
 */
export class SearchQueue {
  /** The waiting searches, by kind and world. The next turn comes first. */
  readonly #pending = new Map<string, Waiting[]>();
  readonly #maxRunning: number;
  #running = 0;

  /** @param maxRunning how many searches run at once. */
  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  /**
   * @param kind the kind of records.
   * @param search runs when its turn comes.
   * @param signal aborts when the client no longer waits for the answer.
   * @throws {StoreError} `busy` when too many searches wait, or if it is aborted before
   *   its turn; and the errors of `search`.
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
      // The rest of them wait for all others.
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

  /** Frees the places of aborted searches. */
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
