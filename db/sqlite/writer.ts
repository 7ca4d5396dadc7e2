import { Worker } from "node:worker_threads";
import { StoreError, type StoreProblem } from "../store.js";
import { fault } from "./batches.js";
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

/** What the thread says after a transaction. */
export interface Report {
  answers: Answer[];
  /** The worlds that processes of another origin have changed before. */
  touched: string[];
}

/** What the thread starts with. */
export interface ThreadData {
  dataDir: string;
  /** Names the processes that share their events. */
  origin: string;
  /** The last change that was noted when the store was opened. */
  known: number;
  /** How long a write waits for the lock of another process, in milliseconds. */
  lockTimeout: number;
}

/** Where the thread writes, and what is told of it. */
export interface WriterOptions extends ThreadData {
  /** Is called after each transaction, before whoever waits for it is told. */
  onWritten: () => void;
  /** Is told of worlds that processes of another origin have changed. */
  onTouched: (worlds: string[]) => void;
}

interface Waiting {
  resolve: (result: never) => void;
  reject: (error: Error) => void;
}

/** How many writes the thread is told of at once. */
const MESSAGE = 8;

/** The near side of the writer thread. */
export class Writer {
  readonly #options: WriterOptions;
  readonly #waiting = new Map<number, Waiting>();
  /** What the thread was not told yet. */
  #untold: (Waiting & { call: Call })[] = [];
  #worker: Worker | undefined;
  #lastId = 0;
  #closed = false;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /**
   * Does one write, durably.
   * @throws {StoreError} what the write throws, or that the store is in no state to write.
   */
  run<W extends keyof Writes>(
    write: W,
    ...args: Parameters<Writes[W]>
  ): Promise<ReturnType<Writes[W]>> {
    if (this.#closed) {
      const closed = new StoreError("unusable", "The store is closed.");
      return Promise.reject(closed);
    }
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const call = { id, write, args };
      // What comes with the same turn of the event loop is told together, as a
      // message costs as much as a small write; but not all of a long turn, in
      // which the thread would have nothing to do.
      const untold = this.#untold.push({ call, resolve, reject });
      if (untold === 1) setImmediate(this.#tell);
      else if (untold === MESSAGE) this.#tell();
    });
  }

  /** Starts the thread, which takes up what a crash left undone. */
  begin(): void {
    this.#worker ??= this.#start();
  }

  readonly #tell = (): void => {
    if (this.#untold.length === 0) return;
    const untold = this.#untold;
    this.#untold = [];
    try {
      // A thread that died is replaced by the next write: a passing fault of
      // the disk must not end the service.
      this.begin();
    } catch (error) {
      const { message } = error as Error;
      for (const { reject } of untold) {
        reject(new StoreError("unusable", message));
      }
      return;
    }
    for (const { call, ...waiting } of untold) {
      this.#waiting.set(call.id, waiting);
    }
    const calls = untold.map(({ call }) => call);
    try {
      this.#post(calls);
    } catch {
      // One that cannot be copied to the thread must fail alone.
      for (const call of calls) {
        try {
          this.#post([call]);
        } catch (error) {
          this.#settle({ id: call.id, ...fault(error) });
        }
      }
    }
  };

  #post(message: Message): void {
    this.#worker!.postMessage(message);
  }

  /** Finishes what was begun, and ends the thread. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#tell();
    const worker = this.#worker;
    if (!worker) return;
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    this.#post("close");
    await ended;
  }

  #start(): Worker {
    const { onWritten, onTouched, ...workerData } = this.#options;
    const worker = new Worker(new URL("./writer-thread.js", import.meta.url), {
      workerData: workerData satisfies ThreadData,
      // What the process was told to load or to watch is not for this thread.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    let begun = false;
    let reason = "The store is closed.";
    worker.on("message", ({ answers, touched }: Report) => {
      begun = true;
      onWritten();
      answers.forEach(this.#settle);
      if (touched.length > 0) onTouched(touched);
    });
    worker.on("error", ({ message }) => (reason = message));
    worker.on("exit", () => {
      this.#worker = undefined;
      onWritten();
      // It may have died after a commit, and before its answer.
      const problem = begun ? "doubtful" : "unusable";
      for (const { reject } of this.#waiting.values()) {
        reject(new StoreError(problem, reason));
      }
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
