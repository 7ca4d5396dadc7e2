import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import { type RawData, WebSocket, WebSocketServer } from "ws";

/** A frame of the server, and to whom it goes. */
export interface Passing {
  name: string;
  /** The frame, parsed and as text. */
  frame: [string, ...unknown[]];
  text: string;
  /** The audience whose token logged the connection in; `stranger` without one. */
  to: string;
  /** The last command of the connection. */
  command: string;
  /** Sends a text to all connections of an audience. */
  readonly send: (audience: string, text: string) => void;
}

/** @returns the texts that the client gets in place of a frame. */
export type Corrupt = (passing: Passing) => readonly string[];

interface Line {
  readonly socket: WebSocket;
  to: string;
  command: string;
}

/** The audience of a token of the suite: what follows the last dash of its uid. */
function audienceOf(text: string): string | undefined {
  const [action, payload] = JSON.parse(text) as [string, { token: string }];
  if (action !== "authenticate") return undefined;
  const claims = Buffer.from(payload.token.split(".")[1]!, "base64url");
  const { uid } = JSON.parse(claims.toString()) as { uid: string };
  return uid.split("-").at(-1)!;
}

/**
 * Starts a proxy before a server, which corrupts what the server sends over websockets. It
 * ends with the test.
 * @param port of the server.
 * @param busy how many requests are answered with a 429 before the first one passes.
 * @returns its address.
 */
export async function startCorrupting(
  t: Test,
  port: number,
  corrupt: Corrupt,
  busy = 0,
): Promise<string> {
  const lines = new Set<Line>();
  const send = (audience: string, text: string) => {
    for (const { to, socket } of lines) if (to === audience) socket.send(text);
  };

  const join = (socket: WebSocket, path: string): void => {
    const upstream = new WebSocket(`ws://127.0.0.1:${port}${path}`);
    const line: Line = { socket, to: "stranger", command: "" };
    lines.add(line);
    const waiting: string[] = [];
    upstream.on("open", () => waiting.forEach((text) => upstream.send(text)));
    socket.on("message", (data) => {
      const text = textOf(data);
      line.to = audienceOf(text) ?? line.to;
      line.command = (JSON.parse(text) as [string])[0];
      if (upstream.readyState === WebSocket.OPEN) upstream.send(text);
      else waiting.push(text);
    });
    upstream.on("message", (data) => {
      const text = textOf(data);
      const frame = JSON.parse(text) as Passing["frame"];
      const passing = { ...line, name: frame[0], frame, text, send };
      for (const out of corrupt(passing)) socket.send(out);
    });
    const end = () => {
      lines.delete(line);
      socket.terminate();
      upstream.terminate();
    };
    for (const side of [socket, upstream]) {
      side.on("close", end);
      side.on("error", end);
    }
  };

  const sockets = new WebSocketServer({ noServer: true });
  // A busy machine may notice late that a connection has ended for want of requests.
  const options = { keepAliveTimeout: 600_000 };
  const server = createServer(options, (incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    if (busy-- > 0) {
      outgoing.writeHead(429, { "retry-after": "1" }).end();
      return;
    }
    const passed = request({ port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  server.on("upgrade", (incoming, socket, head) => {
    sockets.handleUpgrade(incoming, socket, head, (accepted) => join(accepted, incoming.url!));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  t.teardown(() => {
    for (const { socket } of lines) socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const textOf = (data: RawData): string => (data as Buffer).toString();
