import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { onRequestHookHandler } from "fastify";
import fp from "fastify-plugin";
import { problemOf, Refusal } from "./errors.js";

// Pipelined responses are always sent in order, even if a later request is malformed or the server
// is shutting down.

declare module "fastify" {
  interface FastifyInstance {
    /** Whether the server is shutting down. */
    readonly draining: boolean;
    /**
     * Rejects new requests, and waits for requests in flight.
     * @param deadline the maximum wait, in milliseconds.
     */
    drain(deadline: number): Promise<void>;
    /** Adds work that {@link drain} starts and waits for. The work receives the same deadline. */
    whenDraining(work: (deadline: number) => Promise<void>): void;
    /** Closes connections whose client has stopped reading a response. */
    readonly stalls: Stalls;
  }
}

/** Property of a socket: the response to the last successfully parsed request. */
const kLast = Symbol("last answer");

type Connection = Socket & { [kLast]?: ServerResponse };

/** Records the response to a connection's last successfully parsed request, finished or not. */
export function rememberAnswer(socket: Connection, answer: ServerResponse): void {
  socket[kLast] = answer;
}

/** Returns a signal that aborts when the response has been sent or the client has disconnected. */
export function clientGone(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  response.once("close", () => controller.abort());
  return controller.signal;
}

/** Maximum number of requests queued behind the current request, per connection. */
const MAX_WAITING = 100;

/** Responses to requests that were already queued when the shutdown began. */
const waitedBeforeStop = new WeakSet<ServerResponse>();

/** Queued responses, by connection. */
const queues = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Starts a request only after all earlier requests on its connection have received their responses.
 *
 * Clients may send requests without waiting for responses (RFC 9112, section 9.3.2), and Node.js
 * dispatches all of them immediately. If the connection ends, however, Node.js never emits `close`
 * on the response to a queued request, so any resources held by that request would leak. Requests
 * therefore start, and allocate resources, only in turn. Each request then also sees the changes
 * made by earlier requests.
 */
export const awaitTurn: onRequestHookHandler = (request, reply, done) => {
  const answer = reply.raw;
  // Node.js assigns the socket to a response when its turn arrives.
  if (answer.socket !== null) return done();
  const queue = queueOf(request.raw.socket);
  if (queue.size >= MAX_WAITING) {
    const headers = { "retry-after": "1" };
    const detail = "Too many requests are waiting on this connection.";
    return done(new Refusal(429, detail, headers));
  }
  queue.add(answer);
  if (!request.server.draining) waitedBeforeStop.add(answer);
  answer.once("socket", () => {
    queue.delete(answer);
    done();
  });
};

function queueOf(socket: Socket): Set<ServerResponse> {
  let queue = queues.get(socket);
  if (queue) return queue;
  queue = new Set();
  queues.set(socket, queue);
  socket.once("close", () => {
    for (const answer of queue) answer.destroy().emit("close");
  });
  return queue;
}

/**
 * Whether any application in this process is shutting down. Cheaper to read than `app.draining`,
 * which matters because every request reads this flag.
 */
let stopping = false;

/** Responds with 503 while the server is shutting down. */
export const refuseWhileStopping: onRequestHookHandler = (request, reply, done) => {
  if (!stopping || !request.server.draining) return done();
  if (waitedBeforeStop.has(reply.raw)) return done();
  reply.header("connection", "close");
  if (request.routeOptions.url === "/healthz") return done();
  const headers = { "retry-after": "5" };
  done(new Refusal(503, "The server is stopping.", headers));
};

/**
 * Provides `app.drain`, and closes all connections when the server closes.
 * @param options.closeTimeout maximum time that `close` waits for requests in flight if `drain` has
 * not been called, in milliseconds.
 */
export default fp<{ closeTimeout: number }>(
  async (app, { closeTimeout }) => {
    let draining = false;
    let closing = false;
    app.decorate("draining", { getter: () => draining });

    // Requests in flight are counted only on shutdown, because a running counter would make each
    // read 2 to 3 % slower. `connections` includes upgraded sockets. An upgraded socket has no
    // pending response, so `drain` does not wait for it, and it is closed along with all other
    // sockets.
    const connections = new Set<Socket>();
    // All sockets share this function, because `once` would keep three objects per socket.
    function forget(this: Socket) {
      connections.delete(this);
    }
    app.server.on("connection", (socket: Socket) => {
      if (closing) {
        socket.destroy();
        return;
      }
      // Node.js emits a connection a second time if an upgrade offer was declined.
      if (connections.has(socket)) return;
      connections.add(socket);
      socket.on("close", forget);
    });

    const stalls = new Stalls(connections, owesAnswer);
    app.decorate("stalls", stalls);
    const looking = setInterval(() => stalls.look(), STALL_CHECK_INTERVAL_MS).unref();
    app.addHook("onClose", async () => clearInterval(looking));

    // This server is not a proxy, so it rejects CONNECT. Without a listener, Node.js would close
    // the connection immediately and lose pending responses.
    app.server.on("connect", (_request: unknown, socket: Socket) => {
      socket.on("error", () => socket.destroy());
      endAfterAll(socket, "400 Bad Request");
    });

    const works: ((deadline: number) => Promise<void>)[] = [];
    app.decorate("whenDraining", (work) => void works.push(work));
    app.decorate("drain", async (deadline: number) => {
      draining = true;
      stopping = true;
      // The timer must not keep the process alive.
      const timeout = delay(deadline, undefined, { ref: false });
      const inFlight = [...connections].filter(owesAnswer).map(settled);
      const ends = [...inFlight, ...works.map((work) => work(deadline))];
      await Promise.race([Promise.allSettled(ends), timeout]);
    });

    // The server does not close until its last connection has ended, and an idle client or an
    // incomplete request could keep a connection open for minutes.
    app.addHook("preClose", async () => {
      if (!draining) await app.drain(closeTimeout);
      closing = true;
      for (const socket of connections) socket.destroy();
    });
  },
  { name: "connections" },
);

/** Whether a connection has a pending response. */
const owesAnswer = (socket: Connection): boolean => socket[kLast]?.writableFinished === false;

/** Resolves when a connection has no pending response, or is closed. */
async function settled(socket: Connection): Promise<void> {
  // Responses are sent in order, so no response is pending once the last response has been sent.
  const answer = socket[kLast]!;
  // A queued response has no socket yet, and receives no event when the connection closes.
  await Promise.race([once(answer, "close"), once(socket, "close")]);
}

/**
 * Responds to bytes that the parser rejects. The response is formatted like all other errors, and
 * is sent after the responses to earlier requests on the connection.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  endAfterAll(socket, statusOf(error));
}

/** Connections to close after their pending responses. */
const ending = new WeakSet<Socket>();

function endAfterAll(socket: Socket, status: string): void {
  // The parser also reports every later chunk on the same connection.
  if (ending.has(socket)) return;
  ending.add(socket);
  whenItsTurn(socket, () => end(socket, status));
}

/**
 * Calls `act` once all earlier requests on a connection have received responses, or can no longer
 * receive responses.
 */
export function whenItsTurn(socket: Connection, act: () => void): void {
  const before = socket[kLast];
  if (!before) act();
  else if (before.writableFinished) {
    // The error is in the remainder of a request whose response has already been sent.
    if (!before.req.complete) endWith(socket);
    // Node.js releases the connection for the next response when it emits `finish`.
    else if (before.socket) before.once("finish", act);
    else act();
  }
  // The request is complete, or its response ended before the whole request arrived.
  else if (before.req.complete || before.writableEnded) {
    before.once("finish", act);
  }
  // The request was cut off, and is queued behind requests that have no response yet.
  else if (!before.socket) {
    before.once("socket", () => whenItsTurn(socket, act));
  } else if (before.headersSent) socket.destroy();
  else act();
}

function statusOf({ code }: { code?: string }): string {
  if (code === "HPE_HEADER_OVERFLOW") {
    return "431 Request Header Fields Too Large";
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "408 Request Timeout";
  return "400 Bad Request";
}

function end(socket: Socket, status: string): void {
  const body = JSON.stringify(problemOf(Number(status.slice(0, 3)), `${status.slice(4)}.`));
  endWith(
    socket,
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: ${randomUUID()}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}

/** Maximum time a client may keep a connection open after its last response, in milliseconds. */
const LINGER_MS = 3000;

/** Ends a connection after a final response, even if the client keeps its side open. */
export function endWith(socket: Duplex, answer = ""): void {
  socket.end(answer);
  // The server must keep reading to notice that the client has closed the connection. Unread bytes
  // would also cause a TCP reset, and the client would lose the response.
  socket.resume();
  const timeout = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once("close", () => clearTimeout(timeout));
}

/** Maximum time without progress while data is waiting for a client, in milliseconds. */
const STALL_TIMEOUT_MS = 30_000;

/** Interval between calls of {@link Stalls.look}, in milliseconds. */
export const STALL_CHECK_INTERVAL_MS = 5000;

/** The progress of a connection that has unsent data. */
interface Stall {
  /** Number of bytes that the system still had to send at the last check. */
  left: number;
  /** Number of consecutive checks without progress. */
  looks: number;
}

/**
 * Returns the number of bytes that the system has yet to send for the current write; 0 if nothing
 * is waiting, and NaN if unknown.
 */
export function leftOf(socket: Socket): number {
  if (socket.destroyed || socket.writableLength === 0) return 0;
  // Data queued behind the current write counts only once it is being written. Node.js uses the
  // same number to detect idle sockets.
  const { _handle } = socket as unknown as {
    _handle?: { writeQueueSize?: number };
  };
  return _handle?.writeQueueSize || NaN;
}

/** Closes connections whose client has stopped reading, because unsent data is held in memory. */
class Stalls {
  readonly #stalls = new WeakMap<Socket, Stall>();

  /**
   * @param connections the server's connections.
   * @param isOwed whether a connection has a pending response.
   */
  constructor(
    private readonly connections: Iterable<Socket>,
    private readonly isOwed: (socket: Socket) => boolean,
  ) {}

  /**
   * Closes stalled connections. Counts calls rather than time, because the clock keeps running
   * while the process is suspended.
   */
  look(): void {
    for (const socket of this.connections) {
      if (!this.isOwed(socket)) continue;
      const left = leftOf(socket);
      const stall = this.#stalls.get(socket);
      if (left === 0) this.#stalls.delete(socket);
      else if (stall?.left !== left) {
        this.#stalls.set(socket, { left, looks: 0 });
      } else if (++stall.looks * STALL_CHECK_INTERVAL_MS >= STALL_TIMEOUT_MS) {
        socket.destroy();
      }
    }
  }
}
