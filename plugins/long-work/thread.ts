import { Worker } from "node:worker_threads";

/** How much a task may take. */
export interface TaskBounds {
  /** How long it may run, in milliseconds. */
  readonly longest: number;
  /** The memory of its thread, in MiB. A task that needs more ends its thread, and nothing else. */
  readonly memory: number;
}

/** A task that took too much. */
export class TooMuch extends Error {
  constructor(readonly of: "time" | "memory") {
    super(`The task takes too much ${of}.`);
  }
}

/**
 * Runs a task in a thread of its own. A task may take seconds, or be made to take forever, and the
 * event loop does not wait for it. Each task has a fresh thread, so that ending one loses nothing.
 * @param file the module of the thread. It gets one message, the task, and sends one, the result.
 * @param answer answers what the thread asks for, as `{question}`. Meanwhile its time stands still.
 * @param ended aborts when nobody needs the result any more.
 * @throws {TooMuch} or the reason of the signal.
 */
export function inThread<T>(
  file: URL,
  task: unknown,
  ended: AbortSignal,
  { longest, memory }: TaskBounds,
  answer?: (question: never) => Promise<unknown>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    ended.throwIfAborted();
    const worker = new Worker(file, {
      resourceLimits: { maxOldGenerationSizeMb: memory },
      // Options of the process, such as what to preload, do not apply to this thread.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    const end = (settle: () => void) => {
      clearTimeout(timer);
      ended.removeEventListener("abort", stop);
      settle();
      worker.terminate().catch(() => {});
    };
    const fail = (error: Error) => end(() => reject(error));
    const stop = () => fail(ended.reason as Error);
    let left = longest;
    let began = performance.now();
    const limit = () => setTimeout(() => fail(new TooMuch("time")), left);
    let timer = limit();
    const reply = async (question: never) => {
      clearTimeout(timer);
      left -= performance.now() - began;
      const found = await answer!(question);
      if (ended.aborted) return;
      began = performance.now();
      timer = limit();
      worker.postMessage(found);
    };
    ended.addEventListener("abort", stop, { once: true });
    worker.on("message", (message: T | { question: never }) => {
      if (answer && typeof message === "object" && "question" in message!) {
        reply(message.question).catch(fail);
      } else end(() => resolve(message as T));
    });
    worker.once("error", (error: Error & { code?: string }) =>
      fail(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? new TooMuch("memory") : error),
    );
    worker.postMessage(task);
  });
}
