import { clientError, type LiveError } from "./error.js";
import type { CallOptions } from "./options.js";

/** How many tasks may wait in a line. */
const MAX_WAITING = 200;

/** Work that ends early once `isOver` says that its caller has given up. */
export type Task<T> = (
  isOver: () => boolean,
  /** The time limit for a call that is made now. */
  timeLeft: () => CallOptions,
) => Promise<T>;

/** Does one task after the other. */
export class Line {
  #last: Promise<unknown> = Promise.resolve();
  /** The functions that reject waiting and running tasks. */
  readonly #open = new Set<(error: LiveError) => void>();

  /** Runs a task after all earlier ones, within a time limit. */
  add<T>(task: Task<T>, { timeout }: CallOptions = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#open.size >= MAX_WAITING) {
        const message = `${MAX_WAITING} others wait already.`;
        throw clientError("overloaded", message);
      }
      const over = () => {
        clearTimeout(timer);
        this.#open.delete(refuse);
      };
      const refuse = (error: LiveError) => {
        over();
        reject(error);
      };
      const deadline = performance.now() + (timeout ?? Infinity);
      const timer =
        timeout === undefined
          ? undefined
          : setTimeout(() => {
              const message = `It was not confirmed within ${timeout} ms.`;
              refuse(clientError("timeout", message));
            }, timeout);
      this.#open.add(refuse);
      const isOver = () => !this.#open.has(refuse);
      const timeLeft = () =>
        timeout === undefined ? {} : { timeout: Math.max(0, deadline - performance.now()) };
      this.#last = this.#last.then(async () => {
        if (isOver()) return;
        try {
          resolve(await task(isOver, timeLeft));
          over();
        } catch (error) {
          refuse(error as LiveError);
        }
      });
    });
  }

  /** Rejects all tasks. */
  end(error: LiveError): void {
    for (const refuse of [...this.#open]) refuse(error);
  }
}
