import type { Worker } from "node:worker_threads";
import type { Database as Connection } from "better-sqlite3";
import { StoreError, type StoreProblem } from "../../../contract/store.js";
import type { SearchAnswer, SearchKind, Wanted } from "../../../domains/domain.js";
import { runSearch, SearchQueue } from "../../../domains/searches.js";
import { isInField } from "../../../rules/user-rows.js";
import { startThread } from "../../../runtime.js";
import { sqlOn } from "./sqlite-sql.js";

/** Creates a function that runs searches on a connection. */
export function searchesOn(
  db: Connection,
): <K extends SearchKind>(...search: Search<K>) => Promise<SearchAnswer<K>> {
  const sql = sqlOn(db);
  db.function("is_in_field", { deterministic: true }, (folded, marker, term) =>
    Number(isInField(folded as string, marker as string, term as string)),
  );
  return (kind, world, wanted) => runSearch(kind, sql, world, wanted);
}

/** Searches an in-memory database on the current thread. */
export class OwnSearcher implements Pick<Searcher, "run" | "close"> {
  readonly run: Searcher["run"];

  constructor(db: Connection) {
    this.run = searchesOn(db);
  }

  async close(): Promise<void> {}
}

/** The message to the thread: a search to run. */
export type Search<K extends SearchKind = SearchKind> = readonly [
  kind: K,
  world: string,
  wanted: Wanted<K>,
];

/** The thread's response: a page or a problem. */
export type SearchResult =
  SearchAnswer<SearchKind> | { problem: StoreProblem | "fault"; message: string };

/** Runs searches in a thread, one at a time. The thread starts lazily, because most servers never need it. */
export class Searcher {
  readonly #dataDir: string;
  readonly #queue = new SearchQueue(1);
  /** The caller that waits for the running search. */
  #caller: { resolve: (found: never) => void; reject: (error: Error) => void } | undefined;
  #worker: Worker | undefined;
  #closed = false;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /**
   * Queues a search.
   * @param signal aborts when the client no longer waits for the result.
   * @throws {StoreError} `busy` when too many searches of this kind are waiting in the world, or if
   * this search is aborted before it runs. Also throws the errors of the search itself.
   */
  run<K extends SearchKind>(
    kind: K,
    world: string,
    wanted: Wanted<K>,
    signal?: AbortSignal,
  ): Promise<SearchAnswer<K>> {
    return this.#queue.run(kind, world, () => this.#ask(kind, world, wanted), signal);
  }

  /** Terminates the thread. The running search and all waiting searches fail. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#fail("The store is closed.");
    await this.#worker?.terminate();
  }

  #ask<K extends SearchKind>(...search: Search<K>): Promise<SearchAnswer<K>> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new StoreError("unusable", "The store is closed.");
      this.#caller = { resolve, reject };
      this.#worker ??= this.#start();
      this.#worker.postMessage(search);
    });
  }

  #start(): Worker {
    const worker = startThread(new URL("./search-thread.js", import.meta.url), {
      dataDir: this.#dataDir,
    });
    let reason = "The search ended.";
    worker.on("message", (result: SearchResult) => {
      const caller = this.#caller;
      this.#caller = undefined;
      if ("rows" in result) caller?.resolve(result as never);
      else if (result.problem === "fault") caller?.reject(new Error(result.message));
      else caller?.reject(new StoreError(result.problem, result.message));
    });
    worker.on("error", ({ message }) => (reason = message));
    worker.on("exit", () => {
      this.#worker = undefined;
      this.#fail(reason);
    });
    return worker;
  }

  #fail(reason: string): void {
    const caller = this.#caller;
    this.#caller = undefined;
    caller?.reject(new StoreError("unusable", reason));
  }
}
