import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate, setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { loadConfig } from "../../../config.js";
import type { Connection } from "../../../live/socket/connection.js";
import { TICK } from "../../../live/socket/heartbeat.js";
import { rawRequest, until } from "../../support/helper.js";
import {
  type Client,
  holdRates,
  invalid,
  type Json,
  limited,
  openWorld,
  soon,
  voteRoom,
} from "../../support/open-world.js";
import { type Server, startServer } from "../../support/server.js";

// Limits on the size and rate of what clients send, and on the memory that they can make a server
// use.

/** The default limits. */
const { commandsPerSecond, messagesPerSecond } = loadConfig({}).live;
const server = await startServer(t, { limits: { commandsPerSecond, messagesPerSecond } });
const short = await startServer(t, { limits: { authTimeout: 2500, maxFrame: 2048, maxText: 10 } });

const KiB = 1024;

void t.test("time to log in", async (t) => {
  const guest = await short.guest();
  const late = await short.connect();
  t.same(await late.next("error"), { code: "auth.timeout" });
  t.equal((await soon(late.closed)).code, 1008);
  t.equal(await guest.code("user.list.blocked"), "ok", "who is logged in stays");
});

void t.test("size of a message", async (t) => {
  const permission_config = { "room.update": ["crew"], "world.update": ["boss"] };
  const world = await openWorld(short, { permission_config });
  const sized = (bytes: number) => {
    const text = '["ping","é"]';
    return text.replace("é", "é".padEnd(bytes - Buffer.byteLength(text) + 1));
  };
  for (const [traits, most] of [
    [[], 2 * KiB],
    [["crew"], KiB * KiB],
    [["boss"], KiB * KiB],
  ] as const) {
    const client = await world.person(`with ${traits.join()}`, ...traits);
    client.send(sized(most));
    t.equal((await client.frame())[0], "pong", `${traits.join()} ${most}`);
    client.send(sized(most + 1));
    t.equal((await soon(client.closed)).code, 1009, `${most + 1}`);
  }
  const stranger = await world.connect();
  stranger.send(sized(2049));
  t.equal((await soon(stranger.closed)).code, 1009, "before login");
});

void t.test("the size follows the rights", async (t) => {
  const world = await openWorld(short, { permission_config: { "world.view": [] } });
  const client = await world.person("u", "crew");
  const big = JSON.stringify(["ping", "x".repeat(4000)]);
  await world.configure({ permission_config: { "world.update": ["crew"] } });
  await client.next("world.updated");
  client.send(big);
  t.equal((await client.frame())[0], "pong");
  await world.configure({ permission_config: {} });
  await client.next("world.updated");
  client.send(big);
  t.equal((await soon(client.closed)).code, 1009);
});

void t.test("lengths of texts", async (t) => {
  const world = await openWorld(short);
  const admin = await world.admin();
  const room = await voteRoom(world, {
    rules: { "question.moderate": [["admin"]], "poll.manage": [["admin"]] },
  });
  const fits = "😀".repeat(10);
  const long = { content: `${fits}x` };
  const options = [{ content: fits }];
  const { announcement } = await admin.do("announcement.create", { text: fits });
  const { question } = await admin.do("question.ask", { room, content: fits });
  const { poll } = await admin.do("poll.create", { room, content: fits, options });
  const refused: [action: string, payload: object, field: string][] = [
    ["announcement.create", { text: long.content }, "text"],
    ["announcement.update", { id: announcement.id, text: long.content }, "text"],
    ["question.ask", long, "content"],
    ["question.update", { id: question.id, ...long }, "content"],
    ["poll.create", long, "content"],
    ["poll.update", { id: poll.id, ...long }, "content"],
    ["poll.create", { content: "x", options: [...options, long] }, "options.1.content"],
    ["poll.update", { id: poll.id, options: [long] }, "options.0.content"],
  ];
  for (const [action, payload, field] of refused) {
    const [, , problem] = await admin.call(action, { room, ...payload });
    const details = { [field]: ["Must be at most 10 characters."] };
    t.match(problem, { code: invalid, details }, `${action} ${field}`);
  }
});

void t.test("sizes of profiles and client states", async (t) => {
  const world = await openWorld(server);
  const [guest, admin, room] = [await world.guest(), await world.admin(), await world.room()];
  const sized = (bytes: number) => ({ x: "y".repeat(bytes - 8) });
  const { id } = guest;
  const update = (client: Client, action: string, payload: object) =>
    client.code(`user.${action}`, payload);
  for (const [bytes, code] of [
    [16 * KiB, "ok"],
    [16 * KiB + 1, invalid],
  ] as const) {
    const profile = sized(bytes);
    t.equal(await update(guest, "update", { profile }), code, `profile ${bytes}`);
    t.equal(await update(admin, "admin.update", { id, profile }), code, `profile ${bytes}`);
    const client_state = sized(bytes + 16 * KiB);
    t.equal(await update(guest, "update", { client_state }), code, `client_state ${bytes}`);
  }
  const sent: [action: string, name: string, payload?: object][] = [
    ["user.update", "profile"],
    ["user.update", "client_state"],
    ["user.admin.update", "profile", { id }],
    ["room.config.patch", "schedule_data", { room }],
    ["room.schedule", "schedule_data", { room }],
  ];
  const nest = (depth: number): object => (depth === 1 ? {} : { a: nest(depth - 1) });
  const values: [title: object, isAccepted: boolean][] = [
    [Array(998).fill(0), true],
    [Array(999).fill(0), false],
    [nest(19), true],
    [nest(20), false],
    [nest(90), false],
  ];
  for (const [action, name, payload] of sent) {
    for (const [title, isAccepted] of values) {
      const [, , answer] = await admin.call(action, { ...payload, [name]: { title } });
      const { code = "ok", details } = answer as Json;
      const given = `${action} ${name} ${JSON.stringify(title).length}`;
      const wrong = action === "room.config.patch" ? "config.invalid" : invalid;
      t.equal(code, isAccepted ? "ok" : wrong, given);
      if (!isAccepted) t.match(details[name], [/1000 values|20 levels/], given);
    }
  }
});

void t.test("commands a second", async (t) => {
  const own = await startServer(t, { limits: { commandsPerSecond: 1 } });
  const go = holdRates(t);
  const guest = await own.guest();
  // The login counts as the first in a burst of six.
  for (let i = 1; i <= 8; i++) {
    guest.sendFrame("user.update", i, { profile: { display_name: `N${i}` } });
  }
  guest.sendFrame("nothing", 9);
  guest.send("{");
  guest.send('["ping",1]');
  for (let i = 1; i <= 5; i++) t.same(await guest.frame(), ["success", i, {}]);
  for (let i = 6; i <= 8; i++) t.match(await guest.frame(), ["error", i, { code: limited }]);
  t.match(await guest.frame(), ["error", { code: limited }]);
  t.match(await guest.frame(), ["error", Object]);
  t.match(await guest.frame(), ["error", { code: limited }]);
  const user = await own.store.users.get("demo", guest.id);
  t.equal(user?.profile?.display_name, "N5", "not executed");
  t.equal(await (await own.guest()).code("user.list.blocked"), "ok", "others go on");
  go();
  await until(async () => (await guest.code("user.list.blocked")) === "ok");
});

void t.test("logins a second are a user's", async (t) => {
  const own = await startServer(t, { limits: { commandsPerSecond: 2 } });
  const go = holdRates(t);
  const token = own.tokenOf({ uid: "often" });
  for (const credentials of [{ token }, { client_id: "often" }]) {
    const name = Object.keys(credentials).join();
    for (let i = 0; i < 12; i++) {
      const client = await own.connect();
      t.equal((await client.login(credentials))[0], "authenticated", name);
      client.close();
      await client.closed;
    }
    const client = await own.connect();
    t.match(await client.login(credentials), ["error", { code: limited }], name);
    // The connection stays open for another login.
    const other = await client.login({ client_id: `no-${name}` });
    t.equal(other[0], "authenticated", "others go on");
  }
  go();
  const late = await own.connect();
  await until(async () => (await late.login({ token }))[0] !== "error");
});

void t.test("messages a second are a user's", async (t) => {
  const world = await openWorld(await startServer(t, { limits: { messagesPerSecond: 1 } }));
  const rooms = [await world.room(), await world.room()];
  const [one, two] = [await world.guest("g"), await world.guest("g")];
  for (const room of rooms) await one.do("room.enter", { room });
  const go = holdRates(t);
  for (const [i, reaction] of ["👏", "❤️", "👍", "🤣", "😮"].entries()) {
    for (const room of rooms) {
      t.equal(await (i % 2 === 0 ? one : two).code("room.react", { room, reaction }), "ok");
    }
  }
  go();
  // A room pushes reactions once a second, so they may be split across pushes.
  const counted: number[] = [];
  const pushed = new Set<string>();
  while (pushed.size < rooms.length || counted.length < 4) {
    const { room, reactions } = await one.next("room.reaction");
    pushed.add(room as string);
    counted.push(...Object.values(reactions as Record<string, number>));
  }
  t.same(counted, [1, 1, 1, 1], "four at once, and the rest in silence");
});

void t.test("searches a second are a user's", async (t) => {
  const world = await openWorld(server);
  const [one, two] = [await world.person("s", "admin"), await world.person("s", "admin")];
  holdRates(t);
  const search = (client: Client) => client.code("user.list.search", { search_term: "x", page: 1 });
  for (let i = 0; i < 49; i++) t.equal(await search(i % 2 === 0 ? one : two), "ok");
  t.equal(await one.code("user.list"), "ok", "it counts, too");
  t.equal(await search(two), limited);
  t.equal(await one.code("user.list"), limited);
  one.close();
  await one.closed;
  t.equal(await search(await world.person("s", "admin")), limited);
  t.equal(await search(await world.guest()), "ok");
});

void t.test("rooms of a connection", async (t) => {
  const world = await openWorld(server);
  const rooms: string[] = [];
  for (let i = 0; i < 101; i++) rooms.push(await world.room());
  const guest = await world.guest();
  for (const room of rooms.slice(0, 100)) guest.sendFrame("room.enter", room, { room });
  for (const room of rooms.slice(0, 100)) t.equal((await guest.answered(room))[0], "success");
  const enter = (i: number) => guest.code("room.enter", { room: rooms[i] });
  t.equal(await enter(100), limited);
  t.equal(await enter(5), "ok", "entering again");
  await guest.do("room.leave", { room: rooms[5] });
  t.equal(await enter(100), "ok");
});

void t.test("websockets of a process", async (t) => {
  const own = await startServer(t, { limits: { maxConnections: 2 } });
  const one = await own.connect();
  await own.connect();
  await t.rejects(own.connect(), /503/);
  t.equal((await fetch(`${own.baseUrl}/healthz`)).status, 200, "requests are served");
  one.close();
  await soon(one.closed);
  // A closed connection frees its slot.
  await until(() =>
    own
      .connect()
      .then(() => true)
      .catch(() => false),
  );
});

void t.test("a client that does not read", async (t) => {
  const own = await startServer(t, { limits: { maxUnsent: 64 * KiB, maxText: 400_000 } });
  const [slow, quick, admin] = [await own.guest(), await own.guest(), await own.admin()];
  slow.ws.pause();
  const text = "x".repeat(400_000);
  const isOpen = () =>
    [...own.app.live.sockets.values()].some(({ login }) => login?.user === slow.id);
  // The operating system buffers some megabytes first.
  for (let round = 0; isOpen() && round < 200; round++) {
    await admin.do("announcement.create", { text, state: "active" });
    for (const client of [quick, admin]) await client.next("announcement.created_or_updated");
  }
  t.notOk(isOpen(), "it was dropped");
  slow.ws.resume();
  await soon(slow.closed);
  t.equal(await quick.code("user.list.blocked"), "ok");

  const world = await openWorld(own);
  await world.users(60, "reads a large answer", { text: "x".repeat(3000) });
  const reader = await world.admin();
  reader.sendFrame("user.list", 1, null);
  reader.sendFrame("user.list", 2, null);
  reader.sendFrame("ping", 3);
  const frames = await reader.frames(3);
  t.match(
    frames,
    [
      ["success", 1, Object],
      ["success", 2, Object],
      ["pong", 3],
    ],
    "a reader stays",
  );
});

void t.test("silence", async (t) => {
  const own = await startServer(t, { limits: { pingInterval: 1000 } });
  // The test controls the clock, which starts on a tick.
  const began = Math.ceil(performance.now() / TICK) * TICK;
  const today = Date.now();
  let passed = 0;
  t.intercept(performance, "now", { value: () => began + passed });
  t.intercept(Date, "now", { value: () => today + passed });
  const [silent, alive, talking] = [
    await own.connect("demo", { autoPong: false }),
    await own.connect(),
    await own.connect("demo", { autoPong: false }),
  ];
  for (const client of [silent, alive, talking]) await client.login({ client_id: "x" });
  const pingedAt = async (time: number, ...clients: Client[]) => {
    const pings = clients.map(({ ws }) => once(ws, "ping"));
    passed = time;
    await soon(Promise.all(pings));
    talking.send('["ping",1]');
    t.same(await talking.next("pong"), 1);
  };
  for (const time of [1000, 2000]) await pingedAt(time, silent, alive, talking);
  passed = 2500;
  t.equal((await soon(silent.closed)).code, 1001, "after 2.4 intervals");
  for (const time of [3000, 4000, 5000]) await pingedAt(time, alive, talking);
  for (const client of [alive, talking]) t.equal(await client.code("user.list.blocked"), "ok");
});

void t.test("the system clock is set", async (t) => {
  const now = Date.now;
  t.teardown(() => (Date.now = now));
  const set = (offset: number) => (Date.now = () => now() + offset);
  const guest = await short.guest();
  // While this connection times out, the server checks all connections.
  const timesOut = async () =>
    t.match(await (await short.connect()).frame(), ["error", { code: "auth.timeout" }]);
  set(90_000);
  await timesOut();
  t.equal(await guest.code("user.list.blocked"), "ok", "forward");
  set(-3_600_000);
  await timesOut();
  set(2 * 3_600_000);
  const { closed } = await short.person({ uid: "u", seconds: 60 });
  set(3 * 3_600_000);
  t.equal((await soon(closed)).code, 1008, "a token counts and expires on the system clock");
});

/** Builds a client frame, masked with zeros. */
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

/** Opens a WebSocket to which a test writes raw bytes, along with its connection on the server. */
async function rawSocket(t: Test, { app, port }: Server) {
  const before = new Set(app.live.sockets.values());
  const socket: Socket = connect(port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(handshake);
  await once(socket, "data");
  const connection = [...app.live.sockets.values()].find((one) => !before.has(one))!;
  return { socket, connection };
}

void t.test("messages that wait are few, and small in all", async (t) => {
  const message = frame(JSON.stringify(["ping", "x".repeat(60 * KiB)]));
  for (const [name, most, limit] of [
    ["before login", 2, 200 * KiB],
    ["after login", 4, 1100 * KiB],
  ] as const) {
    const { socket, connection } = await rawSocket(t, server);
    if (name === "after login") {
      socket.write(frame('["authenticate",{"client_id":"g"}]'));
      await until(() => connection.login !== undefined);
    }
    socket.pause();
    for (let i = 0; i < 160; i++) socket.write(message);
    // The server stops reading until the client reads its responses.
    let [queued, unsent] = [0, 0];
    for (const end = performance.now() + 1000; performance.now() < end; await delay(5)) {
      queued = Math.max(queued, connection.incoming.count);
      unsent = Math.max(unsent, connection.unsent);
    }
    t.ok(queued <= most, `${name}: ${queued} messages wait`);
    t.ok(unsent <= limit, `${name}: ${unsent} bytes are unsent`);
    socket.destroy();
  }
});

void t.test("requests are served while strangers flood", async (t) => {
  const refusal = '["error",{"code":"protocol.rate_limited"';
  const many = (...frames: Buffer[]) => Buffer.concat(Array<Buffer[]>(8000).fill(frames).flat());
  const table: Record<string, Buffer> = {
    "tiny messages": many(frame("[]")),
    "large ones": frame(`[${"[],".repeat(20_000)}[]]`),
    pings: many(frame("", { opcode: 9 })),
    "messages after the end": Buffer.concat([frame("", { opcode: 3 }), many(frame("[]"))]),
  };
  for (const [name, message] of Object.entries(table)) {
    const { socket } = await rawSocket(t, server);
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
      t.equal((await fetch(`${server.baseUrl}/healthz`)).status, 200, name);
      await delay(20);
    }
    on = false;
    socket.destroy();
    // Refusals have a burst of 300 and a rate of 50 per second, like commands. Each one takes time,
    // so the number of incoming messages does not matter.
    const seconds = (performance.now() - started) / 1000;
    t.ok(refused <= 300 + 50 * seconds + 1, `${name}: ${refused} refusals`);
  }
});

void t.test("pings do not let a message grow", async (t) => {
  const { socket, connection } = await rawSocket(t, short);
  socket.resume();
  socket.write(frame("[", { fin: false }));
  for (let i = 0; i < 8 && !connection.ended; i++) {
    socket.write(frame("x".repeat(KiB), { opcode: 0, fin: false }));
    socket.write(frame("", { opcode: i % 2 ? 9 : 10 }));
    await delay(10);
  }
  await until(() => connection.ended);
  t.ok(connection.ended);
});

void t.test("a message in too many pieces", async (t) => {
  const { socket, connection } = await rawSocket(t, server);
  socket.resume();
  socket.write(frame("[", { fin: false }));
  socket.write(Buffer.concat(Array<Buffer>(3000).fill(frame(" ", { opcode: 0, fin: false }))));
  await until(() => connection.ended);
  t.ok(connection.ended);
});

void t.test("the last of many pings is answered", async (t) => {
  const { socket } = await rawSocket(t, server);
  const pings = Array.from({ length: 20 }, (_, i) => frame(`ping ${i}`, { opcode: 9 }));
  let got = "";
  socket.on("data", (chunk: Buffer) => (got += chunk.toString("latin1")));
  socket.write(Buffer.concat(pings));
  await until(() => got.includes("ping 19"));
  t.ok(got.endsWith("\x8a\x07ping 19"), "a pong, without a mask");
});

void t.test("a client that waits for a busy server does not time out", async (t) => {
  const long = 1e12;
  const own = await startServer(t, { limits: { authTimeout: long, pingInterval: 2 * long } });
  const clients: Awaited<ReturnType<typeof rawSocket>>[] = [];
  for (let i = 0; i < 50; i++) clients.push(await rawSocket(t, own));
  const now = performance.now.bind(performance);
  let leap = 0;
  // Each message exhausts its time slice, so the others stay queued.
  t.intercept(performance, "now", { value: () => now() + (leap += 10) });
  const late = () => clients.map(({ connection }) => connection.tick(now() + long));
  t.same([...new Set(late())], ["auth.timeout"], "who says nothing");
  for (const [i, { socket }] of clients.entries()) {
    socket.write(frame(`["authenticate",{"client_id":"late-${i}"}]`));
  }
  const inLine = () => clients.filter(({ connection }) => connection.incoming.count);
  for (const end = now() + 30_000; inLine().length === 0 && now() < end;) await setImmediate();
  const waiting = inLine();
  t.not(waiting.length, 0, "some wait");
  const ticks = waiting.map(({ connection }) => connection.tick(now() + long));
  t.ok(
    ticks.every((it) => it === undefined),
    "who waits",
  );
  await until(() => clients.every(({ connection }) => connection.login));
});

/** Fills the write queue of a client that does not read. */
async function clog({ app }: Server, client: Client): Promise<Connection> {
  client.ws.pause();
  const connection = [...app.live.hub.of("demo", client.id)][0]!;
  // More than the operating system buffers.
  const ping = JSON.stringify(["ping", "x".repeat(60_000)]);
  while (connection.writer.kept < 500_000) {
    client.send(ping);
    await setImmediate();
  }
  let left = 0;
  await until(() => left === (left = connection.writer.left));
  return connection;
}

void t.test("a client that takes nothing for half a minute", async (t) => {
  const own = await startServer(t, { limits: { commandsPerSecond: 100_000 } });
  const { backlog } = own.app.live;
  const [reader, client] = [await own.guest(), await own.guest()];
  const connection = await clog(own, client);
  const look = (times: number) => {
    for (let i = 0; i < times; i++) backlog.look();
  };
  look(100);
  t.notOk(connection.ended, "not yet");
  // The client reads a little.
  const { left } = connection.writer;
  client.ws.resume();
  await until(() => connection.writer.left !== left);
  await clog(own, client);
  look(100);
  t.notOk(connection.ended, "a slow one stays");
  look(30);
  t.ok(connection.ended, "now it is cut");
  t.equal(backlog.size, 0);
  t.equal(await reader.code("user.list.blocked"), "ok", "others go on");
});

void t.test("answers that wait for all clients together", async (t) => {
  const limits = { commandsPerSecond: 100_000, maxUnsentTotal: 1_000_000 };
  const own = await startServer(t, { limits });
  const { backlog } = own.app.live;
  const reader = await own.guest();
  const look = t.intercept(backlog, "look", { value: () => {} });
  const clogged: Connection[] = [];
  for (let i = 0; i < 3; i++) clogged.push(await clog(own, await own.guest()));
  const largest = Math.max(...clogged.map(({ writer }) => writer.kept));
  t.ok(backlog.size > 1_500_000);
  look.restore();
  backlog.look();
  t.ok(backlog.size <= 1_000_000, `${backlog.size} are left`);
  const ended = clogged.filter(({ ended }) => ended);
  t.ok(ended.length > 0 && ended.length < 3, "no more than needed");
  t.ok(
    ended.some(({ writer }) => writer.kept === largest),
    "the one for which most waits is first",
  );
  t.equal(await reader.code("user.list.blocked"), "ok", "others go on");
});
