import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { type Listener, rooms } from "./reference-rooms.js";

// The references: servers that speak just enough of the protocol for the crowd, without
// authentication and without a database. The argument chooses how messages are sent.

const make = rooms[process.argv[2] as keyof typeof rooms];
const halls = new Map<string, ReturnType<typeof make>>();

const roomOf = (id: string) => {
  const known = halls.get(id);
  if (known) return known;
  const room = make();
  halls.set(id, room);
  return room;
};

let events = 0;

/** A message as Foyer sends it, with the same keys. */
const eventOf = (channel: string, content: unknown) => ({
  event_id: ++events,
  channel,
  sender: "5f0d1a52-6c1c-4c33-9d5e-1f2a3b4c5d6e",
  timestamp: new Date().toISOString(),
  event_type: "channel.message",
  content,
  edited: null,
  replaces: null,
  reactions: {},
});

type Answer = (
  payload: { channel: string; content: unknown },
  listener: Listener,
) => object;

const answers: Record<string, Answer> = {
  "chat.subscribe": ({ channel }, listener) => {
    roomOf(channel).join(listener);
    return {};
  },
  "chat.send": ({ channel, content }) => {
    const event = eventOf(channel, content);
    roomOf(channel).send(
      JSON.stringify(["chat.event", { ...event, users: {} }]),
    );
    return { event };
  },
  "chat.fetch": () => ({ results: [], users: {} }),
};
answers["chat.join"] = answers["chat.subscribe"]!;

function answer(listener: Listener, bytes: Buffer): void {
  const { socket } = listener;
  const [action, id, payload] = JSON.parse(bytes.toString()) as [
    string,
    number,
    Parameters<Answer>[0],
  ];
  if (action === "authenticate") {
    socket.send('["authenticated",{}]');
    return;
  }
  const result = answers[action]?.(payload, listener) ?? {};
  socket.send(JSON.stringify(["success", id, result]));
}

const server = createServer((_, response) => {
  response.setHeader("content-type", "application/json; charset=utf-8");
  response.end('{"status":"ok"}');
});
const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
});
server.on("upgrade", (request, raw, head) => {
  sockets.handleUpgrade(request, raw, head, (socket: WebSocket) => {
    const listener = { socket, raw };
    socket.on("error", () => {});
    socket.on("close", () => {
      for (const room of halls.values()) room.leave(listener);
    });
    socket.on("message", (bytes: Buffer) => answer(listener, bytes));
  });
});
server.listen(0, "127.0.0.1", () => {
  process.send!({ port: (server.address() as AddressInfo).port });
});
process.once("disconnect", () => process.exit());
process.once("SIGTERM", () => process.exit());
