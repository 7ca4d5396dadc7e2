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

/** The first and the longest delay before a call is repeated that the server had no capacity for. */
const RETRY_DELAY_MS = 1000;
const MAX_RETRY_DELAY_MS = 30_000;

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
  if (code === DOUBTFUL) await new Promise((done) => setTimeout(done, RETRY_DELAY_MS));
}

/** Whether a call that failed with this error waited for a connection, or for others, in vain. */
export const isUnsent = ({ code }: LiveError): boolean =>
  code === "client.unreachable" || code === "client.overloaded";

/** Whether it is of use to repeat a call that failed with this error. */
const isTransient = (error: LiveError): boolean =>
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
  for (let delay = RETRY_DELAY_MS; ; delay = Math.min(2 * delay, MAX_RETRY_DELAY_MS)) {
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

/**
 * A call failed, or the connection ended. `code` is the server's, or one of the
 * client's own:
 *
 * - `client.closed`: `close()` was called.
 * - `client.disconnected`: the connection broke while the call was under way. The server
 *   may or may not have executed it.
 * - `client.unreachable`: there is no connection. Nothing was sent.
 * - `client.timeout`: no answer came in time. The server may still execute the call.
 * - `client.overloaded`: too many calls are open. Nothing was sent.
 * - `client.canceled`: the program gave up a message before it was sent.
 * - `client.unconfirmed`: an earlier visit sent a message, and ended before the answer.
 * - `client.invalid_frame`: the server sent a frame outside the protocol.
 */
export class LiveError extends Error {
  /**
   * @param code the reason, as a word for programs.
   * @param message the reason, as a sentence; the code if the server gave none.
   * @param details the messages about submitted data by field, in dotted paths.
   * @param options.cause why the connection broke, if that is the reason.
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

/** An error as the server reports it. */
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

/** An error of the client itself. */
export const clientError = (reason: ClientReason, message: string, cause?: unknown): LiveError =>
  new LiveError(`client.${reason}`, message, {}, cause === undefined ? {} : { cause });

/** All times are in milliseconds. */
export interface LiveOptions extends Access {
  /** How long a call may take, and how long a login. Default: 15,000. */
  timeout?: number;
  /** The longest delay before the first reconnection; it doubles each time. Default: 1,000. */
  retryDelay?: number;
  /** The bound of that delay. A connection that lasted ten times as long as the next delay may be resets it. Default: 30,000. */
  maxRetryDelay?: number;
  /** After how long without a frame the server is pinged, and how long it may take to answer. Default: 20,000. */
  heartbeat?: number;
  /** How many calls may be open at once. The server takes bursts of 300. Default: 200. */
  maxCalls?: number;
  /** Used instead of the `WebSocket` of the browser, or of `ws` in Node.js. */
  WebSocket?: SocketClass;
  /** Takes the errors of listeners. Default: `console.error`. */
  onError?: (error: unknown) => void;
}

/** How a single call differs. */
export interface CallOptions {
  /** Within how many milliseconds it must be answered, the wait for a connection included. */
  timeout?: number;
}

/**
 * The part of a WebSocket that the client uses. As in browsers, code that awaits an answer
 * runs before the next message is reported.
 */
export interface Socket {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onerror: ((event: object) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  send(text: string): void;
  close(code?: number): void;
}

/** The class of a WebSocket. */
export type SocketClass = new (url: string) => Socket;

const OPTIONS: object = {
  // If the other side is gone, the closing handshake would keep the process alive for
  // 30 seconds by default. The WebSocket of Node.js has no bound at all.
  closeTimeout: 1000,
  // As in browsers, each message is an event of its own, and promises settle between
  // two. Otherwise, a push right behind an answer would overtake it.
  allowSynchronousEvents: false,
};

/** The WebSocket of a browser, or of `ws` in Node.js. */
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
  /** The user's view changed; `live.state` already has this value. */
  "client.state": LiveState;
  /** There is no connection; in `retryIn` milliseconds the client tries again. */
  "client.disconnected": { error: LiveError; retryIn: number };
  /** After a reconnection, a room was entered again. */
  "client.room_restored": { room: string; viewers?: PublicUser[] };
  /** After a reconnection, a room could not be entered again. */
  "client.room_lost": { room: string; error: LiveError };
  /** The client ended and stays away: it was closed, or the server turned it away. */
  "client.closed": LiveError;
}

/** All that can be listened to: the pushes of the server, and the client's own events. */
export type LiveEvents = Pushes & ClientEvents;

/** The name of an event; also of one that these types do not know. */
export type EventName = keyof LiveEvents | (string & {});

/** Takes the data of an event; it may return a promise. */
export type Listener<N extends EventName> = (
  data: N extends keyof LiveEvents ? LiveEvents[N] : unknown,
) => unknown;

/** The listeners, by event. */
export class Listeners {
  readonly #byName = new Map<string, Set<(data: unknown) => unknown>>();
  readonly #report: (error: unknown) => void;

  /** @param report receives the errors of listeners. */
  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  /** @returns ends it. */
  add(name: string, listener: (data: unknown) => unknown): () => void {
    // Of its own, so that a function that is added twice is removed once.
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

  /** Calls all listeners in their order. None of them can stop the others. */
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

/** The address of the server, and the caller. */
export interface Access {
  /** The address of the server, such as `https://rooms.example.org`. */
  baseUrl: string;
  /** The id of the world. */
  world: string;
  /** A JWT of the world. A function is called before each request and each login. */
  token?: string | (() => string | Promise<string>);
  /** Names a guest without a token. The client chooses the name and keeps it. */
  clientId?: string;
  /** Beside `clientId`: the token of a link for people without a name, such as `#invite=…`. Only for `Live`. */
  inviteToken?: string;
}

/** The address of the server without a slash at its end. */
export const baseOf = ({ baseUrl }: Access): string => baseUrl.replace(/(?<!\/)\/+$/, "");

/** The token of this moment, if there is one. */
export const tokenOf = async ({ token }: Access): Promise<string | undefined> =>
  typeof token === "function" ? await token() : token;
