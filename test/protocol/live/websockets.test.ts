import { once } from "node:events";
import { connect, type Server } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { deflateRawSync } from "node:zlib";
import t, { type Test } from "tap";
import { admin, dial, rawRequest, elapsedMs, until } from "../../support/helper.js";
import { NIGHT } from "../../support/night.js";
import { type Client, type Json, openWorld, say, soon, text } from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Handshakes, compression, framing, ids and order, which live.md guarantees to existing clients.

const server = await startServer(t);

const path = "/ws/world/demo/";
const rooms = "/api/v1/worlds/demo/rooms/";
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
const deflate = { ...handshake, "Sec-WebSocket-Extensions": "permessage-deflate" };

void t.test("addresses", async (t) => {
  for (const end of ["demo", "demo/", "demo?x=1", "demo/?x=1", "d%65mo/"]) {
    const client = await server.connect(`/ws/world/${end}`, { origin: "https://anywhere.test" });
    client.send('["ping",1]');
    t.equal(await client.text(), '["pong",1]', end);
    client.close();
    await soon(client.closed);
  }
});

void t.test("unknown worlds", async (t) => {
  for (const path of ["none", "DEMO", "%00", "demo%2f", "..%2fdemo"]) {
    const client = await server.connect(path);
    t.same(await client.frame(), ["error", { code: "world.unknown_world" }]);
    t.equal((await soon(client.closed)).code, 1000, path);
  }
});

/** Checks the answers to messages byte for byte. */
async function answers(
  t: Test,
  client: Client,
  table: readonly (readonly [sent: string | Buffer, answer: string])[],
) {
  for (const [sent, answer] of table) {
    client.send(sent);
    t.equal(await client.text(), answer, String(sent).slice(0, 60));
  }
}

const error = (code: string, id?: string) =>
  `["error",${id === undefined ? "" : `${id},`}{"code":"${code}"}]`;

void t.test("before login", async (t) => {
  const client = await server.connect();
  const [unauthenticated, missing] = ["protocol.unauthenticated", "auth.missing_id_or_token"];
  const wrong = ["", "nothing", "{}", "null", '"ping"', "[]", '["ping",1]]', "\ufeff[]"];
  const binary = [Buffer.from('["ping",1]'), Buffer.alloc(0)];
  await answers(t, client, [
    ['["ping",1]', '["pong",1]'],
    ['["ping",{"a":[null]}]', '["pong",{"a":[null]}]'],
    ['["ping"]', '["pong",null]'],
    [' [ "ping" , "x" ] ', '["pong","x"]'],
    ...[...wrong, ...binary].map((it) => [it, error("protocol.invalid_message")] as const),
    ['["user.fetch",1,{}]', error(unauthenticated, "1")],
    ['["user.fetch",{"a":1},{}]', error(unauthenticated, '{"a":1}')],
    ['["user.fetch",{}]', error(unauthenticated)],
    ['["nothing",7,{}]', error(unauthenticated, "7")],
    ["[1,7,{}]", error(unauthenticated, "7")],
    ['["room.enter"]', error(unauthenticated)],
    ['["room.enter",1,2,3]', error(unauthenticated)],
    ['["authenticate",{}]', error(missing)],
    ['["authenticate",5,{}]', error(missing, "5")],
    // Invalid UTF-8.
    [Buffer.from([0x5b, 0xff, 0x5d]), error("protocol.invalid_message")],
  ]);
});

void t.test("after login", async (t) => {
  const ids = [
    "1",
    "0",
    "-1.5",
    "null",
    "true",
    '"x"',
    '"\\ud800"',
    "[]",
    '{"a":{"b":[1]}}',
    '"é"',
  ];
  const unknown = ['"nothing"', '"no.thing"', '""', '"."', "null", '["user.fetch"]'].concat(
    ['"constructor"', '"__proto__"', '{"toString":1,"valueOf":1}'],
    `${"[".repeat(30000)}${"]".repeat(30000)}`,
  );
  const modules = ["user", "chat", "room", "world", "question", "poll", "announcement"];
  await answers(t, await server.guest(), [
    ...ids.map(
      (id) => [`["user.list.blocked",${id},null]`, `["success",${id},{"users":[]}]`] as const,
    ),
    ['["authenticate",1,{"client_id":"x"}]', error("protocol.unknown_command", "1")],
    ...unknown.map((it) => [`[${it},2,{}]`, error("protocol.unknown_command", "2")] as const),
    ...modules.map(
      (it) => [`["${it}.nothing",3,{}]`, error(`${it}.unsupported_command`, "3")] as const,
    ),
    ['["user",3,{}]', error("user.unsupported_command", "3")],
    ['["user.toString",3,{}]', error("user.unsupported_command", "3")],
    ['["nothing",{}]', error("protocol.unknown_command")],
    ['["nothing"]', error("protocol.unknown_command")],
    ["[1,2,3,4]", error("protocol.invalid_message")],
    ["{", error("protocol.invalid_message")],
    ['["ping",2]', '["pong",2]'],
  ]);
});

void t.test("what parsing would lose", async (t) => {
  const numbers = ["9007199254740993", "0.1000000000000000055", "1.0000000000000000001", "1e-400"];
  const invalid = (field: string, problem: string) =>
    `{"code":"protocol.invalid_payload","message":"Invalid data.","details":{"${field}":["${problem}"]}}`;
  const inexact = "Must be a number that fits in 64 bits as it is written.";
  await answers(t, await server.guest(), [
    ...[...numbers, "[9007199254740993]", '{"a":1,"a":",]}"}'].flatMap(
      (value) =>
        [
          [`["ping",${value}]`, `["pong",${value}]`],
          [`[ "ping" , ${value} , 1 ]`, `["pong",${value}]`],
          [`["user.list.blocked", ${value} ,null]`, `["success",${value},{"users":[]}]`],
          [`["a,]\\"b",${value},null]`, error("protocol.unknown_command", value)],
        ] as const,
    ),
    [
      '["user.update",1,{"profile":{"n":[1,9007199254740993]}}]',
      `["error",1,${invalid("profile.n.1", inexact)}]`,
    ],
    [
      '["user.update",{"profile":{"n":1,"n":2}}]',
      `["error",${invalid("profile.n", "This name may occur only once.")}]`,
    ],
    [
      '["user.update",9007199254740993,9007199254740993]',
      `["error",9007199254740993,${invalid("non_field_errors", inexact)}]`,
    ],
    ['["user.update",1,{"profile":{"n":1.50}}]', '["success",1,{}]'],
  ]);
  const stranger = await server.connect();
  stranger.send('["authenticate",{"client_id":"a","client_id":"b"}]');
  t.match(await stranger.frame(), ["error", { code: "protocol.invalid_payload" }]);
});

void t.test("a command of two elements", async (t) => {
  const admin = await (await openWorld(server)).admin();
  const create = (name: string) =>
    admin.sendFrame("room.create", { name, description: "", modules: [] });
  create("A");
  const answer = await admin.frame();
  t.match(answer, ["success", { room: String, channel: null }]);
  t.equal(answer.length, 2);
  t.equal((await admin.frame())[0], "room.create");
  create("a");
  t.match(await admin.frame(), ["error", { code: "room.invalid.name_taken" }]);
});

void t.test("commands run in order, one at a time", async (t) => {
  const client = await server.guest();
  const ids = Array.from({ length: 290 }, (_, i) => i);
  for (const i of ids) {
    const profile = { display_name: `N${i}` };
    if (i % 3 === 0) client.sendFrame("user.update", i, { profile });
    else if (i % 3 === 1) client.sendFrame("user.fetch", i, { id: client.id });
    else client.sendFrame("ping", i);
  }
  const seen: [unknown, unknown][] = [];
  for (const [, id, result] of await client.frames(ids.length)) {
    seen.push([id, (result as Json)?.profile?.display_name]);
  }
  t.same(
    seen,
    ids.map((i) => [i, i % 3 === 1 ? `N${i - 1}` : undefined]),
  );
});

void t.test("handshakes", async (t) => {
  const { "Sec-WebSocket-Key": _key, ...noKey } = handshake;
  const { "Sec-WebSocket-Version": _version, ...noVersion } = handshake;
  type Headers = Record<string, string>;
  const table: [name: string, line: string, headers: Headers, status: number][] = [
    ["good", `GET ${path}`, handshake, 101],
    ["in capitals", `GET ${path}`, { ...handshake, Upgrade: "WebSocket" }, 101],
    ["a subprotocol", `GET ${path}`, { ...handshake, "Sec-WebSocket-Protocol": "x" }, 101],
    [
      "an extension",
      `GET ${path}`,
      { ...handshake, "Sec-WebSocket-Extensions": "x-webkit-deflate-frame" },
      101,
    ],
    ["no key", `GET ${path}`, noKey, 400],
    ["a bad key", `GET ${path}`, { ...handshake, "Sec-WebSocket-Key": "x" }, 400],
    ["no version", `GET ${path}`, noVersion, 400],
    ["another version", `GET ${path}`, { ...handshake, "Sec-WebSocket-Version": "99" }, 400],
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
    const wire = dial(t, server.port);
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
  const as = { Authorization: admin("demo") };
  const room = JSON.stringify({ name: "Posted", description: "é" });
  const type = { "Content-Type": "application/json" };
  const json = { ...as, ...type, "Content-Length": `${Buffer.byteLength(room)}` };
  const chunked = { ...h2c, ...as, ...type, "Transfer-Encoding": "chunked" };
  const chunks = `5\r\n{"nam\r\n${(11).toString(16)}\r\ne":"Chunks"\r\n1\r\n}\r\n0\r\n\r\n`;
  const table: [name: string, text: string, status: number][] = [
    ["GET", rawRequest("GET /healthz", h2c), 200],
    ["GET with a token", rawRequest(`GET ${rooms}`, { ...h2c, ...as }), 200],
    ["HEAD", rawRequest("HEAD /healthz", h2c), 200],
    ["POST", rawRequest(`POST ${rooms}`, { ...h2c, ...json }, room), 201],
    ["POST in chunks", rawRequest(`POST ${rooms}`, chunked, chunks), 201],
    ["POST of a websocket", rawRequest(`POST ${rooms}`, { ...handshake, ...json }, room), 201],
    ["an unknown path", rawRequest("GET /nothing", h2c), 404],
  ];
  for (const [name, text, status] of table) {
    const wire = dial(t, server.port);
    if (name === "HEAD") wire.expectNoBody();
    wire.send(text);
    t.match(await soon(wire.answer()).catch((error: Error) => error), { status }, name);
    wire.send(rawRequest("GET /healthz"));
    const next = await soon(wire.answer()).catch((error: Error) => error);
    t.match(next, { status: 200 }, `${name}, and the connection goes on`);
    wire.hangUp();
  }
  // A WebSocket handshake pipelined behind a slower request.
  const wire = dial(t, server.port);
  wire.send(rawRequest(`POST ${rooms}`, json, room) + rawRequest(`GET ${path}`, handshake));
  t.equal((await soon(wire.answer())).status, 201);
  t.equal((await soon(wire.answer())).status, 101);
  wire.hangUp();
});

void t.test("HTTP/1.0 has no websockets", async (t) => {
  const wire = dial(t, server.port);
  wire.send(rawRequest(`GET ${path}`, handshake).replace("HTTP/1.1", "HTTP/1.0"));
  const headers = { "content-type": /^application\/json/, connection: "close" };
  t.match(await soon(wire.answer()), { status: 400, headers });
});

const connectionsOf = (server: Server) =>
  new Promise<number>((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });

/** Opens a socket that ignores errors and keeps reading. */
function socketTo(t: Test, port: number, allowHalfOpen = false) {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen });
  t.teardown(() => socket.destroy());
  socket.on("error", () => {}).resume();
  return socket;
}

void t.test("sockets do not leak", async (t) => {
  const own = await startServer(t);
  const upgrade = rawRequest(`GET ${path}`, handshake);
  const texts = [
    upgrade,
    rawRequest(`GET ${path}`, { ...handshake, "Sec-WebSocket-Key": "x" }),
    rawRequest("GET /healthz", h2c),
    upgrade.slice(0, 40),
    `${upgrade}garbage`,
    rawRequest("GET /ws/world/none", handshake),
  ];
  for (let i = 0; i < 60; i++) {
    const socket = socketTo(t, own.port);
    await once(socket, "connect");
    socket.write(texts[i % texts.length]!);
    // Some disconnect before the server has accepted them, others while they are in use.
    if (i % 2 === 0) await delay(20);
    if (i % 3 === 0) socket.resetAndDestroy();
    else socket.destroy();
  }
  const { live, server } = own.app;
  await until(async () => live.sockets.size + (await connectionsOf(server)) === 0);
  t.equal((await fetch(`${own.baseUrl}/healthz`)).status, 200);
});

void t.test("connections end, also if the client does not", async (t) => {
  const own = await startServer(t, { limits: { authTimeout: 100 } });
  const upgrade = rawRequest(`GET ${path}`, handshake);
  for (const text of [
    rawRequest("CONNECT a.org:443"),
    "garbage\r\n\r\n",
    rawRequest(`GET ${path}`, { ...handshake, "Sec-WebSocket-Key": "x" }),
    upgrade.replace("HTTP/1.1", "HTTP/1.0"),
    // This client neither logs in nor confirms that the WebSocket closes.
    upgrade,
  ]) {
    const socket = socketTo(t, own.port, true);
    socket.write(text);
    await once(socket, "data");
  }
  const { live, server } = own.app;
  await until(async () => live.sockets.size + (await connectionsOf(server)) === 0);
});

void t.test("a client that ends its side is gone at once", async (t) => {
  const own = await startServer(t, { limits: { maxConnections: 0 } });
  for (const text of [rawRequest("CONNECT a.org:443"), rawRequest(`GET ${path}`, handshake)]) {
    const socket = socketTo(t, own.port);
    socket.write(text);
    socket.end("more that is not read");
    const [answer] = (await once(socket, "data")) as [Buffer];
    t.match(answer.toString(), /^HTTP\/1\.1 [45]/);
  }
  const { server } = own.app;
  const took = await elapsedMs(() => until(async () => (await connectionsOf(server)) === 0));
  // Otherwise, the connection would linger for three seconds. Timings on a busy machine prove
  // nothing.
  if (NIGHT) t.ok(took < 2500, `${took} ms`);
});

void t.test("frames that are none", async (t) => {
  const guest = await server.guest();
  const { sockets } = server.app.live;
  const before = sockets.size;
  const table: Record<string, number[]> = {
    "not masked": [0x81, 0x02, 0x5b, 0x5d],
    "reserved bits": [0xf1, 0x80, 0, 0, 0, 0],
    "an unknown opcode": [0x83, 0x80, 0, 0, 0, 0],
    "a long ping": [0x89, 0xfe, 0x10, 0x00, 0, 0, 0, 0],
    "a huge length": [0x81, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255],
    "a continuation of nothing": [0x80, 0x80, 0, 0, 0, 0],
    "a bad close code": [0x88, 0x82, 0, 0, 0, 0, 0x00, 0x01],
  };
  for (const [name, bytes] of Object.entries(table)) {
    const socket = socketTo(t, server.port);
    socket.write(rawRequest(`GET ${path}`, handshake));
    await once(socket, "data");
    const ended = once(socket, "close");
    socket.write(Buffer.from(bytes));
    socket.end();
    await soon(ended);
    t.equal(await guest.code("user.list.blocked"), "ok", name);
  }
  await until(() => sockets.size <= before);
});

// Compression by `permessage-deflate` (RFC 7692), for clients that offer it.

const ACCEPTED = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

void t.test("which offers are accepted", async (t) => {
  const offers: [offer: string, accepted: boolean][] = [
    ["permessage-deflate", true],
    ["permessage-deflate; client_max_window_bits", true],
    ["permessage-deflate; server_no_context_takeover", true],
    ["permessage-deflate; server_max_window_bits=15", true],
    ["x-other, permessage-deflate; client_max_window_bits=9", true],
    ["permessage-deflate; server_max_window_bits=9, permessage-deflate", true],
    ["permessage-deflate; server_max_window_bits=9", false],
    ["permessage-deflate; client_max_window_bits=16", false],
    ["permessage-deflate; mystery", false],
    ["permessage-deflate; client_max_window_bits; client_max_window_bits", false],
    ["permessage-deflated", false],
  ];
  for (const [offer, accepted] of offers) {
    const wire = dial(t, server.port);
    const headers = { ...handshake, "Sec-WebSocket-Extensions": offer };
    wire.send(rawRequest(`GET ${path}`, headers));
    const answer = await soon(wire.answer());
    t.equal(answer.status, 101, offer);
    const extensions = answer.headers["sec-websocket-extensions"];
    t.equal(extensions, accepted ? ACCEPTED : undefined, offer);
    wire.hangUp();
  }
});

void t.test("everybody reads the same", async (t) => {
  const world = await openWorld(server);
  const admin = await world.person("Admin", "admin");
  const { room: channel } = await admin.do("room.create", {
    name: "Hall",
    description: "A large room. ".repeat(200),
    modules: [{ type: "chat.native", config: { volatile: true } }],
  });
  const plain = await world.connect({ perMessageDeflate: false });
  // This client compresses everything that it sends.
  const perMessageDeflate = { threshold: 0, clientNoContextTakeover: true };
  const deflating = await world.connect({ perMessageDeflate });
  for (const client of [plain, deflating]) await client.login({ client_id: `${client === plain}` });
  t.same(deflating.hello["world.config"], plain.hello["world.config"], "a login");
  await admin.do("chat.join", { channel });
  for (const client of [plain, deflating]) await client.do("chat.subscribe", { channel });
  const body = "Ünïcödé ".repeat(1000);
  await say(admin, channel, body);
  const pages: Json[] = [];
  for (const client of [plain, deflating]) {
    t.same((await client.next("chat.event")).content, text(body), "a push");
    const page = { channel, count: 25, before_id: 1_000_000 };
    pages.push((await client.do("chat.fetch", page)).results);
  }
  t.same(pages[1], pages[0], "a page");
  t.ok(pages[1].length > 0);
});

/** Builds a compressed, masked text frame of a client. */
function frame(text: Buffer, { first = 0xc1, isLast = true } = {}): Buffer {
  const head = Buffer.alloc(8);
  head[0] = isLast ? first : first & 0x7f;
  head[1] = 0x80 | 126;
  head.writeUInt16BE(text.length, 2);
  return Buffer.concat([head, text]);
}

const deflated = (text: string) => deflateRawSync(text, { finishFlush: 2 }).subarray(0, -4);

/** Opens a WebSocket with compression that records all received bytes. */
async function compressing(t: Test) {
  const socket = socketTo(t, server.port);
  socket.write(rawRequest(`GET ${path}`, deflate));
  await once(socket, "data");
  let got = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => (got = Buffer.concat([got, chunk])));
  return { socket, got: () => got };
}

void t.test("what clients compress", async (t) => {
  const ping = deflated('["ping",1]');
  const half = Math.floor(ping.length / 2);
  const fragments = [
    frame(ping.subarray(0, half), { isLast: false }),
    frame(ping.subarray(half), { first: 0x80 }),
  ];
  const rows: [name: string, frames: Buffer[], answer: string | number][] = [
    ["a message", [frame(ping)], '["pong",1]'],
    ["a message in fragments", fragments, '["pong",1]'],
    ["a large one", [frame(deflated(" ".repeat(2 ** 16 + 1)))], 1009],
    ["a bomb", [frame(deflated("x".repeat(2 ** 24)))], 1009],
    ["no deflate stream", [frame(Buffer.from("not deflated"))], 1007],
  ];
  for (const [name, frames, answer] of rows) {
    const { socket, got } = await compressing(t);
    socket.write(Buffer.concat(frames));
    const expected =
      typeof answer === "string"
        ? Buffer.from(answer)
        : Buffer.from([0x88, 2, answer >> 8, answer & 0xff]);
    await until(() => got().includes(expected));
    t.ok(got().includes(expected), name);
    socket.destroy();
  }
});

void t.test("many messages in one chunk wait their turn", async (t) => {
  const { socket, got } = await compressing(t);
  const large = frame(deflated(`["ping",1${" ".repeat(60_000)}]`));
  socket.write(Buffer.concat(Array<Buffer>(100).fill(large)));
  let most = 0;
  await until(() => {
    for (const { incoming } of server.app.live.sockets.values()) {
      most = Math.max(most, incoming.count);
    }
    return got().includes("pong");
  });
  t.ok(most <= 3, `${most} wait at once`);
});
