import { Worker } from "node:worker_threads";
import {
  type RoomSelection,
  StoreError,
  type StoreProblem,
  type UserSearch,
} from "../store.js";
import type { RoomRows } from "./room-reads.js";
import type { UserRows } from "./user-search.js";

/** What the thread can search for. */
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
  worldId: string;
  search: Search;
  signal: AbortSignal | undefined;
  resolve: (found: never) => void;
  reject: (error: Error) => void;
}

/** How many lists of one world may wait for the thread. */
const MAX_PENDING_SEARCHES = 64;

/**
 * The near side of the thread that reads lists which have to look at every room.
 * The thread starts with the first of them: most servers never need it. It gets
 * one list at a time, so that {@link pause} takes effect soon.
 */
export class Searcher {
  readonly #dataDir: string;
  #pending: PendingSearch[] = [];
  #running: PendingSearch | undefined;
  #lastWorld: string | undefined;
  #worker: Worker | undefined;
  #pauses = 0;
  #closed = false;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /**
   * @param signal aborts when nobody waits for the list any longer.
   * @throws {StoreError} `busy` when too many lists of the world wait, or if it is
   *   aborted before its turn; or what reading throws.
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
      const ofWorld = this.#pending.filter((it) => it.worldId === worldId);
      if (ofWorld.length >= MAX_PENDING_SEARCHES) {
        throw new StoreError("busy", "Too many searches are waiting.");
      }
      const search = { what, args };
      this.#pending.push({ worldId, search, signal, resolve, reject });
      this.#next();
    });
  }

  /**
   * Begins no more lists, as long as a write runs that must not meet a reader.
   * @returns what ends the pause.
   */
  pause(): () => void {
    this.#pauses++;
    return () => {
      this.#pauses--;
      this.#next();
    };
  }

  /** Ends the thread; what waits for it fails. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#fail("The store is closed.");
    await this.#worker?.terminate();
  }

  #next(): void {
    if (this.#running || this.#pauses > 0) return;
    this.#dropAborted();
    // Worlds take turns, so that the searches of one do not hold up all others.
    const next =
      this.#pending.find(({ worldId }) => worldId !== this.#lastWorld) ??
      this.#pending[0];
    if (!next) return;
    this.#pending = this.#pending.filter((it) => it !== next);
    this.#running = next;
    this.#lastWorld = next.worldId;
    this.#worker ??= this.#start();
    this.#worker.postMessage(next.search);
  }

  /** Frees the places of searches that nobody waits for. */
  #dropAborted(): void {
    this.#pending = this.#pending.filter(({ signal, reject }) => {
      if (!signal?.aborted) return true;
      reject(new StoreError("busy", "Nobody waits for this search."));
      return false;
    });
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
    const failed = [this.#running, ...this.#pending];
    this.#running = undefined;
    this.#pending = [];
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
