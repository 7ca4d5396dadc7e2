import type { Authenticated } from "../../schemas/live/index.js";
import { baseOf, tokenOf, type Access } from "../access.js";
import { Connection, type End } from "./connection.js";
import { clientError, type LiveError } from "./error.js";
import type { LiveOptions } from "./options.js";
import { Retries } from "./retries.js";
import { socketClass } from "./socket.js";

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
