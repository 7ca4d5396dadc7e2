import t from "tap";
import { once } from "node:events";
import { until } from "../helper.js";
import { processClock } from "../../db/log/clock.js";
import { TICK } from "../../live/socket/heartbeat.js";
import { Buckets, TokenBucket } from "../../live/socket/pace.js";
import {
  type Client,
  demo,
  holdRates,
  type Json,
  makeRoom,
  soon,
  startLive,
} from "./client.js";

void t.test("time to log in", async (t) => {
  // Enough for a guest to log in on a machine that does other work, once the first
  // write has started the thread that writes.
  const live = await startLive(t, { authTimeout: 2500 });
  await makeRoom(live);
  const guest = await live.guest();
  const late = await live.connect();
  t.same(await late.next("error"), { code: "auth.timeout" });
  t.equal((await soon(late.closed)).code, 1008);
  t.same(await guest.all(), [], "who is logged in stays");
});

void t.test("a rate is saved up to its burst, and no further", (t) => {
  let now = 0;
  const clock = { ...processClock, now: () => now };
  const bucket = new TokenBucket(10, 3, clock);
  const taken = () => {
    let count = 0;
    while (count < 1000 && bucket.take()) count++;
    return count;
  };
  t.equal(taken(), 30);
  now += 1000;
  t.equal(taken(), 10);
  now += 3_600_000;
  t.equal(taken(), 30);
  t.end();
});

void t.test("size of a message", async (t) => {
  const crew = { "room.update": ["crew"], "world.update": ["boss"] };
  const live = await startLive(t, { maxFrame: 2048 }, [
    demo({ permission_config: crew }),
  ]);
  const sized = (bytes: number) => {
    const text = '["ping","é"]';
    return text.replace("é", "é".padEnd(bytes - Buffer.byteLength(text) + 1));
  };
  const MiB = 1024 * 1024;
  const table: [traits: string[], most: number][] = [
    [[], 2048],
    [["crew"], MiB],
    [["boss"], MiB],
  ];
  for (const [traits, most] of table) {
    const client = await live.person({ uid: `with ${traits.join()}`, traits });
    client.send(sized(most));
    t.equal((await client.frame())[0], "pong", `${traits.join()} ${most}`);
    client.send(sized(most + 1));
    t.equal((await soon(client.closed)).code, 1009, `${most + 1}`);
  }
  const stranger = await live.connect();
  stranger.send(sized(2049));
  t.equal((await soon(stranger.closed)).code, 1009, "before login");
});

void t.test("the size follows the rights", async (t) => {
  const live = await startLive(t, { maxFrame: 2048 }, [
    demo({ permission_config: { "world.view": [] } }),
  ]);
  const client = await live.person({ uid: "u", traits: ["crew"] });
  const big = JSON.stringify(["ping", "x".repeat(4000)]);
  await live.app.store.worlds.configure("demo", {
    permission_config: { "world.update": ["crew"] },
  });
  await client.next("world.updated");
  client.send(big);
  t.equal((await client.frame())[0], "pong");
  await live.app.store.worlds.configure("demo", { permission_config: {} });
  await client.next("world.updated");
  client.send(big);
  t.equal((await soon(client.closed)).code, 1009);
});

void t.test("a message in fragments that never ends", async (t) => {
  const live = await startLive(t, { maxFrame: 1024 });
  const client = await live.guest();
  const part = Buffer.alloc(1000, "x");
  client.ws.send(part, { fin: false, binary: false });
  client.ws.send(part, { fin: false });
  client.ws.send(part, { fin: false });
  t.equal((await soon(client.closed)).code, 1009);
});

void t.test("lengths of texts", async (t) => {
  const live = await startLive(t, { maxText: 10 });
  const admin = await live.admin();
  const invalid = "protocol.invalid_payload";
  const room = await makeRoom(live, {
    module_config: [
      { type: "question", config: { active: true } },
      { type: "poll", config: { active: true } },
    ],
    permission_config: {
      "question.moderate": [["admin"]],
      "poll.manage": [["admin"]],
    },
  });
  const short = "😀".repeat(10);
  const draft = { text: short };
  const { announcement } = await admin.do("announcement.create", draft);
  const { question } = await admin.do("question.ask", { room, content: short });
  const options = [{ content: short }];
  const { poll } = await admin.do("poll.create", {
    room,
    content: short,
    options,
  });
  const long = `${short}x`;
  const refused: [action: string, payload: object, field: string][] = [
    ["announcement.create", { text: long }, "text"],
    ["announcement.update", { id: announcement.id, text: long }, "text"],
    ["question.ask", { content: long }, "content"],
    ["question.update", { id: question.id, content: long }, "content"],
    ["poll.create", { content: long }, "content"],
    ["poll.update", { id: poll.id, content: long }, "content"],
    [
      "poll.create",
      { content: "x", options: [...options, { content: long }] },
      "options.1.content",
    ],
    [
      "poll.update",
      { id: poll.id, options: [{ content: long }] },
      "options.0.content",
    ],
  ];
  for (const [action, payload, field] of refused) {
    const [, , problem] = await admin.call(action, { room, ...payload });
    const details = { [field]: ["Must be at most 10 characters."] };
    t.match(problem, { code: invalid, details }, `${action} ${field}`);
  }
});

void t.test("sizes of profiles and client states", async (t) => {
  const live = await startLive(t);
  const guest = await live.guest();
  const sized = (bytes: number) => ({ x: "y".repeat(bytes - 8) });
  const KiB = 1024;
  const table: [field: string, bytes: number, code: string][] = [
    ["profile", 16 * KiB, "ok"],
    ["profile", 16 * KiB + 1, "protocol.invalid_payload"],
    ["client_state", 32 * KiB, "ok"],
    ["client_state", 32 * KiB + 1, "protocol.invalid_payload"],
  ];
  const refused = "protocol.invalid_payload";
  for (const [field, bytes, code] of table) {
    const payload = { [field]: sized(bytes) };
    t.equal(
      await guest.code("user.update", payload),
      code,
      `${field} ${bytes}`,
    );
  }
  const admin = await live.admin();
  const room = await makeRoom(live);
  type Sent = [action: string, name: string, payload?: object];
  const sent: Sent[] = [
    ["user.update", "profile"],
    ["user.update", "client_state"],
    ["user.admin.update", "profile", { id: guest.id }],
    ["room.config.patch", "schedule_data", { room }],
    ["room.schedule", "schedule_data", { room }],
  ];
  const nest = (depth: number): object =>
    depth === 1 ? {} : { a: nest(depth - 1) };
  const values: [title: object, isTaken: boolean][] = [
    [Array(998).fill(0), true],
    [Array(999).fill(0), false],
    [nest(19), true],
    [nest(20), false],
    [nest(90), false],
  ];
  for (const [action, name, payload] of sent) {
    for (const [title, isTaken] of values) {
      const [, , answer] = await admin.call(action, {
        ...payload,
        [name]: { title },
      });
      const { code = "ok", details } = answer as Json;
      const given = `${action} ${name} ${JSON.stringify(title).length}`;
      const wrong = action === "room.config.patch" ? "config.invalid" : refused;
      t.equal(code, isTaken ? "ok" : wrong, given);
      if (!isTaken) t.match(details[name], [/1000 values|20 levels/], given);
    }
  }
  const update = (bytes: number) =>
    admin.code("user.admin.update", { id: guest.id, profile: sized(bytes) });
  t.equal(await update(16 * KiB), "ok");
  t.equal(await update(16 * KiB + 1), "protocol.invalid_payload");
});

void t.test("commands a second", async (t) => {
  const live = await startLive(t, { commandsPerSecond: 1 });
  const go = holdRates(t);
  const guest = await live.guest();
  // The login was the first of six.
  for (let i = 1; i <= 8; i++) {
    guest.sendFrame("user.update", i, { profile: { display_name: `N${i}` } });
  }
  guest.sendFrame("nothing", 9);
  guest.send("{");
  guest.send('["ping",1]');
  for (let i = 1; i <= 5; i++) t.same(await guest.frame(), ["success", i, {}]);
  const limited = { code: "protocol.rate_limited" };
  for (let i = 6; i <= 8; i++) {
    t.match(await guest.frame(), ["error", i, limited]);
  }
  t.match(await guest.frame(), ["error", limited]);
  t.match(await guest.frame(), ["error", Object]);
  t.match(await guest.frame(), ["error", limited]);
  const user = await live.app.store.users.get("demo", guest.id);
  t.equal(user?.profile?.display_name, "N5", "not executed");
  const other = await live.guest();
  t.equal(await other.code("user.list.blocked"), "ok", "others go on");
  go();
  // After a while it may go on.
  const mayGoOn = async () => (await guest.code("user.list.blocked")) === "ok";
  await soon(until(mayGoOn));
});

void t.test("logins a second are a user's", async (t) => {
  const live = await startLive(t, { commandsPerSecond: 2 });
  const go = holdRates(t);
  const token = live.tokenOf({ uid: "often" });
  const table: [name: string, credentials: object][] = [
    ["token", { token }],
    ["guest", { client_id: "often" }],
  ];
  for (const [name, credentials] of table) {
    for (let i = 0; i < 12; i++) {
      const client = await live.connect();
      t.equal((await client.login(credentials))[0], "authenticated", name);
      client.close();
      await client.closed;
    }
    const client = await live.connect();
    const limited = ["error", { code: "protocol.rate_limited" }];
    t.match(await client.login(credentials), limited, name);
    // The connection stays, for another login.
    const other = { client_id: `no-${name}` };
    t.equal((await client.login(other))[0], "authenticated", "others go on");
  }
  go();
  const late = await live.connect();
  const logsIn = async () => (await late.login({ token }))[0] !== "error";
  await soon(until(logsIn));
});

void t.test("rates are forgotten when they are whole again", async (t) => {
  let now = 0;
  const clock = { ...processClock, now: () => now };
  const rates = new Buckets(clock, 5, 4);
  const take = (from: number, to: number) => {
    for (let i = from; i < to; i++) rates.take(`${i}`, 1);
  };
  rates.take("busy", 20);
  rates.spend("busy", 20);
  take(0, 10_000);
  t.equal(rates.size, 10_001, "all of these are in use");
  now = 4000;
  take(10_000, 20_000);
  t.ok(rates.size <= 15_000, `${rates.size} are left`);
  t.notOk(rates.take("busy", 1), "a debt is kept");
  take(20_000, 150_000);
  t.ok(rates.size <= 100_000, "never more");
});

void t.test("messages a second are a user's", async (t) => {
  const live = await startLive(t, { messagesPerSecond: 1 });
  const rooms = [];
  for (const name of ["A", "B"]) rooms.push(await makeRoom(live, { name }));
  const [one, two] = [await live.guest("g"), await live.guest("g")];
  for (const room of rooms) await one.do("room.enter", { room });
  const emoji = ["👏", "❤️", "👍", "🤣", "😮"];
  const go = holdRates(t);
  for (const [i, reaction] of emoji.entries()) {
    for (const room of rooms) {
      const from = i % 2 === 0 ? one : two;
      t.equal(await from.code("room.react", { room, reaction }), "ok");
    }
  }
  go();
  // A room gets them once a second, so perhaps some now and others later.
  const counted: number[] = [];
  const told = new Set<string>();
  while (told.size < rooms.length || counted.length < 4) {
    const { room, reactions } = await one.next("room.reaction");
    told.add(room as string);
    counted.push(...Object.values(reactions as Record<string, number>));
  }
  t.same(counted, [1, 1, 1, 1], "four at once, and the rest in silence");
});

void t.test("searches a second are a user's", async (t) => {
  const live = await startLive(t);
  const person = { uid: "s", traits: ["admin"] };
  const [one, two] = [await live.person(person), await live.person(person)];
  const go = holdRates(t);
  const search = { search_term: "x", page: 1 };
  for (let i = 0; i < 49; i++) {
    const from = i % 2 === 0 ? one : two;
    t.equal(await from.code("user.list.search", search), "ok");
  }
  t.equal(await one.code("user.list"), "ok", "it counts, too");
  const limited = "protocol.rate_limited";
  t.equal(await two.code("user.list.search", search), limited);
  t.equal(await one.code("user.list"), limited);
  one.close();
  await one.closed;
  const three = await live.person(person);
  t.equal(await three.code("user.list.search", search), limited);
  const other = await live.guest();
  t.equal(await other.code("user.list.search", search), "ok");
  go();
});

void t.test("rooms of a connection", async (t) => {
  const live = await startLive(t);
  const rooms: string[] = [];
  for (let i = 0; i < 101; i++) {
    rooms.push(await makeRoom(live, { name: `R${i}` }));
  }
  const guest = await live.guest();
  for (const room of rooms.slice(0, 100))
    guest.sendFrame("room.enter", room, { room });
  for (const room of rooms.slice(0, 100)) {
    t.ok(await guest.answered(room));
  }
  const enter = (i: number) => guest.code("room.enter", { room: rooms[i] });
  t.equal(await enter(100), "protocol.rate_limited");
  t.equal(await enter(5), "ok", "entering again");
  await guest.do("room.leave", { room: rooms[5] });
  t.equal(await enter(100), "ok");
});

void t.test("websockets of a process", async (t) => {
  const live = await startLive(t, { maxConnections: 2 });
  const one = await live.connect();
  await live.connect();
  await t.rejects(live.connect(), /503/);
  const answer = await fetch(`${live.baseUrl}/healthz`);
  t.equal(answer.status, 200, "requests are served");
  one.close();
  await soon(one.closed);
  // A closed one makes room.
  const isOpen = () =>
    live.connect().then(
      () => true,
      () => false,
    );
  await soon(until(isOpen));
});

void t.test("a client that does not read", async (t) => {
  const live = await startLive(t, { maxUnsent: 65_536, maxText: 400_000 });
  const [slow, quick, admin] = [
    await live.guest(),
    await live.guest(),
    await live.admin(),
  ];
  const ended = once(slow.ws, "close");
  slow.ws.pause();
  let rounds = 0;
  const text = "x".repeat(400_000);
  const isOpen = () =>
    [...live.app.live.sockets.values()].some(
      ({ login }) => login?.user === slow.id,
    );
  // The operating system takes some megabytes first.
  while (isOpen() && rounds++ < 200) {
    await admin.do("announcement.create", { text, state: "active" });
    for (const client of [quick, admin]) {
      await client.next("announcement.created_or_updated");
    }
  }
  t.notOk(isOpen(), "it was dropped");
  slow.ws.resume();
  await soon(ended);
  t.equal(await quick.code("user.list.blocked"), "ok");
});

void t.test("a client that reads a large answer stays", async (t) => {
  const live = await startLive(t, { maxUnsent: 65_536 });
  for (let i = 0; i < 60; i++) {
    const profile = { display_name: `N${i}`, text: "x".repeat(3000) };
    const visitor = { tokenId: `u${i}`, traits: new Set<string>(), profile };
    await live.app.store.users.enter("demo", visitor);
  }
  const admin = await live.admin();
  admin.sendFrame("user.list", 1, null);
  admin.sendFrame("user.list", 2, null);
  admin.sendFrame("ping", 3);
  t.match(await admin.frame(), ["success", 1, Object]);
  t.match(await admin.frame(), ["success", 2, Object]);
  t.same(await admin.frame(), ["pong", 3]);
});

void t.test("silence", async (t) => {
  const live = await startLive(t, { pingInterval: 1000 });
  // Time passes when the test says so. It begins with a tick.
  const began = Math.ceil(performance.now() / TICK) * TICK;
  const today = Date.now();
  let passed = 0;
  t.intercept(performance, "now", { value: () => began + passed });
  t.intercept(Date, "now", { value: () => today + passed });
  const [silent, alive, talking] = [
    await live.connect("demo", { autoPong: false }),
    await live.connect(),
    await live.connect("demo", { autoPong: false }),
  ];
  for (const client of [silent, alive, talking]) {
    await client.login({ client_id: "x" });
  }
  const pingedAt = async (time: number, clients: Client[]) => {
    const pings = clients.map(({ ws }) => once(ws, "ping"));
    passed = time;
    await soon(Promise.all(pings));
    talking.send('["ping",1]');
    t.same(await talking.next("pong"), 1);
  };
  for (const time of [1000, 2000]) {
    await pingedAt(time, [silent, alive, talking]);
  }
  passed = 2500;
  t.equal((await soon(silent.closed)).code, 1001, "after 2.4 intervals");
  for (const time of [3000, 4000, 5000]) {
    await pingedAt(time, [alive, talking]);
  }
  t.equal(await alive.code("user.list.blocked"), "ok");
  t.equal(await talking.code("user.list.blocked"), "ok");
});

void t.test("the system clock is set", async (t) => {
  const now = Date.now;
  t.teardown(() => (Date.now = now));
  const live = await startLive(t, { authTimeout: 2500 });
  await makeRoom(live);
  const guest = await live.guest();
  Date.now = () => now() + 90_000;
  // While this one waits for its end, the server looks at all connections.
  const idle = await live.connect();
  t.same(await idle.next("error"), { code: "auth.timeout" });
  t.equal(await guest.code("user.list.blocked"), "ok", "forward");
  Date.now = () => now() - 3_600_000;
  const late = await live.connect();
  t.same(await late.next("error"), { code: "auth.timeout" }, "backward");
  Date.now = () => now() + 2 * 3_600_000;
  const person = live.person({ uid: "u", seconds: 60 });
  await t.resolves(person, "a token counts on the system clock");
  const { closed } = await person;
  Date.now = () => now() + 3 * 3_600_000;
  t.equal((await soon(closed)).code, 1008, "and expires on it");
});
