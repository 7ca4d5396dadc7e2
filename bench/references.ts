import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import Database from "better-sqlite3";
import Fastify from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { newFolder } from "./support.js";

// The references: servers that do just enough for the clients of a benchmark, without
// authentication, rights and, except for one, a database.
// - bare: `ws`, which sends each message in a loop.
// - collecting: writes all queued messages to each socket as one buffer, which is about the least
//   that a Node.js server can do.
// - committing: like bare, but first commits to SQLite in batches of 8 ms.
// - fastify: responds to requests with the fixed texts in the file that its argument names.

/** A connection and its underlying socket. */
interface Listener {
  socket: WebSocket;
  raw: Duplex;
}

type Send = (to: Set<Listener>, text: string) => void;

const bare: Send = (to, text) => {
  for (const { socket } of to) socket.send(text);
};

const SHORTEST_PASS_MS = 8;
const LONGEST_PASS_MS = 100;

/** Number of sockets written to per turn of the event loop. */
const SLICE = 1000;

/**
 * Sends the first message after a quiet period immediately; later ones wait for the next pass. When
 * passes run back to back, the interval between them grows.
 */
function collecting(): Send {
  let waiting: Buffer[] = [];
  let isRunning = false;
  let interval = SHORTEST_PASS_MS;
  let begun = -LONGEST_PASS_MS;
  const pass = (to: Set<Listener>) => {
    begun = performance.now();
    const bytes = Buffer.concat(waiting);
    waiting = [];
    write(to, [...to], bytes, 0);
  };
  const write = (all: Set<Listener>, to: Listener[], bytes: Buffer, from: number) => {
    const end = Math.min(to.length, from + SLICE);
    for (let at = from; at < end; at++) to[at]!.raw.write(bytes);
    if (end < to.length) {
      setImmediate(write, all, to, bytes, end);
    } else if (waiting.length > 0) {
      interval = Math.min(LONGEST_PASS_MS, 2 * interval);
      setTimeout(pass, Math.max(0, begun + interval - performance.now()), all);
    } else {
      interval = SHORTEST_PASS_MS;
      isRunning = false;
    }
  };
  return (to, text) => {
    waiting.push(frameOf(text));
    if (isRunning) return;
    isRunning = true;
    const wait = begun + interval - performance.now();
    // Messages from the same turn of the event loop are sent together.
    if (wait > 0) setTimeout(pass, wait, to);
    else setImmediate(pass, to);
  };
}

/** Encodes a server's text frame, without a mask (RFC 6455, section 5.2). */
function frameOf(text: string): Buffer {
  const size = Buffer.byteLength(text);
  const header = size < 126 ? 2 : 4;
  const frame = Buffer.allocUnsafe(header + size);
  frame[0] = 0x81;
  frame[1] = header === 2 ? size : 126;
  if (header === 4) frame.writeUInt16BE(size, 2);
  frame.write(text, header);
  return frame;
}

/** Time to batch messages for one transaction, in milliseconds. */
const COMMIT_INTERVAL_MS = 8;

function committing(): Send {
  const db = new Database(join(newFolder(), "messages.db"));
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.exec("CREATE TABLE messages (id INTEGER PRIMARY KEY, text TEXT) STRICT");
  const insert = db.prepare("INSERT INTO messages (text) VALUES (?)");
  let group: { to: Set<Listener>; text: string }[] = [];
  const commit = () => {
    const committed = group;
    group = [];
    db.transaction(() => {
      for (const { text } of committed) insert.run(text);
    })();
    for (const { to, text } of committed) bare(to, text);
  };
  return (to, text) => {
    if (group.length === 0) setTimeout(commit, COMMIT_INTERVAL_MS);
    group.push({ to, text });
  };
}

const [, , kind, file] = process.argv;

/** Factories of each room's send function, by kind. */
const senders: Record<string, () => Send> = {
  bare: () => bare,
  collecting,
  committing: (() => {
    let shared: Send | undefined;
    return () => (shared ??= committing());
  })(),
};

const announce = (port: number) => console.log(`Listening on http://127.0.0.1:${port}`);

async function serveRequests(): Promise<void> {
  const texts = JSON.parse(readFileSync(file!, "utf8")) as Record<
    string,
    { headers: Record<string, string>; text: string }
  >;
  const app = Fastify();
  for (const [path, { headers, text }] of Object.entries(texts)) {
    app.get(path, (_request, reply) => {
      reply.headers(headers).send(text);
    });
  }
  await app.listen({ port: 0 });
  announce((app.server.address() as AddressInfo).port);
}

function serveSockets(newSend: () => Send): void {
  const rooms = new Map<string, { listeners: Set<Listener>; send: Send }>();
  const roomOf = (id: string) => {
    const known = rooms.get(id);
    if (known) return known;
    const room = { listeners: new Set<Listener>(), send: newSend() };
    rooms.set(id, room);
    return room;
  };
  let events = 0;
  const handle = (listener: Listener, bytes: Buffer) => {
    const [action, id, payload] = JSON.parse(bytes.toString()) as [
      string,
      number,
      { channel: string; content: unknown },
    ];
    const { socket } = listener;
    if (action === "authenticate") {
      socket.send('["authenticated",{}]');
      return;
    }
    let result: object = {};
    if (action === "chat.subscribe" || action === "chat.join") {
      roomOf(payload.channel).listeners.add(listener);
    } else if (action === "chat.send") {
      // The same keys as Foyer's events, in the same order.
      const event = {
        event_id: ++events,
        channel: payload.channel,
        sender: "5f0d1a52-6c1c-4c33-9d5e-1f2a3b4c5d6e",
        timestamp: new Date().toISOString(),
        event_type: "channel.message",
        content: payload.content,
        edited: null,
        replaces: null,
        reactions: {},
      };
      const { listeners, send } = roomOf(payload.channel);
      send(listeners, JSON.stringify(["chat.event", { ...event, users: {} }]));
      result = { event };
    }
    socket.send(JSON.stringify(["success", id, result]));
  };
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  server.on("upgrade", (request, raw, head) => {
    sockets.handleUpgrade(request, raw, head, (socket) => {
      const listener = { socket, raw };
      socket.on("error", () => {});
      socket.on("close", () => {
        for (const { listeners } of rooms.values()) listeners.delete(listener);
      });
      socket.on("message", (bytes: Buffer) => handle(listener, bytes));
    });
  });
  // A restart reuses the previous port, so that the crowd can reconnect.
  server.listen(Number(file ?? 0), "127.0.0.1", () => {
    announce((server.address() as AddressInfo).port);
  });
}

process.once("SIGTERM", () => process.exit());
if (kind === "fastify") await serveRequests();
else serveSockets(senders[kind!]!);
