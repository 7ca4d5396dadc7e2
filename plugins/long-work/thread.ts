import { Worker } from "node:worker_threads";

/** A task's resource limits. */
export interface TaskBounds {
  /** Maximum duration, in milliseconds. */
  readonly longest: number;
  /** Memory limit of the thread, in MiB. A task that exceeds the limit terminates only its own thread. */
  readonly memory: number;
}

/** Thrown when a task exceeds a limit. */
export class TaskLimitExceeded extends Error {
  constructor(readonly of: "time" | "memory") {
    super(`The task takes too much ${of}.`);
  }
}

/**
 * Runs a task in a worker thread, without blocking the event loop. A task may take seconds, or be
 * crafted to run forever. Each task has a new thread, so terminating a thread affects no other
 * task.
 * @param file the thread's module. It receives the task as its only message, and sends the result.
 * @param answer responds to the thread's `{question}` messages. The time limit is paused until the
 * response is ready.
 * @param ended aborts when the result is no longer needed.
 * @throws {TaskLimitExceeded} if the task exceeds a limit. If `ended` aborts, throws the signal's
 * reason.
 */
export function runInThread<T>(
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
      // The thread does not inherit the process's options, such as preloaded modules.
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
    const limit = () => setTimeout(() => fail(new TaskLimitExceeded("time")), left);
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
      fail(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? new TaskLimitExceeded("memory") : error),
    );
    worker.postMessage(task);
  });
}
