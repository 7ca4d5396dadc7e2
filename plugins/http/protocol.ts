import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type {
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  preParsingHookHandler,
} from "fastify";
import fp from "fastify-plugin";
import { rememberAnswer } from "./connections.js";
import { Refusal } from "./errors.js";

// The rules of HTTP that Node.js and Fastify leave to the server, on any route.

/** Handles the events that Node.js would answer in a shape of its own. */
export default fp(
  async ({ server }) => {
    // By default Node.js silently drops headers after the first thousand, such as
    // an If-Match or a second Authorization. Their total size stays bounded.
    server.maxHeadersCount = 0;
    // Otherwise Node.js would ask for each body, also for one that is refused.
    server.on("checkContinue", (request: IncomingMessage, response) => {
      asking.add(response);
      server.emit("request", request, response);
    });
    // Without a listener Node.js answers 417. A server may ignore an unknown
    // expectation (RFC 9110, section 10.1.1).
    server.on("checkExpectation", (request: IncomingMessage, response) => {
      server.emit("request", request, response);
    });
  },
  { name: "protocol" },
);

/** Responses to requests that say `Expect: 100-continue`. */
const asking = new WeakSet<ServerResponse>();

/**
 * Answers `Expect: 100-continue` when the server is about to read the body. A
 * refused client then never sends it.
 */
export const askForBody: preParsingHookHandler = (_request, reply, payload, done) => {
  if (asking.has(reply.raw)) reply.raw.writeContinue();
  done(null, payload);
};

/**
 * Adds the headers that every answer carries: the id that finds it in the log,
 * and the one that keeps a browser from guessing another type.
 */
export function stamp(request: FastifyRequest, reply: FastifyReply): void {
  reply.header("x-request-id", request.id).header("x-content-type-options", "nosniff");
}

/** An id that is safe in the log and in a header. */
const SAFE_ID = /^[\w.:-]{1,128}$/;

/**
 * {@link stamp} as a hook. The id of a proxy that TRUST_PROXY names is kept, so that one
 * number finds the request in both logs.
 */
export const addHeaders: onRequestHookHandler = (request, reply, done) => {
  const given = request.headers["x-request-id"];
  if (typeof given === "string" && SAFE_ID.test(given)) {
    // The client is among these, after the proxies that are trusted.
    if ((request.ips?.length ?? 0) > 1) request.id = given;
  }
  stamp(request, reply);
  done();
};

/** The last three digits of 4096 ids. */
const LAST = Array.from({ length: 16 ** 3 }, (_, n) => n.toString(16).padStart(3, "0"));

/**
 * Makes request ids: UUIDs whose last three digits count. A random UUID for each
 * request costs 3 % of a read.
 */
export function requestIds(): () => string {
  let first = "";
  let count = 0;
  return () => {
    if (count === 0) first = randomUUID().slice(0, -3);
    const last = LAST[count]!;
    count = (count + 1) % LAST.length;
    return first + last;
  };
}

/**
 * Refuses a request whose target or sender is ambiguous. It also remembers the
 * request. It is synchronous: otherwise the parser would have moved on to the next one.
 */
export const refuseAmbiguous: onRequestHookHandler = ({ raw }, reply, done) => {
  rememberAnswer(raw.socket, reply.raw);
  done(faultOf(raw));
};

/** The fault in the headers of a request, on any route and of a websocket. */
export function faultOf({
  headers,
  httpVersionMinor,
  rawHeaders,
}: IncomingMessage): Refusal | undefined {
  const { host } = headers;
  const name = host === undefined && httpVersionMinor > 0 ? "Host" : repeated(rawHeaders);
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

/** A name or an IP address, with an optional port. */
const HOST = /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

/** The last valid host: most requests name the same. */
let lastHost = "";

/** Whether a text is a host name or an IP address, with an optional port. */
export function isHost(text: string): boolean {
  if (text === lastHost) return true;
  if (!HOST.test(text) || !URL.canParse(`http://${text}`)) return false;
  lastHost = text;
  return true;
}

/**
 * The path of a request whose target is in absolute form, the form for proxies. The host
 * of the target replaces the Host header (RFC 9112, section 3.2.2).
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

/** Answers 404 or 405 before the body is read. */
export const refuseUnrouted: onRequestHookHandler = (request, _reply, done) => {
  done(request.is404 ? unrouted(request) : undefined);
};

/** Why no route matches a request: the path is unknown (404), or has other methods (405). */
export function unrouted({ method, url, server }: FastifyRequest): Refusal {
  const [path = ""] = url.split("?", 1);
  const methods = server.supportedMethods.filter((method) => {
    const route = server.findRoute({ method, url: path });
    // `OPTIONS *` matches every path.
    return route !== null && !("*" in route.params);
  });
  if (methods.length === 0) return new Refusal(404, "Not found.");
  return new Refusal(405, `Method ${method} is not allowed here.`, {
    allow: methods.sort().join(", "),
  });
}
