import type { Connection, Settle } from "./connection.js";
import { clientError, type LiveError } from "./error.js";

/** Sends a call. Returns a function that forgets it: its answer is then ignored. */
type Send = (connection: Connection, settle: Settle) => () => void;

/** The calls that are not answered yet, with a bound and a time limit for each. */
export class Calls {
  readonly #max: number;
  readonly #open = new Set<Settle>();
  /** Sends the calls that wait for a connection, in their order. */
  readonly #waiting = new Set<(connection: Connection) => void>();

  /** @param max how many may be open at once. */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Sends something as soon as there is a connection, and waits for the answer.
   * @param connection the present one, if it is ready.
   * @param timeout in milliseconds, the wait for a connection included.
   * @param unreachable why there is no connection.
   */
  request(
    connection: Connection | undefined,
    timeout: number,
    send: Send,
    unreachable: () => LiveError | undefined,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#open.size >= this.#max) {
        const message = `${this.#max} calls are open already.`;
        return reject(clientError("overloaded", message));
      }
      let forget: (() => void) | undefined;
      const start = (ready: Connection) => {
        this.#waiting.delete(start);
        forget = send(ready, settle);
      };
      const expire = () => {
        forget?.();
        settle.reject(
          forget
            ? clientError("timeout", `No answer within ${timeout} ms.`)
            : noConnection(timeout, unreachable()),
        );
      };
      const timer = setTimeout(expire, timeout);
      const finish = () => {
        clearTimeout(timer);
        this.#waiting.delete(start);
        this.#open.delete(settle);
      };
      const settle: Settle = {
        resolve: (result) => (finish(), resolve(result)),
        reject: (error) => (finish(), reject(error)),
      };
      this.#open.add(settle);
      if (connection) start(connection);
      else this.#waiting.add(start);
    });
  }

  /** Sends the calls that wait. */
  flush(connection: Connection): void {
    for (const start of [...this.#waiting]) {
      if (connection.isReady) start(connection);
    }
  }

  /** Rejects all calls. */
  reject(error: LiveError): void {
    for (const settle of [...this.#open]) settle.reject(error);
  }
}

function noConnection(timeout: number, why: LiveError | undefined): LiveError {
  const message = `No connection within ${timeout} ms. ${why?.message ?? ""}`;
  return clientError("unreachable", message.trimEnd(), why);
}
