import { Worker } from "node:worker_threads";
import { type RoomSelection, StoreError, type StoreProblem } from "../store.js";
import type { RoomRows } from "./room-reads.js";

/** The message to the thread: a list to read. */
export interface Search {
  worldId: string;
  selection: RoomSelection;
}

/** The answer of the thread: a page with its size in bytes, or a problem. */
export type SearchResult =
  RoomRows | { problem: StoreProblem | "fault"; message: string };

interface PendingSearch {
  search: Search;
  resolve: (found: RoomRows) => void;
  reject: (error: Error) => void;
}

/** How many lists may wait for the thread at a time. */
const MAX_PENDING_SEARCHES = 64;

/**
 * The near side of the thread that reads lists which have to look at every room.
 * The thread starts with the first of them: most servers never need it. It gets
 * one list at a time, so that {@link pause} takes effect soon.
 */
export class Searcher {
  readonly #dataDir: string;
  /** In the order they came; the thread works on the first if it is `#busy`. */
  readonly #pending: PendingSearch[] = [];
  #worker: Worker | undefined;
  #busy = false;
  #pauses = 0;
  #closed = false;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** @throws {StoreError} `busy` when too many lists wait, or what reading throws. */
  list(worldId: string, selection: RoomSelection): Promise<RoomRows> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        throw new StoreError("unusable", "The store is closed.");
      }
      if (this.#pending.length >= MAX_PENDING_SEARCHES) {
        throw new StoreError("busy", "Too many searches are waiting.");
      }
      this.#pending.push({ search: { worldId, selection }, resolve, reject });
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
    const [first] = this.#pending;
    if (!first || this.#busy || this.#pauses > 0) return;
    this.#busy = true;
    this.#worker ??= this.#start();
    this.#worker.postMessage(first.search);
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
      this.#busy = false;
      this.#fail(reason);
    });
    return worker;
  }

  #fail(reason: string): void {
    for (const { reject } of this.#pending.splice(0)) {
      reject(new StoreError("unusable", reason));
    }
  }

  readonly #settle = (result: SearchResult): void => {
    this.#busy = false;
    const first = this.#pending.shift();
    if ("rows" in result) first?.resolve(result);
    else if (result.problem === "fault") {
      first?.reject(new Error(result.message));
    } else first?.reject(new StoreError(result.problem, result.message));
    this.#next();
  };
}
