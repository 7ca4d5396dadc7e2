import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { Live, LiveError } from "../../client/index.js";
import { stateAfter } from "../../client/live/state.js";
import { until } from "../helper.js";
import { startProxy } from "../servers/proxy.js";
import { House, liveOf, next, rejection, type Visitor } from "./house.js";
import { testdir } from "../testdir.js";

// The connection of a client. The rows of conformance/ compare its state after each push with
// the state of a fresh login.

void t.test("how it logs in", async (t) => {
  const house = await House.open(t);
  const token = await house.token("ada");
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
  // The first answer comes last.
  const late: unknown[][] = [];
  wire.change = (frame) => (frame[1] === 3 ? void late.push(frame) : frame);
  const both = [
    live.call("user.fetch", { id }),
    live.call("user.fetch", { id: house.ben }),
  ];
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
  t.match(await rejection(slow), {
    code: "client.timeout",
    message: "No answer within 5 ms.",
  });
  await wire.deliver(
    ["success", 5, {}],
    ["success", "1", {}],
    ["error", 9, {}],
  );
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
      ...{ channel, event_type: "channel.message" },
      content: { type: "text", body: "Hi" },
    });
    // As much as a program may do without waiting for anything else.
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
  await wire.deliver(
    ["of.tomorrow", 2],
    ["error", { code: "protocol.invalid_message" }],
  );
  t.same(await error, { code: "protocol.invalid_message" });
  t.same(seen, [{ url: "a" }, 1, 1, 2]);
  await until(() => errors.length === 4);
  t.match(errors.map((error) => (error as Error).message).sort(), [
    ...["rejected", "rejected", "thrown", "thrown"],
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
  t.match(await underway, {
    code: "client.disconnected",
    cause: { code: "client.closed" },
  });
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
  // It does not answer the closing handshake either.
  const proxy = await startProxy(t, Number(new URL(house.baseUrl).port));
  const baseUrl = `http://127.0.0.1:${proxy.port}`;
  const index = new URL("../../client/index.js", import.meta.url).href;
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
  // By way of env, as tap puts a loader into the environment of every child.
  const args = ["-i", process.execPath, program, baseUrl, house.world];
  const child = spawn("env", args, { stdio: ["pipe", "pipe", "inherit"] });
  t.teardown(() => child.kill("SIGKILL"));
  const closed = new Promise((done) => child.once("close", done));
  await once(child.stdout, "data");
  proxy.hang();
  child.stdin.write("go");
  const since = performance.now();
  const code = await closed;
  t.equal(code, 0);
  t.ok(performance.now() - since < 20_000);
});
