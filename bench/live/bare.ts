import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

// The reference: a server with nothing but `ws`. It answers every message, sends to
// all in a loop, and answers every request with the same text.

const everybody = new Set<WebSocket>();

const server = createServer((_, response) => {
  response.setHeader("content-type", "application/json; charset=utf-8");
  response.end(JSON.stringify({ name: "A room", text: "x".repeat(300) }));
});
new WebSocketServer({ server, perMessageDeflate: false }).on(
  "connection",
  (socket) => {
    everybody.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => everybody.delete(socket));
    socket.on("message", (bytes: Buffer) => {
      const [action, id, payload] = JSON.parse(bytes.toString()) as [
        string,
        number,
        { name: string; bytes: number },
      ];
      if (action === "authenticate") {
        socket.send(JSON.stringify(["authenticated", { id }]));
        return;
      }
      socket.send(JSON.stringify(["success", id, {}]));
      if (action !== "broadcast") return;
      const { name, bytes: size } = payload;
      const text = JSON.stringify([name, { text: "x".repeat(size) }]);
      for (const each of everybody) each.send(text);
    });
  },
);
server.listen(0, "127.0.0.1", () => {
  process.send!({ port: (server.address() as AddressInfo).port });
});
process.once("disconnect", () => process.exit());
process.once("SIGTERM", () => process.exit());
