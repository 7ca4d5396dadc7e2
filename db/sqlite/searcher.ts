import { Worker } from "node:worker_threads";
import {
  type RoomPage,
  type RoomSelection,
  StoreError,
  type StoreProblem,
} from "../store.js";

/** The message to the thread: a list to read. */
export interface Search {
  id: number;
  worldId: string;
  selection: RoomSelection;
}

/** The answer of the thread: a page with its size in bytes, or a problem. */
export type SearchResult =
  | { id: number; page: RoomPage; size: number }
  | { id: number; problem: StoreProblem | "fault"; message: string };

interface PendingSearch {
  resolve: (found: { page: RoomPage; size: number }) => void;
  reject: (error: Error) => void;
}

/** How many lists may wait for the thread at a time. */
const MAX_PENDING_SEARCHES = 64;

/**
 * Sends lists that have to look at every room to a thread. The thread starts with
 * the first such list, because most servers never need it.
 */
export class Searcher {
  readonly #dataDir: string;
  readonly #waiting = new Map<number, PendingSearch>();
  #worker: Worker | undefined;
  #lastId = 0;
  #closed = false;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** @throws {StoreError} `busy` when too many lists wait, or what reading throws. */
  list(
    worldId: string,
    selection: RoomSelection,
  ): Promise<{ page: RoomPage; size: number }> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        throw new StoreError("unusable", "The store is closed.");
      }
      if (this.#waiting.size >= MAX_PENDING_SEARCHES) {
        throw new StoreError("busy", "Too many searches are waiting.");
      }
      this.#worker ??= this.#start();
      const id = ++this.#lastId;
      this.#worker.postMessage({ id, worldId, selection } satisfies Search);
      this.#waiting.set(id, { resolve, reject });
    });
  }

  /** Ends the thread. Lists that wait for it fail. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL("./search-thread.js", import.meta.url), {
      workerData: { dataDir: this.#dataDir },
      // Options of the process, such as what to preload, do not apply to this thread.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    let reason = "The store is closed.";
    worker.on("message", this.#settle);
    worker.on("error", ({ message }) => (reason = message));
    worker.on("exit", () => {
      this.#worker = undefined;
      for (const { reject } of this.#waiting.values()) {
        reject(new StoreError("unusable", reason));
      }
      this.#waiting.clear();
    });
    return worker;
  }

  readonly #settle = (found: SearchResult): void => {
    const waiting = this.#waiting.get(found.id);
    this.#waiting.delete(found.id);
    if ("page" in found) waiting?.resolve(found);
    else if (found.problem === "fault") {
      waiting?.reject(new Error(found.message));
    } else waiting?.reject(new StoreError(found.problem, found.message));
  };
}
