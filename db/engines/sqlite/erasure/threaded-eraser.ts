import type { Worker } from "node:worker_threads";
import type { Eraser, Round, Urgency } from "../../../erasure/erasure-job.js";
import { detach, startThread } from "../../../runtime.js";

/** Time without work after which the thread ends, in milliseconds. An idle thread uses a few MiB of memory. */
const REST_MS = 20_000;

/** The thread's response: the result of a round, or the error message. */
export type RoundAnswer = { round: Round } | { failed: string };

export interface EraserData {
  readonly dataDir: string;
  /** The number of this process's pending writes, in memory shared between threads. */
  readonly waiting: Int32Array;
}

/**
 * Removes erased bytes in a separate thread, so that neither the event loop nor a write waits. The
 * thread starts lazily.
 */
export class ThreadedEraser implements Eraser {
  readonly #data: EraserData;
  #worker: Worker | undefined;
  #rest: NodeJS.Timeout | undefined;

  constructor(
    data: EraserData,
    readonly oldest: Eraser["oldest"],
  ) {
    this.#data = data;
  }

  async run(urgency: Urgency): Promise<Round> {
    clearTimeout(this.#rest);
    const worker = (this.#worker ??= this.#start());
    // An exiting process waits only for its last round.
    if (urgency !== "idle") worker.ref();
    const answer = await new Promise<RoundAnswer>((resolve) => {
      const settle = (answer: RoundAnswer) => {
        worker.off("message", settle).off("error", fail).off("exit", fail);
        resolve(answer);
      };
      const fail = (reason: Error | number) => {
        this.#worker = undefined;
        settle({ failed: reason instanceof Error ? reason.message : "its thread has ended" });
      };
      worker.on("message", settle).on("error", fail).on("exit", fail);
      worker.postMessage(urgency);
    });
    this.#rest = setTimeout(() => detach(this.close()), REST_MS).unref();
    if ("failed" in answer) throw new Error(answer.failed);
    return answer.round;
  }

  /** Ends the thread. The next round starts a new thread. */
  async close(): Promise<void> {
    clearTimeout(this.#rest);
    const worker = this.#worker;
    if (!worker) return;
    this.#worker = undefined;
    worker.ref();
    await new Promise<void>((resolve) => {
      worker.on("exit", () => resolve());
      worker.postMessage("close");
    });
  }

  #start(): Worker {
    const worker = startThread(new URL("./eraser-thread.js", import.meta.url), this.#data);
    // `run` reports the error to its caller. Without a listener, the error would end the process.
    worker.on("error", () => {});
    worker.unref();
    return worker;
  }
}
