import type { CommandName, Commands } from "../../schemas/live/index.js";
import {
  isInDoubt,
  isTransient,
  isUnsent,
  persist,
  type Client,
} from "./client.js";
import { clientError, LiveError } from "./error.js";
import type { CallOptions } from "./options.js";

/** How many commands of one list may wait. */
const MAX_WAITING = 200;

/** By how many milliseconds timers may be early. */
const TOLERANCE = 2;

/** Executes the commands on a list one after the other. They wait for connections. */
export class Orders {
  readonly #client: Client;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Executes a command that may be executed twice. It is repeated until it is answered. */
  persist<N extends CommandName>(
    name: N,
    payload: Commands[N]["payload"],
    options?: CallOptions,
  ): Promise<Commands[N]["result"]> {
    return this.#add(
      (isOver, timeLeft) =>
        persist(() => this.#send(name, payload, timeLeft), isOver),
      options,
    );
  }

  /**
   * Executes a command that must not be executed twice.
   * @throws {LiveError} `client.disconnected`, `client.timeout` or `server.doubtful` if it
   *   may have been executed.
   */
  once<N extends CommandName>(
    name: N,
    payload: Commands[N]["payload"],
    options?: CallOptions,
  ): Promise<Commands[N]["result"]> {
    return this.#add(
      (isOver, timeLeft) =>
        persist(
          () => this.#send(name, payload, timeLeft),
          isOver,
          isUnsent,
        ).catch((cause: LiveError) => {
          if (!isInDoubt(cause)) throw cause;
          const message = `${name} may have been executed: ${cause.message}`;
          throw new LiveError(cause.code, message, {}, { cause });
        }),
      options,
    );
  }

  /** Deletes something. If an attempt may have done so, it need not be there any more. */
  delete<N extends "question.delete" | "poll.delete">(
    name: N,
    payload: Commands[N]["payload"],
    options?: CallOptions,
  ): Promise<void> {
    const unknown = name.replace("delete", "unknown");
    let isPerhapsDone = false;
    return this.#add(
      (isOver, timeLeft) =>
        persist(async () => {
          try {
            await this.#send(name, payload, timeLeft);
          } catch (cause) {
            const error = cause as LiveError;
            if (isPerhapsDone && error.code === unknown) return;
            isPerhapsDone ||= isInDoubt(error);
            throw error;
          }
        }, isOver),
      options,
    );
  }

  #send<N extends CommandName>(
    name: N,
    payload: Commands[N]["payload"],
    timeLeft: () => CallOptions,
  ): Promise<Commands[N]["result"]> {
    return this.#client.call(name, payload, timeLeft());
  }

  /** Does something after what was added before, within a time. */
  #add<T>(
    work: (isOver: () => boolean, timeLeft: () => CallOptions) => Promise<T>,
    { timeout }: CallOptions = {},
  ): Promise<T> {
    if (this.#waiting >= MAX_WAITING) {
      const message = `${MAX_WAITING} commands wait already.`;
      return Promise.reject(clientError("overloaded", message));
    }
    const deadline = performance.now() + (timeout ?? Infinity);
    const isOver = () => deadline - performance.now() < TOLERANCE;
    const late = (cause?: LiveError) => {
      const message = `It was not confirmed within ${timeout} ms.`;
      return clientError("timeout", message, cause);
    };
    const timeLeft = () =>
      timeout === undefined ? {} : { timeout: deadline - performance.now() };
    this.#waiting++;
    const done = this.#last.then(async () => {
      // Nobody waits for it any longer.
      if (isOver()) throw late();
      return work(isOver, timeLeft).catch((error: LiveError) => {
        // A call that began late may end at the same moment.
        throw isOver() && isTransient(error) ? late(error) : error;
      });
    });
    this.#last = done.then(
      () => this.#waiting--,
      () => this.#waiting--,
    );
    if (timeout === undefined) return done;
    let timer: ReturnType<typeof setTimeout>;
    const expired = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(late()), timeout);
    });
    return Promise.race([done, expired]).finally(() => clearTimeout(timer));
  }
}
