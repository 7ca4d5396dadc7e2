import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import fp from "fastify-plugin";
import { isHost } from "./address.js";
import { problemOf, Refusal } from "./errors.js";

// What HTTP asks of a server where its parser leaves off.

/** On a socket: the answer to the last request that was understood. */
const kLast = Symbol("last answer");

type Connection = Socket & { [kLast]?: ServerResponse };

/** The answer to the last request of a connection that was understood, under way or sent. */
export const lastAnswer = (socket: Connection): ServerResponse | undefined =>
  socket[kLast];

/** Connections that end, with what is still to be said. */
const ending = new WeakSet<Socket>();

/** Refuses requests that name their target or sender ambiguously, and remembers which request of a connection came last. */
export default fp(
  async (app) => {
    // By default Node.js drops headers beyond the thousandth without a word: an
    // If-Match, or a second Authorization. Their size is bounded all the same.
    app.server.maxHeadersCount = 0;

    // No asynchronous hook: the parser would be at the next request by then.
    app.addHook("onRequest", ({ raw }, reply, done) => {
      (raw.socket as Connection)[kLast] = reply.raw;
      done(faultOf(raw));
    });

    // The parser would answer in a shape of its own. An expectation that
    // nobody knows may be passed over (RFC 9110, section 10.1.1).
    app.server.on(
      "checkExpectation",
      (request: IncomingMessage, response: ServerResponse) => {
        app.server.emit("request", request, response);
      },
    );

    // This is no proxy. Without a listener the connection ends at once, and
    // takes with it what is not answered yet.
    app.server.on("connect", (_request: IncomingMessage, socket: Socket) => {
      socket.on("error", () => socket.destroy());
      endAfterAll(socket, "400 Bad Request");
    });
  },
  { name: "wire" },
);

/** What is wrong with the headers of a request, whatever it asks for. */
function faultOf({
  headers: { host },
  httpVersionMinor,
  rawHeaders,
}: IncomingMessage): Refusal | undefined {
  const name =
    host === undefined && httpVersionMinor > 0 ? "Host" : repeated(rawHeaders);
  if (name !== undefined) {
    return new Refusal(400, `There must be one ${name} header.`);
  }
  // RFC 9112, section 3.2. An empty one only means that there is no link.
  if (host && !isHost(host)) {
    return new Refusal(400, "The Host header is not a host name.");
  }
  return undefined;
}

/** Of these the parser takes the first, where a proxy may have taken the last. */
const ONCE = ["host", "content-type", "authorization"];

/** A header that may come once and comes twice. */
function repeated(rawHeaders: readonly string[]): string | undefined {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    // Few names are as long as one of these.
    if (!ONCE.some(({ length }) => length === name.length)) continue;
    const index = ONCE.indexOf(name.toLowerCase());
    if (index < 0) continue;
    if (seen & (1 << index)) return name;
    seen |= 1 << index;
  }
  return undefined;
}

/**
 * The path of a target in absolute form, as proxies are sent one. Its host is
 * the host of the request, whatever the header says (RFC 9112, section 3.2.2).
 */
export function originForm({
  url = "/",
  headers,
}: {
  url?: string | undefined;
  headers: { host?: string | undefined };
}): string {
  if (url.startsWith("/")) return url;
  const [, host, rest = ""] = /^https?:\/\/([^/?#]*)(.*)/is.exec(url) ?? [];
  if (host === undefined) return url;
  headers.host = host;
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/**
 * What is not even HTTP gets its error in the shape of all others, after the
 * answers to what came before it on the same connection, and in place of none.
 */
export function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  endAfterAll(socket, statusOf(error));
}

function endAfterAll(socket: Socket, status: string): void {
  // The parser fails again with whatever else comes.
  if (ending.has(socket)) return;
  ending.add(socket);
  whenItsTurn(socket, () => end(socket, status));
}

function whenItsTurn(socket: Connection, act: () => void): void {
  const before = lastAnswer(socket);
  if (!before || before.writableFinished) act();
  // It came whole, or needed no more to be answered.
  else if (before.req.complete || before.writableEnded) {
    before.once("finish", act);
  }
  // Broken off, and behind others that are not answered yet.
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
  const body = JSON.stringify(
    problemOf(Number(status.slice(0, 3)), `${status.slice(4)}.`),
  );
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: ${randomUUID()}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}
