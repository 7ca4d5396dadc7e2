import { once } from "node:events";
import { connect, type Server } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { admin, atBest, dial, rawRequest, timed, until } from "../helper.js";
import { soon, startLive } from "./client.js";

const handshake = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};
const h2c = {
  Connection: "Upgrade, HTTP2-Settings",
  Upgrade: "h2c",
  "HTTP2-Settings": "AAMAAABkAAQAAP__",
};
const path = "/ws/world/demo/";
const rooms = "/api/v1/worlds/demo/rooms/";

void t.test("handshakes", async (t) => {
  const live = await startLive(t);
  const { "Sec-WebSocket-Key": _key, ...noKey } = handshake;
  const { "Sec-WebSocket-Version": _version, ...noVersion } = handshake;
  type Headers = Record<string, string>;
  const table: [
    name: string,
    line: string,
    headers: Headers,
    status: number,
  ][] = [
    ["good", `GET ${path}`, handshake, 101],
    ["in capitals", `GET ${path}`, { ...handshake, Upgrade: "WebSocket" }, 101],
    [
      "a subprotocol",
      `GET ${path}`,
      { ...handshake, "Sec-WebSocket-Protocol": "x" },
      101,
    ],
    [
      "an extension",
      `GET ${path}`,
      { ...handshake, "Sec-WebSocket-Extensions": "x-webkit-deflate-frame" },
      101,
    ],
    ["no key", `GET ${path}`, noKey, 400],
    [
      "a bad key",
      `GET ${path}`,
      { ...handshake, "Sec-WebSocket-Key": "x" },
      400,
    ],
    ["no version", `GET ${path}`, noVersion, 400],
    [
      "another version",
      `GET ${path}`,
      { ...handshake, "Sec-WebSocket-Version": "99" },
      400,
    ],
    ["in absolute form", `GET http://demo.test${path}`, handshake, 101],
    ["no upgrade", `GET ${path}`, {}, 426],
    ["a bad host", `GET ${path}`, { ...handshake, Host: "a b<>" }, 400],
    ["two hosts", `GET ${path}`, { ...handshake, host: "b.test" }, 400],
    ["another protocol", `GET ${path}`, h2c, 426],
    ["a POST", `POST ${path}`, handshake, 405],
    ["another path", "GET /ws/world/", handshake, 404],
    ["a longer path", "GET /ws/world/demo/x", handshake, 404],
    ["the root", "GET /", handshake, 404],
    ["bad encoding", "GET /ws/world/%ff", handshake, 400],
    ["an API path", "GET /healthz", handshake, 200],
  ];
  for (const [name, line, headers, status] of table) {
    const wire = dial(t, live.port);
    wire.send(rawRequest(line, headers));
    const answer = await soon(wire.answer());
    t.equal(answer.status, status, name);
    if (status === 101) {
      t.notOk("sec-websocket-extensions" in answer.headers, name);
    }
    wire.hangUp();
  }
});

void t.test("an offer of another protocol is declined", async (t) => {
  const live = await startLive(t);
  const as = { Authorization: admin("demo") };
  const room = JSON.stringify({ name: "Posted", description: "é" });
  const json = {
    "Content-Type": "application/json",
    "Content-Length": `${Buffer.byteLength(room)}`,
  };
  const chunked = {
    "Content-Type": "application/json",
    "Transfer-Encoding": "chunked",
  };
  const chunks = `5\r\n{"nam\r\n${(11).toString(16)}\r\ne":"Chunks"\r\n1\r\n}\r\n0\r\n\r\n`;
  const upgrades = { ...h2c, ...as };
  const table: [name: string, text: string, status: number][] = [
    ["GET", rawRequest("GET /healthz", h2c), 200],
    ["GET with a token", rawRequest(`GET ${rooms}`, upgrades), 200],
    ["HEAD", rawRequest("HEAD /healthz", h2c), 200],
    ["POST", rawRequest(`POST ${rooms}`, { ...upgrades, ...json }, room), 201],
    [
      "POST in chunks",
      rawRequest(`POST ${rooms}`, { ...upgrades, ...chunked }, chunks),
      201,
    ],
    [
      "POST of a websocket",
      rawRequest(`POST ${rooms}`, { ...handshake, ...as, ...json }, room),
      201,
    ],
    ["an unknown path", rawRequest("GET /nothing", h2c), 404],
  ];
  for (const [name, text, status] of table) {
    const wire = dial(t, live.port);
    if (name === "HEAD") wire.expectNoBody();
    wire.send(text);
    const answer = await soon(wire.answer()).catch((error: Error) => error);
    t.match(answer, { status }, name);
    wire.send(rawRequest("GET /healthz"));
    const next = await soon(wire.answer()).catch((error: Error) => error);
    t.match(next, { status: 200 }, `${name}, and the connection goes on`);
    wire.hangUp();
  }
});

void t.test("a websocket behind a slow request", async (t) => {
  const live = await startLive(t);
  const room = JSON.stringify({ name: "Slow" });
  const json = {
    Authorization: admin("demo"),
    "Content-Type": "application/json",
    "Content-Length": `${room.length}`,
  };
  const wire = dial(t, live.port);
  wire.send(
    rawRequest(`POST ${rooms}`, json, room) +
      rawRequest(`GET ${path}`, handshake),
  );
  t.equal((await soon(wire.answer())).status, 201);
  t.equal((await soon(wire.answer())).status, 101);
});

const connectionsOf = (server: Server) =>
  new Promise<number>((resolve, reject) => {
    server.getConnections((error, count) =>
      error ? reject(error) : resolve(count),
    );
  });

void t.test("sockets do not leak", async (t) => {
  const live = await startLive(t);
  const { server } = live.app;
  const texts = [
    rawRequest(`GET ${path}`, handshake),
    rawRequest(`GET ${path}`, { ...handshake, "Sec-WebSocket-Key": "x" }),
    rawRequest("GET /healthz", h2c),
    rawRequest(`GET ${path}`, handshake).slice(0, 40),
    `${rawRequest(`GET ${path}`, handshake)}garbage`,
    rawRequest("GET /ws/world/none", handshake),
  ];
  for (let i = 0; i < 60; i++) {
    const socket = connect(live.port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write(texts[i % texts.length]!);
    // Some are gone before the server has looked, and some are in use.
    if (i % 2 === 0) await delay(20);
    if (i % 3 === 0) socket.resetAndDestroy();
    else socket.destroy();
  }
  await soon(until(async () => (await connectionsOf(server)) === 0));
  await soon(until(() => live.app.live.sockets.size === 0));
  t.equal((await fetch(`${live.baseUrl}/healthz`)).status, 200);
});

void t.test("frames that are none", async (t) => {
  const live = await startLive(t);
  const guest = await live.guest();
  const table: [name: string, bytes: number[]][] = [
    ["not masked", [0x81, 0x02, 0x5b, 0x5d]],
    ["reserved bits", [0xf1, 0x80, 0, 0, 0, 0]],
    ["an unknown opcode", [0x83, 0x80, 0, 0, 0, 0]],
    ["a long ping", [0x89, 0xfe, 0x10, 0x00, 0, 0, 0, 0]],
    ["a huge length", [0x81, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255]],
    ["a continuation of nothing", [0x80, 0x80, 0, 0, 0, 0]],
    ["a bad close code", [0x88, 0x82, 0, 0, 0, 0, 0x00, 0x01]],
  ];
  for (const [name, bytes] of table) {
    const socket = connect(live.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.resume();
    socket.write(rawRequest(`GET ${path}`, handshake));
    await once(socket, "data");
    const ended = once(socket, "close");
    socket.write(Buffer.from(bytes));
    socket.end();
    await soon(ended);
    t.equal(await guest.code("user.list.blocked"), "ok", name);
  }
  await soon(until(() => live.app.live.sockets.size === 1));
  t.pass("only the guest is left");
});

void t.test("HTTP/1.0 has no websockets", async (t) => {
  const live = await startLive(t);
  const wire = dial(t, live.port);
  const request = rawRequest(`GET ${path}`, handshake);
  wire.send(request.replace("HTTP/1.1", "HTTP/1.0"));
  t.match(await soon(wire.answer()), {
    status: 400,
    headers: { "content-type": /^application\/json/, connection: "close" },
  });
});

void t.test("connections end, also if the client does not", async (t) => {
  const live = await startLive(t, { authTimeout: 100 });
  const { server } = live.app;
  const texts = [
    rawRequest("CONNECT a.org:443"),
    "garbage\r\n\r\n",
    rawRequest(`GET ${path}`, { ...handshake, "Sec-WebSocket-Key": "x" }),
    rawRequest(`GET ${path}`, handshake).replace("HTTP/1.1", "HTTP/1.0"),
    // It does not log in, nor confirm that the websocket closes.
    rawRequest(`GET ${path}`, handshake),
  ];
  for (const text of texts) {
    const socket = connect({ port: live.port, allowHalfOpen: true });
    t.teardown(() => socket.destroy());
    socket.on("error", () => {});
    socket.resume();
    socket.write(text);
    await once(socket, "data");
  }
  const ended = until(async () => (await connectionsOf(server)) === 0);
  await soon(ended);
  await soon(until(() => live.app.live.sockets.size === 0));
});

void t.test("a client that ends its side is gone at once", async (t) => {
  const live = await startLive(t, { maxConnections: 0 });
  const { server } = live.app;
  // Otherwise it would linger for three seconds.
  const attempt = async () => {
    for (const text of [
      rawRequest("CONNECT a.org:443"),
      rawRequest(`GET ${path}`, handshake),
    ]) {
      const socket = connect(live.port, "127.0.0.1");
      t.teardown(() => socket.destroy());
      socket.write(text);
      socket.end("more that is not read");
      const [answer] = (await once(socket, "data")) as [Buffer];
      t.match(answer.toString(), /^HTTP\/1\.1 [45]/);
    }
    await soon(until(async () => (await connectionsOf(server)) === 0));
  };
  const took = await atBest(2500, () => timed(attempt));
  t.ok(took < 2500, `${took} ms`);
});
