import type {
  CommandName,
  Commands,
  LiveProblem,
  PublicUser,
  Pushes,
} from "../../schemas/live/index.js";
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

/** The initial and the maximum delay before retrying a call that failed for lack of capacity, in milliseconds. */
const RETRY_DELAY_MS = 1000;
const MAX_RETRY_DELAY_MS = 30_000;

/** The server does not know yet whether the call was executed, but may know soon. */
const DOUBTFUL = "server.doubtful";
/**
 * The call may have been executed. A later call can find out whether the call was executed, except
 * after DOUBTFUL, when the server itself needs time to find out.
 */
const IN_DOUBT = ["client.disconnected", "client.timeout", "client.unconfirmed", DOUBTFUL];
/** The call was not executed. */
const NO_CAPACITY = ["client.overloaded", "protocol.rate_limited", "server.unavailable"];

/** Whether a call that failed with this error may have been executed. */
export const isInDoubt = ({ code }: LiveError): boolean => IN_DOUBT.includes(code);

/** Waits until the server may know whether it executed the call that failed with this error. */
export async function waitForOutcome({ code }: LiveError): Promise<void> {
  if (code === DOUBTFUL) await new Promise((done) => setTimeout(done, RETRY_DELAY_MS));
}

/**
 * Whether a call that failed with this error was never sent, because there was no connection or too
 * many calls were pending.
 */
export const isUnsent = ({ code }: LiveError): boolean =>
  code === "client.unreachable" || code === "client.overloaded";

/** Whether it makes sense to retry a call that failed with this error. */
const isTransient = (error: LiveError): boolean =>
  isInDoubt(error) || error.code === "client.unreachable" || NO_CAPACITY.includes(error.code);

/**
 * Retries an idempotent call until the server responds: on the next connection if the current
 * connection breaks, and with increasing delays while the server is too busy.
 * @param isOver whether the caller has given up, which ends the retries.
 * @param isRepeated whether to retry after an error.
 * @throws {LiveError} if the server refuses the call for good, or the client has ended.
 */
export async function persist<T>(
  call: () => Promise<T>,
  isOver: () => boolean = () => false,
  isRepeated: (error: LiveError) => boolean = isTransient,
): Promise<T> {
  for (let delay = RETRY_DELAY_MS; ; delay = Math.min(2 * delay, MAX_RETRY_DELAY_MS)) {
    try {
      return await call();
    } catch (cause) {
      const error = cause as LiveError;
      if (isOver() || !isRepeated(error)) throw error;
      await waitForOutcome(error);
      if (NO_CAPACITY.includes(error.code)) {
        await new Promise((done) => setTimeout(done, delay));
      }
      if (isOver()) throw error;
    }
  }
}

/**
 * Thrown if a call fails or the connection ends. `code` is a code from the server, or one of these
 * codes from the client:
 *
 * - `client.closed`: `close()` was called.
 * - `client.disconnected`: the connection broke while the call was in flight. The server may or may
 *   not have executed the call.
 * - `client.unreachable`: there is no connection. Nothing was sent.
 * - `client.timeout`: no response arrived in time. The server may still execute the call.
 * - `client.overloaded`: too many calls are pending. Nothing was sent.
 * - `client.canceled`: the application canceled a message before it was sent.
 * - `client.unconfirmed`: the message was sent during an earlier visit, which ended before the
 *   response arrived.
 * - `client.invalid_frame`: the server sent a frame that violates the protocol.
 */
export class LiveError extends Error {
  /**
   * @param code the reason, as a machine-readable code.
   * @param message the reason, as a sentence; by default, the code.
   * @param details the messages about submitted data, by the dotted path of the field.
   * @param options.cause the reason why the connection broke, if applicable.
   */
  constructor(
    readonly code: string,
    message = code,
    readonly details: Readonly<Record<string, readonly string[]>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "LiveError";
  }
}

/** Converts an error that the server reported. */
export const errorOf = ({ code, message, details }: LiveProblem): LiveError =>
  new LiveError(code, message, details);

type ClientReason =
  | "closed"
  | "disconnected"
  | "unreachable"
  | "timeout"
  | "canceled"
  | "overloaded"
  | "unconfirmed"
  | "invalid_frame";

/** Creates an error that originates in the client. */
export const clientError = (reason: ClientReason, message: string, cause?: unknown): LiveError =>
  new LiveError(`client.${reason}`, message, {}, cause === undefined ? {} : { cause });

/** All times are in milliseconds. */
export interface LiveOptions extends Access {
  /** Timeout for a call, and for a login. Default: 15,000. */
  timeout?: number;
  /** Maximum delay before the first reconnection; it doubles with each failure. Default: 1,000. */
  retryDelay?: number;
  /**
   * Upper bound of the reconnection delay. A connection that lasted at least ten times as long as
   * the next maximum delay resets the delay. Default: 30,000.
   */
  maxRetryDelay?: number;
  /**
   * Time without a frame after which the server is pinged, and the timeout for the server's pong.
   * Default: 20,000.
   */
  heartbeat?: number;
  /**
   * The kinds of polls that the application can show: `choice`, `multi`, `words`, `text`, `scale`,
   * `rank`, `quiz`. The server sends no others, and adds their `settings`. By default, it sends
   * `choice` and `multi`.
   */
  pollKinds?: readonly string[];
  /** Maximum number of pending calls. The server accepts bursts of 300. Default: 200. */
  maxCalls?: number;
  /** Replaces the browser's `WebSocket`, or `ws` in Node.js. */
  WebSocket?: SocketClass;
  /** Receives errors that listeners throw, and errors that no caller can handle. Default: `console.error`. */
  onError?: (error: unknown) => void;
}

/** Options for a single call. */
export interface CallOptions {
  /** Timeout in milliseconds, including the wait for a connection. */
  timeout?: number;
}

/**
 * The part of a WebSocket that the client uses. As in browsers, code that awaits a response must
 * run before the next message is reported.
 */
export interface Socket {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onerror: ((event: object) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  send(text: string): void;
  close(code?: number): void;
}

/** A WebSocket constructor. */
export type SocketClass = new (url: string) => Socket;

const OPTIONS: object = {
  // If the peer is gone, the closing handshake would keep the process alive for 30 seconds by
  // default. Node.js's own WebSocket has no limit at all.
  closeTimeout: 1000,
  // As in browsers, each message is a separate event, and promises settle between two messages.
  // Otherwise, a push that arrives right after a response would overtake the response.
  allowSynchronousEvents: false,
};

/** Returns the browser's WebSocket class, or `ws` in Node.js. */
export async function socketClass(): Promise<SocketClass> {
  const { process, WebSocket } = globalThis as {
    process?: { versions?: { node?: string } };
    WebSocket?: unknown;
  };
  if (!process?.versions?.node) return WebSocket as SocketClass;
  const ws = await import("ws");
  const configured = class extends ws.WebSocket {
    constructor(url: string) {
      super(url, OPTIONS);
    }
  };
  return configured as unknown as SocketClass;
}

/** The client's own events. */
export interface ClientEvents {
  /** The user's view changed; `live.state` already has the new value. */
  "client.state": LiveState;
  /** The connection was lost, or could not be opened. The client will reconnect in `retryIn` milliseconds. */
  "client.disconnected": { error: LiveError; retryIn: number };
  /** A room was re-entered after a reconnection. */
  "client.room_restored": { room: string; viewers?: PublicUser[] };
  /** A room could not be re-entered after a reconnection. */
  "client.room_lost": { room: string; error: LiveError };
  /** The client has ended for good: it was closed, or the server refused it. */
  "client.closed": LiveError;
}

/** All events that can be listened to: the server's pushes, and the client's own events. */
export type LiveEvents = Pushes & ClientEvents;

/** The name of an event. Names that these types do not include are allowed, too. */
export type EventName = keyof LiveEvents | (string & {});

/** Receives an event's data. A listener may return a promise. */
export type Listener<N extends EventName> = (
  data: N extends keyof LiveEvents ? LiveEvents[N] : unknown,
) => unknown;

/** The listeners, by event. */
export class Listeners {
  readonly #byName = new Map<string, Set<(data: unknown) => unknown>>();
  readonly #report: (error: unknown) => void;

  /** @param report receives the errors that listeners throw. */
  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  /** @returns a function that removes the listener. */
  add(name: string, listener: (data: unknown) => unknown): () => void {
    // A wrapper, so that removing a function that was added twice removes it only once.
    const own = (data: unknown) => listener(data);
    const all = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, all.add(own));
    return () => {
      all.delete(own);
      if (all.size === 0 && this.#byName.get(name) === all) {
        this.#byName.delete(name);
      }
    };
  }

  /** Calls all listeners in order, even if one of them fails. */
  emit(name: string, data: unknown): void {
    for (const listener of [...(this.#byName.get(name) ?? [])]) {
      try {
        const outcome = listener(data);
        if (outcome instanceof Promise) outcome.catch(this.#report);
      } catch (error) {
        this.#report(error);
      }
    }
  }
}

/** The server, the world, and the caller's credentials. */
export interface Access {
  /** The URL of the server, such as `https://rooms.example.org`. */
  baseUrl: string;
  /** The id of the world. */
  world: string;
  /**
   * A JWT for the world, or a function that returns it. The function is called before each request
   * and each login.
   */
  token?: string | (() => string | Promise<string>);
  /** Identifies a guest without a token. The application chooses the id, and keeps the id for later visits. */
  clientId?: string;
  /**
   * The token in the `#invite=…` fragment of an invite link that admits people without an account. The token is
   * sent along with `clientId`. Only `Live` uses this option.
   */
  inviteToken?: string;
  /**
   * The profile of a guest whom the event does not know yet. Moderators see its `display_name` while
   * the guest waits for approval. Only `Live` uses this option.
   */
  profile?: Record<string, unknown>;
}

/** Returns the URL of the server without a trailing slash. */
export const baseOf = ({ baseUrl }: Access): string => baseUrl.replace(/(?<!\/)\/+$/, "");

/** Returns the current token, if there is one. */
export const tokenOf = async ({ token }: Access): Promise<string | undefined> =>
  typeof token === "function" ? await token() : token;
