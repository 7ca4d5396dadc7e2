import type { CommandName, Commands } from "../../schemas/live/index.js";
import type { LiveError } from "./error.js";
import type { EventName, Listener } from "./events.js";
import type { CallOptions } from "./options.js";
import type { LiveState } from "./state.js";

/** The part of a live client that channels use. */
export interface Client {
  readonly state: LiveState | undefined;
  readonly isConnected: boolean;
  connected(options?: CallOptions): Promise<LiveState>;
  call<N extends CommandName>(
    name: N,
    payload: Commands[N]["payload"],
    options?: CallOptions,
  ): Promise<Commands[N]["result"]>;
  on<N extends EventName>(name: N, listener: Listener<N>): () => void;
}

/** The first pause before a call is repeated for which there was no capacity. */
const PAUSE = 1000;
const MAX_PAUSE = 30_000;

/** The server doubts whether it executed the call, and may know in a moment. */
const DOUBTFUL = "server.doubtful";
/** The call may have been executed. Unless the server says so, another one waits for the next connection. */
const IN_DOUBT = ["client.disconnected", "client.timeout", "client.unconfirmed", DOUBTFUL];
/** The call was not executed. */
const NO_CAPACITY = ["client.overloaded", "protocol.rate_limited", "server.unavailable"];

/** Whether a call that failed with this error may have been executed. */
export const isInDoubt = ({ code }: LiveError): boolean => IN_DOUBT.includes(code);

/** Waits until the server may know whether it executed a call that failed with this error. */
export async function decided({ code }: LiveError): Promise<void> {
  if (code === DOUBTFUL) await new Promise((done) => setTimeout(done, PAUSE));
}

/** Whether a call that failed with this error waited for a connection, or for others, in vain. */
export const isUnsent = ({ code }: LiveError): boolean =>
  code === "client.unreachable" || code === "client.overloaded";

/** Whether it is of use to repeat a call that failed with this error. */
export const isTransient = (error: LiveError): boolean =>
  isInDoubt(error) || error.code === "client.unreachable" || NO_CAPACITY.includes(error.code);

/**
 * Repeats a call that may be executed twice until the server answers it: after a broken
 * connection on the next one, and with a growing pause while the server is too busy.
 * @param isOver whether the caller has given up; the repetition then ends.
 * @param isRepeated after which errors it is repeated.
 * @throws {LiveError} if the server refuses it for good, or the client ended.
 */
export async function persist<T>(
  call: () => Promise<T>,
  isOver: () => boolean = () => false,
  isRepeated: (error: LiveError) => boolean = isTransient,
): Promise<T> {
  for (let delay = PAUSE; ; delay = Math.min(2 * delay, MAX_PAUSE)) {
    try {
      return await call();
    } catch (cause) {
      const error = cause as LiveError;
      if (isOver() || !isRepeated(error)) throw error;
      await decided(error);
      if (NO_CAPACITY.includes(error.code)) {
        await new Promise((done) => setTimeout(done, delay));
      }
      if (isOver()) throw error;
    }
  }
}
