import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { Live, LiveError, type LiveOptions } from "../../client/index.js";
import { until } from "../helper.js";
import {
  agree,
  ATTIC,
  HALL,
  ignore,
  liveOf,
  next,
  rejection,
  startFake,
  welcome,
  type Answer,
} from "./fake-server.js";
import { testdir } from "../testdir.js";

void t.test("how it logs in", async (t) => {
  const server = await startFake(t);
  let count = 0;
  const fresh = async () => `token ${++count}`;
  const cases: [name: string, options: Partial<LiveOptions>, sent: object][] = [
    ["a guest", { clientId: "ada" }, { client_id: "ada" }],
    ["a token", { token: "abc" }, { token: "abc" }],
    ["a function", { token: fresh }, { token: "token 1" }],
    ["both", { token: "abc", clientId: "ada" }, { token: "abc" }],
    ["an address with a slash", { baseUrl: `${server.baseUrl}/` }, {}],
  ];
  for (const [name, options, sent] of cases) {
    const live = liveOf(t, server, options);
    const state = await live.connected();
    t.equal(state.user.profile.display_name, "Ada", name);
    t.equal(live.isConnected, true, name);
    const peer = server.peers.at(-1)!;
    t.equal(peer.path, "/ws/world/demo/", name);
    t.match(peer.frames, [["authenticate", sent]], name);
  }
  for (const baseUrl of ["rooms", "", "ftp://rooms.example.org"]) {
    t.throws(() => new Live({ baseUrl, world: "demo" }), TypeError, baseUrl);
  }

  const strange = liveOf(
    t,
    { baseUrl: `${server.baseUrl}/at` },
    { world: "?" },
  );
  await strange.connected();
  t.equal(server.peers.at(-1)!.path, "/at/ws/world/%3F/");
});

void t.test("the outcome of a call is the answer with its id", async (t) => {
  const server = await startFake(t, (peer, frame) => {
    const [name, id, payload] = frame;
    if (name === "user.list") peer.send(["success", id, { results: [] }]);
    else if (name === "room.config.get") {
      const details = { room: ["No."] };
      peer.send(["error", id, { code: "a.b", message: "Sorry.", details }]);
    } else if (name === "room.delete") {
      peer.send(["error", id, { code: "protocol.denied" }]);
    } else if (name === "user.fetch") {
      // The answers come in the other order.
      if (id === 6) {
        peer.send(["success", 6, "six"], ["success", 5, "five"]);
      }
    } else if (name === "authenticate") agree(peer, frame);
    else peer.send(["success", id, { payload }]);
  });
  const live = liveOf(t, server);
  t.same(await live.call("user.list"), { results: [] });
  t.same(await live.call("room.config.reorder", [HALL]), { payload: [HALL] });
  const denied = await rejection(live.call("room.delete", { room: HALL }));
  t.ok(denied instanceof LiveError);
  t.match(denied, { code: "protocol.denied", message: "protocol.denied" });
  t.match(await rejection(live.call("room.config.get", { room: HALL })), {
    name: "LiveError",
    code: "a.b",
    message: "Sorry.",
    details: { room: ["No."] },
  });
  const both = [
    live.call("user.fetch", { id: "a" }),
    live.call("user.fetch", { id: "b" }),
  ];
  t.same(await Promise.all(both), ["five", "six"]);
  t.same(server.peers[0]!.frames.slice(1), [
    ["user.list", 1, null],
    ["room.config.reorder", 2, [HALL]],
    ["room.delete", 3, { room: HALL }],
    ["room.config.get", 4, { room: HALL }],
    ["user.fetch", 5, { id: "a" }],
    ["user.fetch", 6, { id: "b" }],
  ]);

  const circle: { room?: unknown } = {};
  circle.room = circle;
  t.match(await rejection(live.call("room.enter", circle)), TypeError);
  t.match(await live.call("world.config.get"), {});
});

void t.test("a late answer is dropped", async (t) => {
  const server = await startFake(t, ignore("user.list"));
  const live = liveOf(t, server, { timeout: 15_000 });
  await live.connected();
  const late = live.call("user.list", null, { timeout: 5 });
  t.match(await rejection(late), {
    code: "client.timeout",
    message: "No answer within 5 ms.",
  });
  const [peer] = server.peers;
  peer!.send(["success", 1, {}], ["success", "1", {}], ["error", 9, {}]);
  t.same(await live.call("user.list.blocked"), {});
});

void t.test("an awaited call continues before later pushes", async (t) => {
  const answer: Answer = (peer, frame) => {
    agree(peer, frame);
  };
  const server = await startFake(t, answer);
  const live = liveOf(t, server);
  await live.connected();
  server.answer = (peer, [name, id]) => {
    if (name !== "room.enter") return;
    const added = (id: string) => ["room.viewer.added", { user: { id } }];
    peer.send(
      added("before"),
      ["success", id, { viewers: [] }],
      added("after"),
      ["error", { code: "auth.denied" }],
    );
  };
  const seen: string[] = [];
  live.on("room.viewer.added", ({ user }) => seen.push(user.id));
  live.on("client.closed", ({ code }) => seen.push(code));
  await live.call("room.enter", { room: HALL });
  // As much as a program may do without waiting for anything else.
  for (let i = 0; i < 10; i++) await Promise.resolve();
  seen.push("answer");
  await until(() => seen.length === 4);
  t.same(seen, ["before", "answer", "after", "auth.denied"]);
});

void t.test("listeners", async (t) => {
  const server = await startFake(t);
  const errors: unknown[] = [];
  const live = liveOf(t, server, { onError: (error) => errors.push(error) });
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
  await live.connected();
  const [peer] = server.peers;
  peer!.send(["of.no.interest"], ["pong", 0], ["success", 7, {}]);
  peer!.send(["world.schedule.updated", { url: "a" }]);
  peer!.send(["world.schedule.updated", { url: "b" }], ["of.tomorrow", 1]);
  await until(() => seen.length === 3);
  stopFirst();
  stopFirst();
  peer!.send(
    ["of.tomorrow", 2],
    ["error", { code: "protocol.invalid_message" }],
  );
  t.same(await next(live, "error"), { code: "protocol.invalid_message" });
  t.same(seen, [{ url: "a" }, 1, 1, 2]);
  await until(() => errors.length === 4);
  t.match(errors.map((error) => (error as Error).message).sort(), [
    "rejected",
    "rejected",
    "thrown",
    "thrown",
  ]);
});

void t.test("the state follows the pushes", async (t) => {
  const server = await startFake(t);
  const live = liveOf(t, server);
  t.equal(live.state, undefined);
  const first = await live.connected();
  const [hall] = welcome["world.config"].rooms;
  const { users: _, ...attic } = { ...hall!, id: ATTIC, name: "Attic" };
  const draft = { id: "1", text: "Hi", show_until: null, state: "draft" };
  const active = { ...draft, state: "active" };
  const text = "Hello";
  const past = "2020-01-01T00:00:00Z";
  const { "user.config": user, "world.config": config } = welcome;
  const cases: [name: string, data: unknown, expected: object][] = [
    ["of.tomorrow", {}, { rooms: [hall] }],
    ["toString", {}, { rooms: [hall] }],
    [
      "world.user_count_change",
      { room: HALL, users: "few" },
      { rooms: [{ ...hall, users: "few" }] },
    ],
    ["room.create", attic, { rooms: [{}, { ...attic, users: "none" }] }],
    [
      "room.schedule",
      { room: ATTIC, schedule_data: { title: "Now" } },
      { rooms: [{ schedule_data: null }, { schedule_data: { title: "Now" } }] },
    ],
    ["room.delete", { id: HALL }, { rooms: [{ id: ATTIC }] }],
    ["user.updated", { ...user, profile: {} }, { user: { profile: {} } }],
    ["user.updated", { ...user, id: ATTIC }, { user: { id: user.id } }],
    ["announcement.created_or_updated", draft, { announcements: [] }],
    [
      "announcement.created_or_updated",
      active,
      { announcements: [{ ...active, is_visible: true }] },
    ],
    [
      "announcement.created_or_updated",
      { ...active, id: "2", show_until: past },
      { announcements: [{ id: "1" }] },
    ],
    [
      "announcement.created_or_updated",
      { ...active, id: "2" },
      { announcements: [{ id: "1" }, { id: "2" }] },
    ],
    [
      "announcement.created_or_updated",
      { ...active, text, is_visible: true },
      { announcements: [{ id: "1", text }, { id: "2" }] },
    ],
    [
      "announcement.created_or_updated",
      { ...active, is_visible: false },
      { announcements: [{ id: "2" }] },
    ],
    [
      "world.updated",
      { ...config, permissions: ["world:announce"] },
      {
        permissions: ["world:announce"],
        rooms: [hall],
        announcements: [{ id: "2" }],
      },
    ],
  ];
  for (const [name, data, expected] of cases) {
    server.peers[0]!.send([name, data]);
    await next(live, name);
    const { state } = live;
    t.match(state, expected, name);
    for (const [key, value] of Object.entries(expected)) {
      if (!Array.isArray(value)) continue;
      const list = state![key as "rooms"];
      t.equal(list.length, value.length, `${name}: ${key}`);
    }
  }
  t.same(first.rooms, [hall], "an earlier state does not change");
});

void t.test("after close", async (t) => {
  const server = await startFake(t, ignore("user.list"));
  const live = liveOf(t, server);
  await live.connected();
  const underway = rejection(live.call("user.list"));
  await server.peers[0]!.received(2);
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
  await until(() => !server.peers[0]!.isOpen);

  const waiting = liveOf(t, { baseUrl: "http://127.0.0.1:1" });
  const never = rejection(waiting.call("user.list"));
  waiting.close();
  t.match(await never, { code: "client.closed" });
});

void t.test("a closed client does not keep its process alive", async (t) => {
  // It does not answer the closing handshake either.
  const server = await startFake(t, (peer, frame) => {
    agree(peer, frame);
    peer.freeze();
  });
  const index = new URL("../../client/index.js", import.meta.url).href;
  const program = join(testdir(t), "program.mjs");
  const text = `
    import { Live } from ${JSON.stringify(index)};
    const quiet = (promise) => promise.catch(() => {});
    const slow = { world: "demo", clientId: "a", timeout: 600_000, retryDelay: 600_000 };
    const live = new Live({ ...slow, baseUrl: process.argv[2] });
    await live.connected();
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
  const args = ["-i", process.execPath, program, server.baseUrl];
  const child = spawn("env", args, { stdio: "inherit" });
  t.teardown(() => child.kill("SIGKILL"));
  const since = performance.now();
  const code = await new Promise((done) => child.once("close", done));
  t.equal(code, 0);
  t.ok(performance.now() - since < 20_000);
});
