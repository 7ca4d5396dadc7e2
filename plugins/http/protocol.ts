import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import fp from "fastify-plugin";
import { isHost } from "./base-url.js";
import { problemOf, Refusal } from "./errors.js";

// The rules of HTTP that the parser of Node.js leaves to the server.

/** On a socket: the answer to its last request that parsed. */
const kLast = Symbol("last answer");

type Connection = Socket & { [kLast]?: ServerResponse };

/** The answer to the last request of a connection that parsed, finished or not. */
export const lastAnswer = (socket: Connection): ServerResponse | undefined =>
  socket[kLast];

/** Connections that end after the answers they still owe. */
const ending = new WeakSet<Socket>();

/** Refuses requests whose target or sender is ambiguous, and remembers the last request of each connection. */
export default fp(
  async (app) => {
    // By default Node.js silently drops headers after the first thousand, such as
    // an If-Match or a second Authorization. Their total size stays bounded.
    app.server.maxHeadersCount = 0;

    // Synchronous: otherwise the parser would be at the next request by then.
    app.addHook("onRequest", function refuseAmbiguous({ raw }, reply, done) {
      (raw.socket as Connection)[kLast] = reply.raw;
      done(faultOf(raw));
    });

    // Without a listener Node.js answers 417 in a shape of its own. A server may
    // ignore an unknown expectation (RFC 9110, section 10.1.1).
    app.server.on(
      "checkExpectation",
      (request: IncomingMessage, response: ServerResponse) => {
        app.server.emit("request", request, response);
      },
    );

    // This server is no proxy. Without a listener Node.js would close the
    // connection at once, and lose the answers that it still owes.
    app.server.on("connect", (_request: IncomingMessage, socket: Socket) => {
      socket.on("error", () => socket.destroy());
      endAfterAll(socket, "400 Bad Request");
    });
  },
  { name: "protocol" },
);

/** What is wrong with the headers of a request, on any route. */
function faultOf({
  headers,
  httpVersionMinor,
  rawHeaders,
}: IncomingMessage): Refusal | undefined {
  const { host } = headers;
  const name =
    host === undefined && httpVersionMinor > 0 ? "Host" : repeated(rawHeaders);
  if (name !== undefined) {
    return new Refusal(400, `There must be one ${name} header.`);
  }
  // RFC 9112, section 3.2. An empty Host is valid; only links cannot be made of it.
  if (host && !isHost(host)) {
    return new Refusal(400, "The Host header is not a host name.");
  }
  // RFC 9112, section 6.1. A compressed body would be read as if it were plain.
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && !/^chunked$/i.test(coding)) {
    return new Refusal(415, "The only Transfer-Encoding is chunked.");
  }
  return undefined;
}

/** The parser takes the first of these; a proxy may have taken the last. */
const ONCE = ["host", "content-type", "authorization"];

/** The name of a header that may come once and came twice. */
function repeated(rawHeaders: readonly string[]): string | undefined {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    // The length rules out most names without a new string.
    if (!ONCE.some(({ length }) => length === name.length)) continue;
    const index = ONCE.indexOf(name.toLowerCase());
    if (index < 0) continue;
    if (seen & (1 << index)) return name;
    seen |= 1 << index;
  }
  return undefined;
}

/**
 * The path of a request whose target is in absolute form, as clients send it to
 * proxies. The host of the target replaces the Host header (RFC 9112, section 3.2.2).
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
 * Answers what the parser cannot read in the shape of all other errors, after
 * the answers to earlier requests of the same connection.
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
  // The parser reports each further chunk of the same connection, too.
  if (ending.has(socket)) return;
  ending.add(socket);
  whenItsTurn(socket, () => end(socket, status));
}

function whenItsTurn(socket: Connection, act: () => void): void {
  const before = lastAnswer(socket);
  if (!before) act();
  else if (before.writableFinished) {
    // The error belongs to the rest of a request that was answered already.
    if (before.req.complete) act();
    else socket.end();
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
  const body = JSON.stringify(
    problemOf(Number(status.slice(0, 3)), `${status.slice(4)}.`),
  );
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: ${randomUUID()}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}
