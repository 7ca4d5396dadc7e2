import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { onRequestHookHandler } from "fastify";
import fp from "fastify-plugin";
import { problemOf, Refusal } from "./errors.js";

// A connection gets its answers, each in its turn, even if the next bytes are not HTTP,
// or the server stops.

declare module "fastify" {
  interface FastifyInstance {
    /** Whether the server is stopping. */
    readonly draining: boolean;
    /**
     * Refuses new requests, and waits for those in flight.
     * @param deadline after how many milliseconds it stops waiting.
     */
    drain(deadline: number): Promise<void>;
    /** Adds work to {@link drain}, which gets the same deadline and waits no longer for it. */
    whenDraining(work: (deadline: number) => Promise<void>): void;
    /** Ends connections whose client takes nothing of an answer. */
    readonly stalls: Stalls;
  }
}

/** On a socket: the answer to its last request that parsed. */
const kLast = Symbol("last answer");

type Connection = Socket & { [kLast]?: ServerResponse };

/** Remembers the answer to the last request of a connection that parsed, finished or not. */
export function rememberAnswer(socket: Connection, answer: ServerResponse): void {
  socket[kLast] = answer;
}

/** A signal that aborts when a response was sent, or its client is gone. */
export function clientGone(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  response.once("close", () => controller.abort());
  return controller.signal;
}

/** How many requests of one connection may wait behind the one in progress. */
const MAX_WAITING = 100;

/** Responses to requests that were waiting before the server was asked to stop. */
const waitedBeforeStop = new WeakSet<ServerResponse>();

/** The responses that wait for their turn, by connection. */
const queues = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Starts a request only after every earlier one of its connection is answered.
 *
 * Clients may send requests without waiting for answers (RFC 9112, section 9.3.2).
 * Node.js hands over all of them at once. But if the connection ends, it never emits
 * `close` on the response of a request that waits, so whatever that request holds
 * would leak. Therefore a request starts, and takes resources, only in its turn. It
 * then also sees the changes that earlier requests made.
 */
export const awaitTurn: onRequestHookHandler = (request, reply, done) => {
  const answer = reply.raw;
  // Node.js assigns the socket to a response when its turn comes.
  if (answer.socket !== null) return done();
  const queue = queueOf(request.raw.socket);
  if (queue.size >= MAX_WAITING) {
    const headers = { "retry-after": "1" };
    const detail = "Too many requests wait on this connection.";
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

/** Whether an application of this process is stopping. Each request reads it, as it is cheaper than `app.draining`. */
let stopping = false;

/** Answers 503 while the server stops. */
export const refuseWhileStopping: onRequestHookHandler = (request, reply, done) => {
  if (!stopping || !request.server.draining) return done();
  if (waitedBeforeStop.has(reply.raw)) return done();
  reply.header("connection", "close");
  if (request.routeOptions.url === "/healthz") return done();
  const headers = { "retry-after": "5" };
  done(new Refusal(503, "The server is stopping.", headers));
};

/**
 * Provides `app.drain`, and ends every connection when the server closes.
 * @param options.closeTimeout how long `close` waits for requests in flight without an
 *   earlier `drain`, in milliseconds.
 */
export default fp<{ closeTimeout: number }>(
  async (app, { closeTimeout }) => {
    let draining = false;
    let closing = false;
    app.decorate("draining", { getter: () => draining });

    // Requests in flight are counted only when a stop asks for them: a counter
    // would cost each read 2 to 3 %. Upgraded sockets are among the connections:
    // they owe no answer, so nothing waits for them, and they end with the others.
    const connections = new Set<Socket>();
    // One for all: `once` would keep three objects for each.
    function forget(this: Socket) {
      connections.delete(this);
    }
    app.server.on("connection", (socket: Socket) => {
      if (closing) {
        socket.destroy();
        return;
      }
      // A connection that an offer to upgrade did not take elsewhere comes twice.
      if (connections.has(socket)) return;
      connections.add(socket);
      socket.on("close", forget);
    });

    const stalls = new Stalls(connections, owesAnswer);
    app.decorate("stalls", stalls);
    const looking = setInterval(() => stalls.look(), STALL_CHECK_INTERVAL_MS).unref();
    app.addHook("onClose", async () => clearInterval(looking));

    // This server is no proxy. Without a listener Node.js would close the
    // connection at once, and lose the answers that it still owes.
    app.server.on("connect", (_request: unknown, socket: Socket) => {
      socket.on("error", () => socket.destroy());
      endAfterAll(socket, "400 Bad Request");
    });

    const works: ((deadline: number) => Promise<void>)[] = [];
    app.decorate("whenDraining", (work) => void works.push(work));
    app.decorate("drain", async (deadline: number) => {
      draining = true;
      stopping = true;
      // This timer must not keep the process from ending.
      const timeout = delay(deadline, undefined, { ref: false });
      const inFlight = [...connections].filter(owesAnswer).map(settled);
      const ends = [...inFlight, ...works.map((work) => work(deadline))];
      await Promise.race([Promise.allSettled(ends), timeout]);
    });

    // The server closes after its last connection. A client that sends nothing,
    // or half a request, could keep one open for minutes.
    app.addHook("preClose", async () => {
      if (!draining) await app.drain(closeTimeout);
      closing = true;
      for (const socket of connections) socket.destroy();
    });
  },
  { name: "connections" },
);

/** Whether a connection waits for an answer. */
const owesAnswer = (socket: Connection): boolean => socket[kLast]?.writableFinished === false;

/** Resolves when a connection has no unfinished answer, or is closed. */
async function settled(socket: Connection): Promise<void> {
  // The answers of a connection leave in order: after the last one, none is owed.
  const answer = socket[kLast]!;
  // An answer that waits behind another one has no socket yet, and gets no event when
  // the connection closes.
  await Promise.race([once(answer, "close"), once(socket, "close")]);
}

/**
 * Answers bytes that the parser cannot read. The answer has the shape of all other errors,
 * and comes after the answers to earlier requests of the connection.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  endAfterAll(socket, statusOf(error));
}

/** Connections that end after the answers they still owe. */
const ending = new WeakSet<Socket>();

function endAfterAll(socket: Socket, status: string): void {
  // The parser reports each further chunk of the same connection, too.
  if (ending.has(socket)) return;
  ending.add(socket);
  whenItsTurn(socket, () => end(socket, status));
}

/** Acts once every earlier request of a connection is answered, or may never be. */
export function whenItsTurn(socket: Connection, act: () => void): void {
  const before = socket[kLast];
  if (!before) act();
  else if (before.writableFinished) {
    // The error belongs to the rest of a request that was answered already.
    if (!before.req.complete) endWith(socket);
    // Node.js frees the connection for another answer when it emits `finish`.
    else if (before.socket) before.once("finish", act);
    else act();
  }
  // The request is complete, or its answer did not need the rest.
  else if (before.req.complete || before.writableEnded) {
    before.once("finish", act);
  }
  // The request broke off, and waits behind others without an answer.
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

/** How long a client may keep a connection after its last answer, in milliseconds. */
const LINGER_MS = 3000;

/** Ends a connection with its last answer, also if the client keeps its side open. */
export function endWith(socket: Duplex, answer = ""): void {
  socket.end(answer);
  // Only a server that reads sees the client end the connection. Unread bytes would
  // also make the system reset it, and the client would lose the answer.
  socket.resume();
  const timeout = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once("close", () => clearTimeout(timeout));
}

/** How long a client may take nothing while something waits for it, in milliseconds. */
const STALL_TIMEOUT_MS = 30_000;

/** How often {@link Stalls.look} is called, in milliseconds. */
export const STALL_CHECK_INTERVAL_MS = 5000;

/** The progress of a connection that has unsent data. */
interface Stall {
  /** How much the system had left to send. */
  left: number;
  /** In how many looks that has not changed. */
  looks: number;
}

/**
 * How much the system has left to send of the present write; 0 if nothing waits, and NaN if that
 * is not known.
 */
export function leftOf(socket: Socket): number {
  if (socket.destroyed || socket.writableLength === 0) return 0;
  // Data behind the present write counts when it is written. Node.js looks at the
  // same number to tell whether a socket is idle.
  const { _handle } = socket as unknown as {
    _handle?: { writeQueueSize?: number };
  };
  return _handle?.writeQueueSize || NaN;
}

/** Ends connections whose client takes nothing of an answer: what waits for them is in memory. */
class Stalls {
  readonly #stalls = new WeakMap<Socket, Stall>();

  /**
   * @param connections of the server.
   * @param isOwed whether a connection waits for an answer.
   */
  constructor(
    private readonly connections: Iterable<Socket>,
    private readonly isOwed: (socket: Socket) => boolean,
  ) {}

  /**
   * Ends connections that take nothing. It counts its calls, as the clock also goes on while
   * the process is suspended.
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
