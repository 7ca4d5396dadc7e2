import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import t from "tap";
import { type RoomValue, StoreError, type Versioned } from "../../../db/contract/store.js";
import { processClock } from "../../../db/runtime.js";
import { type Authors, nothingSent, Outboxes } from "../../../live/delivery/outbox.js";
import {
  inSlices,
  type SocketChunk,
  PushPipeline,
  type Send,
} from "../../../live/delivery/push.js";
import { type FrameBatch as ChatPiece, Subscription } from "../../../live/modules/chat/audience.js";
import type { CaptionPorts } from "../../../live/modules/captions/caption-pushes.js";
import { SpokenLanguages } from "../../../live/modules/captions/spoken-languages.js";
import { Voters } from "../../../live/modules/items/poll-pushes.js";
import { Crowds } from "../../../live/modules/rooms/crowds.js";
import { Hub } from "../../../live/people/hub.js";
import { type View, LiveWorldState, type WorldStates } from "../../../live/rules/world-state.js";
import type { Connection } from "../../../live/socket/connection.js";
import { textFrame } from "../../../live/socket/frame.js";
import { FlushQueue } from "../../../live/socket/outgoing.js";
import { Buckets, TokenBucket } from "../../../live/socket/pace.js";
import type { Client } from "../../protocol/simulation/live/client.js";
import { House } from "../../protocol/simulation/live/house.js";
import { ProcessTime, Timeline } from "../../protocol/simulation/timeline.js";

// Pushes through outboxes, and rate limits of clients, in simulated time.

const room = { world: "w", room: "r" };

/** Returns a connection that records what it receives. */
function connectionOf(user: string, id = user) {
  const got: string[] = [];
  const view = { sees: () => true } as unknown as View;
  const login = { user };
  return Object.assign(
    { id, world: "w", rooms: new Set<string>(), ended: false, login, got },
    {
      viewOf: () => view,
      push: (sent: Buffer | SocketChunk) =>
        void got.push(("bytes" in sent ? sent.bytes : sent).toString()),
    },
  ) as unknown as Connection & { got: string[] };
}

/** Sets up the dependencies of pushes, with users in a room. */
function stage(...users: string[]) {
  const timeline = new Timeline();
  const clock = new ProcessTime(timeline);
  const log = pino({ level: "silent" });
  const hub = new Hub();
  const outboxes = new Outboxes({ clock, log, flushQueue: new FlushQueue(clock) });
  const states = { get: async () => ({}) } as unknown as WorldStates;
  const ports = { clock, hub, outboxes, states };
  const people = users.map((user) => {
    const connection = connectionOf(user);
    hub.add(connection, user);
    hub.enter(connection, "r", false);
    return connection;
  });
  const pushes = new PushPipeline(ports);
  return { timeline, hub, ports, people, pushes };
}

const say =
  (text: string) =>
  (send: Send): Promise<unknown> =>
    send(Buffer.from(text));

void t.test("pushes of a place leave in their order", async (t) => {
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
  t.same(got.splice(0), ["of the world"], "a place holds up no other");
  await timeline.runUntil(1000);
  t.same(got, ["first", "second"]);
});

void t.test("a push asks for rights while it is sent", async (t) => {
  const { timeline, hub, people, pushes } = stage("a", "b", "c");
  const [a, b, c] = people;
  pushes.push(room, (send) =>
    send((connection) => {
      // While the push is being sent, one user leaves the room, and another the server.
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
  pushes.push({ world: "w", room: "empty" }, read, { key: "s", authors: ["b"] });
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
    pushes.push(room, tell, { key: "s", authors });
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
  const sent: string[] = [];
  const change = (text: string, author: string, act = () => {}) => {
    const send = async (authors: Authors) => {
      sent.push(`${text} by ${[...authors].join()} at ${timeline.now}`);
      act();
      return nothingSent;
    };
    const latest = { authors: [author], send };
    ports.outboxes.at("w").latest("s", latest, { interval: 300, collects: true });
  };
  change("1", "a");
  await timeline.runUntil(100);
  change("2", "b", () => {
    change("3", "c");
    throw new StoreError("busy", "It fails.");
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
  ports.outboxes.close();
  await timeline.runUntil(4000);
  t.same(sent, [], "nothing after the end");
});

void t.test("in and out of many rooms", async (t) => {
  const { timeline, ports, people, pushes } = stage("a");
  let count = 0;
  const countIn = () => count;
  const crowds = new Crowds({ ...ports, pushes, countIn });
  const rooms = Array.from({ length: 20 }, (_, i) => `room ${i}`);
  // Slower than the batching interval, but faster than anyone needs updates.
  for (let round = 1; round <= 16; round++) {
    count = round % 2;
    for (const room of rooms) crowds.changed("w", room);
    await timeline.runUntil(300 * round);
  }
  await timeline.runUntil(10_000);
  const text = people[0]!.got.join("");
  const sent = text.split("world.user_count_change").length - 1;
  // A burst of four for each room, then one per second.
  t.ok(sent >= 20 * 4 && sent <= 20 * (4 + 6), `${sent} changes`);
  for (const room of rooms) {
    const last = (users: string) => text.lastIndexOf(JSON.stringify({ room, users }));
    t.ok(last("none") > last("few"), room);
  }
  t.equal(crowds.in("other", "words").changes, 0, "another world");
});

void t.test("what waits for a subscription comes in order", async (t) => {
  const got: string[] = [];
  const connection = { push: (frame: string) => void got.push(frame) };
  const subscription = new Subscription({ connection } as never);
  const piece = (id: number) =>
    ({ frames: [{ id, frame: `event ${id}` }] }) as unknown as ChatPiece;
  for (const id of [3, 1, 2]) {
    t.equal(subscription.take(piece(id), 0), undefined);
  }
  subscription.start(1);
  t.same(got, ["event 2", "event 3"]);
});

void t.test("a push leaves out people who vote while it is read", async (t) => {
  t.plan(1);
  const store = { voters: async () => ({ users: [], changed: 1 }) };
  const voters = new Voters(store as never);
  const of = (user: string) => ({ login: { user } }) as never;
  const poll = { world: "w", room: "r", id: "p" };
  const read = async () => voters.voted("p", ["ann"]);
  await voters.during(poll, read, async (_, { isVoting }) => {
    t.same([isVoting(of("ann")), isVoting(of("bob"))], [true, false]);
  });
});

void t.test("long work for many", async (t) => {
  let turns = 0;
  let isDone = false;
  const others = async () => {
    for (; !isDone; turns++) await setImmediate();
  };
  const othersEnd = others();
  const done: number[] = [];
  await inSlices(processClock, [1, 2, 3, 4, 5], (item) => {
    const ends = performance.now() + 6;
    while (performance.now() < ends);
    done.push(item);
  });
  isDone = true;
  await othersEnd;
  t.same(done, [1, 2, 3, 4, 5]);
  t.ok(turns >= 4, `others got ${turns} turns`);
});

void t.test("a rate is saved up to its burst, and no further", async (t) => {
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
});

void t.test("rates are forgotten when they are whole again", async (t) => {
  let now = 0;
  const clock = { ...processClock, now: () => now };
  const rates = new Buckets(clock, 5, 4);
  const take = (from: number, to: number) => {
    for (let i = from; i < to; i++) rates.take(`${i}`, 1);
  };
  rates.take("busy", 20);
  take(0, 10_000);
  t.equal(rates.size, 10_001, "all of these are in use");
  now = 3000;
  rates.take("busy", 10);
  now = 4000;
  take(10_000, 20_000);
  t.ok(rates.size <= 15_000, `${rates.size} are left`);
  t.notOk(rates.take("busy", 16), "what is not refilled is kept");
  take(20_000, 150_000);
  t.ok(rates.size <= 100_000, "never more");
});

// Pushes that are pending while rights are revoked, or while the database goes back. The
// connections are real, and the time is simulated.

/** Opens a house with one client, and records what it receives. */
async function furnished() {
  const got: string[] = [];
  const people = { seed: 1, nodes: 1, clients: 1, hasProgram: false };
  const house = await House.open(people, (line) => got.push(line));
  const { timeline, world } = house;
  const { live, store } = house.nodes[0]!;
  const [client] = house.clients as [Client];
  return { house, timeline, world, live, store, client, got };
}

/** Opens a house with one client, and waits until the client has logged in. */
async function loggedIn() {
  const all = await furnished();
  const { timeline, live, world } = all;
  await timeline.runUntil(3_000);
  const [connection] = live.hub.in(world);
  const begin = timeline.now;
  /** Waits until the given number of milliseconds after the start. */
  const at = (delay: number) => timeline.runUntil(begin + delay);
  return { ...all, connection: connection!, begin, at };
}

/** Returns the room after all users have lost the right to see it. */
const closed = (room: Versioned<RoomValue>): Versioned<RoomValue> => ({
  version: "later",
  json: room.json,
  value: Object.create(room.value, {
    permission_config: { value: { "room.view": ["nobody"] } },
  }) as RoomValue,
});

type Row = [name: string, since: number, doubt: number | undefined, is: string];

void t.test("what waits for an answer when a right is lost", async (t) => {
  const rows: Row[] = [
    ["the state knows when", 0, undefined, "dropped"],
    ["only the doubt does", Infinity, 0, "dropped"],
    ["the doubt is older", 400, 0, "dropped"],
    ["it was a moment ago", 400, undefined, "sent"],
    ["it is not known", Infinity, undefined, "sent"],
  ];
  for (const [name, since, doubt, is] of rows) {
    const { house, live, connection, begin, at, got, world } = await loggedIn();
    const state = live.states.present(world)!;
    connection.outgoing.beginAnswer();
    let know = () => {};
    const known = new Promise<void>((resolve) => (know = resolve));
    if (doubt !== undefined) connection.holdUntil(begin + doubt, known);
    await at(900);
    connection.push(textFrame('["made"]'));
    await at(950);
    const rooms = state.rooms.map(closed);
    const parts = [state.world, rooms, state.stages, state.order + 1] as const;
    connection.viewOf(new LiveWorldState(...parts, undefined, null, begin + since));
    know();
    await at(1_150);
    connection.outgoing.endAnswer();
    await at(1_200);
    const isSent = got.some((line) => line.includes('["made"]'));
    t.equal(isSent ? "sent" : "dropped", is, name);
    t.equal(connection.ended, !isSent, name);
    house.close();
  }
});

void t.test("a state knows when its first change came", async (t) => {
  const { house, live, begin, at, world } = await loggedIn();
  const { states } = live;
  const read = async (delay: number) => {
    const reading = states.get(world);
    await at(delay);
    return (await reading)!.since - begin;
  };
  states.forget(world);
  await at(100);
  states.forget(world);
  t.equal(await read(300), 0, "the first one");
  await at(400);
  states.forget(world);
  t.equal(await read(600), 400, "and not one that was read");
  house.close();
});

void t.test("a push of a lost history", async (t) => {
  /** How the client leaves the world: after the database has gone back, or before. */
  const rows: [name: string, leave: (client: Client) => void][] = [
    ["the log of the world goes back", () => {}],
    ["nobody follows the world meanwhile", (client) => client.drop()],
  ];
  for (const [name, leave] of rows) {
    const { house, timeline, world, live, store, client, got } = await furnished();
    const { database } = house;
    await timeline.runUntil(3_000);
    const earlier = database.copy();
    const [room] = client.state!.rooms;
    const read = store.rooms.all.bind(store.rooms);
    store.rooms.all = async (...selection) => {
      if (timeline.now > 4_300) return read(...selection);
      throw new StoreError("busy", "Simulated.");
    };
    const deleted = database.store.rooms.delete(world, room!.id, undefined, { kind: "command" });
    await timeline.runUntil(3_700);
    await deleted;
    t.ok(live.outboxes.ended(world), `${name}: the push waits`);
    client.isAway = true;
    leave(client);
    database.goBack(earlier);
    await timeline.runUntil(4_350);
    t.equal(live.hub.in(world).size, 0, "the client has left");
    t.notOk(live.outboxes.ended(world), "the push waits no longer");
    client.isAway = false;
    client.drop();
    client.connect();
    await timeline.runUntil(4_800);
    t.equal(live.hub.in(world).size, 1, "and is back");
    await timeline.runUntil(9_000);
    const isPushed = got.some((line) => line.includes("room.delete"));
    t.notOk(isPushed, "it gets no push of what did not happen");
    t.equal(client.state?.rooms[0]?.id, room!.id, "and the room stays");
    t.same(house.violations, []);
    house.close();
  }
});

void t.test("a language is spoken for a minute after its last line", async (t) => {
  const { timeline, ports, people, pushes } = stage("a", "b");
  const [a, b] = people.map(
    ({ got }) =>
      () =>
        got
          .splice(0)
          .flatMap(
            (frame) => /"languages":\[(.*?)\]/.exec(frame)?.[1] ?? "not a push of languages",
          ),
  ) as [() => string[], () => string[]];
  const { clock } = ports;
  const before = [{ lang: "de", at: clock.date() - 20_000 }];
  let reads = 0;
  const languages = async () => {
    if (reads++ === 0) throw new StoreError("busy", "It is locked.");
    return before;
  };
  const store = { captions: { languages } } as unknown as CaptionPorts["store"];
  const spoken = new SpokenLanguages({ clock, store, pushes, rates: undefined as never });
  const hear = (lang: string) =>
    spoken.heard(
      { world: "w", room: "r", at: clock.date() } as Parameters<SpokenLanguages["heard"]>[0],
      [lang],
    );
  const wait = (seconds: number) => timeline.runUntil(timeline.now + 1000 * seconds);
  hear("fr");
  await wait(1);
  t.same(a(), [], "nobody has entered yet");
  spoken.entered(people[0]!, "r");
  spoken.entered(people[1]!, "r");
  await wait(1);
  t.same([a(), b()], [['"de"'], ['"de"']]);
  hear("en");
  await wait(1);
  t.same([a(), b()], [['"de","en"'], ['"de","en"']]);
  for (let i = 0; i < 36; i++) {
    hear("en");
    await wait(1);
  }
  t.same([a(), b()], [[], []], "nothing has changed");
  await wait(2);
  t.same([a(), b()], [['"en"'], ['"en"']], "a minute without German");
  await wait(60);
  t.same(a(), [""], "and without English");
  spoken.entered(people[0]!, "r");
  await wait(1);
  t.same(a(), [], "silence is no news");
  hear("en");
  await wait(1);
  t.same(a(), ['"en"']);
  spoken.stop();
  await wait(90);
  t.same(a(), []);
});
