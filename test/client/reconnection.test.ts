import t, { type Test } from "tap";
import type { LiveError, LiveOptions } from "../../client/index.js";
import { Retries } from "../../client/live/retries.js";
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
  type Answer,
  type FakeServer,
  type Peer,
} from "./fake-server.js";

/** Answers the first logins in its own way. */
const first = (logins: number, answer: Answer): Answer => {
  let count = 0;
  return (peer, frame) => {
    if (frame[0] === "authenticate" && count++ < logins) answer(peer, frame);
    else agree(peer, frame);
  };
};

const refuse =
  (code: string): Answer =>
  (peer) =>
    peer.send(["error", { code, message: "No." }]);

void t.test("after these it comes back", async (t) => {
  const push =
    (...frame: unknown[]) =>
    (peer: Peer) =>
      peer.send(frame);
  const junk = ["", "{", "{}", "[]", "[1]", "null", '["error"]'];
  const cases: [name: string, fault: (peer: Peer) => void, error: object][] = [
    ...[...junk, '["authenticated"]', '["world.user_count_change"]'].map(
      (text): (typeof cases)[number] => [
        `the frame ${text}`,
        (peer) => peer.sendRaw(text),
        { code: "client.invalid_frame", cause: Error },
      ],
    ),
    ["a binary frame", (peer) => peer.sendRaw(Buffer.from("\0")), {}],
    [
      "a dropped connection",
      (peer) => peer.drop(),
      {
        code: "client.disconnected",
        message: "Disconnected: close code 1006.",
      },
    ],
    [
      "a restart",
      (peer) => peer.close(1012, "service restart"),
      { message: "Disconnected: service restart." },
    ],
    ["a busy server", (peer) => peer.close(1013), {}],
    ["a close without a reason", (peer) => peer.close(1000), {}],
    [
      "a bug",
      push("error", { code: "server.fatal" }),
      { code: "server.fatal" },
    ],
    [
      "a wish to reload",
      push("connection.reload", {}),
      { code: "connection.reload" },
    ],
    [
      "an expired token, if there may be another",
      push("error", { code: "auth.expired_token" }),
      { code: "auth.expired_token" },
    ],
    [
      "a removed key, if there may be another token",
      push("error", { code: "auth.invalid_token" }),
      { code: "auth.invalid_token" },
    ],
  ];
  for (const [name, fault, error] of cases) {
    const server = await startFake(t);
    const live = liveOf(t, server, { token: () => "abc" });
    await live.connected();
    const disconnected = next(live, "client.disconnected");
    fault(server.peers[0]!);
    t.match(await disconnected, { error, retryIn: Number }, name);
    t.ok(await live.call("user.list"), name);
    t.equal(server.peers.length, 2, name);
    // The ids count from 1 again.
    t.match(
      server.peers[1]!.frames,
      [["authenticate"], ["user.list", 1]],
      name,
    );
  }
});

void t.test("after these a first login is tried again", async (t) => {
  const cases: [name: string, answer: Answer, options: Partial<LiveOptions>][] =
    [
      ["a slow login", refuse("auth.timeout"), {}],
      ["no answer", () => {}, { timeout: 1000 }],
      ["a bug", refuse("server.fatal"), {}],
      ["what is yet to come", refuse("login.of_tomorrow"), {}],
      ["a broken connection", (peer) => peer.drop(), {}],
      ["an expired token", refuse("auth.expired_token"), { token: () => "a" }],
    ];
  for (const [name, answer, options] of cases) {
    const server = await startFake(t, first(1, answer));
    const live = liveOf(t, server, options);
    t.ok(await live.connected({ timeout: 15_000 }), name);
    t.equal(server.peers.length, 2, name);
  }
});

void t.test("it comes back at once when it is asked to", async (t) => {
  const server = await startFake(t);
  const HOUR = 3_600_000;
  const live = liveOf(t, server, { retryDelay: HOUR, maxRetryDelay: HOUR });
  await live.connected();
  live.reconnect();
  await live.call("user.list");
  t.equal(server.peers.length, 1, "not while it is connected");
  for (const logins of [2, 3]) {
    const disconnected = next(live, "client.disconnected");
    server.peers.at(-1)!.drop();
    await disconnected;
    live.reconnect();
    live.reconnect();
    await live.connected();
    t.equal(server.peers.length, logins, "once");
  }
  const disconnected = next(live, "client.disconnected");
  server.peers.at(-1)!.drop();
  await disconnected;
  live.close();
  live.reconnect();
  t.match(await rejection(live.connected()), { code: "client.closed" });
  t.equal(server.peers.length, 3, "never after close()");
});

void t.test("after these it stays away", async (t) => {
  const token = () => "abc";
  const cases: [code: string, options: Partial<LiveOptions>, logins: number][] =
    [
      ["auth.denied", { token }, 1],
      ["auth.missing_token", {}, 1],
      ["auth.missing_id_or_token", {}, 1],
      ["auth.expired_token", { token: "abc" }, 1],
      ["auth.invalid_token", { token: "abc" }, 1],
      // It asks for one more token.
      ["auth.expired_token", { token }, 2],
      ["auth.invalid_token", { token }, 2],
      ["world.unknown_world", {}, 1],
      ["protocol.invalid_payload", {}, 1],
      ["connection.replaced", {}, 1],
    ];
  for (const [code, options, logins] of cases) {
    const server = await startFake(t, first(Infinity, refuse(code)));
    const live = liveOf(t, server, options);
    const waiting = rejection(live.call("user.list"));
    const closed = next<LiveError>(live, "client.closed");
    t.match(await rejection(live.connected()), { code, message: "No." });
    t.match(await waiting, { code });
    t.match(await closed, { code });
    t.match(await rejection(live.call("user.list")), { code });
    t.equal(server.peers.length, logins, code);
    await until(() => !server.peers.at(-1)!.isOpen);
  }
});

void t.test("a banned user stays away after the reload", async (t) => {
  const server = await startFake(t);
  const live = liveOf(t, server);
  await live.connected();
  server.answer = refuse("auth.denied");
  server.peers[0]!.send(["connection.reload", {}]);
  t.match(await next(live, "client.closed"), { code: "auth.denied" });
  t.equal(server.peers.length, 2);
});

void t.test("calls around a break", async (t) => {
  const server = await startFake(t, ignore("user.list"));
  const live = liveOf(t, server, { maxCalls: 3 });
  await live.connected();
  server.isFull = true;
  const underway = rejection(live.call("user.list"));
  await server.peers[0]!.received(2);
  server.peers[0]!.drop();
  t.match(await underway, {
    code: "client.disconnected",
    cause: { code: "client.disconnected" },
  });
  t.equal(live.isConnected, false);

  const expired = live.call("user.list", null, { timeout: 5 });
  t.match(await rejection(expired), {
    code: "client.unreachable",
    message: /^No connection within 5 ms\. Disconnected: /,
    cause: { code: "client.disconnected" },
  });
  const payload = { room: HALL, reaction: "👍" };
  const waiting = [
    live.call("room.react", payload),
    live.call("world.config.get"),
    live.call("user.list.blocked"),
  ];
  payload.reaction = "changed afterwards";
  t.match(await rejection(live.call("user.list")), {
    code: "client.overloaded",
  });
  server.isFull = false;
  await Promise.all(waiting);
  t.same((await server.peer(1)).frames.slice(1), [
    ["room.react", 1, { room: HALL, reaction: "👍" }],
    ["world.config.get", 2, null],
    ["user.list.blocked", 3, null],
  ]);
  t.ok(await live.call("user.list.blocked"), "there is room for calls again");
});

void t.test("rooms are entered again", async (t) => {
  const LEFT = "left";
  const GONE = "gone";
  const server = await startFake(t);
  const live = liveOf(t, server, { onError: () => {} });
  for (const room of [HALL, LEFT, GONE])
    await live.call("room.enter", { room });
  await live.call("room.enter", { channel: ATTIC });
  await live.call("room.leave", { room: LEFT });
  server.peers[0]!.send(["room.delete", { id: GONE }]);
  await next(live, "room.delete");

  server.answer = (peer, frame) => {
    const [name, id, payload] = frame;
    if (name !== "room.enter") agree(peer, frame);
    else if ((payload as { room: string }).room === HALL)
      peer.send(["success", id, { viewers: [] }]);
    else peer.send(["error", id, { code: "protocol.denied" }]);
  };
  const logins: object[] = [];
  live.on("authenticated", (state) => {
    logins.push(state);
    return live.call("world.config.get");
  });
  const restored = next(live, "client.room_restored");
  const lost = next(live, "client.room_lost");
  server.peers[0]!.drop();
  await next(live, "client.disconnected");
  await live.call("user.list");
  t.same(await restored, { room: HALL, viewers: [] });
  t.match(await lost, { room: ATTIC, error: { code: "protocol.denied" } });
  t.equal(logins.length, 1);
  t.same(server.peers[1]!.frames.slice(1), [
    ["room.enter", 1, { room: HALL }],
    ["room.enter", 2, { room: ATTIC }],
    ["world.config.get", 3, null],
    ["user.list", 4, null],
  ]);

  // A room that was left while there was no connection is not entered again.
  server.peers[1]!.drop();
  await next(live, "client.disconnected");
  await live.call("room.leave", { room: HALL });
  t.same(server.peers[2]!.names, [
    "authenticate",
    "world.config.get",
    "room.leave",
  ]);
});

void t.test("a room that broke off while it was restored", async (t) => {
  const server = await startFake(t);
  const live = liveOf(t, server);
  await live.call("room.enter", { room: HALL });
  server.answer = (peer, frame) => {
    if (frame[0] === "room.enter") peer.drop();
    else agree(peer, frame);
  };
  server.peers[0]!.drop();
  await until(() => server.peers.length > 2);
  server.answer = agree;
  t.same(await next(live, "client.room_restored"), { room: HALL });
});

void t.test("a server that is gone without a word", async (t) => {
  const server = await startFake(t);
  const live = liveOf(t, server, { heartbeat: 300 });
  await live.connected();
  const [peer] = server.peers;
  await until(() => peer!.pings >= 3);
  t.equal(server.peers.length, 1, "with pongs, the connection lives");

  server.answer = ignore("ping");
  t.match(await next(live, "client.disconnected"), {
    error: { message: "The server did not answer a ping within 300 ms." },
  });
  server.answer = agree;
  t.ok(await live.call("user.list"));
});

/** The delays before so many reconnections in a row. */
async function delays(
  t: Test,
  server: Pick<FakeServer, "baseUrl">,
  count: number,
  options: Partial<LiveOptions>,
): Promise<number[]> {
  const live = liveOf(t, server, options);
  const seen: number[] = [];
  live.on("client.disconnected", ({ retryIn }) => seen.push(retryIn));
  await until(() => seen.length >= count);
  live.close();
  return seen.slice(0, count);
}
void t.test("the delays", async (t) => {
  const unreachable = { baseUrl: "http://127.0.0.1:1" };
  const options = { retryDelay: 2, maxRetryDelay: 10 };
  t.intercept(Math, "random", { value: () => 1 });
  const failed = await delays(t, unreachable, 5, options);
  t.same(failed, [2, 4, 8, 10, 10], "double up to a bound");

  const fail = () => Promise.reject(new Error("no token today"));
  const tokens = await delays(t, unreachable, 3, { ...options, token: fail });
  t.same(tokens, [2, 4, 8], "the same if there is no token");

  const dropping: Answer = (peer, frame) => {
    agree(peer, frame);
    peer.close(1011);
  };
  const unstable = await startFake(t, dropping);
  t.same(
    await delays(t, unstable, 3, { retryDelay: 500, maxRetryDelay: 600_000 }),
    [500, 1000, 2000],
    "a login alone is no success",
  );
  const restarting = await startFake(t, (peer, frame) => {
    agree(peer, frame);
    peer.close(1012);
  });
  t.same(
    await delays(t, restarting, 3, { ...options, maxRetryDelay: 600_000 }),
    [2, 2, 2],
    "a restart is no failure",
  );

  t.intercept(Math, "random", { value: () => 0.25 });
  const jitter = await delays(t, unreachable, 2, options);
  t.same(jitter, [0.5, 1], "a random share");
});

void t.test("a stable connection makes up for failures", async (t) => {
  t.intercept(Math, "random", { value: () => 1 });
  const server = await startFake(t);
  server.isFull = true;
  const live = liveOf(t, server, { retryDelay: 2, maxRetryDelay: 600_000 });
  await until(() => server.attempts >= 4);
  server.isFull = false;
  await live.connected();
  const since = performance.now();
  // Ten times as long as the next delay may be.
  const stable = 10 * 2 * 2 ** server.attempts;
  await until(() => performance.now() - since > stable);
  server.peers[0]!.drop();
  t.match(await next(live, "client.disconnected"), { retryIn: 2 });
});

void t.test("what the token says when there is none", async (t) => {
  const server = await startFake(t);
  const cases: [token: () => Promise<string>, message: string][] = [
    [() => Promise.reject(new Error("Sold out.")), "Cannot connect: Sold out."],
    [
      () => new Promise(() => {}),
      "Cannot connect: There was no token within 20 ms.",
    ],
  ];
  for (const [token, message] of cases) {
    const live = liveOf(t, server, { token, timeout: 20 });
    t.match(await next(live, "client.disconnected"), {
      error: { code: "client.unreachable", message },
    });
  }
});

void t.test("how long a connection lasts to count as stable", (t) => {
  t.intercept(Math, "random", { value: () => 1 });
  const error = new Error("The connection ended.") as LiveError;
  const rows: [lasted: (number | undefined)[], delays: number[]][] = [
    [
      [undefined, undefined, undefined],
      [1000, 2000, 4000],
    ],
    // Not all clients of a server that ends every few seconds come within the shortest delay.
    [
      [5000, 5000, 5000],
      [1000, 2000, 4000],
    ],
    [
      [undefined, 19_999, 40_000],
      [1000, 2000, 1000],
    ],
    [
      [undefined, undefined, undefined, undefined, 30_000],
      [1000, 2000, 4000, 8000, 1000],
    ],
  ];
  for (const [lasted, delays] of rows) {
    const retries = new Retries(1000, 30_000, false);
    const waits = lasted.map((time) =>
      retries.next({ error, code: 1006, ...(time && { lasted: time }) }),
    );
    t.same(waits, delays, lasted.join());
  }
  t.end();
});
