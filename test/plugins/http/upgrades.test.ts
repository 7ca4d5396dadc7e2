import type { Socket } from "node:net";
import { once } from "node:events";
import t, { type Test } from "tap";
import { loadConfig } from "../../../config.js";
import { dial, listen, rawRequest, serve, until } from "../../helper.js";

/** A server with an upgraded socket, seen from both ends. */
async function upgraded(
  t: Test,
  isFirst = true,
  patience = loadConfig({}).patience,
) {
  const { app } = await serve(t, undefined, { config: { patience } });
  const sockets: Socket[] = [];
  app.server.on("upgrade", (_request, socket: Socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => socket.write(bytes));
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n");
  });
  const wire = dial(t, await listen(app));
  const headers = { Connection: "Upgrade", Upgrade: "echo" };
  if (!isFirst) {
    wire.send(rawRequest("GET /healthz"));
    t.equal((await wire.answer()).status, 200);
  }
  wire.send(rawRequest("GET /live", headers));
  await until(() => sockets.length === 1);
  return { app, socket: sockets[0]! };
}

void t.test("an upgraded socket does not hold up a stop", async (t) => {
  for (const isFirst of [true, false]) {
    const name = isFirst ? "a new connection" : "a connection that was used";
    const { app, socket } = await upgraded(t, isFirst);
    const started = performance.now();
    await app.drain(20_000);
    t.ok(
      performance.now() - started < 15_000,
      `${name}: nothing is owed to it`,
    );
    t.equal(socket.destroyed, false, `${name}: it lives until the end`);
    const closed = once(socket, "close");
    await app.close();
    await closed;
    t.equal(socket.destroyed, true, `${name}: and no longer`);
  }
});

void t.test("a close without a drain ends it, too", async (t) => {
  const patience = { stop: 60_000, close: 60_000 };
  const { app, socket } = await upgraded(t, true, patience);
  const closed = once(socket, "close");
  const started = performance.now();
  await app.close();
  await closed;
  t.ok(performance.now() - started < 30_000, "it is not waited for");
});

void t.test(
  "without a handler an upgrade is an ordinary request",
  async (t) => {
    const { app } = await serve(t);
    const wire = dial(t, await listen(app));
    const headers = { Connection: "Upgrade", Upgrade: "echo" };
    wire.send(rawRequest("GET /healthz", headers));
    t.equal((await wire.answer()).status, 200);
  },
);
