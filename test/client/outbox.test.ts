import t, { type Test } from "tap";
import type { Live, WaitingMessage } from "../../client/index.js";
import { until } from "../helper.js";
import { House, hurry } from "./house.js";

// The outbox of a channel, on a real server and a network that can be cut.

/** A room with a chat, and clients of Ada. */
async function start(t: Test, config: object = {}) {
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

/** Waits until nothing is on its way. */
const sent = (live: Live, channel: string) =>
  until(() => live.channel(channel).outbox.messages.length === 0);

void t.test("a message on its way", async (t) => {
  const { room, visit } = await start(t);
  const { live, wire, channel, outbox } = await visit();
  t.equal(channel.membership, "none");
  const seen: unknown[] = [];
  const stop = outbox.onChange((event) => {
    seen.push(states(outbox.messages));
    if (event) seen.push(event.content);
  });
  const content = { type: "text", body: "Hi", client: [1] };
  const message = outbox.post(content);
  content.client.push(2);
  t.match(message, { state: "waiting", content: { body: "Hi", client: [1] } });
  t.equal(message.content.local_id, message.localId);
  t.same(states(outbox.messages), ["Hi: waiting"], "it is shown at once");
  await sent(live, room);
  t.same(seen, [["Hi: waiting"], ["Hi: sending"], [], message.content]);
  t.equal(channel.membership, "lasting", "it has become a member");
  outbox.post("Ho");
  await sent(live, room);
  t.equal(wire.count("chat.join"), 1);
  stop();
  const { length } = seen;
  outbox.post("Hu");
  await sent(live, room);
  t.equal(seen.length, length);
});

void t.test("messages wait for a connection, in their order", async (t) => {
  const { room, visit, stored } = await start(t);
  const { live, wire, outbox } = await visit();
  wire.cut();
  await until(() => !live.isConnected);
  const posted = ["1", "2", "3"].map((text) => outbox.post(text));
  t.same(states(outbox.messages), ["1: waiting", "2: waiting", "3: waiting"]);
  t.same(outbox.cancel(posted[1]!.localId), posted[1]);
  t.equal(outbox.cancel(posted[1]!.localId), undefined);
  const others = Array.from({ length: 199 }, () => outbox.post("more"));
  await until(() => outbox.messages.at(-1)?.state === "failed");
  t.match(outbox.messages.at(-1)?.error, { code: "client.overloaded" });
  for (const { localId } of others) outbox.cancel(localId);
  wire.restore();
  await sent(live, room);
  t.same(await stored(), ["1", "3"]);
});

void t.test("what is refused stays until the user decides", async (t) => {
  const { house, room, visit, stored } = await start(t);
  const { live, outbox } = await visit();
  outbox.post("");
  outbox.post("fine");
  await until(() => outbox.messages.length === 1);
  t.match(outbox.messages, [
    { state: "failed", error: { code: "chat.empty" } },
  ]);
  outbox.cancel(outbox.messages[0]!.localId);

  await house.allow(room, { "chat.send": ["speaker"] });
  const [first] = ["first", "second"].map((text) => outbox.post(text));
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
  const { room, visit, stored } = await start(t);
  const earlier = await visit();
  await earlier.channel.ensureMember();
  earlier.wire.fate = (name) => (name === "chat.send" ? "ignored" : "arrives");
  earlier.outbox.post("arrived");
  await until(async () => (await stored()).length === 1);
  earlier.outbox.post("not sent");
  const kept = JSON.stringify(earlier.outbox.messages);
  earlier.live.close();
  await t.rejects(earlier.channel.send("too late"));
  t.equal(
    JSON.stringify(earlier.outbox.messages),
    kept,
    "closing changes nothing",
  );

  const restore = async () => {
    const next = await visit();
    next.outbox.restore(JSON.parse(kept) as WaitingMessage[]);
    next.outbox.restore(JSON.parse(kept) as WaitingMessage[]);
    t.same(states(next.outbox.messages), [
      "arrived: failed",
      "not sent: failed",
    ]);
    t.match(next.outbox.messages, [
      { error: { code: "client.unconfirmed" }, after: Number },
      { error: { code: "client.unconfirmed" }, after: undefined },
    ]);
    return next;
  };
  const reader = await restore();
  await reader.channel.history();
  t.same(
    states(reader.outbox.messages),
    ["not sent: failed"],
    "it is recognized",
  );

  const { live, wire, outbox } = await restore();
  for (const { localId } of outbox.messages) outbox.retry(localId);
  await sent(live, room);
  t.same(await stored(), ["arrived", "not sent"]);
  t.equal(wire.count("chat.send"), 1, "it looks before it repeats");
});

void t.test("only the user sends again what may be there", async (t) => {
  const { room, visit, stored } = await start(t);
  const { live, wire, outbox } = await visit();
  wire.fate = (name) => {
    if (name !== "chat.send") return "arrives";
    wire.isDown = true;
    return "unanswered";
  };
  outbox.post("Hi");
  // An edit loses the key by which the message could be recognized.
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
  const { room, visit, stored } = await start(t, { volatile: true });
  const [phone, laptop] = [await visit(), await visit()];
  await phone.channel.ensureMember();
  await laptop.channel.ensureMember();
  t.equal(phone.channel.membership, "volatile");
  await laptop.channel.leave();
  t.equal(laptop.channel.membership, "none");
  phone.outbox.post("Still here");
  await sent(phone.live, room);
  t.same(await stored(), ["Still here"]);
  t.equal(phone.wire.count("chat.join"), 2);
});
