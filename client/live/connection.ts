import type { Authenticated, LiveProblem } from "../../schemas/live/index.js";
import {
  type Access,
  baseOf,
  clientError,
  errorOf,
  LiveError,
  type LiveOptions,
  type Socket,
  socketClass,
  tokenOf,
} from "./client.js";

/** Settles a call. */
export interface Settle {
  resolve: (result: unknown) => void;
  reject: (error: LiveError) => void;
}

/** Describes how a connection ended. */
export interface End {
  error: LiveError;
  /** The socket's close code; undefined if the client ended the connection. */
  code?: number;
  /** Time for which the connection was logged in, in milliseconds; undefined if the login never succeeded. */
  lasted?: number;
}

/** A connection's callbacks. `ended` is always the last call. */
export interface Reports {
  authenticated(state: Authenticated): void;
  pushed(name: string, data: unknown): void;
  ended(end: End): void;
}

interface ConnectionOptions {
  /** The payload of `authenticate`. */
  login: object;
  /** Timeout for the login, in milliseconds. */
  timeout: number;
  /** Time without a frame after which the server is pinged, in milliseconds. */
  heartbeat: number;
}

/** Whether an error without an id makes the connection useless. */
const isFatal = (code: string) =>
  code.startsWith("auth.") ||
  ["world.unknown_world", "connection.replaced", "server.fatal"].includes(code);

/** A single socket, from opening to close. The connection never opens a second socket. */
export class Connection {
  readonly #socket: Socket;
  readonly #reports: Reports;
  readonly #options: ConnectionOptions;
  readonly #open = new Map<number, Settle>();
  #lastId = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failure = "";
  #receivedAt = performance.now();
  #isPinged = false;
  #loggedInAt: number | undefined;
  #isOver = false;

  constructor(socket: Socket, options: ConnectionOptions, reports: Reports) {
    this.#socket = socket;
    this.#options = options;
    this.#reports = reports;
    const { login, timeout } = options;
    // The handlers are never removed, because ws throws errors that nothing handles.
    socket.onopen = () => {
      if (!this.#isOver) this.#send(["authenticate", login]);
    };
    socket.onerror = (event) => {
      const { message = "" } = event as { message?: string };
      this.#failure = message;
    };
    socket.onmessage = ({ data }) => {
      if (this.#isOver) return;
      try {
        this.#read(data);
      } catch (cause) {
        const message = "The server sent something that is not of its protocol.";
        this.end(clientError("invalid_frame", message, cause));
      }
    };
    socket.onclose = ({ code, reason }) => {
      const why = reason || this.#failure || `close code ${code}`;
      this.end(clientError("disconnected", `Disconnected: ${why}.`), code);
    };
    this.#timer = setTimeout(() => {
      const message = `The login took longer than ${timeout} ms.`;
      this.end(clientError("timeout", message));
    }, timeout);
  }

  /** Whether calls can be sent now. */
  get isReady(): boolean {
    return this.#loggedInAt !== undefined && !this.#isOver;
  }

  /**
   * Sends a command. `settle` is called as soon as the response arrives, and therefore before any
   * later push is reported.
   * @param payload JSON.
   * @returns a function that forgets the call, so that its response is ignored.
   */
  call(name: string, payload: string, settle: Settle): () => void {
    const id = ++this.#lastId;
    this.#open.set(id, settle);
    this.#socket.send(`[${JSON.stringify(name)},${id},${payload}]`);
    return () => void this.#open.delete(id);
  }

  /** Closes the connection, and rejects the calls in flight. */
  end(error: LiveError, code?: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#socket.close(1000);
    const message = `The connection broke before the answer: ${error.message}`;
    for (const { reject } of this.#open.values()) {
      reject(clientError("disconnected", message, error));
    }
    this.#open.clear();
    this.#reports.ended({
      error,
      ...(code !== undefined && { code }),
      ...(this.#loggedInAt !== undefined && { lasted: performance.now() - this.#loggedInAt }),
    });
  }

  #send(frame: unknown[]): void {
    this.#socket.send(JSON.stringify(frame));
  }

  #read(data: unknown): void {
    this.#receivedAt = performance.now();
    this.#isPinged = false;
    const frame = parse(data);
    const [name, id] = frame;
    const isAnswer = name === "success" || name === "error";
    if (isAnswer && frame.length === 3) {
      const settle = this.#open.get(id as number);
      if (!settle) return;
      this.#open.delete(id as number);
      if (name === "success") settle.resolve(frame[2]);
      else settle.reject(errorOf(frame[2] as LiveProblem));
    } else if (name === "authenticated") {
      this.#loggedInAt = performance.now();
      this.#watch(this.#options.heartbeat);
      this.#reports.authenticated(id as Authenticated);
    } else if (name !== "pong") {
      this.#reports.pushed(name, id);
      if (name === "error") this.#failed(id as LiveProblem);
      if (name === "connection.reload") {
        this.end(new LiveError(name, "The server asked for a new login."));
      }
    }
  }

  #failed(problem: LiveProblem): void {
    // Until the login succeeds, only the login can have failed.
    const isLogin = this.#loggedInAt === undefined;
    if (isLogin || isFatal(problem.code)) this.end(errorOf(problem));
  }

  /** Closes the connection if the server stops answering pings. */
  #watch(delay: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const { heartbeat } = this.#options;
      const quiet = performance.now() - this.#receivedAt;
      if (quiet < heartbeat) return this.#watch(heartbeat - quiet);
      // Timers fire late in hidden pages and on sleeping machines, so silence alone proves nothing:
      // always ping first.
      if (this.#isPinged) {
        const message = `The server did not answer a ping within ${heartbeat} ms.`;
        return this.end(clientError("disconnected", message));
      }
      this.#isPinged = true;
      this.#send(["ping", 0]);
      this.#watch(heartbeat);
    }, delay);
  }
}

/**
 * Parses a frame.
 * @throws {Error} if the data is not a valid frame.
 */
function parse(data: unknown): [string, unknown, unknown?] {
  const frame: unknown = JSON.parse(data as string);
  if (Array.isArray(frame) && typeof frame[0] === "string") {
    return frame as [string, unknown, unknown?];
  }
  throw new TypeError("A frame is a list that begins with a name.");
}

/** A link's callbacks. */
interface LinkHooks {
  /** A new connection is logged in. */
  authenticated(connection: Connection, answer: Authenticated): void;
  pushed(name: string, data: unknown): void;
  /** A connection, or an attempt to open one, has ended. */
  lost(): void;
  /** The next attempt begins in `retryIn` milliseconds. */
  waiting(error: LiveError, retryIn: number): void;
  /** No more attempts follow, because the server refused the client. */
  refused(error: LiveError): void;
}

/** Maintains a connection to the server: after a connection ends, opens a new connection with a delay. */
export class Link {
  readonly #url: string;
  readonly #access: Access;
  readonly #socketClass: LiveOptions["WebSocket"];
  readonly #pollKinds: readonly string[] | undefined;
  readonly #heartbeat: number;
  readonly #timeout: number;
  readonly #hooks: LinkHooks;
  readonly #retries: Retries;
  #connection: Connection | undefined;
  /** Timer for fetching a token, or for the delay before a reconnection. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastError: LiveError | undefined;
  #isOver = false;
  /** Whether the link is waiting to reconnect. */
  #isWaiting = false;

  /**
   * @param timeout the timeout for fetching a token, and also the timeout for a login, in
   * milliseconds.
   * @throws {TypeError} if `baseUrl` is not an HTTP or HTTPS URL.
   */
  constructor(options: LiveOptions, timeout: number, hooks: LinkHooks) {
    const { retryDelay = 1000, maxRetryDelay = 30_000, token } = options;
    const path = `/ws/world/${encodeURIComponent(options.world)}/`;
    this.#url = new URL(baseOf(options) + path).href.replace(/^http/, "ws");
    if (!/^wss?:/.test(this.#url)) {
      throw new TypeError(`A websocket cannot be at ${options.baseUrl}`);
    }
    this.#access = options;
    this.#socketClass = options.WebSocket;
    this.#pollKinds = options.pollKinds;
    this.#heartbeat = options.heartbeat ?? 20_000;
    this.#timeout = timeout;
    this.#hooks = hooks;
    const hasFreshTokens = typeof token === "function";
    this.#retries = new Retries(retryDelay, maxRetryDelay, hasFreshTokens);
  }

  /** The current connection, if it is ready for calls. */
  get ready(): Connection | undefined {
    return this.#connection?.isReady ? this.#connection : undefined;
  }

  /** The reason why the last connection ended or could not be opened. */
  get lastError(): LiveError | undefined {
    return this.#lastError;
  }

  /** Opens a connection. Failures are reported, never thrown. */
  async connect(): Promise<void> {
    try {
      const token = await this.#token();
      const Socket = this.#socketClass ?? (await socketClass());
      // The link may have been closed while the token was being fetched.
      if (this.#isOver) return;
      const { clientId, inviteToken, profile } = this.#access;
      const guest = {
        client_id: clientId,
        ...(profile && { profile }),
        ...(inviteToken !== undefined && { invite_token: inviteToken }),
      };
      const who = token === undefined ? guest : { token };
      const kinds = this.#pollKinds && { poll_kinds: this.#pollKinds };
      const connection = new Connection(
        new Socket(this.#url),
        {
          login: { ...who, changes: true, ...kinds },
          timeout: this.#timeout,
          heartbeat: this.#heartbeat,
        },
        {
          authenticated: (answer) => {
            this.#retries.loggedIn();
            this.#hooks.authenticated(connection, answer);
          },
          pushed: (name, data) => this.#hooks.pushed(name, data),
          ended: (end) => this.#disconnected(end),
        },
      );
      this.#connection = connection;
    } catch (cause) {
      const message = `Cannot connect: ${(cause as Error)?.message}`;
      this.#disconnected({ error: clientError("unreachable", message, cause) });
    }
  }

  /** Reconnects immediately instead of after the delay. */
  retryNow(): void {
    if (!this.#isWaiting) return;
    clearTimeout(this.#timer);
    this.#isWaiting = false;
    void this.connect();
  }

  /** Closes the connection for good. */
  end(error: LiveError): void {
    this.#isOver = true;
    this.#isWaiting = false;
    clearTimeout(this.#timer);
    this.#connection?.end(error);
  }

  async #token(): Promise<string | undefined> {
    const late = new Promise<never>((_, reject) => {
      const message = `There was no token within ${this.#timeout} ms.`;
      this.#timer = setTimeout(() => reject(new Error(message)), this.#timeout);
    });
    try {
      return await Promise.race([tokenOf(this.#access), late]);
    } finally {
      clearTimeout(this.#timer);
    }
  }

  #disconnected(end: End): void {
    this.#connection = undefined;
    this.#hooks.lost();
    if (this.#isOver) return;
    const { error } = end;
    this.#lastError = error;
    if (this.#retries.isOver(end)) return this.#hooks.refused(error);
    const retryIn = this.#retries.next(end);
    this.#isWaiting = true;
    this.#timer = setTimeout(() => this.retryNow(), retryIn);
    this.#hooks.waiting(error, retryIn);
  }
}

/** The close code that a restarting server sends. */
const SERVICE_RESTART = 1012;

/** A connection counts as stable if it lasted at least this many times as long as the next maximum delay. */
const STABLE_FACTOR = 10;

/** Decides whether and when to reconnect after a connection has ended. */
export class Retries {
  readonly #delay: number;
  readonly #maxDelay: number;
  readonly #hasFreshTokens: boolean;
  /** Number of consecutive attempts without a stable connection. */
  #failures = 0;
  /** Number of consecutive tokens that the server refused. */
  #refusals = 0;

  /**
   * @param delay the maximum delay before the first retry, in milliseconds.
   * @param maxDelay the upper bound of the doubling delay, in milliseconds.
   * @param hasFreshTokens whether the next login may use a different token.
   */
  constructor(delay: number, maxDelay: number, hasFreshTokens: boolean) {
    this.#delay = delay;
    this.#maxDelay = maxDelay;
    this.#hasFreshTokens = hasFreshTokens;
  }

  loggedIn(): void {
    this.#refusals = 0;
  }

  /** Whether to stop reconnecting, because another attempt would also fail, or would do harm. */
  isOver({ error: { code } }: End): boolean {
    switch (code) {
      // The network was too slow, or too many guests share the client's network address.
      case "auth.timeout":
      case "auth.too_many_guests":
        return false;
      case "auth.expired_token":
      case "auth.invalid_token":
        return !this.#hasFreshTokens || ++this.#refusals > 1;
      // If replaced clients reconnected, clients beyond the connection limit would replace each
      // other forever.
      case "connection.replaced":
      case "world.unknown_world":
      case "protocol.invalid_payload":
      case "profile.name_taken":
        return true;
      default:
        return code.startsWith("auth.");
    }
  }

  /**
   * Returns the delay in milliseconds: a random share of a maximum that doubles with each failure,
   * so that clients do not all reconnect simultaneously after an outage. A connection that lasted
   * {@link STABLE_FACTOR} times as long as the next maximum delay counts as a success. With a
   * smaller factor, if a server crashed every few seconds, all its clients would reconnect within
   * the initial maximum delay after every crash.
   */
  next({ code, lasted }: End): number {
    const isStable =
      lasted !== undefined &&
      (lasted >= Math.min(this.#maxDelay, STABLE_FACTOR * this.#longest()) ||
        code === SERVICE_RESTART);
    if (isStable) this.#failures = 0;
    const longest = this.#longest();
    this.#failures++;
    return Math.random() * longest;
  }

  #longest(): number {
    return Math.min(this.#maxDelay, this.#delay * 2 ** this.#failures);
  }
}
