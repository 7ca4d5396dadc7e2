import t, { type Test } from "tap";
import { until } from "../helper.js";
import { House, hurry, rejection } from "./house.js";

// Memberships, read pointers and notifications.

/** A guest of a hall, with what its settings say. */
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
    ...{ sender: ben, content: { type: "text", body: `@${ada}` } },
    ...{ mentioned: [ada], volatile: true },
  });
  await until(() => channel.notifications === 1);
  t.ok(channel.isUnread);
  const first = await store.chat.send(world, direct.id, {
    ...{ sender: ben, content: { type: "text", body: "Psst" } },
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
  const { live, wire, errors, house, hall, channel, reconnect } =
    await start(t);
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

  wire.fate = (name) =>
    name === "chat.mark_read" && marks().length === 3 ? "lost" : "arrives";
  channel.markRead(ids[7]);
  await until(() => channel.readPointer === ids[7]);
  t.same(marks().slice(2), [ids[7], ids[7]], "again after a break");
  wire.fate = (name) =>
    name === "chat.mark_read" ? { error: "chat.unknown" } : "arrives";
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
        ...(isVolatile
          ? [["chat.join", 1, { channel: hall, ...options }]]
          : []),
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
  /** What was sent since the last login, once it is answered. */
  const joins = async () => {
    await live.call("user.list.blocked");
    const since = wire.names.lastIndexOf("authenticate");
    return wire.names.slice(since + 1).filter((it) => it === "chat.join")
      .length;
  };
  await channel.join();
  // The subscription carries the membership.
  const events = channel.events();
  await wire.answers("chat.subscribe");
  await events.return!();
  await live.call("user.list.blocked");
  t.equal(wire.count("chat.unsubscribe"), 0);

  // It joins before it sends what waits.
  await reconnect();
  await live.call("user.fetch", { ids: [] });
  t.same(wire.names.slice(-2), ["chat.join", "user.fetch"]);

  // The user made it last on another connection.
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

  // It was left while there was no connection.
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
