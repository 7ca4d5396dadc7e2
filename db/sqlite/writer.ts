import { Worker } from "node:worker_threads";
import { StoreError, type StoreProblem } from "../store.js";
import type { roomWrites } from "./room-writes.js";
import type { userWrites } from "./user-writes.js";
import type { copyWrites } from "./world-copies.js";
import type { worldWrites } from "./world-writes.js";

/** Every write there is, by name. */
export type Writes = ReturnType<typeof worldWrites> &
  ReturnType<typeof roomWrites> &
  ReturnType<typeof userWrites> &
  ReturnType<typeof copyWrites>;

/** One write as it travels to the writer thread. */
export interface Call {
  id: number;
  write: keyof Writes;
  args: unknown[];
}

/** What the thread is told: writes, or to end. */
export type Message = Call[] | "close";

/** What comes back: the result, or why there is none. */
export type Answer =
  | { id: number; result: unknown }
  | {
      id: number;
      problem: StoreProblem | "fault";
      message: string;
      field?: string;
    };

interface Waiting {
  resolve: (result: never) => void;
  reject: (error: Error) => void;
}

/** The near side of the writer thread. */
export class Writer {
  readonly #dataDir: string;
  readonly #onWritten: () => void;
  readonly #waiting = new Map<number, Waiting>();
  /** What the thread was not told yet. */
  #calls: Call[] = [];
  #worker: Worker | undefined;
  #lastId = 0;
  #closed = false;

  /** @param onWritten is called before whoever waits for a write is told. */
  constructor(dataDir: string, onWritten: () => void) {
    this.#dataDir = dataDir;
    this.#onWritten = onWritten;
  }

  /**
   * Does one write, durably.
   * @throws {StoreError} what the write throws, or that the store is in no state to write.
   */
  run<W extends keyof Writes>(
    write: W,
    ...args: Parameters<Writes[W]>
  ): Promise<ReturnType<Writes[W]>> {
    if (this.#closed) return Promise.reject(closed());
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, {
        resolve: resolve,
        reject,
      });
      // What came with the same turn of the event loop is told together: a
      // message costs as much as a small write.
      if (this.#calls.push({ id, write, args }) === 1) setImmediate(this.#tell);
    });
  }

  readonly #tell = (): void => {
    if (this.#calls.length === 0) return;
    // A thread that died is replaced by the next write: a passing fault of
    // the disk must not end the service.
    this.#worker ??= this.#start();
    this.#worker.postMessage(this.#calls satisfies Message);
    this.#calls = [];
  };

  /** Finishes what was begun, and ends the thread. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#tell();
    const worker = this.#worker;
    if (!worker) return;
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    worker.postMessage("close" satisfies Message);
    await ended;
  }

  #start(): Worker {
    const worker = new Worker(new URL("./writer-thread.js", import.meta.url), {
      workerData: { dataDir: this.#dataDir },
      // What the process was told to load or to watch is not for this thread.
      execArgv: [],
    });
    let reason = closed();
    worker.on("message", (answers: Answer[]) => {
      this.#onWritten();
      answers.forEach(this.#settle);
    });
    worker.on("error", (error) => {
      reason = new StoreError("unusable", error.message);
    });
    worker.on("exit", () => {
      this.#worker = undefined;
      this.#calls = [];
      for (const { reject } of this.#waiting.values()) reject(reason);
      this.#waiting.clear();
    });
    return worker;
  }

  readonly #settle = (answer: Answer): void => {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ("result" in answer) waiting?.resolve(answer.result as never);
    else if (answer.problem === "fault") {
      waiting?.reject(new Error(answer.message));
    } else {
      waiting?.reject(
        new StoreError(answer.problem, answer.message, answer.field),
      );
    }
  };
}

const closed = () => new StoreError("unusable", "The store is closed.");
