import type { CommandName, Commands } from "../../schemas/live/index.js";
import { isInDoubt, isUnsent, persist, type Client } from "./client.js";
import { LiveError } from "./error.js";
import { Line } from "./line.js";
import type { CallOptions } from "./options.js";

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
