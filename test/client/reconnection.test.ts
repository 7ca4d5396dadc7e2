import t, { type Test } from "tap";
import type { LiveError, LiveOptions } from "../../client/index.js";
import { Retries } from "../../client/live/retries.js";
import { until } from "../helper.js";
import {
  House,
  hurry,
  liveOf,
  next,
  rejection,
  type Visitor,
} from "./house.js";
import { type Fate, Wire } from "./wire.js";

/** A fate for the first logins; all others arrive. */
const first = (wire: Wire, logins: number, fate: Fate) => {
  wire.fate = (name) =>
    name === "authenticate" && wire.count(name) <= logins ? fate : "arrives";
};

void t.test("after these it comes back", async (t) => {
  hurry(t);
  const junk = ["", "{", "{}", "[]", "[1]", "null", '["error"]'];
  const send =
    (frame: unknown[] | string | Buffer) =>
    (wire: Wire): unknown =>
      wire.deliver(frame);
  const cases: [name: string, fault: (wire: Wire) => unknown, error: object][] =
    [
      ...[...junk, '["authenticated"]', '["world.user_count_change"]'].map(
        (text): (typeof cases)[number] => [
          `the frame ${text}`,
          send(text),
          { code: "client.invalid_frame", cause: Error },
        ],
      ),
      ["a binary frame", send(Buffer.from("\0")), {}],
      [
        "a dropped connection",
        (wire) => wire.drop(),
        { code: "client.disconnected", message: /close code 1006\.$/ },
      ],
      [
        "a restart",
        (wire) => wire.close(1012, "service restart"),
        { message: "Disconnected: service restart." },
      ],
      ["a busy server", (wire) => wire.close(1013), {}],
      ["a close without a reason", (wire) => wire.close(1000), {}],
      ...[
        "server.fatal",
        // There may be another token.
        "auth.expired_token",
        "auth.invalid_token",
      ].map((code): (typeof cases)[number] => [
        code,
        send(["error", { code }]),
        { code },
      ]),
      [
        "a wish to reload",
        send(["connection.reload", {}]),
        { code: "connection.reload" },
      ],
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
    // The ids count from 1 again.
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
  const { live, wire } = await house.visit({
    ...{ retryDelay: HOUR, maxRetryDelay: HOUR },
  });
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
  const text = await token();
  const cases: [code: string, options: Visitor, logins: number][] = [
    ["auth.denied", { token }, 1],
    ["auth.missing_token", {}, 1],
    ["auth.missing_id_or_token", {}, 1],
    ["auth.expired_token", { token: text }, 1],
    ["auth.invalid_token", { token: text }, 1],
    // It asks for one more token.
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
  const payload = { room: house.hall, reaction: "👍" };
  const waiting = [
    live.call("room.react", payload),
    live.call("user.list.blocked"),
    live.call("room.leave", { room: house.hall }),
  ];
  payload.reaction = "changed afterwards";
  t.match(await rejection(live.call("user.list")), {
    code: "client.overloaded",
  });
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
  const room = async (name: string) =>
    (await store.rooms.create(world, { name })).value.id;
  const [left, gone] = [await room("left"), await room("gone")];
  const { live, wire } = await house.visit();
  for (const id of [hall, left, gone])
    await live.call("room.enter", { room: id });
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

  // A break while it is restored, and then again.
  const entered = wire.count("room.enter");
  wire.fate = (name) =>
    name === "room.enter" && wire.count(name) === entered + 1
      ? "unanswered"
      : "arrives";
  const again = next(live, "client.room_restored");
  wire.drop();
  t.match(await again, { room: hall });
  t.equal(wire.count("room.enter"), entered + 2);

  // A room that was left while there was no connection is not entered again.
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

/** The delays before so many reconnections in a row. */
async function delays(
  t: Test,
  baseUrl: string,
  count: number,
  options: Partial<LiveOptions>,
): Promise<number[]> {
  const live = liveOf(t, { baseUrl }, options);
  const seen: number[] = [];
  live.on("client.disconnected", ({ retryIn }) => seen.push(retryIn));
  await until(() => seen.length >= count);
  live.close();
  return seen.slice(0, count);
}

void t.test("the delays", async (t) => {
  const unreachable = "http://127.0.0.1:1";
  const options = { retryDelay: 2, maxRetryDelay: 10 };
  t.intercept(Math, "random", { value: () => 1 });
  const failed = await delays(t, unreachable, 5, options);
  t.same(failed, [2, 4, 8, 10, 10], "double up to a bound");

  const fail = () => Promise.reject(new Error("no token today"));
  const tokens = await delays(t, unreachable, 3, { ...options, token: fail });
  t.same(tokens, [2, 4, 8], "the same if there is no token");

  t.intercept(Math, "random", { value: () => 0.25 });
  const jitter = await delays(t, unreachable, 2, options);
  t.same(jitter, [0.5, 1], "a random share");
});

void t.test("a token that does not come", async (t) => {
  const cases: [token: () => Promise<string>, message: string][] = [
    [() => Promise.reject(new Error("Sold out.")), "Cannot connect: Sold out."],
    [
      () => new Promise(() => {}),
      "Cannot connect: There was no token within 20 ms.",
    ],
  ];
  for (const [token, message] of cases) {
    const baseUrl = "http://127.0.0.1:1";
    const live = liveOf(t, { baseUrl }, { token, timeout: 20 });
    t.match(await next(live, "client.disconnected"), {
      error: { code: "client.unreachable", message },
    });
  }
});

void t.test("how long a connection lasts to count as stable", (t) => {
  t.intercept(Math, "random", { value: () => 1 });
  const error = new Error("The connection ended.") as LiveError;
  const rows: [lasted: (number | undefined)[], code: number, delays: number[]][] = [
    [[undefined, undefined, undefined], 1006, [1000, 2000, 4000]],
    // Not all clients of a server that ends every few seconds come within the shortest delay.
    [[5000, 5000, 5000], 1006, [1000, 2000, 4000]],
    [[undefined, 19_999, 40_000], 1006, [1000, 2000, 1000]],
    [[undefined, undefined, undefined, undefined, 30_000], 1006, [1000, 2000, 4000, 8000, 1000]],
    // A login alone is no success, and a restart is no failure.
    [[0, 0, 0], 1011, [1000, 2000, 4000]],
    [[0, 0, 0], 1012, [1000, 1000, 1000]],
  ]; // prettier-ignore
  for (const [lasted, code, delays] of rows) {
    const retries = new Retries(1000, 30_000, false);
    const waits = lasted.map((time) =>
      retries.next({
        error,
        code,
        ...(time !== undefined && { lasted: time }),
      }),
    );
    t.same(waits, delays, lasted.join());
  }
  t.end();
});
