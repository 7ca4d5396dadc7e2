import t, { type Test } from "tap";
import type { Live, SentEvent, WaitingMessage } from "../../../client/index.js";
import { until } from "../../support/helper.js";
import { bodiesOf, House, hurry, next, rejection, take, type Visitor } from "./house.js";
import type { Fate } from "./wire.js";

// Sending to a channel from a client.

const SEND = "chat.send";
const text = (body: string) => ({ type: "text", body });

/** Connects a member of a hall's channel, with access to the stored messages. */
async function start(t: Test, options: Visitor = {}) {
  hurry(t);
  const house = await House.open(t);
  const { hall } = house;
  const guest = await house.visit(options);
  const channel = guest.live.channel(hall);
  await channel.join();
  const reader = (await house.visit({ uid: "reader" })).live.channel(hall);
  const stored = async (): Promise<SentEvent[]> => {
    const events = await reader.history({ count: 1000 });
    return events.filter(({ event_type }) => event_type === "channel.message");
  };
  /** Sets the fates of the next messages, in order; all others arrive. */
  const meet = (...fates: Fate[]) => {
    guest.wire.fate = (name) => (name === SEND && fates.shift()) || ("arrives" as const);
  };
  const texts = async () => bodiesOf(await stored());
  const ada = guest.live.state!.user.id;
  return { ...guest, house, hall, ada, channel, stored, texts, meet };
}

void t.test("a message is shown at once, and resolves to its event", async (t) => {
  const { channel, stored, wire, hall } = await start(t);
  const content = { ...text("Hi"), client: ["a"], local_id: "mine" };
  const message = channel.send(content);
  content.client.push("b");
  t.match(message.localId, /^[0-9a-f]{32}$/);
  const local_id = message.localId;
  t.same(message.content, { ...text("Hi"), client: ["a"], local_id });
  const event = (await message)!;
  t.same([event], await stored());
  t.same(event.content, message.content);
  const other = channel.send("Hi");
  t.not(other.localId, message.localId);
  t.match(await other, { content: text("Hi") });
  t.same(wire.sent.at(-1)![2], {
    channel: hall,
    event_type: "channel.message",
    content: other.content,
  });
});

void t.test("exactly once, in order", async (t) => {
  const doubtful = { error: "server.doubtful" };
  const cases: [name: string, fates: Fate[], sends: number][] = [
    ["no answer comes", Array<Fate>(6).fill("unanswered"), 6],
    ["the first is lost three times", ["lost", "lost", "lost"], 9],
    ["some arrive", ["lost", "unanswered", "lost", "lost", "unanswered"], 9],
    ["an answer never comes", ["swallowed", "unheard"], 7],
    ["a lost database", [doubtful, { ...doubtful, arrives: true }], 7],
    ["too many", [{ error: "protocol.rate_limited" }], 7],
  ];
  for (const [name, fates, sends] of cases) {
    const isSilent = fates.includes("unheard");
    const options = isSilent ? { timeout: 2000 } : {};
    const { house, channel, live, wire, meet, texts } = await start(t, options);
    const events = channel.events();
    await wire.answers("chat.subscribe");
    meet(...fates);
    const bodies = ["1", "2", "3", "4", "5", "6"];
    const messages = bodies.map((body) => channel.send(body));
    t.same(bodiesOf((await Promise.all(messages)).map((event) => event!)), bodies, name);
    t.same(await texts(), bodies, name);
    t.same(bodiesOf(await take(events, 6)), bodies, name);
    t.equal(wire.count(SEND), sends, name);
    const others = live.channel(house.attic);
    await others.join();
    t.match(await others.send("7"), { channel: house.attic }, name);
    live.close();
  }
});

void t.test("it looks for the message wherever it may be", async (t) => {
  const { house, hall, ada, channel, wire, stored } = await start(t);
  wire.fate = async (name, payload) => {
    if (name !== SEND || wire.count(name) > 1) return "arrives";
    const { content } = payload as { content: Record<string, unknown> };
    // In the meantime, others send many messages, some with identical content.
    await house.say(hall, ...Array<string>(300).fill("Hi"));
    await house.put(hall, ada, text("Hi"));
    await house.put(hall, house.ben, content);
    await house.put(hall, ada, content);
    await house.say(hall, ...Array<string>(300).fill("Ho"));
    return "lost";
  };
  const { event_id, content } = (await channel.send("Hi"))!;
  const found = (await stored()).filter(
    (event) => event.content["local_id"] === content["local_id"],
  );
  t.same(
    found.map((event) => [event.sender, event.event_id]),
    [
      [house.ben, event_id - 1],
      [ada, event_id],
    ],
  );
  t.equal(wire.count(SEND), 1);
});

void t.test("it waits for a connection without a limit, or with one", async (t) => {
  const { live, wire, channel, texts } = await start(t, { timeout: 1000 });
  wire.cut();
  await until(() => !live.isConnected);
  const waiting = channel.send("1");
  const late = channel.send("2", { timeout: 60 });
  t.match(await rejection(late), { code: "client.timeout" });
  wire.restore();
  t.match(await waiting, { content: { body: "1" } });
  await channel.send("3");
  t.same(await texts(), ["1", "3"]);

  // A message is not resent after its timeout.
  wire.fate = (name) => {
    if (name !== SEND) return "arrives";
    wire.isDown = true;
    return "lost";
  };
  const both = ["4", "5"].map((body) => rejection(channel.send(body, { timeout: 150 })));
  for (const error of both) t.match(await error, { code: "client.timeout" });
  wire.fate = () => "arrives";
  wire.restore();
  await channel.send("6");
  t.same(await texts(), ["1", "3", "6"]);
});

void t.test("refusals", async (t) => {
  const { live, channel, meet, texts, wire } = await start(t);
  for (const code of ["chat.denied", "server.unavailable", "room.unknown"]) {
    meet({ error: code });
    t.match(await rejection(channel.send("No.")), { code });
  }
  t.match(await rejection(channel.send("")), { code: "chat.empty" });
  t.ok(await channel.send("Yes."), "the next one is not in its way");
  t.same(await texts(), ["Yes."]);

  const circle: Record<string, unknown> = {};
  circle.circle = circle;
  t.throws(() => channel.send({ type: "text", circle }), TypeError);

  wire.fate = (name) => (name === SEND ? "swallowed" : "arrives");
  const messages = Array.from({ length: 201 }, () => rejection(channel.send("Hi")));
  t.match(await messages[200], { code: "client.overloaded" });
  live.close();
  for (const message of messages.slice(0, 200)) {
    t.match(await message, { code: "client.closed" });
  }
  t.match(await rejection(channel.send("Hi")), { code: "client.closed" });
});

void t.test("it is unknown whether it arrived", async (t) => {
  type It = Awaited<ReturnType<typeof start>>;
  const replace =
    (content: Record<string, unknown>) =>
    async ({ house, hall, ada }: It) =>
      house.put(hall, ada, content, await house.put(hall, ada, text("Ho")));
  const rows: [name: string, happens: (it: It) => Promise<unknown>][] = [
    ["it, or another one, was deleted", replace({ type: "deleted" })],
    ["it, or another one, was edited", replace(text("Hu"))],
    [
      "the right to read is gone",
      ({ house, hall }) => house.allow(hall, { "chat.read": ["staff"] }),
    ],
  ];
  for (const [name, happens] of rows) {
    const it = await start(t);
    await it.house.say(it.hall, "before");
    it.wire.fate = async (command) => {
      if (command !== SEND) return "arrives";
      await happens(it);
      return "lost";
    };
    const error = await rejection(it.channel.send("Hi"));
    t.match(error, { code: "client.disconnected" }, name);
    it.live.close();
  }
});

void t.test("a user who may not read may send", async (t) => {
  const { house, hall, channel } = await start(t);
  await house.allow(hall, { "chat.read": ["staff"] });
  t.match(await channel.send("Hi"), { content: { body: "Hi" } });
});

void t.test("edits and deletions", async (t) => {
  const { channel, meet, stored, wire } = await start(t);
  const { event_id } = (await channel.send("One"))!;
  meet("unanswered", "lost", "unanswered");
  const edited = channel.edit(event_id, "Two");
  const deleted = channel.delete(event_id);
  t.match(await edited, { replaces: event_id, content: { body: "Two" } });
  t.match(await deleted, { replaces: event_id });
  t.equal(wire.count(SEND), 4);
  t.same(
    (await stored()).map(({ content, replaces }) => [content.type, replaces]),
    [
      ["deleted", null],
      ["deleted", event_id],
      ["deleted", event_id],
    ],
  );
});

void t.test("a message that waits for a moderator is sent once", async (t) => {
  const { house, hall, live, channel, meet, stored, wire } = await start(t);
  await house.store.rooms.update(house.world, hall, {
    module_config: [{ type: "chat.native", config: { hold: true } }],
  });
  meet("unanswered", "lost", "arrives");
  const sent = [channel.send("One"), channel.send("Two", { keep: true })];
  t.same(await Promise.all(sent), [undefined, undefined], "it has no event");
  t.equal(wire.count(SEND), 3, "what arrived is found, and what was lost is sent again");
  t.same(channel.outbox.messages, []);
  t.same(await stored(), []);
  const { results } = await channel.held();
  t.same(
    results.map(({ content }) => content.body),
    ["One", "Two"],
  );
  const moderator = await house.visit({ uid: "mod", traits: ["admin"] });
  const queue = moderator.live.channel(hall);
  const gone: object[] = [];
  live.on("chat.held.gone", (data) => void gone.push(data));
  const id = await queue.approve(results[0]!.id);
  t.match(await stored(), [{ event_id: id, content: { body: "One" } }]);
  await queue.reject(results[1]!.id, "Twice.");
  await until(() => gone.length === 2);
  t.match(gone, [
    { event: results[0]!.id, id },
    { event: results[1]!.id, reason: "Twice." },
  ]);
  await queue.report(id, "spam", "Look");
  t.match(await moderator.live.call("report.list", {}), { reports: [{ event: id }] });
});

void t.test("reactions", async (t) => {
  const { house, live, hall, ada, channel, wire } = await start(t);
  const seen: SentEvent[] = [];
  const stop = channel.onReaction((event) => void seen.push(event));
  const events = [channel.events(), live.channel(house.attic).events()];
  await wire.answers("chat.subscribe", 2);
  const [id] = await house.say(hall, "Hello");
  await take(events[0]!, 1);
  await channel.react(id!, "👍");
  await until(() => seen.length === 1);
  t.match(seen, [{ event_id: id, reactions: { "👍": [ada] } }]);
  await channel.unreact(id!, "👍");
  await until(() => seen.length === 2);
  t.same(seen[1]!.reactions, {});
  const [data] = [{ ...seen[0]!, channel: house.attic }];
  await wire.deliver(["chat.event.reaction", data]);
  stop();
  await channel.react(id!, "👍");
  await next(live, "chat.event.reaction");
  t.equal(seen.length, 2);
});

void t.test("the history", async (t) => {
  const { house, hall, live } = await start(t);
  const empty = live.channel(house.attic);
  t.same(await empty.history(), []);
  for await (const page of empty.pages()) t.same(page, "none");
  const texts = Array.from({ length: 60 }, (_, i) => String(i + 1));
  const ids = await house.say(hall, ...texts);
  const channel = live.channel(hall);
  const page = await channel.history({ before: ids[3]!, count: 2 });
  t.same(bodiesOf(page), ["2", "3"]);
  const pages: unknown[][] = [];
  const options = { before: ids[60 - 5]!, count: 25 };
  for await (const page of channel.pages(options)) pages.push(bodiesOf(page));
  t.same(
    pages.map((page) => [page[0], page.at(-1)]),
    [
      ["31", "55"],
      ["6", "30"],
      // The first event is the join, which has no body.
      [undefined, "5"],
    ],
  );
});

void t.test("the users", async (t) => {
  const { house, hall, live, wire } = await start(t);
  await house.say(hall, "1");
  await live.channel(hall).history();
  const { users } = live.channel(hall);
  t.match(users.get(house.ben), { profile: { display_name: "Ben" } });
  t.equal(live.channel(house.attic).users, users);

  const renamed = { ...users.get(house.ben)!, profile: { display_name: "Al" } };
  const [event] = await live.channel(hall).history({ count: 1 });
  await wire.deliver(["chat.notification", { event, sender: renamed }]);
  t.match(users.get(house.ben), { profile: { display_name: "Al" } });

  const crowd = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, i) => [`${i}`, { id: `${i}` }]),
  );
  await wire.deliver(["chat.event", { ...event, users: crowd }]);
  t.equal(users.size, 10_000);
  t.notOk(users.has(house.ben), "the oldest are forgotten");
});

// The outbox of a channel, on a real server and a network that can fail.

/** Opens a room with a chat, for clients of Ada. */
async function startOutbox(t: Test, config: object = {}) {
  hurry(t);
  const house = await House.open(t);
  const { store, world, hall: room } = house;
  const module_config = [{ type: "chat.native", config: { ...config } }];
  await store.rooms.update(world, room, { module_config });
  const visit = async () => {
    const { live, wire } = await house.visit();
    const channel = live.channel(room);
    return { live, wire, channel, outbox: channel.outbox };
  };
  const watcher = await visit();
  const stored = async () => {
    const events = await watcher.channel.history({ count: 1000 });
    return events.flatMap(({ content }) => (content.body as string) ?? []);
  };
  return { house, room, visit, stored };
}

const states = (messages: readonly WaitingMessage[]) =>
  messages.map(({ content, state }) => `${String(content.body)}: ${state}`);

/** Waits until the outbox is empty. */
const sent = (live: Live, channel: string) =>
  until(() => live.channel(channel).outbox.messages.length === 0);

void t.test("a message on its way", async (t) => {
  const { room, visit } = await startOutbox(t);
  const { live, wire, channel, outbox } = await visit();
  t.equal(channel.membership, "none");
  const seen: unknown[] = [];
  const stop = outbox.onChange((event) => {
    seen.push(states(outbox.messages));
    if (event) seen.push(event.content);
  });
  const content = { type: "text", body: "Hi", client: [1] };
  const message = channel.send(content, { keep: true });
  content.client.push(2);
  t.match(message.content, { body: "Hi", client: [1] });
  t.equal(message.content.local_id, message.localId);
  t.same(states(outbox.messages), ["Hi: waiting"], "it is shown at once");
  await sent(live, room);
  t.same(seen, [["Hi: waiting"], ["Hi: sending"], [], message.content]);
  t.equal(channel.membership, "lasting", "it has become a member");
  void channel.send("Ho", { keep: true });
  await sent(live, room);
  t.equal(wire.count("chat.join"), 1);
  stop();
  const { length } = seen;
  void channel.send("Hu", { keep: true });
  await sent(live, room);
  t.equal(seen.length, length);
});

void t.test("messages wait for a connection, in their order", async (t) => {
  const { room, visit, stored } = await startOutbox(t);
  const { live, wire, channel, outbox } = await visit();
  wire.cut();
  await until(() => !live.isConnected);
  const posted = ["1", "2", "3"].map((text) => channel.send(text, { keep: true }));
  t.same(states(outbox.messages), ["1: waiting", "2: waiting", "3: waiting"]);
  t.match(outbox.cancel(posted[1]!.localId), { localId: posted[1]!.localId, state: "waiting" });
  t.equal(outbox.cancel(posted[1]!.localId), undefined);
  const others = Array.from({ length: 199 }, () => channel.send("more", { keep: true }));
  await until(() => outbox.messages.at(-1)?.state === "failed");
  t.match(outbox.messages.at(-1)?.error, { code: "client.overloaded" });
  for (const { localId } of others) outbox.cancel(localId);
  wire.restore();
  await sent(live, room);
  t.same(await stored(), ["1", "3"]);
});

void t.test("what is refused stays until the user decides", async (t) => {
  const { house, room, visit, stored } = await startOutbox(t);
  const { live, channel, outbox } = await visit();
  void channel.send("", { keep: true });
  void channel.send("fine", { keep: true });
  await until(() => outbox.messages.length === 1);
  t.match(outbox.messages, [{ state: "failed", error: { code: "chat.empty" } }]);
  outbox.cancel(outbox.messages[0]!.localId);

  await house.allow(room, { "chat.send": ["speaker"] });
  const [first] = ["first", "second"].map((text) => channel.send(text, { keep: true }));
  await until(() => outbox.messages.every(({ state }) => state === "failed"));
  t.match(outbox.messages[0], { error: { code: "protocol.denied" } });
  await house.allow(room, { "chat.send": [] });
  outbox.retry(first!.localId);
  t.same(states(outbox.messages), ["second: failed", "first: waiting"]);
  await until(() => outbox.messages.length === 1);
  outbox.retry(outbox.messages[0]!.localId);
  await sent(live, room);
  t.same(await stored(), ["fine", "first", "second"]);
});

void t.test("the messages of an earlier visit", async (t) => {
  const { room, visit, stored } = await startOutbox(t);
  const earlier = await visit();
  await earlier.channel.ensureMember();
  earlier.wire.fate = (name) => (name === "chat.send" ? "ignored" : "arrives");
  void earlier.channel.send("arrived", { keep: true });
  await until(async () => (await stored()).length === 1);
  void earlier.channel.send("not sent", { keep: true });
  const kept = JSON.stringify(earlier.outbox.messages);
  earlier.live.close();
  await t.rejects(earlier.channel.send("too late"));
  t.equal(JSON.stringify(earlier.outbox.messages), kept, "closing changes nothing");

  const restore = async () => {
    const next = await visit();
    next.outbox.restore(JSON.parse(kept) as WaitingMessage[]);
    next.outbox.restore(JSON.parse(kept) as WaitingMessage[]);
    t.same(states(next.outbox.messages), ["arrived: failed", "not sent: failed"]);
    t.match(next.outbox.messages, [
      { error: { code: "client.unconfirmed" }, after: Number },
      { error: { code: "client.unconfirmed" }, after: undefined },
    ]);
    return next;
  };
  const reader = await restore();
  await reader.channel.history();
  t.same(states(reader.outbox.messages), ["not sent: failed"], "it is recognized");

  const { live, wire, outbox } = await restore();
  for (const { localId } of outbox.messages) outbox.retry(localId);
  await sent(live, room);
  t.same(await stored(), ["arrived", "not sent"]);
  t.equal(wire.count("chat.send"), 1, "it looks before it repeats");
});

void t.test("only the user sends again what may be there", async (t) => {
  const { room, visit, stored } = await startOutbox(t);
  const { live, wire, channel, outbox } = await visit();
  wire.fate = (name) => {
    if (name !== "chat.send") return "arrives";
    wire.isDown = true;
    return "unanswered";
  };
  void channel.send("Hi", { keep: true });
  // An edit drops the key that identifies the message.
  const phone = await visit();
  await until(async () => (await stored()).length === 1);
  const said = (await phone.channel.history()).at(-1)!;
  await phone.channel.edit(said.event_id, "Ho");
  wire.restore();
  await until(() => outbox.messages[0]?.state === "failed");
  t.match(outbox.messages, [{ error: { code: "client.disconnected" } }]);
  t.equal(wire.count("chat.send"), 1);
  wire.fate = () => "arrives";
  outbox.retry(outbox.messages[0]!.localId);
  await sent(live, room);
  t.same(await stored(), ["Ho", "Ho", "Hi"]);
});

void t.test("a membership that ended elsewhere", async (t) => {
  const { room, visit, stored } = await startOutbox(t, { volatile: true });
  const [phone, laptop] = [await visit(), await visit()];
  await phone.channel.ensureMember();
  await laptop.channel.ensureMember();
  t.equal(phone.channel.membership, "volatile");
  await laptop.channel.leave();
  t.equal(laptop.channel.membership, "none");
  void phone.channel.send("Still here", { keep: true });
  await sent(phone.live, room);
  t.same(await stored(), ["Still here"]);
  t.equal(phone.wire.count("chat.join"), 2);
});
