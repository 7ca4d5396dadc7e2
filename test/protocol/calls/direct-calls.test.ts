import t from "tap";
import type { Client } from "../../../conformance/client.js";
import { until } from "../../support/helper.js";
import { named, openWorld } from "../../support/open-world.js";
import { startServer } from "../../support/server.js";
import { sendEvent, TestEngine } from "../../support/test-engine.js";

const engine = new TestEngine();
const server = await startServer(t, { callEngines: { livekit: engine } });

const message = (channel: string) => ({
  channel,
  event_type: "channel.message",
  content: { type: "call" },
});

/** A world, with a direct channel between the first two of three people. */
async function scene() {
  const world = await openWorld(server);
  const [ann, bob, eve] = [
    await world.person("ann"),
    await world.person("bob"),
    await world.person("eve"),
  ];
  const { id: channel } = await ann.do("chat.direct.create", { users: [bob.id], hide: false });
  const enter = async (client: Client) => {
    const { identity } = await client.do("call.join", { channel });
    const device = engine.enter(identity);
    await sendEvent(server, engine.event("joined", device));
    return device;
  };
  const leave = async (device: Awaited<ReturnType<typeof enter>>) => {
    engine.calls.get(`${world.id}/${channel}`)?.delete(device.identity);
    await sendEvent(server, engine.event("left", device));
  };
  const bodyOf = async (id: number): Promise<Record<string, unknown>> => {
    const { content } = (await world.store.chat.event(world.id, channel, id))!;
    const { body } = JSON.parse(content) as { body: Record<string, unknown> };
    return body;
  };
  const callOf = async () => (await world.store.calls.get(world.id, channel)).call;
  return { world, ann, bob, eve, channel, enter, leave, bodyOf, callOf };
}

void t.test("a call rings, is taken, and ends with its last person", async (t) => {
  const { ann, bob, eve, channel, enter, leave, bodyOf, callOf } = await scene();
  t.equal(await ann.code("call.join", { channel }), "call.unknown", "nobody has called");
  const { event } = await ann.do("chat.send", message(channel));
  t.same(event.content, { type: "call", body: { type: "livekit" } });
  const ring = await bob.next("call.ring");
  t.match(ring, { channel, from: { id: ann.id } });
  t.equal((await callOf())!.id, ring.call);
  t.same(named(await ann.all(), "call.ring"), [], "not to the caller");
  t.equal(await eve.code("call.join", { channel }), "chat.denied");
  const devices = [await enter(ann), await enter(bob)];
  t.match(engine.grants.get(devices[0]!.identity), {
    sources: ["microphone", "camera", "screen"],
    hidden: false,
  });
  const again = await bob.do("chat.send", message(channel));
  t.equal(again.event.event_id, event.event_id, "a second call is the first one");
  await leave(devices[0]!);
  t.ok(await callOf());
  await leave(devices[1]!);
  t.same(await bob.next("call.over"), { channel, call: ring.call, seconds: 0 });
  t.equal(await callOf(), undefined);
  await until(async () => "seconds" in (await bodyOf(event.event_id)));
  t.match(await bodyOf(event.event_id), { type: "livekit", seconds: 0 });
});

void t.test("a declined call", async (t) => {
  const { ann, bob, channel, bodyOf, callOf, enter } = await scene();
  t.equal(await bob.code("call.decline", { channel }), "call.unknown");
  const { event } = await ann.do("chat.send", message(channel));
  const device = await enter(ann);
  t.same(await bob.do("call.decline", { channel }), {});
  t.match(await ann.next("call.declined"), { channel, user: bob.id });
  t.match(await ann.next("call.over"), { channel, missed: true });
  t.equal(await callOf(), undefined);
  t.same(await bodyOf(event.event_id), { type: "livekit", missed: true });
  await until(() => !engine.device(device.identity));
  t.equal(await bob.code("call.decline", { channel }), "call.unknown");
});

void t.test("the caller hangs up", async (t) => {
  const { ann, bob, channel, bodyOf } = await scene();
  const { event } = await ann.do("chat.send", message(channel));
  t.same(await ann.do("call.decline", { channel }), {});
  t.match(await bob.next("call.over"), { channel, missed: true });
  t.same(await bodyOf(event.event_id), { type: "livekit", missed: true });
});

void t.test("a call that nobody takes is missed", async (t) => {
  const { world, ann, bob, channel, bodyOf, enter } = await scene();
  const { event } = await ann.do("chat.send", message(channel));
  const device = await enter(ann);
  // Backdates the start by a minute.
  const { call } = await world.store.calls.get(world.id, channel);
  await world.store.calls.end(world.id, channel, { now: Date.now() });
  await bob.next("call.over");
  const now = Date.now() - 59_500;
  const ringing = { caller: ann.id, event: event.event_id, now };
  const { isNew, call: later } = await world.store.calls.ring(world.id, channel, ringing);
  t.ok(isNew && later.id !== call!.id);
  t.match(await bob.next("call.over"), { call: later.id });
  await until(async () => (await bodyOf(event.event_id)).missed === true);
  await until(() => !engine.device(device.identity));
});

void t.test("who may not call", async (t) => {
  const { world, ann, bob, channel, callOf } = await scene();
  await bob.do("user.block", { id: ann.id });
  t.equal(await ann.code("chat.send", message(channel)), "chat.denied");
  t.equal(await callOf(), undefined, "a blocked person rings nobody");
  await bob.do("user.unblock", { id: ann.id });
  await world.configure({ permission_config: { "call.join": ["vip"] } });
  t.equal(await ann.code("chat.send", message(channel)), "chat.denied");
  const room = await world.room({ module_config: [{ type: "chat.native", config: {} }] });
  await ann.do("chat.join", { channel: room });
  const code = await ann.code("chat.send", message(room));
  t.equal(code, "chat.unsupported_content_type", "a room has no direct calls");
  t.equal(await ann.code("call.decline", { channel: room }), "call.unknown");
});

void t.test("only the server says how a call ended", async (t) => {
  const { ann, channel } = await scene();
  const { event } = await ann.do("chat.send", {
    ...message(channel),
    content: { type: "call", body: { type: "livekit", seconds: 9 } },
  });
  t.same(event.content.body, { type: "livekit" });
  const content = { type: "call", body: { seconds: 9 } };
  const edit = { ...message(channel), content, replaces: event.event_id };
  t.equal(await ann.code("chat.send", edit), "chat.unsupported_content_type");
});

void t.test("a banned member leaves the call", async (t) => {
  const { world, ann, bob, channel, enter, leave } = await scene();
  await ann.do("chat.send", message(channel));
  const own = await enter(ann);
  const device = await enter(bob);
  await world.store.users.moderate(world.id, bob.id, "banned");
  await until(() => !engine.device(device.identity));
  t.ok(engine.device(own.identity));
  await leave(own);
});

void t.test("calls of BigBlueButton alone", async (t) => {
  const joined: unknown[] = [];
  const bbb = await startServer(t, {
    callEngines: {
      bigbluebutton: {
        origin: "https://bbb.example.org",
        joinUrl: async (meeting, user) => {
          joined.push([meeting.id, user.name, user.moderate]);
          return "https://bbb.example.org/join";
        },
        recordings: async () => [],
        check: async () => undefined,
      },
    },
  });
  const ann = await bbb.person("ann");
  const bob = await bbb.person("bob");
  const eve = await bbb.person("eve");
  const { id: channel } = await ann.do("chat.direct.create", { users: [bob.id], hide: false });
  const { event } = await ann.do("chat.send", message(channel));
  const { body } = event.content;
  t.same(body, { type: "bbb", id: channel });
  const { url } = await bob.do("bbb.call_url", { call: body.id });
  t.equal(url, "https://bbb.example.org/join");
  t.same(joined, [[`demo/${channel}`, "bob", true]]);
  t.equal(await eve.code("bbb.call_url", { call: body.id }), "call.unknown");
  t.equal(await ann.code("call.join", { channel }), "call.unavailable");
});
