import t, { type Test } from "tap";
import { LiveError, type SentEvent } from "../../../client/index.js";
import { Reader } from "../../../client/live/subscription.js";
import { until } from "../../support/helper.js";
import { bodiesOf, House, hurry, next, rejection, take } from "./house.js";
import { type Fate, Wire } from "./wire.js";

// Iterating over the events of a channel.

const range = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, i) => String(first + i));

const takeTexts = async (events: AsyncIterator<SentEvent, undefined>, count: number) =>
  bodiesOf(await take(events, count));

const SUBSCRIBE = "chat.subscribe";

/** Opens a house, with a visitor in its hall. */
async function visit(t: Test) {
  const house = await House.open(t);
  const { hall, attic } = house;
  const guest = await house.visit();
  return { ...guest, house, hall, attic, channel: guest.live.channel(hall) };
}

/** Connects a visitor who iterates over the hall's events. */
async function reading(t: Test) {
  const guest = await visit(t);
  const events = guest.channel.events();
  await guest.wire.answers(SUBSCRIBE);
  return { ...guest, events };
}

void t.test("it gives what comes after it begins, as it is", async (t) => {
  const { house, hall, attic, live, wire } = await visit(t);
  await house.say(hall, "before");
  const channel = live.channel(hall);
  t.equal(live.channel(hall), channel);
  const events = channel[Symbol.asyncIterator]();
  await wire.answers(SUBSCRIBE);
  await house.say(attic, "elsewhere");
  await house.say(hall, "1", "2");
  const history = await channel.history({ count: 2 });
  t.same(await take(events, 2), history, "without what the push adds");
});

void t.test("it begins after an event", async (t) => {
  const house = await House.open(t);
  const { hall } = house;
  const ids = await house.say(hall, ...range(1, 1700));
  const cases: [name: string, given: number][] = [
    ["the rest", 1698],
    ["more than the server returns with the subscription", 698],
    ["more than two pages, from the first event on", 0],
  ];
  let said = 1700;
  for (const [name, given] of cases) {
    const { live, wire } = await house.visit();
    const events = live.channel(hall).events({ after: ids[given - 1] ?? 0 });
    const texts = takeTexts(events, ++said - given);
    await wire.answers(SUBSCRIBE);
    await house.say(hall, String(said));
    t.same(await texts, range(given + 1, said), name);
    live.close();
  }
});

void t.test("it begins after an event of a channel that is read", async (t) => {
  const { house, hall, wire, channel } = await visit(t);
  await house.say(hall, "1");
  const now = channel.events();
  await wire.answers(SUBSCRIBE);
  await house.say(hall, "2");
  t.same(await takeTexts(now, 1), ["2"]);
  const all = channel.events({ after: 0 });
  const later = channel.events();
  await house.say(hall, "3");
  t.same(await takeTexts(all, 3), ["1", "2", "3"]);
  t.same(await takeTexts(later, 1), ["3"]);
  t.same(await takeTexts(now, 1), ["3"]);
  t.equal(wire.count(SUBSCRIBE), 1);
});

void t.test("it catches up after a reconnection", async (t) => {
  const { house, hall, live, wire, events } = await reading(t);
  const [after] = await house.say(hall, "1");
  t.same(await takeTexts(events, 1), ["1"]);
  wire.cut();
  await until(() => !live.isConnected);
  await house.say(hall, "2", "3", "4");
  wire.restore();
  t.same(await takeTexts(events, 3), ["2", "3", "4"]);
  t.same(wire.sent.at(-1), [SUBSCRIBE, 1, { channel: hall, after }]);
  t.equal(wire.count("chat.fetch"), 0);
});

void t.test("pushes that come twice, late, or while it catches up", async (t) => {
  const { house, hall, live, wire, reconnect, events } = await reading(t);
  const pushes: unknown[][] = [];
  wire.change = (frame) => {
    if (frame[0] === "chat.event") pushes.push(frame);
    return frame;
  };
  await house.say(hall, "1", "2", "3");
  t.same(await takeTexts(events, 3), ["1", "2", "3"]);
  await wire.deliver(...pushes, ...pushes.slice(1));
  // A new connection receives old pushes both before and after the response.
  wire.fate = async (name): Promise<Fate> => {
    if (name !== SUBSCRIBE) return "arrives";
    await wire.deliver(...pushes);
    await house.say(hall, "4", "5");
    return "arrives";
  };
  await reconnect();
  t.same(await takeTexts(events, 2), ["4", "5"]);
  await wire.deliver(...pushes);

  // The remaining events are fetched page by page while new ones are sent.
  wire.cut();
  await until(() => !live.isConnected);
  await house.say(hall, ...range(6, 1105));
  let said = 1105;
  wire.fate = async (name): Promise<Fate> => {
    if (name !== "chat.fetch") return "arrives";
    await house.say(hall, ...range(said + 1, (said += 3)));
    return "arrives";
  };
  wire.restore();
  t.same(await takeTexts(events, 1100), range(6, 1105));
  await until(() => wire.count("chat.fetch") > 0);
  await house.say(hall, "last");
  t.same(await takeTexts(events, said - 1105 + 1), [...range(1106, said), "last"]);
});

void t.test("a slow consumer loses nothing", async (t) => {
  const { house, hall, live, wire, events } = await reading(t);
  let seen = 0;
  live.on("chat.event", () => ++seen);
  await house.say(hall, ...range(1, 2600));
  await until(() => seen === 2600);
  t.same(await takeTexts(events, 1000), range(1, 1000), "what is kept");
  t.equal(wire.count("chat.fetch"), 0);
  t.same(await takeTexts(events, 1600), range(1001, 2600), "what is fetched");
  await house.say(hall, "2601", "2602");
  t.same(await takeTexts(events, 2), ["2601", "2602"]);
});

void t.test("answers that would be too large", async (t) => {
  const { house, hall, live, wire } = await visit(t);
  await house.say(hall, ...range(1, 60));
  wire.fate = (name, { after, count }) =>
    (name === SUBSCRIBE && after !== undefined) || (name === "chat.fetch" && count > 25)
      ? { error: "server.too_large" }
      : "arrives";
  const channel = live.channel(hall);
  t.same(await takeTexts(channel.events({ after: 0 }), 60), range(1, 60));
  t.same(bodiesOf(await channel.history({ count: 70 })), range(1, 60));
});

void t.test("iterations share a subscription", async (t) => {
  const { house, hall, attic, live, wire, reconnect, channel } = await visit(t);
  const one = channel.events();
  const two = channel.events();
  const other = live.channel(attic).events();
  await wire.answers(SUBSCRIBE, 2);
  await house.say(hall, "1");
  await house.say(attic, "2");
  t.same(await takeTexts(one, 1), ["1"]);
  t.same(await takeTexts(two, 1), ["1"]);
  t.same(await takeTexts(other, 1), ["2"]);
  t.equal(wire.count(SUBSCRIBE), 2);

  await one.return!();
  t.same(await one.next(), { done: true, value: undefined });
  await house.say(hall, "3");
  t.same(await takeTexts(two, 1), ["3"]);
  t.equal(wire.count("chat.unsubscribe"), 0);

  const waiting = two.next();
  await two.return!();
  t.same(await waiting, { done: true, value: undefined }, "it is woken up");
  await wire.answers("chat.unsubscribe");

  // Breaking out of a loop also ends the iteration, and a new loop starts over.
  const loop = (async () => {
    for await (const { content } of channel) return content.body;
    return undefined;
  })();
  await wire.answers(SUBSCRIBE, 3);
  await house.say(hall, "4");
  t.equal(await loop, "4");
  await wire.answers("chat.unsubscribe", 2);
  await reconnect();
  await house.say(attic, "5");
  t.same(await takeTexts(other, 1), ["5"]);
  t.equal(wire.count(SUBSCRIBE), 4, "the hall is not read any longer");

  const events = channel.events();
  const all = Promise.all([events.next(), events.next(), events.next()]);
  await wire.answers(SUBSCRIBE, 5);
  await house.say(hall, "6", "7", "8");
  const values = (await all).map(({ value }) => value!);
  t.same(bodiesOf(values), ["6", "7", "8"], "several calls of next at once");
});

void t.test("it waits for the first login, and for a busy server", async (t) => {
  hurry(t);
  const house = await House.open(t);
  const { hall } = house;
  const wire = new Wire();
  wire.isDown = true;
  const { live } = await house.client({ wire });
  const events = live.channel(hall).events();
  wire.fate = (name) =>
    name === SUBSCRIBE && wire.count(name) === 1 ? { error: "protocol.rate_limited" } : "arrives";
  await until(() => wire.attempts > 2);
  wire.restore();
  await wire.answers(SUBSCRIBE);
  await house.say(hall, "1");
  t.same(await takeTexts(events, 1), ["1"]);
});

void t.test("breaks at any moment", async (t) => {
  hurry(t);
  // The connection breaks right before these responses arrive, or instead of them.
  const names = ["authenticate", SUBSCRIBE, "chat.fetch"];
  const house = await House.open(t);
  const rooms = [house.hall, house.attic];
  const said = new Map(rooms.map((room) => [room, [] as string[]]));
  const { live, wire } = await house.visit();
  const iterations = rooms.map((room) => live.channel(room).events({ after: 0 }));
  let step = 0;
  wire.fate = async (name): Promise<Fate> => {
    if (!names.includes(name) || ++step > 40) return "arrives";
    // Events for the client to catch up on.
    const room = rooms[step % 3 ? 0 : 1]!;
    const texts = range(step * 100, step * 100 + 39);
    said.get(room)!.push(...texts);
    await house.say(room, ...texts);
    return (["lost", "arrives", "unanswered"] as const)[step % 3]!;
  };
  await live.connected();
  wire.drop();
  await until(() => {
    if (step <= 40) wire.drop();
    return step > 40;
  });
  for (const [i, room] of rooms.entries()) {
    await house.say(room, "last");
    const texts = [...said.get(room)!, "last"];
    t.same(await takeTexts(iterations[i]!, texts.length), texts);
  }
});

void t.test("its end", async (t) => {
  hurry(t);
  const staff = { "chat.read": ["staff"] };
  const refuse = async (house: House, wire: Wire) => {
    wire.cut();
    await house.allow(house.hall, staff);
    wire.restore();
  };
  const replaced = "connection.replaced";
  const lost: [name: string, lose: (house: House, wire: Wire) => unknown, code: string][] = [
    ["the channel is refused", refuse, "protocol.denied"],
    ["the room is deleted", ({ store, world, hall }) => store.rooms.delete(world, hall), "room.unknown"],
    ["the right is lost", (house) => house.allow(house.hall, staff), "protocol.denied"],
    ["the client is turned away", (_, wire) => wire.deliver(["error", { code: replaced }]), replaced],
  ]; // prettier-ignore
  for (const [name, lose, code] of lost) {
    const house = await House.open(t);
    const { live, wire } = await house.visit();
    const channel = live.channel(house.hall);
    const one = channel.events();
    const two = channel.events();
    await wire.answers(SUBSCRIBE);
    await house.say(house.hall, "1");
    t.same(await takeTexts(one, 1), ["1"], name);
    const failed = rejection(one.next());
    await lose(house, wire);
    t.match(await failed, { code }, name);
    t.ok((await failed) instanceof LiveError);
    t.same(await one.next(), { done: true, value: undefined });
    t.same(await takeTexts(two, 1), ["1"], "what waits comes first");
    t.match(await rejection(two.next()), { code }, name);
    live.close();
  }

  const house = await House.open(t);
  const { live, wire } = await house.visit();
  const events = live.channel(house.hall).events();
  await wire.answers(SUBSCRIBE);
  const waiting = events.next();
  live.close();
  t.same(await waiting, { done: true, value: undefined }, "it was closed");
  for await (const _ of live.channel(house.hall)) t.fail("it is closed");
  for await (const _ of live.channel(house.attic)) t.fail("it is closed");
});

void t.test("a right that the client did not know of leaves no gap", async (t) => {
  const house = await House.open(t);
  const { hall } = house;
  const wire = new Wire();
  // The user subscribes before the client knows about the room.
  wire.change = (frame) => {
    if (frame[0] !== "authenticated") return frame;
    const state = frame[1] as { "world.config": object };
    const config = { ...state["world.config"], rooms: [] };
    return ["authenticated", { ...state, "world.config": config }];
  };
  const { live } = await house.visit({ wire });
  const events = live.channel(hall).events();
  await wire.answers(SUBSCRIBE);
  wire.change = (frame) => (frame[0] === "chat.event" ? undefined : frame);
  await house.say(hall, "1");
  const updated = next(live, "world.changed");
  await house.store.rooms.update(house.world, hall, { name: "Aula" });
  await updated;
  wire.change = (frame) => frame;
  t.same(await takeTexts(events, 1), ["1"]);
  t.equal(wire.count(SUBSCRIBE), 2);
  await house.store.rooms.update(house.world, hall, { name: "Hall" });
  await next(live, "world.changed");
  await house.say(hall, "2");
  t.same(await takeTexts(events, 1), ["2"]);
  t.equal(wire.count(SUBSCRIBE), 2, "no subscription in vain");
});

void t.test("a restored server gives ids again", async (t) => {
  const reader = new Reader({
    fetch: () => Promise.reject(new Error("There is no gap.")),
    left: () => {},
  });
  const event = (event_id: number) => ({ event_id }) as SentEvent;
  reader.resume(0, undefined, [], true);
  for (let id = 1; id <= 5; id++) reader.offer(event(id));
  await take(reader, 5);
  reader.resume(2, 5, [], true);
  reader.offer(event(3));
  t.match(await take(reader, 1), [{ event_id: 3 }]);
});

// Memberships, read pointers and notifications.

/** Connects a guest to a hall with the given chat settings. */
async function start(t: Test, config: object = {}, ...traits: string[]) {
  hurry(t);
  const house = await House.open(t);
  const { store, world, hall } = house;
  const module_config = [{ type: "chat.native", config: { ...config } }];
  await store.rooms.update(world, hall, { module_config });
  const guest = await house.visit({ traits });
  const ids = () => guest.live.state!.channels.map(({ id }) => id);
  return { ...guest, house, hall, ids, channel: guest.live.channel(hall) };
}

void t.test("what is unread, and the channels of a user", async (t) => {
  const { live, house, hall, ids, channel } = await start(t);
  const { store, world, ben, attic } = house;
  const ada = live.state!.user.id;
  let told: unknown;
  live.on("client.state", (state) => (told = state));
  await channel.join();
  await channel.join();
  t.same(ids(), [hall]);
  t.equal(told, live.state, "the caller gets it");
  const before = live.state;
  const direct = await live.call("chat.direct.create", { users: [ben] });
  t.same(ids(), [hall, direct.id]);
  t.not(live.state, before, "a new object");
  const dm = live.channel(direct.id);
  const said = await store.chat.send(world, hall, {
    sender: ben,
    content: { type: "text", body: `@${ada}` },
    mentioned: [ada],
    volatile: true,
  });
  await until(() => channel.notifications === 1);
  t.ok(channel.isUnread);
  const first = await store.chat.send(world, direct.id, {
    sender: ben,
    content: { type: "text", body: "Psst" },
  });
  await until(() => dm.notifications === 1);
  t.ok(dm.isUnread);
  const payload = { channel: direct.id, id: String(first.event.id) };
  const marked = live.call("chat.mark_read", payload);
  payload.id = "changed afterwards";
  await marked;
  t.equal(dm.readPointer, first.event.id);
  await until(() => dm.notifications === 0);
  t.notOk(dm.isUnread);
  await live.call("chat.mark_read", { channel: hall, id: said.event.id });
  await until(() => channel.notifications === 0);
  t.notOk(channel.isUnread);
  await channel.leave();
  t.same(ids(), [direct.id]);
  const unknown = live.channel(attic);
  t.same([unknown.isUnread, unknown.notifications], [false, 0]);
});

void t.test("marking as read", async (t) => {
  const { live, wire, errors, house, hall, channel, reconnect } = await start(t);
  const marks = () =>
    wire.sent.flatMap(([name, , payload]) =>
      name === "chat.mark_read" ? (payload as { id: number }).id : [],
    );
  channel.markRead();
  const ids = await house.say(hall, ..."123456789");
  await channel.history({ before: ids[5]! });
  channel.markRead();
  channel.markRead(ids[5]);
  channel.markRead(ids[3]);
  channel.markRead(ids[6]);
  await until(() => marks().length === 2);
  t.same(marks(), [ids[4], ids[6]], "the first at once, then the last");
  await until(() => channel.readPointer === ids[6]);

  wire.fate = (name) => (name === "chat.mark_read" && marks().length === 3 ? "lost" : "arrives");
  channel.markRead(ids[7]);
  await until(() => channel.readPointer === ids[7]);
  t.same(marks().slice(2), [ids[7], ids[7]], "again after a break");
  wire.fate = (name) => (name === "chat.mark_read" ? { error: "chat.unknown" } : "arrives");
  channel.markRead(ids[8]);
  await until(() => errors.length > 0);
  t.match(errors, [{ code: "chat.unknown" }]);
  await reconnect();
  t.equal(marks().length, 5);
  channel.markRead(ids[8]);
  live.close();
  channel.markRead(ids[8]);
  t.equal(errors.length, 1);
});

void t.test("which memberships are renewed", async (t) => {
  const volatile = { volatile: true };
  const cases: [
    name: string,
    config: object,
    options: { volatile?: boolean },
    traits: string[],
    isVolatile: boolean,
  ][] = [
    ["a lasting one", {}, {}, [], false],
    ["the channel of a volatile room", volatile, {}, [], true],
    ["one without the choice", {}, volatile, [], false],
    ["the same", volatile, { volatile: false }, [], true],
    ["a moderator's", {}, volatile, ["admin"], true],
    ["a lasting one of a moderator", volatile, { volatile: false }, ["admin"], false],
  ]; // prettier-ignore
  for (const [name, config, options, traits, isVolatile] of cases) {
    const it = await start(t, config, ...traits);
    const { live, wire, hall, reconnect } = it;
    await it.channel.join(options);
    t.equal(it.ids().length, isVolatile ? 0 : 1, name);
    const before = wire.sent.length;
    await reconnect();
    await live.call("user.list.blocked");
    t.match(
      wire.sent.slice(before + 1),
      [
        ...(isVolatile ? [["chat.join", 1, { channel: hall, ...options }]] : []),
        ["user.list.blocked", isVolatile ? 2 : 1, null],
      ],
      name,
    );
    live.close();
  }
});

void t.test("a volatile membership and its end", async (t) => {
  const it = await start(t, { volatile: true });
  const { live, wire, errors, house, hall, channel, reconnect } = it;
  /** Counts the joins sent since the last login, after all of them have been answered. */
  const joins = async () => {
    await live.call("user.list.blocked");
    const since = wire.names.lastIndexOf("authenticate");
    return wire.names.slice(since + 1).filter((it) => it === "chat.join").length;
  };
  await channel.join();
  // The subscription keeps the membership active.
  const events = channel.events();
  await wire.answers("chat.subscribe");
  await events.return!();
  await live.call("user.list.blocked");
  t.equal(wire.count("chat.unsubscribe"), 0);

  // After a reconnect, the client joins before it sends queued calls.
  await reconnect();
  await live.call("user.fetch", { ids: [] });
  t.same(wire.names.slice(-2), ["chat.join", "user.fetch"]);

  // The user has made the membership permanent on another connection.
  const ada = live.state!.user.id;
  await house.store.chat.join(house.world, hall, ada);
  await reconnect();
  t.equal(await joins(), 0);
  await channel.leave();
  await reconnect();
  t.equal(await joins(), 0);

  await channel.join();
  wire.cut();
  await until(() => !live.isConnected);
  await house.allow(hall, { "chat.join": ["staff"] });
  wire.restore();
  await until(() => errors.length > 0);
  t.match(errors, [{ code: "protocol.denied" }]);
  t.match(await rejection(channel.join()), { code: "protocol.denied" });
  await house.allow(hall, {});
  await reconnect();
  t.equal(await joins(), 0, "it does not try again");

  await channel.join();
  wire.cut();
  await until(() => !live.isConnected);
  const left = channel.leave();
  wire.restore();
  await left;
  t.equal(await joins(), 0);
});

void t.test("a user who leaves may read on", async (t) => {
  const { house, hall, channel, wire } = await start(t);
  const seen: unknown[] = [];
  void (async () => {
    for await (const { content } of channel) {
      if (content.body !== undefined) seen.push(content.body);
    }
  })();
  await channel.join();
  await wire.answers("chat.subscribe");
  await house.say(hall, "1");
  await until(() => seen.length === 1);
  await channel.leave();
  await wire.answers("chat.subscribe", 2);
  await house.say(hall, "2");
  await until(() => seen.length === 2);
  t.same(seen, ["1", "2"]);
});
