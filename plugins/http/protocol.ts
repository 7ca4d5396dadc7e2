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

// HTTP rules that Node.js and Fastify leave to the server, for all routes.

/** Handles events to which Node.js would otherwise respond in its own format. */
export default fp(
  async ({ server }) => {
    // By default, Node.js silently drops headers after the first thousand, which might include
    // If-Match or a second Authorization. The headers' total size remains limited.
    server.maxHeadersCount = 0;
    // Without this listener, Node.js would request every body, even for rejected requests.
    server.on("checkContinue", (request: IncomingMessage, response) => {
      asking.add(response);
      server.emit("request", request, response);
    });
    // Without a listener, Node.js responds with 417. A server may ignore an unknown expectation
    // (RFC 9110, section 10.1.1).
    server.on("checkExpectation", (request: IncomingMessage, response) => {
      server.emit("request", request, response);
    });
  },
  { name: "protocol" },
);

/** Responses to requests with `Expect: 100-continue`. */
const asking = new WeakSet<ServerResponse>();

/**
 * Confirms `Expect: 100-continue` when the server is about to read the body. A client whose request
 * is rejected therefore never sends the body.
 */
export const askForBody: preParsingHookHandler = (_request, reply, payload, done) => {
  if (asking.has(reply.raw)) reply.raw.writeContinue();
  done(null, payload);
};

/**
 * Adds the headers that every response has: the request's id, for finding the request in the log,
 * and the header that prevents MIME sniffing.
 */
export function stamp(request: FastifyRequest, reply: FastifyReply): void {
  reply.header("x-request-id", request.id).header("x-content-type-options", "nosniff");
}

/** Matches ids that are safe to use in the log and in a header. */
const SAFE_ID = /^[\w.:-]{1,128}$/;

/**
 * Applies {@link stamp} as a hook. Keeps the id set by a proxy that TRUST_PROXY names, so that the
 * request has the same id in the proxy's log and in Foyer's log.
 */
export const addHeaders: onRequestHookHandler = (request, reply, done) => {
  const given = request.headers["x-request-id"];
  if (typeof given === "string" && SAFE_ID.test(given)) {
    // `ips` contains the trusted proxies followed by the client, so a second address implies a
    // trusted proxy.
    if ((request.ips?.length ?? 0) > 1) request.id = given;
  }
  stamp(request, reply);
  done();
};

/** The last three hexadecimal digits of 4096 ids. */
const LAST = Array.from({ length: 16 ** 3 }, (_, n) => n.toString(16).padStart(3, "0"));

/**
 * Creates a generator of request ids: UUIDs whose last three digits are a counter. Generating a
 * random UUID for each request would make a read 3 % slower.
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
 * Records the response to a request, and rejects a request whose target or sender is ambiguous.
 * Must be synchronous, because otherwise the parser would already have proceeded to the next
 * request.
 */
export const refuseAmbiguous: onRequestHookHandler = ({ raw }, reply, done) => {
  rememberAnswer(raw.socket, reply.raw);
  done(faultOf(raw));
};

/** Returns the refusal for faulty headers in a request, for any route and for websockets. */
export function faultOf({
  headers,
  httpVersionMinor,
  rawHeaders,
}: IncomingMessage): Refusal | undefined {
  const { host } = headers;
  const name = host === undefined && httpVersionMinor > 0 ? "Host" : repeated(rawHeaders);
  if (name !== undefined) {
    return new Refusal(400, `There must be exactly one ${name} header.`);
  }
  // RFC 9112, section 3.2. An empty Host is valid, but cannot be used to build links.
  if (host && !isHost(host)) {
    return new Refusal(400, "The Host header must be a valid host name.");
  }
  // RFC 9112, section 6.1. A compressed body would be read as if it were not compressed.
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && !/^chunked$/i.test(coding)) {
    return new Refusal(415, "The only supported Transfer-Encoding is chunked.");
  }
  return undefined;
}

/**
 * Headers that may occur only once. The parser uses the first occurrence of a repeated header,
 * whereas a proxy may have used the last occurrence.
 */
const ONCE = ["host", "content-type", "authorization"];

/** Returns the name of a repeated header that may occur only once. */
function repeated(rawHeaders: readonly string[]): string | undefined {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    // Comparing lengths rules out most names without allocating a string.
    if (!ONCE.some(({ length }) => length === name.length)) continue;
    const index = ONCE.indexOf(name.toLowerCase());
    if (index < 0) continue;
    if (seen & (1 << index)) return name;
    seen |= 1 << index;
  }
  return undefined;
}

/** Matches a host name or an IP address, with an optional port. */
const HOST = /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

/** The last valid host, cached because most requests name the same host. */
let lastHost = "";

/** Whether `text` is a host name or an IP address, with an optional port. */
export function isHost(text: string): boolean {
  if (text === lastHost) return true;
  if (!HOST.test(text) || !URL.canParse(`http://${text}`)) return false;
  lastHost = text;
  return true;
}

/**
 * Returns a request's target in origin form, as a path. If the target is in absolute form, which is
 * used with proxies, the target's host replaces the Host header (RFC 9112, section 3.2.2).
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

/** Responds with 404 or 405 before the body is read. */
export const refuseUnrouted: onRequestHookHandler = (request, _reply, done) => {
  done(request.is404 ? unrouted(request) : undefined);
};

/**
 * Returns the refusal for a request that matches no route: 404 if the path is unknown, or 405 if
 * the path only allows other methods.
 */
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
