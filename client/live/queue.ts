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

/** Executes the commands on a list one after the other. They wait for connections. */
export class Orders {
  readonly #client: Client;
  readonly #line = new Line();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Executes a command that may be executed twice. It is repeated until it is answered. */
  persist<N extends CommandName>(
    name: N,
    payload: Commands[N]["payload"],
    options?: CallOptions,
  ): Promise<Commands[N]["result"]> {
    return this.#line.add(
      (isOver, timeLeft) => persist(() => this.#send(name, payload, timeLeft), isOver),
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
    return this.#line.add(
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

  /** Deletes something. If an attempt may have done so, it need not be there any more. */
  delete<N extends "question.delete" | "poll.delete">(
    name: N,
    payload: Commands[N]["payload"],
    options?: CallOptions,
  ): Promise<void> {
    const unknown = name.replace("delete", "unknown");
    let isPerhapsDone = false;
    return this.#line.add(
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

/** The limits of a server that names none. */
const DEFAULTS: Limits = { messages_per_second: 5, messages_at_once: 20 };

/** Spaces the messages of the user over all channels, so that the server takes each. */
export class Pace {
  #limits = DEFAULTS;
  #left = DEFAULTS.messages_at_once;
  #at = performance.now();
  #last: Promise<void> = Promise.resolve();

  /** @param limits the limits that the server sent at login. */
  loggedIn(limits = DEFAULTS): void {
    this.#refill();
    this.#left += limits.messages_at_once - this.#limits.messages_at_once;
    this.#limits = limits;
  }

  /** The server refused a message: the user sends some elsewhere, too. */
  refused(): void {
    this.#refill();
    this.#left = Math.min(this.#left, 0);
  }

  /** Waits until one more message may be sent, after all earlier ones. */
  turn(): Promise<void> {
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
