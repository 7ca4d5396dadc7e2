import { Worker } from "node:worker_threads";
import { nextTurn, processClock } from "../../../log/clock.js";
import type { BatchReport, Message, WriteOptions } from "./write-calls.js";
import { WriteRunner } from "./write-runner.js";

/** What runs the writes of a {@link Writer}. */
export interface Runner {
  /** Takes a message. @throws if it cannot be copied. */
  post(message: Message): void;
}

/** What a {@link Runner} says. */
export interface RunnerEvents {
  readonly onReport: (report: BatchReport) => void;
  /** It runs nothing more. @param reason why, if it did not finish. */
  readonly onEnd: (reason?: string) => void;
}

/** Starts a {@link Runner}. A simulation passes its own. @throws {StoreError} `unusable`. */
export type StartRunner = (options: WriteOptions, events: RunnerEvents) => Runner;

/** Runs writes in a thread of their own, as they wait for the disk. */
export function threadRunner(options: WriteOptions, { onReport, onEnd }: RunnerEvents): Runner {
  const worker = new Worker(new URL("./writer-thread.js", import.meta.url), {
    workerData: options,
    // Options of the process, such as what to preload, do not apply to this thread.
    execArgv: [],
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  let reason: string | undefined;
  worker.on("message", onReport);
  worker.on("error", ({ message }) => (reason = message));
  worker.on("exit", () => onEnd(reason));
  return { post: (message) => worker.postMessage(message) };
}

/**
 * Runs writes in the thread of the caller. A thread costs a start, and nothing waits for this one
 * before a server listens.
 * @throws {StoreError} `unusable`.
 */
export function ownRunner(options: WriteOptions, { onReport, onEnd }: RunnerEvents): Runner {
  const runner = new WriteRunner(options);
  let last = Promise.resolve();
  const fail = ({ message }: Error) => onEnd(message);
  const take = async (message: Message) => {
    if (Array.isArray(message)) return onReport(await runner.run(message));
    runner.close();
    onEnd();
  };
  return {
    // One after the other, as each is a transaction. Each begins with a turn of the event loop, so
    // that nothing else uses the connection of a database in memory before it ends.
    post: (message) => {
      last = last
        .then(() => nextTurn(processClock))
        .then(() => take(message))
        .catch(fail);
    },
  };
}
