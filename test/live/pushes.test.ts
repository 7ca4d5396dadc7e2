import { pino } from "pino";
import t from "tap";
import { StoreError } from "../../db/contract/store.js";
import { Lines } from "../../live/delivery/lines.js";
import { Passes } from "../../live/delivery/passes.js";
import { type Piece, Pushes, type Send } from "../../live/delivery/push.js";
import { nothingSent, Throttle } from "../../live/delivery/throttle.js";
import { Crowds } from "../../live/modules/rooms/crowds.js";
import { Hub } from "../../live/people/hub.js";
import type { View } from "../../live/rules/world-state.js";
import type { WorldStates } from "../../live/rules/world-states.js";
import type { Connection } from "../../live/socket/connection.js";
import { Pump } from "../../live/socket/socket-writer.js";
import { ProcessTime, Timeline } from "../simulation/timeline.js";

// The way of a push through lines, passes and throttles, in simulated time.

const room = { world: "w", room: "r" };

/** A connection that notes what it gets. */
function connectionOf(user: string, id = user) {
  const got: string[] = [];
  const view = { sees: () => true } as unknown as View;
  const login = { user };
  return Object.assign(
    { id, world: "w", rooms: new Set<string>(), ended: false, login, got },
    {
      viewOf: () => view,
      push: (sent: Buffer | Piece) =>
        void got.push(("bytes" in sent ? sent.bytes : sent).toString()),
    },
  ) as unknown as Connection & { got: string[] };
}

/** What pushes stand on, and people who are in the room. */
function stage(...users: string[]) {
  const timeline = new Timeline();
  const clock = new ProcessTime(timeline);
  const log = pino({ level: "silent" });
  const hub = new Hub();
  const lines = new Lines(clock, log);
  const passes = new Passes(clock, new Pump(clock));
  const states = { get: async () => ({}) } as unknown as WorldStates;
  const ports = { clock, log, hub, lines, passes, states };
  const people = users.map((user) => {
    const connection = connectionOf(user);
    hub.add(connection, user);
    hub.enter(connection, "r", false);
    return connection;
  });
  const pushes = new Pushes(ports);
  return { timeline, hub, ports, people, pushes };
}

const say =
  (text: string) =>
  (send: Send): Promise<unknown> =>
    send(Buffer.from(text));

void t.test("pushes of a line leave in their order", async (t) => {
  const { timeline, people, pushes } = stage("a");
  const { got } = people[0]!;
  let attempts = 0;
  pushes.push(room, async (send) => {
    if (++attempts < 3) throw new StoreError("busy", "It is locked.");
    await send(Buffer.from("first"));
  });
  pushes.push(room, say("second"));
  pushes.push({ world: "w" }, say("of the world"));
  await timeline.runUntil(10);
  t.same(got.splice(0), ["of the world"], "a line holds up no other");
  await timeline.runUntil(1000);
  t.same(got, ["first", "second"]);
});

void t.test("a push asks for rights while it is sent", async (t) => {
  const { timeline, hub, people, pushes } = stage("a", "b", "c");
  const [a, b, c] = people;
  pushes.push(room, (send) =>
    send((connection) => {
      // Meanwhile one leaves the room, and another the server.
      hub.leave(b!, "r");
      Object.assign(c!, { ended: true });
      return connection === a ? Buffer.from("a") : Buffer.from("others");
    }),
  );
  await timeline.runUntil(10);
  t.same(
    people.map(({ got }) => got),
    [["a"], [], []],
  );
});

void t.test("a push without an audience reads nothing", async (t) => {
  const { timeline, pushes } = stage("a");
  let reads = 0;
  const read = async () => void reads++;
  pushes.push({ world: "w", room: "empty" }, read);
  pushes.push({ world: "other" }, read);
  pushes.push({ world: "w", user: "b" }, read);
  const pace = { subject: "s", authors: ["b"] };
  pushes.push({ world: "w", room: "empty" }, read, { pace });
  await timeline.runUntil(1000);
  t.equal(reads, 0);
});

void t.test("what changes often", async (t) => {
  const { timeline, hub, people, pushes } = stage("a");
  const [outside, other] = [connectionOf("b", "b1"), connectionOf("b", "b2")];
  for (const connection of [outside, other]) hub.add(connection, "b");
  let count = 0;
  const change = (...authors: string[]) => {
    count++;
    const tell = (send: Send) => send(Buffer.from(String(count)));
    pushes.push(room, tell, { pace: { subject: "s", authors } });
  };
  change("a");
  await timeline.runUntil(10);
  t.same(people[0]!.got, ["1"], "the first change at once");
  change("b", "b1");
  change("a");
  change("a");
  await timeline.runUntil(249);
  t.same(people[0]!.got, ["1"]);
  await timeline.runUntil(300);
  t.same(people[0]!.got, ["1", "4"], "later ones together");
  t.same(outside.got, ["4"], "an author need not be in the room");
  t.same(other.got, [], "the other connections of the author have to");
});

void t.test("what is collected", async (t) => {
  const { timeline, ports } = stage();
  const throttle = new Throttle(ports, { interval: 300, collects: true });
  const sent: string[] = [];
  const change = (text: string, author: string, act = () => {}) =>
    throttle.add("w", "s", {
      authors: [author],
      send(authors) {
        sent.push(`${text} by ${[...authors].join()} at ${timeline.now}`);
        act();
        return nothingSent;
      },
    });
  change("1", "a");
  await timeline.runUntil(100);
  change("2", "b", () => {
    change("3", "c");
    throw new Error("It fails.");
  });
  await timeline.runUntil(299);
  t.same(sent, [], "the first change waits as well");
  await timeline.runUntil(301);
  t.same(sent.splice(0), ["2 by a,b at 300"]);
  await timeline.runUntil(3000);
  t.same(
    sent.splice(0).map((text) => text.replace(/ at .*/, "")),
    ["3 by c,a,b"],
    "what failed is sent with later changes, and only once",
  );
  change("4", "d");
  throttle.close();
  await timeline.runUntil(4000);
  t.same(sent, [], "nothing after the end");
});

void t.test("in and out of many rooms", async (t) => {
  const { timeline, ports, people, pushes } = stage("a");
  let count = 0;
  const countIn = () => count;
  const crowds = new Crowds({ ...ports, pushes, countIn });
  t.teardown(() => crowds.close());
  const rooms = Array.from({ length: 20 }, (_, i) => `room ${i}`);
  // Slower than what is sent together, and faster than anybody wants to know.
  for (let round = 1; round <= 16; round++) {
    count = round % 2;
    for (const room of rooms) crowds.changed("w", room);
    await timeline.runUntil(300 * round);
  }
  await timeline.runUntil(10_000);
  const text = people[0]!.got.join("");
  const sent = text.split("world.user_count_change").length - 1;
  // Four at once for each room, and one a second.
  t.ok(sent >= 20 * 4 && sent <= 20 * (4 + 6), `${sent} changes`);
  for (const room of rooms) {
    const last = (users: string) =>
      text.lastIndexOf(JSON.stringify({ room, users }));
    t.ok(last("none") > last("few"), room);
  }
  t.equal(crowds.in("other", "words").changes, 0, "another world");
});
