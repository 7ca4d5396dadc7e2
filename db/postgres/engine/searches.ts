import { StoreError } from "../../contract/store.js";

/** How many searches of a process run at once. Each keeps a CPU of the database busy. */
const MAX_RUNNING = 2;

/** How many searches of one kind in one world may wait for their turn. */
const MAX_PENDING = 64;

interface Waiting {
  start: () => Promise<void>;
  reject: (error: unknown) => void;
  signal: AbortSignal | undefined;
}

/**
 * Runs the reads that have to look at every row of a world, a few at a time. Worlds
 * take turns, and so do the kinds of searches in a world: no crowd holds up all others.
 */
export class Searches {
  /** The waiting searches, by kind and world. The next turn comes first. */
  readonly #pending = new Map<string, Waiting[]>();
  #running = 0;

  /**
   * @param kind the kind of records.
   * @param search runs when its turn comes.
   * @param signal aborts when the client no longer waits for the answer.
   * @throws {StoreError} `busy` when too many searches wait, or if it is aborted before
   *   its turn; and the errors of `search`.
   */
  run<T>(
    kind: string,
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
    while (this.#running < MAX_RUNNING) {
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
