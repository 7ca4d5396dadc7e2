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

/** How a connection ended. */
export interface End {
  error: LiveError;
  /** The close code of the server, if it closed the connection. */
  code?: number;
  /** For how many milliseconds it was logged in; undefined if it never was. */
  lasted?: number;
}

/** The events of a connection. None follows `ended`. */
export interface Reports {
  authenticated(state: Authenticated): void;
  pushed(name: string, data: unknown): void;
  ended(end: End): void;
}

interface ConnectionOptions {
  /** The payload of `authenticate`. */
  login: object;
  /** Within how many milliseconds the login must succeed. */
  timeout: number;
  /** After how many quiet milliseconds the server is asked for a sign of life. */
  heartbeat: number;
}

/** Errors without an id after which the connection is useless. */
const isFatal = (code: string) =>
  code.startsWith("auth.") ||
  ["world.unknown_world", "connection.replaced", "server.fatal"].includes(code);

/** One socket, from its opening to its end. It never opens another one. */
export class Connection {
  readonly #socket: Socket;
  readonly #reports: Reports;
  readonly #options: ConnectionOptions;
  readonly #open = new Map<number, Settle>();
  #lastId = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failure = "";
  #heardAt = performance.now();
  #isPinged = false;
  #loggedInAt: number | undefined;
  #isOver = false;

  constructor(socket: Socket, options: ConnectionOptions, reports: Reports) {
    this.#socket = socket;
    this.#options = options;
    this.#reports = reports;
    const { login, timeout } = options;
    // The handlers stay to the end: ws throws an unhandled error.
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
   * Sends a command. `settle` is called as soon as the answer is read, and so before
   * any later push is reported.
   * @param payload JSON.
   * @returns forgets the call: its answer is ignored.
   */
  call(name: string, payload: string, settle: Settle): () => void {
    const id = ++this.#lastId;
    this.#open.set(id, settle);
    this.#socket.send(`[${JSON.stringify(name)},${id},${payload}]`);
    return () => void this.#open.delete(id);
  }

  /** Closes the connection. Calls under way are rejected. */
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
    this.#heardAt = performance.now();
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
    // Before the login, there is nothing else that could have failed.
    const isLogin = this.#loggedInAt === undefined;
    if (isLogin || isFatal(problem.code)) this.end(errorOf(problem));
  }

  /** Closes the connection if the server stops answering pings. */
  #watch(delay: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const { heartbeat } = this.#options;
      const quiet = performance.now() - this.#heardAt;
      if (quiet < heartbeat) return this.#watch(heartbeat - quiet);
      // Timers of hidden pages and sleeping machines are late: it is asked in any case.
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

/** @throws {Error} if it is not a frame. */
function parse(data: unknown): [string, unknown, unknown?] {
  const frame: unknown = JSON.parse(data as string);
  if (Array.isArray(frame) && typeof frame[0] === "string") {
    return frame as [string, unknown, unknown?];
  }
  throw new TypeError("A frame is a list that begins with a name.");
}

/** The events of a link. */
interface LinkHooks {
  /** The client is logged in on a new connection. */
  authenticated(connection: Connection, answer: Authenticated): void;
  pushed(name: string, data: unknown): void;
  /** A connection, or an attempt to make one, has ended. */
  lost(): void;
  /** The next attempt begins in so many milliseconds. */
  waiting(error: LiveError, retryIn: number): void;
  /** There will be no other attempt, because the server turned the client away. */
  refused(error: LiveError): void;
}

/** Keeps a connection to the server: opens one after the other, with a pause in between. */
export class Link {
  readonly #url: string;
  readonly #access: Access;
  readonly #socketClass: LiveOptions["WebSocket"];
  readonly #heartbeat: number;
  readonly #timeout: number;
  readonly #hooks: LinkHooks;
  readonly #retries: Retries;
  #connection: Connection | undefined;
  /** Ends the wait for a token, or that before a reconnection. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastError: LiveError | undefined;
  #isOver = false;
  /** Whether the pause before a reconnection lasts. */
  #isWaiting = false;

  /**
   * @param timeout how long a token and a login may take each, in milliseconds.
   * @throws {TypeError} if `baseUrl` is not an address of the web.
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
    this.#heartbeat = options.heartbeat ?? 20_000;
    this.#timeout = timeout;
    this.#hooks = hooks;
    const hasFreshTokens = typeof token === "function";
    this.#retries = new Retries(retryDelay, maxRetryDelay, hasFreshTokens);
  }

  /** The present connection, if calls can be sent on it now. */
  get ready(): Connection | undefined {
    return this.#connection?.isReady ? this.#connection : undefined;
  }

  /** Why there is no connection. */
  get lastError(): LiveError | undefined {
    return this.#lastError;
  }

  /** Opens a connection. Failures are reported, never thrown. */
  async connect(): Promise<void> {
    try {
      const token = await this.#token();
      const Socket = this.#socketClass ?? (await socketClass());
      // It may have been closed while the token was on its way.
      if (this.#isOver) return;
      const { clientId, inviteToken } = this.#access;
      const guest = {
        client_id: clientId,
        ...(inviteToken !== undefined && { invite_token: inviteToken }),
      };
      const who = token === undefined ? guest : { token };
      const connection = new Connection(
        new Socket(this.#url),
        { login: { ...who, changes: true }, timeout: this.#timeout, heartbeat: this.#heartbeat },
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

  /** Opens a connection at once instead of after the pause. */
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

/** The close code of a server that restarts. */
const SERVICE_RESTART = 1012;

/** How many times the longest next delay a connection has to last to count as a success. */
const STABLE_FACTOR = 10;

/** Decides whether to connect again after a connection ended, and when. */
export class Retries {
  readonly #delay: number;
  readonly #maxDelay: number;
  readonly #hasFreshTokens: boolean;
  /** How many attempts in a row failed to make a stable connection. */
  #failures = 0;
  /** How many tokens in a row the server refused. */
  #refusals = 0;

  /**
   * @param delay the longest delay before the first try, in milliseconds.
   * @param maxDelay the bound of the doubling, in milliseconds.
   * @param hasFreshTokens whether the next login may have another token.
   */
  constructor(delay: number, maxDelay: number, hasFreshTokens: boolean) {
    this.#delay = delay;
    this.#maxDelay = maxDelay;
    this.#hasFreshTokens = hasFreshTokens;
  }

  loggedIn(): void {
    this.#refusals = 0;
  }

  /** Whether to stop: another attempt would fail again, or would do harm. */
  isOver({ error: { code } }: End): boolean {
    switch (code) {
      // The network was too slow, or too many guests share its address.
      case "auth.timeout":
      case "auth.too_many_guests":
        return false;
      case "auth.expired_token":
      case "auth.invalid_token":
        return !this.#hasFreshTokens || ++this.#refusals > 1;
      // Two clients beyond the limit would replace each other forever.
      case "connection.replaced":
      case "world.unknown_world":
      case "protocol.invalid_payload":
        return true;
      default:
        return code.startsWith("auth.");
    }
  }

  /**
   * How many milliseconds to wait: a random share of a time that doubles with each
   * failure, so that the clients of a server that was down do not come at once. A connection
   * that lasted {@link STABLE_FACTOR} times as long as the next delay may be counts as a success. If it were less, the clients of
   * a server that ends every few seconds would all come back within the shortest delay, each time.
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
