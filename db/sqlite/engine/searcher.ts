import { Worker } from "node:worker_threads";
import {
  type RoomSelection,
  StoreError,
  type StoreProblem,
  type UserSearch,
} from "../../contract/store.js";
import type { RoomRows } from "../rooms/room-reads.js";
import type { UserRows } from "../users/user-search.js";

/** The searches of the thread. */
export interface Searches {
  rooms(worldId: string, selection: Omit<RoomSelection, "signal">): RoomRows;
  users(worldId: string, search: UserSearch): UserRows;
}

/** The message to the thread: a list to read. */
export interface Search {
  what: keyof Searches;
  args: Parameters<Searches[keyof Searches]>;
}

/** The answer of the thread: a page, or a problem. */
export type SearchResult =
  | ReturnType<Searches[keyof Searches]>
  | { problem: StoreProblem | "fault"; message: string };

interface PendingSearch {
  search: Search;
  signal: AbortSignal | undefined;
  resolve: (found: never) => void;
  reject: (error: Error) => void;
}

/** How many searches of one kind in one world may wait for the thread. */
const MAX_PENDING_SEARCHES = 64;

/**
 * The near side of the thread that reads lists which have to look at every room or user.
 * The thread starts with the first of them: most servers never need it. It gets
 * one list at a time. Worlds take turns, and
 * so do the kinds of searches in a world: no crowd holds up all others.
 */
export class Searcher {
  readonly #dataDir: string;
  /** The waiting searches, by kind and world. The next turn comes first. */
  readonly #pending = new Map<string, PendingSearch[]>();
  #running: PendingSearch | undefined;
  #worker: Worker | undefined;
  #closed = false;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /**
   * @param signal aborts when the client no longer waits for the list.
   * @throws {StoreError} `busy` when too many such lists of the world wait, or if it is
   *   aborted before its turn; or the error of the read.
   */
  run<W extends keyof Searches>(
    what: W,
    args: Parameters<Searches[W]>,
    signal?: AbortSignal,
  ): Promise<ReturnType<Searches[W]>> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        throw new StoreError("unusable", "The store is closed.");
      }
      this.#dropAborted();
      const [worldId] = args;
      const key = `${what} ${worldId}`;
      const waiting = this.#pending.get(key) ?? [];
      if (waiting.length >= MAX_PENDING_SEARCHES) {
        throw new StoreError("busy", "Too many searches are waiting.");
      }
      waiting.push({ search: { what, args }, signal, resolve, reject });
      this.#pending.set(key, waiting);
      this.#next();
    });
  }

  /** Ends the thread; waiting searches fail. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#fail("The store is closed.");
    await this.#worker?.terminate();
  }

  #next(): void {
    if (this.#running) return;
    this.#dropAborted();
    const [turn] = this.#pending;
    if (!turn) return;
    const [key, [next, ...others]] = turn as [
      string,
      [PendingSearch, ...PendingSearch[]],
    ];
    // The rest of them wait for all others.
    this.#pending.delete(key);
    if (others.length > 0) this.#pending.set(key, others);
    this.#running = next;
    this.#worker ??= this.#start();
    this.#worker.postMessage(next.search);
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

  #start(): Worker {
    const worker = new Worker(new URL("./search-thread.js", import.meta.url), {
      workerData: { dataDir: this.#dataDir },
      // Options of the process, such as what to preload, do not apply to this thread.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    let reason = "The search ended.";
    worker.on("message", this.#settle);
    worker.on("error", ({ message }) => (reason = message));
    worker.on("exit", () => {
      this.#worker = undefined;
      this.#fail(reason);
    });
    return worker;
  }

  #fail(reason: string): void {
    const failed = [this.#running, ...[...this.#pending.values()].flat()];
    this.#running = undefined;
    this.#pending.clear();
    for (const search of failed) {
      search?.reject(new StoreError("unusable", reason));
    }
  }

  readonly #settle = (result: SearchResult): void => {
    const search = this.#running;
    this.#running = undefined;
    if ("rows" in result) search?.resolve(result as never);
    else if (result.problem === "fault") {
      search?.reject(new Error(result.message));
    } else search?.reject(new StoreError(result.problem, result.message));
    this.#next();
  };
}
