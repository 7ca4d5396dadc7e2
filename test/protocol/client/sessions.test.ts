import { spawn } from "node:child_process";
import { once } from "node:events";
import { openAsBlob } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import ts from "typescript";
import { createApp } from "../../../app.js";
import { Foyer, FoyerError, Live, LiveError, type LiveOptions } from "../../../client/index.js";
import { Retries } from "../../../client/live/connection.js";
import { stateAfter } from "../../../client/live/state.js";
import { loadConfig } from "../../../config.js";
import { putDatabase, usersOf } from "../../support/database.js";
import { keyOf, listen, tokenOf, until, worldOf } from "../../support/helper.js";
import { demo, startServer } from "../../support/server.js";
import { startProxy } from "../../support/servers/proxy.js";
import { configOf } from "../../support/stack.js";
import { testdir } from "../../support/testdir.js";
import { House, hurry, liveOf, next, rejection, type Visitor } from "./house.js";
import { type Fate, Wire } from "./wire.js";

// A client's connection. The rows in conformance/ compare the client's state after each push with
// that of a fresh login.

void t.test("how it logs in", async (t) => {
  const house = await House.open(t);
  const token = house.token("ada");
  const fresh = async () => token;
  const cases: [name: string, options: Visitor, sent: object][] = [
    ["a guest", { token: undefined, clientId: "ada" }, { client_id: "ada" }],
    ["a token", { token }, { token }],
    ["a function", { token: fresh }, { token }],
    ["both", { token, clientId: "ada" }, { token }],
    ["an address with a slash", { baseUrl: `${house.baseUrl}/` }, {}],
  ];
  for (const [name, options, sent] of cases) {
    const { live, wire } = await house.visit(options);
    t.equal(live.state, await live.connected(), name);
    t.equal(live.isConnected, true, name);
    t.match(wire.sent, [["authenticate", sent]], name);
    live.close();
  }
  for (const baseUrl of ["rooms", "", "ftp://rooms.example.org"]) {
    t.throws(() => new Live({ baseUrl, world: "demo" }), TypeError, baseUrl);
  }

  const urls: string[] = [];
  const WebSocket = class {
    constructor(url: string) {
      urls.push(url);
    }
    send() {}
    close() {}
  } as never;
  const baseUrl = "https://example.org/at";
  liveOf(t, { baseUrl }, { world: "?", WebSocket });
  await until(() => urls.length > 0);
  t.same(urls, ["wss://example.org/at/ws/world/%3F/"]);
});

void t.test("the outcome of a call is the answer with its id", async (t) => {
  const house = await House.open(t);
  const { hall } = house;
  const { live, wire } = await house.visit();
  const { id } = live.state!.user;
  const denied = await rejection(live.call("room.delete", { room: hall }));
  t.ok(denied instanceof LiveError);
  t.match(denied, { code: "protocol.denied", message: String });
  const wrong = live.call("user.update", { profile: 5 } as never);
  t.match(await rejection(wrong), {
    name: "LiveError",
    code: "protocol.invalid_payload",
    details: { profile: [String] },
  });
  // The first response arrives last.
  const late: unknown[][] = [];
  wire.change = (frame) => (frame[1] === 3 ? void late.push(frame) : frame);
  const both = [live.call("user.fetch", { id }), live.call("user.fetch", { id: house.ben })];
  t.match(await both[1], { id: house.ben });
  wire.change = (frame) => frame;
  await wire.deliver(...late);
  t.match(await both[0], { id });
  t.match(wire.sent.slice(1), [
    ["room.delete", 1, { room: hall }],
    ["user.update", 2, { profile: 5 }],
    ["user.fetch", 3, { id }],
    ["user.fetch", 4, { id: house.ben }],
  ]);

  const circle: { room?: unknown } = {};
  circle.room = circle;
  t.match(await rejection(live.call("room.enter", circle)), TypeError);

  wire.fate = (name) => (name === "user.list" ? "swallowed" : "arrives");
  const slow = live.call("user.list", null, { timeout: 5 });
  t.match(await rejection(slow), { code: "client.timeout", message: "No answer within 5 ms." });
  await wire.deliver(["success", 5, {}], ["success", "1", {}], ["error", 9, {}]);
  t.ok(await live.call("user.list.blocked"), "a late answer is dropped");
});

void t.test("an awaited call continues before later pushes", async (t) => {
  const house = await House.open(t);
  const { live } = await house.visit({ WebSocket: undefined });
  const channel = house.hall;
  await live.call("chat.join", { channel });
  await live.call("chat.subscribe", { channel });
  const seen: string[] = [];
  live.on("chat.event", () => seen.push("push"));
  for (let i = 0; i < 5; i++) {
    await live.call("chat.send", {
      channel,
      event_type: "channel.message",
      content: { type: "text", body: "Hi" },
    });
    // A generous number of microtasks for a program that awaits nothing else.
    for (let i = 0; i < 10; i++) await Promise.resolve();
    seen.push("answer");
    await until(() => seen.length % 2 === 0);
  }
  t.same(seen, Array(5).fill(["answer", "push"]).flat());
});

void t.test("listeners", async (t) => {
  const house = await House.open(t);
  const { live, wire, errors } = await house.visit();
  const seen: unknown[] = [];
  live.on("world.schedule.updated", () => {
    throw new Error("thrown");
  });
  live.on("world.schedule.updated", async () => {
    throw new Error("rejected");
  });
  const stop = live.on("world.schedule.updated", (data) => {
    seen.push(data);
    stop();
  });
  const twice = (data: unknown) => seen.push(data);
  const stopFirst = live.on("of.tomorrow", twice);
  live.on("of.tomorrow", twice);
  await wire.deliver(["of.no.interest"], ["pong", 0], ["success", 7, {}]);
  await wire.deliver(
    ["world.schedule.updated", { url: "a" }],
    ["world.schedule.updated", { url: "b" }],
    ["of.tomorrow", 1],
  );
  stopFirst();
  stopFirst();
  const error = next(live, "error");
  await wire.deliver(["of.tomorrow", 2], ["error", { code: "protocol.invalid_message" }]);
  t.same(await error, { code: "protocol.invalid_message" });
  t.same(seen, [{ url: "a" }, 1, 1, 2]);
  await until(() => errors.length === 4);
  t.match(errors.map((error) => (error as Error).message).sort(), [
    "rejected",
    "rejected",
    "thrown",
    "thrown",
  ]);
});

void t.test("what no row of a state shows", async (t) => {
  const house = await House.open(t);
  const { live, wire } = await house.visit();
  const first = live.state!;
  await wire.deliver(["of.tomorrow", {}], ["toString", {}]);
  t.equal(live.state, first, "the same object");
  t.equal(stateAfter(first, "toString", "{}", {}), first);
  const announcement = { id: "1", text: "Hi", state: "active" };
  const send = (data: object) =>
    wire.deliver([
      "announcement.created_or_updated",
      { ...announcement, show_until: null, ...data },
    ]);
  await send({ show_until: "2020-01-01T00:00:00Z" });
  t.same(live.state!.announcements, [], "it is over");
  await send({});
  t.match(live.state!.announcements, [{ id: "1", is_visible: true }]);
  await send({ is_visible: false });
  t.same(live.state!.announcements, []);
  t.same(first.announcements, [], "an earlier state does not change");
});

void t.test("after close", async (t) => {
  const house = await House.open(t);
  const { live, wire } = await house.visit();
  wire.fate = (name) => (name === "user.list" ? "swallowed" : "arrives");
  const underway = rejection(live.call("user.list"));
  await until(() => wire.count("user.list") === 1);
  const closed = next<LiveError>(live, "client.closed");
  live.close();
  live.close();
  t.match(await underway, { code: "client.disconnected", cause: { code: "client.closed" } });
  t.match(await closed, { code: "client.closed" });
  t.match(await rejection(live.call("user.list")), { code: "client.closed" });
  t.match(await rejection(live.connected()), { code: "client.closed" });
  t.equal(live.isConnected, false);

  const waiting = liveOf(t, { baseUrl: "http://127.0.0.1:1" });
  const never = rejection(waiting.call("user.list"));
  waiting.close();
  t.match(await never, { code: "client.closed" });
});

void t.test("a closed client does not keep its process alive", async (t) => {
  const house = await House.open(t);
  // A hanging proxy does not answer the closing handshake either.
  const proxy = await startProxy(t, Number(new URL(house.baseUrl).port));
  const baseUrl = `http://127.0.0.1:${proxy.port}`;
  const index = new URL("../../../client/index.js", import.meta.url).href;
  const program = join(testdir(t), "program.mjs");
  const text = `
    import { Live } from ${JSON.stringify(index)};
    const quiet = (promise) => promise.catch(() => {});
    const slow = { world: process.argv[3], clientId: "a", timeout: 600_000, retryDelay: 600_000 };
    const live = new Live({ ...slow, baseUrl: process.argv[2] });
    await live.connected();
    console.log("in");
    await new Promise((done) => process.stdin.once("data", done));
    process.stdin.destroy();
    quiet(live.call("user.list"));
    live.close();
    const lost = new Live({ ...slow, baseUrl: "http://127.0.0.1:1" });
    quiet(lost.call("user.list"));
    await new Promise((done) => lost.on("client.disconnected", done));
    lost.close();
    const early = new Live({ ...slow, baseUrl: process.argv[2] });
    early.close();
    const token = () => new Promise(() => {});
    new Live({ ...slow, baseUrl: process.argv[2], token }).close();
    const patient = new Live({ ...slow, baseUrl: process.argv[2], token });
    await new Promise((done) => setTimeout(done, 20));
    patient.close();
  `;
  await writeFile(program, text);
  // Started through env, because tap adds a loader to the environment of every child process.
  const args = ["-i", process.execPath, program, baseUrl, house.world];
  const child = spawn("env", args, { stdio: ["pipe", "pipe", "inherit"] });
  t.teardown(() => child.kill("SIGKILL"));
  const closed = new Promise((done) => child.once("close", done));
  await once(child.stdout, "data");
  proxy.hang();
  child.stdin.write("go");
  t.equal(await closed, 0);
});

/** Applies a fate to the first logins; all other frames arrive. */
const first = (wire: Wire, logins: number, fate: Fate) => {
  wire.fate = (name) => (name === "authenticate" && wire.count(name) <= logins ? fate : "arrives");
};

void t.test("after these it comes back", async (t) => {
  hurry(t);
  const junk = ["", "{", "{}", "[]", "[1]", "null", '["error"]'];
  const send =
    (frame: unknown[] | string | Buffer) =>
    (wire: Wire): unknown =>
      wire.deliver(frame);
  const texts = [...junk, '["authenticated"]', '["world.user_count_change"]'];
  // Retried, because the token function may return a different token.
  const codes = ["server.fatal", "auth.expired_token", "auth.invalid_token"];
  const invalid = { code: "client.invalid_frame", cause: Error };
  const dropped = { code: "client.disconnected", message: /close code 1006\.$/ };
  const restarted = { message: "Disconnected: service restart." };
  const cases: [name: string, fault: (wire: Wire) => unknown, error: object][] = [
    ...texts.map((text): (typeof cases)[number] => [`the frame ${text}`, send(text), invalid]),
    ["a binary frame", send(Buffer.from("\0")), {}],
    ["a dropped connection", (wire) => wire.drop(), dropped],
    ["a restart", (wire) => wire.close(1012, "service restart"), restarted],
    ["a busy server", (wire) => wire.close(1013), {}],
    ["a close without a reason", (wire) => wire.close(1000), {}],
    ...codes.map((code): (typeof cases)[number] => [code, send(["error", { code }]), { code }]),
    ["a wish to reload", send(["connection.reload", {}]), { code: "connection.reload" }],
  ];
  const house = await House.open(t);
  for (const [name, fault, error] of cases) {
    const token = () => house.token("ada");
    const { live, wire } = await house.visit({ token });
    const disconnected = next(live, "client.disconnected");
    void fault(wire);
    t.match(await disconnected, { error, retryIn: Number }, name);
    t.ok(await live.call("user.list.blocked"), name);
    t.equal(wire.attempts, 2, name);
    // The ids restart from 1.
    t.match(wire.sent.slice(1), [["authenticate"], ["user.list.blocked", 1]]);
    live.close();
  }
});

void t.test("after these a first login is tried again", async (t) => {
  hurry(t);
  const house = await House.open(t);
  const cases: [fate: Fate, options: Visitor][] = [
    [{ error: "auth.timeout" }, {}],
    ["swallowed", { timeout: 1000 }],
    [{ error: "server.fatal" }, {}],
    [{ error: "login.of_tomorrow" }, {}],
    ["lost", {}],
    [{ error: "auth.expired_token" }, { token: () => house.token("ada") }],
  ];
  for (const [fate, options] of cases) {
    const wire = new Wire();
    first(wire, 1, fate);
    const { live } = await house.visit({ wire, ...options });
    t.equal(wire.attempts, 2, JSON.stringify(fate));
    live.close();
  }
});

void t.test("it comes back at once when it is asked to", async (t) => {
  const house = await House.open(t);
  const HOUR = 3_600_000;
  t.intercept(Math, "random", { value: () => 1 });
  const { live, wire } = await house.visit({ retryDelay: HOUR, maxRetryDelay: HOUR });
  live.reconnect();
  await live.call("user.list.blocked");
  t.equal(wire.attempts, 1, "not while it is connected");
  for (const attempts of [2, 3]) {
    const disconnected = next(live, "client.disconnected");
    wire.drop();
    await disconnected;
    live.reconnect();
    live.reconnect();
    await live.connected();
    t.equal(wire.attempts, attempts, "once");
  }
  const disconnected = next(live, "client.disconnected");
  wire.drop();
  await disconnected;
  live.close();
  live.reconnect();
  t.match(await rejection(live.connected()), { code: "client.closed" });
  t.equal(wire.attempts, 3, "never after close()");
});

void t.test("after these it stays away", async (t) => {
  hurry(t);
  const house = await House.open(t);
  const token = () => house.token("ada");
  const text = token();
  const cases: [code: string, options: Visitor, logins: number][] = [
    ["auth.denied", { token }, 1],
    ["auth.missing_token", {}, 1],
    ["auth.missing_id_or_token", {}, 1],
    ["auth.expired_token", { token: text }, 1],
    ["auth.invalid_token", { token: text }, 1],
    // The client requests one more token.
    ["auth.expired_token", { token }, 2],
    ["auth.invalid_token", { token }, 2],
    ["world.unknown_world", {}, 1],
    ["protocol.invalid_payload", {}, 1],
    ["connection.replaced", {}, 1],
  ];
  for (const [code, options, logins] of cases) {
    const wire = new Wire();
    first(wire, Infinity, { error: code });
    const { live } = await house.client({ wire, ...options });
    const waiting = rejection(live.call("user.list"));
    const closed = next<LiveError>(live, "client.closed");
    t.match(await rejection(live.connected()), { code, message: "No." });
    t.match(await waiting, { code });
    t.match(await closed, { code });
    t.match(await rejection(live.call("user.list")), { code });
    t.equal(wire.attempts, logins, code);
  }

  const { live, wire } = await house.visit({ uid: "eve" });
  const closed = next(live, "client.closed");
  const { users } = house.store;
  await users.moderate(house.world, live.state!.user.id, "banned");
  t.match(await closed, { code: "auth.denied" }, "a ban");
  t.ok(wire.attempts <= 2);
});

void t.test("calls around a break", async (t) => {
  hurry(t);
  const house = await House.open(t);
  const { live, wire } = await house.visit({ maxCalls: 3 });
  wire.fate = (name) => (name === "user.fetch" ? "swallowed" : "arrives");
  const underway = rejection(live.call("user.fetch", { ids: [] }));
  await until(() => wire.count("user.fetch") === 1);
  wire.cut();
  t.match(await underway, { code: "client.disconnected", cause: { code: "client.disconnected" } });
  t.equal(live.isConnected, false);

  const expired = live.call("user.list", null, { timeout: 5 });
  t.match(await rejection(expired), {
    code: "client.unreachable",
    message: /^No connection within 5 ms\. Disconnected: /,
    cause: { code: "client.disconnected" },
  });
  const payload = { room: house.hall, reaction: "👍" };
  const waiting = [
    live.call("room.react", payload),
    live.call("user.list.blocked"),
    live.call("room.leave", { room: house.hall }),
  ];
  payload.reaction = "changed afterwards";
  t.match(await rejection(live.call("user.list")), { code: "client.overloaded" });
  const before = wire.sent.length;
  wire.restore();
  await Promise.all(waiting);
  t.match(wire.sent.slice(before), [
    ["authenticate"],
    ["room.react", 1, { room: house.hall, reaction: "👍" }],
    ["user.list.blocked", 2, null],
    ["room.leave", 3, { room: house.hall }],
  ]);
  t.ok(await live.call("user.list.blocked"), "there is room for calls again");
});

void t.test("rooms are entered again", async (t) => {
  hurry(t);
  const house = await House.open(t);
  const { hall, attic, store, world } = house;
  const room = async (name: string) => (await store.rooms.create(world, { name })).value.id;
  const [left, gone] = [await room("left"), await room("gone")];
  const { live, wire } = await house.visit();
  for (const id of [hall, left, gone]) await live.call("room.enter", { room: id });
  await live.call("room.enter", { channel: attic });
  await live.call("room.leave", { room: left });
  const deleted = next(live, "room.delete");
  await store.rooms.delete(world, gone);
  await deleted;

  live.on("authenticated", () => live.call("user.list.blocked"));
  const restored = next(live, "client.room_restored");
  const lost = next(live, "client.room_lost");
  wire.cut();
  await until(() => !live.isConnected);
  await house.allow(attic, { "room.view": ["staff"] });
  const before = wire.sent.length;
  wire.restore();
  await live.call("user.fetch", { ids: [] });
  t.match(await restored, { room: hall });
  t.match(await lost, { room: attic, error: { code: "protocol.denied" } });
  t.match(wire.sent.slice(before), [
    ["authenticate"],
    ["room.enter", 1, { room: hall }],
    ["room.enter", 2, { room: attic }],
    ["user.list.blocked", 3, null],
    ["user.fetch", 4],
  ]);

  // The connection breaks while the room is being restored, so restoring starts over.
  const entered = wire.count("room.enter");
  wire.fate = (name) =>
    name === "room.enter" && wire.count(name) === entered + 1 ? "unanswered" : "arrives";
  const again = next(live, "client.room_restored");
  wire.drop();
  t.match(await again, { room: hall });
  t.equal(wire.count("room.enter"), entered + 2);

  // A room left while disconnected is not re-entered.
  wire.cut();
  await until(() => !live.isConnected);
  const leaving = live.call("room.leave", { room: hall });
  wire.restore();
  await leaving;
  t.equal(wire.count("room.enter"), entered + 2);
});

void t.test("a server that is gone without a word", async (t) => {
  hurry(t);
  const house = await House.open(t);
  const { live, wire } = await house.visit({ heartbeat: 300 });
  await until(() => wire.count("ping") >= 3);
  t.equal(wire.attempts, 1, "with pongs, the connection lives");
  wire.fate = (name) => (name === "ping" ? "swallowed" : "arrives");
  t.match(await next(live, "client.disconnected"), {
    error: { message: "The server did not answer a ping within 300 ms." },
  });
  wire.fate = () => "arrives";
  t.ok(await live.call("user.list.blocked"));
});

void t.test("the delays before reconnections", async (t) => {
  const unreachable = { baseUrl: "http://127.0.0.1:1" };
  const fail = () => Promise.reject(new Error("no token today"));
  const cases: [random: number, options: Partial<LiveOptions>, delays: number[]][] = [
    [1, {}, [2, 4, 8, 10, 10]],
    [1, { token: fail }, [2, 4, 8]],
    [0.25, {}, [0.5, 1]],
  ];
  for (const [random, options, delays] of cases) {
    const { restore } = t.intercept(Math, "random", { value: () => random });
    const live = liveOf(t, unreachable, { retryDelay: 2, maxRetryDelay: 10, ...options });
    const seen: number[] = [];
    live.on("client.disconnected", ({ retryIn }) => seen.push(retryIn));
    await until(() => seen.length >= delays.length);
    live.close();
    t.same(seen.slice(0, delays.length), delays);
    restore();
  }
  for (const [token, message] of [
    [() => Promise.reject(new Error("Sold out.")), "Cannot connect: Sold out."],
    [() => new Promise(() => {}), "Cannot connect: There was no token within 20 ms."],
  ] as [token: () => Promise<string>, message: string][]) {
    const live = liveOf(t, unreachable, { token, timeout: 20 });
    const error = { code: "client.unreachable", message };
    t.match(await next(live, "client.disconnected"), { error });
  }
});

void t.test("how long a connection lasts to count as stable", (t) => {
  t.intercept(Math, "random", { value: () => 1 });
  const error = new Error("The connection ended.") as LiveError;
  const rows: [lasted: (number | undefined)[], code: number, delays: number[]][] = [
    [[undefined, undefined, undefined], 1006, [1000, 2000, 4000]],
    // If a server crashes every few seconds, its clients must not all return after the shortest
    // delay.
    [[5000, 5000, 5000], 1006, [1000, 2000, 4000]],
    [[undefined, 19_999, 40_000], 1006, [1000, 2000, 1000]],
    [[undefined, undefined, undefined, undefined, 30_000], 1006, [1000, 2000, 4000, 8000, 1000]],
    // A login alone does not count as a success, nor a restart as a failure.
    [[0, 0, 0], 1011, [1000, 2000, 4000]],
    [[0, 0, 0], 1012, [1000, 1000, 1000]],
  ]; // prettier-ignore
  for (const [lasted, code, delays] of rows) {
    const retries = new Retries(1000, 30_000, false);
    const waits = lasted.map((time) =>
      retries.next({ error, code, ...(time !== undefined && { lasted: time }) }),
    );
    t.same(waits, delays, lasted.join());
  }
  t.end();
});

void t.test("an outage costs no message", async (t) => {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("demo")]);
  const { live: limits } = loadConfig({ LIVE_MESSAGES_PER_SECOND: "20" });
  const config = { ...(await configOf(dataDir)), live: limits };
  const before = createApp({ config });
  const port = await listen(before);
  const module_config = [{ type: "chat.native" }];
  const room = (await before.store.rooms.create("demo", { name: "Hall", module_config })).value.id;
  const token = tokenOf(keyOf("demo"), { uid: "7", profile: { display_name: "Ada" } });
  const [live, other] = [1, 2].map(() =>
    liveOf(t, { baseUrl: `http://127.0.0.1:${port}` }, { token }),
  );
  const channel = live!.channel(room);
  await channel.join();
  await before.close();
  // Twice as many as the server accepts in one burst.
  const numbers = Array.from({ length: 160 }, (_, i) => String(i));
  const sent = Promise.all(numbers.map((number) => channel.send(number)));
  const after = createApp({ config });
  t.teardown(() => after.close());
  await after.listen({ host: "127.0.0.1", port });
  const send = (body: string) =>
    other!.call("chat.send", {
      channel: room,
      event_type: "channel.message",
      content: { type: "text", body },
    });
  await Promise.all([sent, Promise.allSettled(["a", "b", "c"].map(send))]);
  const stored = await channel.history({ count: 1000 });
  const bodies = stored.map(({ content }) => content.body as string);
  const found = bodies.filter((body) => numbers.includes(body));
  t.same(found, numbers, "each once, in its order");
});

void t.test("a program is followed", async (t) => {
  const permission_config = { "world.api": [], "program.update": ["host"] };
  const server = await startServer(t, { worlds: [demo({ permission_config })] });
  const token = server.tokenOf({ uid: "ada", traits: ["host"] });
  const http = new Foyer({ baseUrl: server.baseUrl, world: "demo", token });
  const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const make = async (title: string, from: number, to: number) =>
    (await http.createSession({ title, starts_at: at(from), ends_at: at(to) })).id;
  const [id, later] = [await make("Maps", -5, 5), await make("Roads", 5, 9)];
  await http.createSession({ title: "Secret", state: "draft" });
  const { program } = liveOf(t, server, { clientId: "ben" });
  const second = liveOf(t, server, { clientId: "ben" });
  const programs = program[Symbol.asyncIterator]();
  const titles = async () => (await programs.next()).value?.sessions.map(({ title }) => title);
  t.strictSame(await titles(), ["Maps", "Roads"]);
  t.match(program.stage(null), { now: { id }, next: { id: later } });
  t.match(program.stage(null, program.now() + 6 * 60_000), { now: { id: later }, next: undefined });
  t.ok(Math.abs(program.now() - Date.now()) < 60_000);

  await program.favorite(id, true);
  t.match((await programs.next()).value, { favorites: [id] });
  await second.program.favorite(later, true);
  t.match((await programs.next()).value, { favorites: [id, later] });
  t.match(await rejection(program.favorite("none", true)), { code: "program.unknown" });
  await http.updateSession(id, { title: "Maps for all" });
  t.strictSame(await titles(), ["Maps for all", "Roads"]);
  await programs.return!();
  t.equal(program.current, undefined, "nothing is kept without a reader");
});

/** A minimal file that is recognized as a PDF. */
const PDF = "%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF\n";

async function connect(t: Test) {
  const { baseUrl, store, tokenOf } = await startServer(t);
  const token = tokenOf({ uid: "7", traits: ["admin", "api"] });
  const foyer = new Foyer({ baseUrl, world: "demo", token: () => token });
  return { foyer, baseUrl, store };
}

async function refusal(call: Promise<unknown>): Promise<FoyerError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof FoyerError) return error;
    throw error;
  }
  throw new Error("It was not refused.");
}

void t.test("worlds and rooms", async (t) => {
  const { foyer } = await connect(t);
  const world = await foyer.getWorld();
  t.equal(world.title, "demo");
  const renamed = await foyer.updateWorld({ ...world, title: "New" }, { ifMatch: world.etag });
  t.equal(renamed.title, "New");
  t.not(renamed.etag, world.etag);

  const room = await foyer.createRoom({ name: "Hall" });
  t.same(await foyer.getRoom(room.id), room);
  const changed = await foyer.updateRoom(room.id, { ...room, name: "Lobby" });
  t.equal(changed.name, "Lobby");
  const late = foyer.deleteRoom(room.id, { ifMatch: room.etag });
  t.equal((await refusal(late)).status, 412);
  await foyer.deleteRoom(room.id, { ifMatch: changed.etag });
  t.equal((await refusal(foyer.getRoom(room.id))).status, 403);

  const names = Array.from({ length: 7 }, (_, i) => `Room ${i}`);
  for (const name of names) await foyer.createRoom({ name });
  const seen: string[] = [];
  for await (const { name } of foyer.rooms({ page_size: 3, ordering: "name" })) {
    seen.push(name);
  }
  t.same(seen, names);
  const { count, results } = await foyer.listRooms({ search: "room 3" });
  t.match({ count, results }, { count: 1, results: [{ name: "Room 3" }] });
});

void t.test("uploads, and who made them", async (t) => {
  const { foyer, baseUrl, store } = await connect(t);
  const path = join(t.testdirName, "slides.pdf");
  await writeFile(path, PDF);
  for (const [name, upload] of Object.entries({
    "a file on the disk": foyer.upload(await openAsBlob(path), "slides.pdf"),
    "a blob": foyer.upload(new Blob([PDF]), "slides.pdf"),
    "a file": foyer.upload(new File([PDF], "slides.pdf")),
    "another name": foyer.upload(new File([PDF], "slides"), "slides.pdf"),
    "a guest": new Foyer({ baseUrl, world: "demo", clientId: "me" }).upload(
      new File([PDF], "slides.pdf"),
    ),
  })) {
    const answer = await fetch(await upload);
    t.equal(await answer.text(), PDF, name);
  }
  t.equal((await usersOf(store, "demo")).length, 2);
  const users = [];
  for await (const user of foyer.users({ page_size: 1 })) users.push(user);
  t.same(users.map(({ token_id }) => token_id).sort(), ["7", null]);
  const files = [];
  for await (const file of foyer.files({ page_size: 3 })) files.push(file);
  t.equal(files.length, 5);
  await foyer.deleteFile(files[0]!.id);
  t.equal((await fetch(files[0]!.url)).status, 404);
  const twice = foyer.deleteFile(files[0]!.id);
  t.equal((await refusal(twice)).status, 403);
  t.match(await foyer.listFiles(), { count: 4 });
  await foyer.deleteUser({ token_id: "7" });
  t.equal((await usersOf(store, "demo")).length, 1);
});

void t.test("what a refusal says", async (t) => {
  const { foyer, baseUrl } = await connect(t);
  const nobody = new Foyer({ baseUrl, world: "demo" });
  const detail = "Authentication credentials were not provided.";
  const blob = new Blob(["x"]);
  const cases: [name: string, call: () => Promise<unknown>, wanted: object][] = [
    ["bad data", () => foyer.createRoom({ name: "", domain: "No" }), { status: 400, fields: { name: ["May not be empty."] } }],
    ["no token", () => nobody.getWorld(), { status: 401, detail, code: "unauthenticated" }],
    ["no room", () => foyer.getRoom("x"), { status: 403, fields: {} }],
    ["no right to upload", () => nobody.upload(blob, "x.pdf"), { status: 403 }],
    ["a file of no type", () => foyer.upload(blob, "x.exe"), { status: 400, detail: "file.type", code: "file.type" }],
  ]; // prettier-ignore
  for (const [name, call, wanted] of cases) {
    const error = await refusal(call());
    t.match({ ...error }, wanted, name);
    t.ok(error.message.startsWith(String(error.status)), name);
  }
});

// The client also runs unbundled in browsers.

const root = fileURLToPath(new URL("../../../client", import.meta.url));

void t.test("the client imports only itself, and ws where needed", async (t) => {
  const files = (await readdir(root, { recursive: true })).filter((path) => path.endsWith(".js"));
  t.ok(files.length > 5);
  const foreign: string[] = [];
  for (const file of files) {
    const text = await readFile(join(root, file), "utf8");
    for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
      const target = relative(root, join(root, file, "..", fileName));
      const isOwn = fileName.startsWith(".") && !target.startsWith("..");
      if (!isOwn) foreign.push(`${file}: ${fileName}`);
    }
  }
  const rules = (name: string) => `../../schemas/plain/${name}.js`;
  t.same(foreign.sort(), [
    "live/client.js: ws",
    `live/item-kind.js: ${rules("items")}`,
    `live/item-kind.js: ${rules("polls")}`,
    `live/program.js: ${rules("program")}`,
    `live/state.js: ${rules("announcements")}`,
  ]);
  for (const name of ["announcements", "items", "polls", "program"]) {
    const shared = await readFile(join(root, "live", rules(name)), "utf8");
    t.notMatch(shared, /^import/m, "the server's rules import nothing");
  }
  const client = await readFile(join(root, "live/client.js"), "utf8");
  t.notMatch(client, /^import/m, "only when it is needed");
});
