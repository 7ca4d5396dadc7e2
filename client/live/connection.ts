import type { Authenticated, LiveProblem } from "../../schemas/live/index.js";
import { clientError, errorOf, LiveError } from "./error.js";
import type { Socket } from "./socket.js";

/** Takes the outcome of a call. */
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

export interface ConnectionOptions {
  /** The payload of `authenticate`. */
  login: object;
  /** Within how many milliseconds the login must succeed. */
  timeout: number;
  /** After how many quiet milliseconds the server is asked for a sign of life. */
  heartbeat: number;
}

/** Errors without an id after which the server serves this connection no more. */
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

  /** Drops the connection if the other side is gone without a word. */
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
