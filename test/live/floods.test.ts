import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate, setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import type { Connection } from "../../live/socket/connection.js";
import { rawRequest, until } from "../helper.js";
import { type Client, type LiveServer, soon, startLive } from "./client.js";

// What clients can make a server keep in memory, or do, without end.

const KiB = 1024;

/** A frame of a client, masked with zeros. */
function frame(content: string, { opcode = 1, fin = true } = {}): Buffer {
  const size = Buffer.byteLength(content);
  const head = Buffer.alloc(size < 126 ? 6 : 8);
  head[0] = (fin ? 0x80 : 0) | opcode;
  if (size < 126) head[1] = 0x80 | size;
  else {
    head[1] = 0x80 | 126;
    head.writeUInt16BE(size, 2);
  }
  return Buffer.concat([head, Buffer.from(content)]);
}

const handshake = rawRequest("GET /ws/world/demo/", {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
});

/** A websocket that a test writes bytes to, and the server's side of it. */
async function rawSocket(
  t: Test,
  live: LiveServer,
): Promise<{ socket: Socket; connection: Connection }> {
  const before = new Set(live.app.live.sockets.values());
  const socket = connect(live.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(handshake);
  await once(socket, "data");
  const connection = [...live.app.live.sockets.values()].find(
    (one) => !before.has(one),
  );
  return { socket, connection: connection! };
}

void t.test("messages that wait are few, and small in all", async (t) => {
  const live = await startLive(t);
  const message = frame(JSON.stringify(["ping", "x".repeat(60 * KiB)]));
  const table: [name: string, isKnown: boolean, most: number][] = [
    ["before login", false, 2],
    ["after login", true, 4],
  ];
  for (const [name, isKnown, most] of table) {
    const { socket, connection } = await rawSocket(t, live);
    if (isKnown) {
      socket.write(frame('["authenticate",{"client_id":"g"}]'));
      await soon(until(() => connection.login !== undefined));
    }
    socket.pause();
    for (let i = 0; i < 160; i++) socket.write(message);
    // It reads until the client would have to read.
    let queued = 0;
    let unsent = 0;
    const end = performance.now() + 1000;
    while (performance.now() < end) {
      await delay(5);
      queued = Math.max(queued, connection.incoming.count);
      unsent = Math.max(unsent, connection.unsent);
    }
    t.ok(queued <= most, `${name}: ${queued} messages wait`);
    const limit = isKnown ? 1100 * KiB : 200 * KiB;
    t.ok(unsent <= limit, `${name}: ${unsent} bytes are unsent`);
    socket.destroy();
  }
});

void t.test("requests are served while strangers flood", async (t) => {
  const live = await startLive(t);
  const refusal = '["error",{"code":"protocol.rate_limited"';
  const table: [name: string, message: Buffer][] = [
    ["tiny messages", Buffer.concat(Array(8000).fill(frame("[]")))],
    ["large ones", frame(`[${"[],".repeat(20_000)}[]]`)],
    ["pings", Buffer.concat(Array(8000).fill(frame("", { opcode: 9 })))],
    [
      "messages after the end",
      Buffer.concat([
        frame("", { opcode: 3 }),
        ...Array<Buffer>(8000).fill(frame("[]")),
      ]),
    ],
  ];
  for (const [name, message] of table) {
    const { socket } = await rawSocket(t, live);
    let refused = 0;
    socket.on("data", (chunk: Buffer) => {
      refused += chunk.toString("latin1").split(refusal).length - 1;
    });
    let on = true;
    const write = () => {
      while (on && !socket.destroyed && socket.write(message));
    };
    socket.on("drain", write);
    const started = performance.now();
    write();
    for (let i = 0; i < 20; i++) {
      t.equal((await fetch(`${live.baseUrl}/healthz`)).status, 200, name);
      await delay(20);
    }
    on = false;
    socket.destroy();
    // Refusals have a burst of 300 and a rate of 50, as commands have. Each costs time,
    // so it does not matter how many messages come.
    const seconds = (performance.now() - started) / 1000;
    t.ok(refused <= 300 + 50 * seconds + 1, `${name}: ${refused} refusals`);
  }
});

void t.test("many commands at once are all answered", async (t) => {
  const live = await startLive(t, { commandsPerSecond: 20 });
  const guest = await live.guest();
  const count = 300;
  const started = performance.now();
  for (let i = 0; i < count; i++) guest.sendFrame("user.list.blocked", i, null);
  const names = { success: 0, error: 0 };
  for (let i = 0; i < count; i++) {
    const [name, id, result] = await guest.frame();
    t.equal(id, i, "in order");
    if (name === "error") t.match(result, { code: "protocol.rate_limited" });
    names[name as keyof typeof names]++;
  }
  // Bursts of six times the rate, and then the rate of both.
  const seconds = (performance.now() - started) / 1000;
  const most = 6 * 20 + 20 * seconds + 1;
  t.ok(names.success >= 119 && names.success <= most, `${names.success}`);
  const least = Math.min(119, count - most);
  t.ok(names.error >= least && names.error <= most, `${names.error}`);
});

void t.test("pings do not let a message grow", async (t) => {
  const live = await startLive(t, { maxFrame: 4 * KiB });
  const { socket, connection } = await rawSocket(t, live);
  socket.resume();
  socket.write(frame("[", { fin: false }));
  for (let i = 0; i < 8 && !connection.ended; i++) {
    socket.write(frame("x".repeat(2 * KiB), { opcode: 0, fin: false }));
    socket.write(frame("", { opcode: i % 2 ? 9 : 10 }));
    await delay(10);
  }
  await soon(until(() => connection.ended));
  t.ok(connection.ended);
});

void t.test("a message in too many pieces", async (t) => {
  const live = await startLive(t);
  const { socket, connection } = await rawSocket(t, live);
  socket.resume();
  socket.write(frame("[", { fin: false }));
  const piece = frame(" ", { opcode: 0, fin: false });
  socket.write(Buffer.concat(Array(3000).fill(piece)));
  await soon(until(() => connection.ended));
  t.ok(connection.ended);
});

void t.test("the last of many pings is answered", async (t) => {
  const live = await startLive(t);
  const { socket } = await rawSocket(t, live);
  const pings = Array.from({ length: 20 }, (_, i) =>
    frame(`ping ${i}`, { opcode: 9 }),
  );
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.write(Buffer.concat(pings));
  const got = () => Buffer.concat(chunks).toString("latin1");
  await soon(until(() => got().includes("ping 19")));
  t.ok(got().endsWith("\x8a\x07ping 19"), "a pong, without a mask");
  t.equal((await fetch(`${live.baseUrl}/healthz`)).status, 200);
});

void t.test(
  "a client that waits for a busy server does not time out",
  async (t) => {
    const long = 1e12;
    const live = await startLive(t, {
      authTimeout: long,
      pingInterval: 2 * long,
    });
    const clients: Awaited<ReturnType<typeof rawSocket>>[] = [];
    for (let i = 0; i < 50; i++) clients.push(await rawSocket(t, live));
    const now = performance.now.bind(performance);
    let leap = 0;
    // Each message uses up its turn, so that the others wait in line.
    const value = () => now() + (leap += 10);
    t.teardown(t.intercept(performance, "now", { value }).restore);
    const late = () =>
      clients.map(({ connection }) => connection.tick(now() + long));
    t.same([...new Set(late())], ["auth.timeout"], "who says nothing");
    clients.forEach(({ socket }, i) =>
      socket.write(frame(`["authenticate",{"client_id":"late-${i}"}]`)),
    );
    const inLine = () =>
      clients.filter(({ connection }) => connection.incoming.count);
    const end = now() + 30_000;
    while (inLine().length === 0 && now() < end) await setImmediate();
    t.not(inLine().length, 0, "some wait");
    t.same(
      inLine().map(({ connection }) => connection.tick(now() + long)),
      inLine().map(() => undefined),
      "who waits",
    );
    const loggedIn = ({ connection }: (typeof clients)[number]) =>
      connection.login;
    await soon(until(() => clients.every(loggedIn)));
  },
);

/** A guest whose library does not compress: that would take its own time. */
async function plainGuest(live: LiveServer): Promise<Client> {
  const client = await live.connect("demo", { perMessageDeflate: false });
  await client.login({ client_id: `plain-${Math.random()}` });
  return client;
}

/** Makes answers wait for a client, which does not read them. */
async function clog({ app }: LiveServer, client: Client) {
  client.ws.pause();
  const connection = [...app.live.hub.of("demo", client.id)][0]!;
  // As much as the buffers of the machine take, and then some.
  const ping = JSON.stringify(["ping", "x".repeat(60_000)]);
  while (connection.writer.kept < 500_000) {
    client.send(ping);
    await setImmediate();
  }
  let left = 0;
  const isStill = () => left === (left = connection.writer.left);
  await soon(until(isStill));
  return connection;
}

void t.test("a client that takes nothing for half a minute", async (t) => {
  const live = await startLive(t, { commandsPerSecond: 100_000 });
  const { backlog } = live.app.live;
  const reader = await live.guest();
  const client = await plainGuest(live);
  const connection = await clog(live, client);
  const look = (times: number) => {
    for (let i = 0; i < times; i++) backlog.look();
  };
  look(100);
  t.notOk(connection.ended, "not yet");
  // It takes a little.
  const { left } = connection.writer;
  client.ws.resume();
  await soon(until(() => connection.writer.left !== left));
  await clog(live, client);
  look(100);
  t.notOk(connection.ended, "a slow one stays");
  look(30);
  t.ok(connection.ended, "now it is cut");
  t.equal(backlog.size, 0);
  t.equal(await reader.code("user.list.blocked"), "ok", "others go on");
});

void t.test("answers that wait for all clients together", async (t) => {
  const limits = { commandsPerSecond: 100_000, maxUnsentTotal: 1_000_000 };
  const live = await startLive(t, limits);
  const { backlog } = live.app.live;
  const reader = await live.guest();
  const look = t.intercept(backlog, "look", { value: () => {} });
  const clogged: Connection[] = [];
  for (let i = 0; i < 3; i++) {
    clogged.push(await clog(live, await plainGuest(live)));
  }
  const largest = Math.max(...clogged.map(({ writer }) => writer.kept));
  t.ok(backlog.size > 1_500_000);
  look.restore();
  backlog.look();
  t.ok(backlog.size <= 1_000_000, `${backlog.size} are left`);
  const ended = clogged.filter(({ ended }) => ended);
  t.ok(ended.length > 0 && ended.length < 3, "no more than needed");
  t.ok(
    clogged.some((each) => each.ended && each.writer.kept === largest),
    "the one for which most waits is first",
  );
  t.equal(await reader.code("user.list.blocked"), "ok", "others go on");
});
