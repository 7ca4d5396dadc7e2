import t from "tap";
import { LiveError, type Live } from "../../client/index.js";
import { until } from "../helper.js";
import { startChat, take, takeIds, type FakeChat } from "./fake-chat.js";
import {
  ATTIC,
  HALL,
  liveOf,
  next,
  rejection,
  welcome,
  type FakeServer,
} from "./fake-server.js";

// Iterations over the events of a channel.

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** Waits until a channel is subscribed. */
const subscribed = (chat: FakeChat, channel = HALL) =>
  until(() => chat.subscribers(channel) > 0);

/** How often a command came in. */
const count = (server: FakeServer, name: string): number =>
  server.peers.flatMap(({ names }) => names).filter((it) => it === name).length;

/** Breaks the connection, and waits until the client knows. */
async function drop(live: Live, server: FakeServer): Promise<void> {
  const gone = next(live, "client.disconnected");
  server.peers.at(-1)!.drop();
  await gone;
}

void t.test("it gives what comes after it begins, as it is", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  chat.store(HALL);
  const events = live.channel(HALL)[Symbol.asyncIterator]();
  await subscribed(chat);
  chat.add(ATTIC);
  chat.add(HALL, 2);
  const [first, second] = await take(events, 2);
  t.same(first, chat.events[2], "without what the push adds");
  t.same(second, chat.events[3]);
  t.equal(live.channel(HALL), live.channel(HALL));
});

void t.test("it begins after an event", async (t) => {
  const cases: [name: string, after: number, stored: number][] = [
    ["all", 0, 3],
    ["the rest", 2, 3],
    ["more than the server returns with the subscription", 1, 1005],
    ["more than two pages", 1, 1700],
  ];
  for (const [name, after, stored] of cases) {
    const { server, chat } = await startChat(t);
    const live = liveOf(t, server);
    for (let i = 0; i < stored; i++) chat.store(HALL);
    const events = live.channel(HALL).events({ after });
    const ids = takeIds(events, stored - after + 1);
    await subscribed(chat);
    chat.add(HALL);
    t.same(await ids, range(after + 1, stored + 1), name);
    live.close();
  }
});

void t.test("it begins after an event of a channel that is read", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const channel = live.channel(HALL);
  chat.store(HALL);
  const now = channel.events();
  await subscribed(chat);
  chat.add(HALL);
  t.same(await takeIds(now, 1), [2]);
  const all = channel.events({ after: 0 });
  const later = channel.events();
  chat.add(HALL);
  t.same(await takeIds(all, 3), [1, 2, 3]);
  t.same(await takeIds(later, 1), [3]);
  t.same(await takeIds(now, 1), [3]);
  t.equal(count(server, "chat.subscribe"), 1);
});

void t.test("it catches up after a reconnection", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const events = live.channel(HALL).events();
  await subscribed(chat);
  chat.add(HALL);
  t.same(await takeIds(events, 1), [1]);
  await drop(live, server);
  chat.add(HALL, 3);
  t.same(await takeIds(events, 3), [2, 3, 4]);
  t.same(server.peers[1]!.frames[1], [
    "chat.subscribe",
    1,
    { channel: HALL, after: 1 },
  ]);
  t.equal(count(server, "chat.fetch"), 0);
});

void t.test("strange orders", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const events = live.channel(HALL).events();
  await subscribed(chat);
  const push = (id: number) => {
    const event = { ...chat.events[id - 1]!, users: {} };
    return ["chat.event", event];
  };
  for (let i = 0; i < 9; i++) chat.store(HALL);
  const [peer] = server.peers;
  peer!.send(push(1), push(1), push(2), push(1), push(3));
  t.same(await takeIds(events, 3), [1, 2, 3], "twice, or late");

  // A new connection gets a push before, and right behind, the answer.
  chat.intercept = (peer, name, id, { after }) => {
    if (name !== "chat.subscribe") return false;
    t.equal(after, 3);
    const results = chat.events.slice(3, 6);
    peer.send(
      push(7),
      ["success", id, { ...chat.state(), events: results, users: {} }],
      push(5),
      push(6),
      push(7),
      push(8),
    );
    return true;
  };
  await drop(live, server);
  t.same(await takeIds(events, 5), [4, 5, 6, 7, 8]);
});

void t.test("it holds pushes back while it catches up", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const events = live.channel(HALL).events();
  await subscribed(chat);
  await drop(live, server);
  for (let i = 0; i < 1100; i++) chat.store(HALL);
  let fetches = 0;
  chat.intercept = (peer, name, id, { after_id }) => {
    if (name !== "chat.fetch" || ++fetches > 1) return false;
    t.equal(after_id, 1000);
    // Some of what is pushed before the answer is part of it, and some came too late.
    chat.add(HALL, 3);
    const results = chat.events.slice(1000);
    chat.add(HALL, 3);
    peer.send(["success", id, { results, users: {} }]);
    chat.add(HALL, 3);
    return true;
  };
  t.same(await takeIds(events, 1109), range(1, 1109));
  t.equal(fetches, 1);
});

void t.test("a slow consumer loses nothing", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const events = live.channel(HALL).events();
  await subscribed(chat);
  chat.add(HALL, 2600);
  let seen = 0;
  live.on("chat.event", () => ++seen);
  await until(() => seen === 2600);
  t.equal(count(server, "chat.fetch"), 0);
  t.same(await takeIds(events, 1000), range(1, 1000), "what is kept");
  t.equal(count(server, "chat.fetch"), 0);
  t.same(await takeIds(events, 1600), range(1001, 2600), "what is fetched");
  chat.add(HALL, 2);
  t.same(await takeIds(events, 2), [2601, 2602]);
});

void t.test("answers that would be too large", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  for (let i = 0; i < 60; i++) chat.store(HALL);
  chat.intercept = (peer, name, id, { after, count = 0 }) => {
    const isLarge =
      (name === "chat.subscribe" && after !== undefined) ||
      (name === "chat.fetch" && count > 25);
    if (isLarge) peer.send(["error", id, { code: "server.too_large" }]);
    return isLarge;
  };
  const channel = live.channel(HALL);
  const events = channel.events({ after: 0 });
  t.same(await takeIds(events, 60), range(1, 60));
  const page = await channel.history({ count: 70 });
  t.same(
    page.map(({ event_id }) => event_id),
    range(1, 60),
  );
});

void t.test("iterations share a subscription", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const channel = live.channel(HALL);
  const one = channel.events();
  const two = channel.events();
  const other = live.channel(ATTIC).events();
  await subscribed(chat, ATTIC);
  chat.add(HALL);
  chat.add(ATTIC);
  t.same(await takeIds(one, 1), [1]);
  t.same(await takeIds(two, 1), [1]);
  t.same(await takeIds(other, 1), [2]);
  t.equal(count(server, "chat.subscribe"), 2);

  await one.return!();
  t.same(await one.next(), { done: true, value: undefined });
  chat.add(HALL);
  t.same(await takeIds(two, 1), [3]);
  t.equal(chat.subscribers(HALL), 1);

  const waiting = two.next();
  await two.return!();
  t.same(await waiting, { done: true, value: undefined }, "it is woken up");
  await until(() => chat.subscribers(HALL) === 0);
  t.equal(chat.subscribers(ATTIC), 1);

  // A loop that breaks ends the iteration as well, and another one starts over.
  const loop = (async () => {
    for await (const { event_id } of channel) return event_id;
    return 0;
  })();
  await subscribed(chat);
  chat.add(HALL);
  t.equal(await loop, 4);
  await until(() => chat.subscribers(HALL) === 0);
  await drop(live, server);
  await live.connected();
  chat.add(ATTIC);
  t.same(await takeIds(other, 1), [5]);
  t.equal(chat.subscribers(HALL), 0, "it is not read any longer");
});

void t.test(
  "it waits for the first login, and for a busy server",
  async (t) => {
    const { server, chat } = await startChat(t);
    server.isFull = true;
    const live = liveOf(t, server);
    const events = live.channel(HALL).events();
    let refusals = 0;
    chat.intercept = (peer, name, id) => {
      if (name !== "chat.subscribe" || refusals > 0) return false;
      refusals++;
      peer.send(["error", id, { code: "protocol.rate_limited" }]);
      return true;
    };
    await until(() => server.attempts > 2);
    server.isFull = false;
    await subscribed(chat);
    t.equal(refusals, 1);
    chat.add(HALL);
    t.same(await takeIds(events, 1), [1]);
  },
);

void t.test("breaks at any moment", async (t) => {
  // The connection breaks instead of, or right after, the answers in question.
  const names = ["authenticate", "chat.subscribe", "chat.fetch"];
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const events = live.channel(HALL).events({ after: 0 });
  const others = live.channel(ATTIC).events({ after: 0 });
  let step = 0;
  chat.intercept = (peer, name) => {
    if (!names.includes(name) || ++step > 60) return false;
    // Missed events, so that there is something to catch up with.
    for (let i = 0; i < 40; i++) chat.store(step % 3 ? HALL : ATTIC);
    if (step % 2) return false;
    if (step % 4) peer.drop();
    else setImmediate(() => peer.drop());
    if (step % 8 === 0) chat.add(HALL, 3);
    return step % 4 !== 0;
  };
  const idsOf = (channel: string) =>
    chat.events
      .filter((it) => it.channel === channel)
      .map(({ event_id }) => event_id);
  await until(() => step > 60);
  await until(() => chat.subscribers(ATTIC) + chat.subscribers(HALL) === 2);
  chat.add(HALL);
  chat.add(ATTIC);
  for (const [channel, it] of [
    [HALL, events],
    [ATTIC, others],
  ] as const) {
    const ids = idsOf(channel);
    t.same(await takeIds(it, ids.length), ids);
  }
});

void t.test("its end", async (t) => {
  const denied = { code: "protocol.denied", message: "Permission denied." };
  const lost: [
    name: string,
    lose: (server: FakeServer) => void,
    code: string,
  ][] = [
    [
      "the channel is refused",
      (server) => server.peers[0]!.drop(),
      "protocol.denied",
    ],
    [
      "the room is deleted",
      (server) => server.peers[0]!.send(["room.delete", { id: HALL }]),
      "room.unknown",
    ],
    [
      "the right is lost",
      (server) => {
        const config = welcome["world.config"];
        server.peers[0]!.send(["world.updated", { ...config, rooms: [] }]);
      },
      "protocol.denied",
    ],
    [
      "the client is turned away",
      (server) =>
        server.peers[0]!.send(["error", { code: "connection.replaced" }]),
      "connection.replaced",
    ],
  ];
  const config = welcome["world.config"];
  const [room] = config.rooms;
  const chatRoom = {
    ...room,
    permissions: ["room:view", "room:chat.read"],
    modules: [{ type: "chat.native", config: {}, channel_id: HALL }],
  };
  for (const [name, lose, code] of lost) {
    const { server, chat } = await startChat(t);
    let logins = 0;
    chat.intercept = (peer, name, id) => {
      if (name === "authenticate") {
        logins++;
        const rooms = [chatRoom];
        peer.send([
          "authenticated",
          { ...welcome, "world.config": { ...config, rooms } },
        ]);
        return true;
      }
      const isRefused = name === "chat.subscribe" && chat.events.length > 0;
      if (isRefused) peer.send(["error", id, denied]);
      return isRefused;
    };
    const live = liveOf(t, server);
    const channel = live.channel(HALL);
    const one = channel.events();
    const two = channel.events();
    await subscribed(chat);
    chat.add(HALL);
    t.same(await takeIds(one, 1), [1], name);
    const failed = rejection(one.next());
    lose(server);
    t.match(await failed, { code }, name);
    t.ok((await failed) instanceof LiveError);
    t.same(await one.next(), { done: true, value: undefined });
    t.same(await takeIds(two, 1), [1], "what waits comes first");
    t.match(await rejection(two.next()), { code }, name);
    t.ok(logins > 0);
    live.close();
  }

  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const events = live.channel(HALL).events();
  await subscribed(chat);
  const waiting = events.next();
  live.close();
  t.same(await waiting, { done: true, value: undefined }, "it was closed");
  for await (const _ of live.channel(HALL)) t.fail("it is closed");
  for await (const _ of live.channel(ATTIC)) t.fail("it is closed");
});

void t.test("a right that comes back leaves no gap", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const config = welcome["world.config"];
  const events = live.channel(HALL).events();
  await subscribed(chat);
  const [peer] = server.peers;
  // The server pushed nothing in between.
  chat.store(HALL);
  const room = {
    ...config.rooms[0],
    permissions: ["room:chat.read"],
    modules: [{ type: "chat.native", config: {} }],
  };
  peer!.send(["world.updated", { ...config, rooms: [room] }]);
  t.same(await takeIds(events, 1), [1]);
  peer!.send(["world.updated", { ...config, rooms: [room] }]);
  chat.add(HALL);
  t.same(await takeIds(events, 1), [2]);
  t.equal(count(server, "chat.subscribe"), 2, "no subscription in vain");
});

void t.test("a right that was lost before the room was known", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const events = live.channel("new-room").events();
  const next = events.next();
  await subscribed(chat, "new-room");
  const [peer] = server.peers;
  const config = welcome["world.config"];
  for (let i = 0; i < 3; i++) peer!.send(["world.updated", config]);
  await until(() => count(server, "chat.subscribe") === 2);
  chat.add("new-room");
  t.match(await next, { value: { event_id: 1 } });
  t.equal(count(server, "chat.subscribe"), 2, "it asks once");
});

void t.test("a restored server gives ids again", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const events = live.channel(HALL).events();
  await subscribed(chat);
  chat.add(HALL, 5);
  await takeIds(events, 5);
  chat.events.length = 2;
  await drop(live, server);
  await subscribed(chat);
  chat.add(HALL);
  t.same(await takeIds(events, 1), [3]);
});

void t.test("several calls of next at once", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const events = live.channel(HALL).events();
  const all = Promise.all([events.next(), events.next(), events.next()]);
  await subscribed(chat);
  chat.add(HALL, 3);
  t.match(await all, [
    { value: { event_id: 1 } },
    { value: { event_id: 2 } },
    { value: { event_id: 3 } },
  ]);
});
