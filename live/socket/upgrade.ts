import { type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { endWith, whenItsTurn } from "../../plugins/http/connections.js";
import { problemOf } from "../../plugins/http/errors.js";
import { faultOf, isHost, originForm } from "../../plugins/http/protocol.js";

/** Where the websocket of a world is, with or without a slash at its end. */
const PATH = /^\/ws\/world\/([^/?#]+)\/?(?:\?.*)?$/;

/** The answer to a request for a websocket that is not taken now. */
export interface Refused {
  readonly status: 429 | 503;
  readonly detail: string;
}

/** The ports that decide about upgrades. */
export interface UpgradeOptions {
  sockets: WebSocketServer;
  /** Why no websocket is taken now; undefined if it is. */
  refuse: (request: IncomingMessage) => Refused | undefined;
  onOpen: (ws: WebSocket, socket: Duplex, world: string, request: IncomingMessage) => void;
}

/**
 * Takes the websockets of a server. Any other request with an `Upgrade` header is
 * answered as if it had none, as RFC 9110, section 7.8, allows: some clients of
 * HTTP/1.1 offer `h2c` with every request.
 */
export function acceptUpgrades(server: Server, { sockets, refuse, onOpen }: UpgradeOptions): void {
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node.js no longer listens.
    socket.on("error", destroy);
    // Earlier requests of the connection may still wait for their answers.
    whenItsTurn(socket as Socket, () => {
      if (socket.destroyed) return;
      const world = worldIn(request);
      if (world === undefined) {
        socket.off("error", destroy);
        asPlainRequest(server, request, socket as Socket, head);
        return;
      }
      // RFC 6455, section 4.2.1.
      if (request.httpVersion !== "1.1") {
        refuseWith(socket, 400, "A websocket needs HTTP/1.1.");
        return;
      }
      const fault = faultOf(request);
      if (fault) {
        refuseWith(socket, 400, fault.message);
        return;
      }
      const refused = refuse(request);
      if (refused) {
        const { status, detail } = refused;
        refuseWith(socket, status, detail, "Retry-After: 5\r\n");
        return;
      }
      sockets.handleUpgrade(request, socket, head, (ws) => onOpen(ws, socket, world, request));
    });
  });
}

/** A listener of its own would keep the request in memory for as long as the socket. */
function destroy(this: Duplex): void {
  this.destroy();
}

/** The world whose websocket a request is for. */
function worldIn(request: IncomingMessage): string | undefined {
  const { method, headers } = request;
  if (method !== "GET" || headers.upgrade?.toLowerCase() !== "websocket") {
    return undefined;
  }
  const [, id] = PATH.exec(originForm(request)) ?? [];
  if (id === undefined) return undefined;
  try {
    return decodeURIComponent(id);
  } catch {
    return undefined;
  }
}

/**
 * Whether {@link acceptUpgrades} should get a request with an `Upgrade` header. Node.js
 * 24.9 and newer ask, because there the socket of a request with a body cannot be given
 * back. They answer such a request as if it offered nothing. They would lose the requests
 * pipelined behind it, so other offers come here.
 */
export const isTaken = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] === undefined && !Number(headers["content-length"] ?? 0);

/** Headers of an offer to use another protocol. */
const OFFER = new Set(["upgrade", "http2-settings"]);

/** Gives a connection back to the HTTP server, as if the client had not offered anything. */
function asPlainRequest(
  server: Server,
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2);
    const lower = name.toLowerCase();
    if (OFFER.has(lower)) continue;
    lines.push(`${name}: ${lower === "connection" ? withoutOffer(value) : value}`);
  }
  // The parser read headers as Latin-1.
  const start = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  socket.unshift(Buffer.concat([start, head]));
  server.emit("connection", socket);
}

const withoutOffer = (connection: string): string =>
  connection
    .split(",")
    .map((option) => option.trim())
    .filter((option) => !OFFER.has(option.toLowerCase()))
    .join(", ") || "keep-alive";

/** The last answer of a connection: it is refused as a websocket. */
function refuseWith(
  socket: Duplex,
  status: 400 | Refused["status"],
  detail: string,
  retryAfter = "",
): void {
  const body = JSON.stringify(problemOf(status, detail));
  endWith(
    socket,
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Content-Type-Options: nosniff\r\n${retryAfter}` +
      `Connection: close\r\n\r\n${body}`,
  );
}

/**
 * The URL of the server as the client of a websocket reached it, without a slash at its end.
 * @param isProxied whether headers of a proxy count.
 */
export function socketBase({ headers, socket }: IncomingMessage, isProxied: boolean): string {
  const forwarded = (name: string): string | undefined => {
    const value = isProxied ? headers[name] : undefined;
    return typeof value === "string" ? value.split(",", 1)[0]!.trim().toLowerCase() : undefined;
  };
  const host = forwarded("x-forwarded-host") ?? headers.host ?? "";
  const isSecure = "encrypted" in socket || forwarded("x-forwarded-proto") === "https";
  return isHost(host) ? `${isSecure ? "https" : "http"}://${host}` : "";
}
