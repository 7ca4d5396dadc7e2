import { type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { endWith, whenItsTurn } from "../../plugins/http/connections.js";
import { problemOf } from "../../plugins/http/errors.js";
import { faultOf, isHost, originForm } from "../../plugins/http/protocol.js";

/** The path of a world's websocket, with or without a trailing slash. */
const PATH = /^\/ws\/world\/([^/?#]+)\/?(?:\?.*)?$/;

/** The response to a websocket request that is currently refused. */
export interface RefusedUpgrade {
  readonly status: 429 | 503;
  readonly detail: string;
}

/** Options for accepting websocket upgrades. */
export interface WebsocketUpgradeOptions {
  sockets: WebSocketServer;
  /** Returns the response with which a websocket is currently refused, or undefined if the websocket is accepted. */
  refuse: (request: IncomingMessage) => RefusedUpgrade | undefined;
  onOpen: (ws: WebSocket, socket: Duplex, world: string, request: IncomingMessage) => void;
}

/**
 * Accepts websockets on a server. Any other request with an `Upgrade` header is handled as if it
 * had no such header, as RFC 9110, section 7.8, allows: some HTTP/1.1 clients offer `h2c` with
 * every request.
 */
export function acceptUpgrades(
  server: Server,
  { sockets, refuse, onOpen }: WebsocketUpgradeOptions,
): void {
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node.js has removed its own error listener.
    socket.on("error", destroy);
    // Earlier requests on the connection may still be waiting for their responses.
    whenItsTurn(socket as Socket, () => {
      if (socket.destroyed) return;
      const world = worldIn(request);
      if (world === undefined) {
        socket.off("error", destroy);
        asPlainRequest(server, request, socket as Socket, head);
        return;
      }
      // Required by RFC 6455, section 4.2.1.
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

/**
 * One function for all sockets, because a closure per socket would keep the socket's request in
 * memory as long as the socket exists.
 */
function destroy(this: Duplex): void {
  this.destroy();
}

/** Returns the id of the world whose websocket is requested, or undefined if the request is for something else. */
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
 * Whether to pass a request with an `Upgrade` header to {@link acceptUpgrades}. Node.js 24.9 and
 * newer call this function. These versions cannot hand the socket of a request with a body back to
 * the HTTP server, so they handle such a request themselves, as if it had no such header. All other
 * offers are handled here, because Node.js would lose the requests pipelined behind them.
 */
export const isTaken = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] === undefined && !Number(headers["content-length"] ?? 0);

/** Headers with which a client offers to use another protocol. */
const OFFER = new Set(["upgrade", "http2-settings"]);

/** Hands a connection back to the HTTP server, as if the client had offered nothing. */
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
  // The parser decoded headers as Latin-1.
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

/** Refuses a websocket. The connection ends after this response. */
function refuseWith(
  socket: Duplex,
  status: 400 | RefusedUpgrade["status"],
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
 * Returns the URL by which the client of a websocket reached the server, without a trailing slash.
 * @param isProxied whether to trust proxy headers.
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
