import type { Authenticated, CommandName, Commands } from "../../schemas/live/index.js";
import {
  type CallOptions,
  type Client,
  clientError,
  isInDoubt,
  isUnsent,
  LiveError,
  persist,
} from "./client.js";

/** Maximum number of tasks in a queue, including the running task. */
const MAX_QUEUED_TASKS = 200;

/** A task that ends early once `isOver` returns true, which indicates that the caller has given up. */
export type Task<T> = (
  isOver: () => boolean,
  /** Returns the timeout for a call made now. */
  timeLeft: () => CallOptions,
) => Promise<T>;

/** Runs tasks sequentially. */
export class TaskQueue {
  #last: Promise<unknown> = Promise.resolve();
  /** The functions that reject waiting and running tasks. */
  readonly #open = new Set<(error: LiveError) => void>();

  /** Runs a task after all tasks that were added before it. The timeout includes the wait for those tasks. */
  add<T>(task: Task<T>, { timeout }: CallOptions = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#open.size >= MAX_QUEUED_TASKS) {
        const message = `${MAX_QUEUED_TASKS} others wait already.`;
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

/** Sends a list's commands sequentially. Without a connection, commands wait. */
export class CommandQueue {
  readonly #client: Client;
  readonly #queue = new TaskQueue();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Sends an idempotent command, and retries until the server responds. */
  persist<N extends CommandName>(
    name: N,
    payload: Commands[N]["payload"],
    options?: CallOptions,
  ): Promise<Commands[N]["result"]> {
    return this.#queue.add(
      (isOver, timeLeft) => persist(() => this.#send(name, payload, timeLeft), isOver),
      options,
    );
  }

  /**
   * Sends a command that must not be executed twice.
   * @throws {LiveError} `client.disconnected`, `client.timeout` or `server.doubtful` if the command
   * may have been executed.
   */
  once<N extends CommandName>(
    name: N,
    payload: Commands[N]["payload"],
    options?: CallOptions,
  ): Promise<Commands[N]["result"]> {
    return this.#queue.add(
      (isOver, timeLeft) =>
        persist(() => this.#send(name, payload, timeLeft), isOver, isUnsent).catch(
          (cause: LiveError) => {
            if (!isInDoubt(cause)) throw cause;
            const message = `${name} may have been executed: ${cause.message}`;
            throw new LiveError(cause.code, message, {}, { cause });
          },
        ),
      options,
    );
  }

  /** Sends a deletion. "Not found" counts as success if an earlier attempt may have deleted the item. */
  delete<N extends "question.delete" | "poll.delete">(
    name: N,
    payload: Commands[N]["payload"],
    options?: CallOptions,
  ): Promise<void> {
    const unknown = name.replace("delete", "unknown");
    let isPerhapsDone = false;
    return this.#queue.add(
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
}

type Limits = NonNullable<Authenticated["limits"]>;

/** Limits for a server that does not announce any limits. */
const DEFAULT_LIMITS: Limits = { messages_per_second: 5, messages_at_once: 20 };

/** A token bucket for the user's messages in all channels. It keeps the message rate below the server's limit. */
export class RateLimiter {
  #limits = DEFAULT_LIMITS;
  #left = DEFAULT_LIMITS.messages_at_once;
  #at = performance.now();
  #last: Promise<void> = Promise.resolve();

  /** @param limits the limits that the server sent at login. */
  loggedIn(limits = DEFAULT_LIMITS): void {
    this.#refill();
    this.#left += limits.messages_at_once - this.#limits.messages_at_once;
    this.#limits = limits;
  }

  /** Empties the bucket after the server has refused a message: the user must also be sending from elsewhere. */
  drain(): void {
    this.#refill();
    this.#left = Math.min(this.#left, 0);
  }

  /** Resolves when the next message may be sent. Callers are served in order. */
  acquire(): Promise<void> {
    return (this.#last = this.#last.then(async () => {
      for (this.#refill(); this.#left < 1; this.#refill()) {
        const { messages_per_second } = this.#limits;
        const wait = (1000 * (1 - this.#left)) / messages_per_second;
        await new Promise((done) => setTimeout(done, Math.ceil(wait)));
      }
      this.#left--;
    }));
  }

  #refill(): void {
    const { messages_per_second, messages_at_once } = this.#limits;
    const now = performance.now();
    const refilled = ((now - this.#at) / 1000) * messages_per_second;
    this.#left = Math.min(messages_at_once, this.#left + refilled);
    this.#at = now;
  }
}
