import t from "tap";
import type { Client, Json } from "../../../conformance/client.js";
import { until } from "../../support/helper.js";
import { named, openWorld, type OpenWorld } from "../../support/open-world.js";
import { startServer } from "../../support/server.js";
import { sendEvent, TestEngine } from "../../support/test-engine.js";

const engine = new TestEngine();
const server = await startServer(t, { callEngines: { livekit: engine } });

const call = (config: object = {}) => ({ module_config: [{ type: "call.native", config }] });

const traits = {
  speaker: { uid: "sue", traits: ["speaker"], profile: { display_name: "Sue" } },
  host: { uid: "hal", traits: ["moderator"], profile: { display_name: "Hal" } },
};

const rules = {
  "world.view": [],
  "chat.moderate": ["moderator"],
};

/** Joins a call, and enters it at the engine. */
async function enter(client: Client, room: string) {
  const { identity } = await client.do("call.join", { room });
  const device = engine.enter(identity);
  await sendEvent(server, engine.event("joined", device));
  return device;
}

const open = () => openWorld(server, { permission_config: rules });

void t.test("a ticket is for one device, one call, and what the person may do", async (t) => {
  const world = await open();
  const room = await world.room(call({ limit: 7 }));
  const ann = await world.person("ann");
  const ticket = await ann.do("call.join", { room });
  t.match(ticket, { engine: "livekit", mode: "call", speak: true, moderate: false });
  const grant = engine.grants.get(ticket.identity)!;
  t.match(grant, {
    room: `${world.id}/${room}`,
    name: "ann",
    sources: ["microphone", "camera", "screen"],
    hidden: false,
    limit: 7,
  });
  t.match(ticket.identity, new RegExp(`^${ann.id}:[\\w-]{16}$`));
  const known = await ann.do("user.fetch", { id: ann.id });
  t.same(JSON.parse(grant.metadata), known, "the public user, and nothing else");
  const again = await ann.do("call.join", { room });
  t.not(again.identity, ticket.identity);
  const seconds = ticket.expires - Date.now() / 1000;
  t.ok(seconds > 590 && seconds <= 600, `${seconds}`);
  const brief = await world.person({ uid: "bob", seconds: 60, profile: { display_name: "Bob" } });
  const short = await brief.do("call.join", { room });
  t.ok(short.expires <= Date.now() / 1000 + 60, "never longer than the login");
});

void t.test("what a ticket allows", async (t) => {
  const world = await open();
  await world.configure({ permission_config: { ...rules, "call.speak": ["speaker"] } });
  const sources = async (person: Parameters<OpenWorld["person"]>[0], room: string) => {
    const client = await world.person(person);
    const ticket = await client.do("call.join", { room });
    client.close();
    return { ...ticket, sources: engine.grants.get(ticket.identity)!.sources };
  };
  const cases: [name: string, config: object, person: Parameters<typeof sources>[0], Json][] = [
    ["a listener", {}, "ann", { sources: [], speak: false }],
    ["a speaker", {}, traits.speaker, { sources: ["microphone", "camera", "screen"] }],
    ["no cameras", { video: false }, traits.speaker, { sources: ["microphone", "screen"] }],
    ["no screens", { screen: false }, traits.speaker, { sources: ["microphone", "camera"] }],
    ["the audience", { mode: "stage" }, traits.speaker, { sources: [], mode: "stage" }],
    ["a host", { mode: "stage" }, traits.host, { speak: true, moderate: true }],
  ];
  for (const [name, config, person, expected] of cases) {
    t.match(await sources(person, await world.room(call(config))), expected, name);
  }
});

void t.test("who gets no ticket", async (t) => {
  const world = await open();
  const room = await world.room(call());
  const plain = await world.room();
  const hidden = await world.room({ ...call(), permission_config: { "room.view": ["vip"] } });
  const hiddenPlain = await world.room({ permission_config: { "room.view": ["vip"] } });
  const closed = await world.room({ ...call(), permission_config: { "call.join": ["vip"] } });
  const ann = await world.person("ann");
  const commands: [name: string, more?: object][] = [
    ["call.join"],
    ["call.state"],
    ["call.stage", { user: ann.id, on: true }],
    ["call.mute", { user: ann.id, source: "microphone" }],
    ["call.remove", { user: ann.id }],
    ["call.end"],
    ["hand.raise"],
    ["hand.lower"],
  ];
  for (const [name, more] of commands) {
    const code = (room: unknown) => ann.code(name, { room, ...more });
    t.equal(await code(plain), "call.unknown", `${name} without the module`);
    t.equal(await code("nowhere"), "room.unknown", `${name} in no room`);
    t.equal(await code(hidden), "protocol.denied", `${name} in a hidden room`);
    t.equal(await code(hiddenPlain), "protocol.denied", `${name} in a hidden room without it`);
  }
  t.equal(await ann.code("call.join", { room: closed }), "protocol.denied");
  t.equal(await ann.code("hand.raise", { room: closed }), "protocol.denied");
  const unnamed = await world.guest();
  t.equal(await unnamed.code("call.join", { room }), "call.missing_profile");
  const codes = [];
  for (let i = 0; i < 30; i++) codes.push(await ann.code("call.join", { room }));
  t.ok(codes.includes("protocol.rate_limited"), "a flood is refused");
});

void t.test("limits count people", async (t) => {
  const world = await open();
  const room = await world.room(call({ limit: 2 }));
  const [ann, bob, eve] = [
    await world.person("ann"),
    await world.person("bob"),
    await world.person("eve"),
  ];
  await enter(ann, room);
  await enter(ann, room);
  const device = await enter(bob, room);
  t.equal(await eve.code("call.join", { room }), "call.full");
  await enter(ann, room);
  await sendEvent(server, engine.event("left", device));
  engine.calls.get(`${world.id}/${room}`)!.delete(device.identity);
  await enter(eve, room);
});

void t.test("people and speakers", async (t) => {
  const world = await open();
  const room = await world.room(call());
  const ann = await world.person("ann");
  const bob = await world.person("bob");
  t.same(await bob.do("call.state", { room }), {
    people: 0,
    speakers: [],
    started: null,
    hands: 0,
  });
  const first = await enter(ann, room);
  await enter(ann, room);
  await sendEvent(server, engine.event("published", first, "microphone"));
  const state = await bob.do("call.state", { room });
  t.match(state, { people: 1, speakers: [{ id: ann.id }] });
  t.match(state.started, /^\d{4}-/);
  let last: Json;
  await until(async () => {
    for (const data of named(await bob.all(), "call.changed")) last = data;
    return last?.speakers?.length === 1;
  });
  t.match(last, { room, people: 1, speakers: [{ id: ann.id }], started: state.started });
});

void t.test(
  "call.changed leaves at most once a second, and not to those who don't see the room",
  async (t) => {
    const world = await open();
    const room = await world.room({ ...call(), permission_config: { "room.view": ["in"] } });
    const people = await Promise.all(
      Array.from({ length: 10 }, (_, i) => world.person(`p${i}`, "in")),
    );
    const outside = await world.person("out");
    const [watcher] = people;
    await world.calm(room, watcher!, outside);
    const began = performance.now();
    for (const person of people) await enter(person, room);
    let count = 0;
    let last: Json;
    await until(async () => {
      for (const data of named(await watcher!.all(), "call.changed")) {
        count++;
        last = data;
      }
      return last?.people === 10;
    });
    const seconds = (performance.now() - began) / 1000;
    t.ok(count <= 1 + Math.ceil(seconds), `${count} pushes in ${seconds} s`);
    t.same(named(await outside.all(), "call.changed"), []);
  },
);

void t.test("hands, and the stage", async (t) => {
  const world = await open();
  const room = await world.room(call({ mode: "stage" }));
  const host = await world.person(traits.host);
  const ann = await world.person("ann");
  const bob = await world.person("bob");
  for (const client of [host, ann, bob]) await client.do("room.enter", { room });
  await enter(ann, room);
  await world.calm(room, host, ann, bob);
  t.same(await ann.do("hand.raise", { room }), {});
  await bob.do("hand.raise", { room });
  await bob.do("hand.raise", { room });
  t.match(await bob.do("call.state", { room }), { hands: 2, position: 2 });
  t.notOk("on_stage" in (await bob.do("call.state", { room })));
  const own = await host.do("call.state", { room });
  t.match(own, { hands: [{ user: ann.id }, { user: bob.id }], on_stage: [] });
  const lastOf = async (client: Client, like: (data: Json) => boolean) => {
    let last: Json;
    await until(async () => {
      for (const data of named(await client.all(), "hand.changed")) last = data;
      return last !== undefined && like(last);
    });
    return last;
  };
  t.match(await lastOf(host, ({ hands }) => hands.length === 2), {
    room,
    hands: [{ user: ann.id }, { user: bob.id }],
  });
  t.same(await lastOf(bob, ({ hands }) => hands === 2), { room, hands: 2, position: 2 });
  t.equal(await ann.code("hand.lower", { room, user: bob.id }), "protocol.denied");
  t.same(await host.do("call.stage", { room, user: ann.id, on: true }), {});
  t.same(await ann.next("call.stage"), { room, on: true });
  t.match(await host.do("call.state", { room }), {
    hands: [{ user: bob.id }],
    on_stage: [ann.id],
  });
  t.equal(await ann.code("call.stage", { room, user: bob.id, on: true }), "protocol.denied");
  await host.do("hand.lower", { room, user: bob.id });
  await host.do("call.stage", { room, user: ann.id, on: false });
  t.same(await ann.next("call.stage"), { room, on: false });
  t.equal(await host.code("call.stage", { room, user: ann.id, on: false }), "call.not_on_stage");
  t.equal(await host.code("call.stage", { room, user: "x", on: true }), "user.not_found");
});

void t.test("an invitation needs the right to speak", async (t) => {
  const world = await open();
  await world.configure({ permission_config: { ...rules, "call.speak": ["speaker"] } });
  const room = await world.room(call({ mode: "stage" }));
  const host = await world.person(traits.host);
  const ann = await world.person("ann");
  t.equal(await host.code("call.stage", { room, user: ann.id, on: true }), "protocol.denied");
  const sue = await world.person(traits.speaker);
  t.same(await host.do("call.stage", { room, user: sue.id, on: true }), {});
});

void t.test("erased people have no hand and are on no stage", async (t) => {
  const world = await open();
  const room = await world.room(call({ mode: "stage" }));
  const host = await world.person(traits.host);
  const ann = await world.person("ann");
  const bob = await world.person("bob");
  await ann.do("hand.raise", { room });
  await host.do("call.stage", { room, user: bob.id, on: true });
  for (const client of [ann, bob]) {
    await world.store.users.erase(world.id, { user_id: client.id });
  }
  t.match(await host.do("call.state", { room }), { hands: [], on_stage: [] });
});

void t.test("mute, remove and end", async (t) => {
  const world = await open();
  const room = await world.room(call());
  const host = await world.person(traits.host);
  const ann = await world.person("ann");
  const bob = await world.person("bob");
  const devices = [await enter(ann, room), await enter(ann, room)];
  const other = await enter(bob, room);
  for (const device of [...devices, other]) {
    device.tracks = [{ source: "microphone", muted: false }];
    await sendEvent(server, engine.event("published", device));
  }
  const mute = { room, user: ann.id, source: "microphone" };
  t.equal(await bob.code("call.mute", mute), "protocol.denied");
  t.same(await host.do("call.mute", mute), {});
  t.ok(devices.every(({ tracks }) => tracks[0]!.muted));
  t.notOk(other.tracks[0]!.muted);
  const { speakers } = await host.do("call.state", { room });
  t.strictSame(
    speakers.map(({ id }: Json) => id),
    [bob.id],
  );
  t.equal(await host.code("call.mute", { ...mute, source: "hand" }), "protocol.invalid_payload");
  t.equal(await bob.code("call.remove", { room, user: ann.id }), "protocol.denied");
  t.same(await host.do("call.remove", { room, user: ann.id }), {});
  t.ok(devices.every(({ identity }) => !engine.device(identity)));
  t.match(await ann.do("call.join", { room }), { speak: true }, "may come back");
  t.equal(await bob.code("call.end", { room }), "protocol.denied");
  t.same(await host.do("call.end", { room }), {});
  t.same(await bob.next("call.ended"), { room });
  t.notOk(engine.device(other.identity));
  t.match(await host.do("call.state", { room }), { people: 0, started: null });
});

void t.test("a silent engine", async (t) => {
  const world = await open();
  const room = await world.room(call({ mode: "stage" }));
  const host = await world.person(traits.host);
  const ann = await world.person("ann");
  await enter(ann, room);
  engine.isSilent = true;
  t.teardown(() => (engine.isSilent = false));
  const refused = await host.call("call.mute", { room, user: ann.id, source: "camera" });
  t.match(refused[2], { code: "call.unavailable", message: "LiveKit does not answer." });
  t.equal(await host.code("call.remove", { room, user: ann.id }), "call.unavailable");
  t.equal(await host.code("call.end", { room }), "call.unavailable");
  t.match(await host.do("call.state", { room }), { people: 1 });
  t.match(await host.do("call.join", { room }), { speak: true }, "tickets need no network");
  await host.do("call.stage", { room, user: ann.id, on: true });
  engine.isSilent = false;
  const [identity] = [...engine.calls.get(`${world.id}/${room}`)!.keys()];
  await until(() => engine.device(identity!)!.sources.length === 3);
});

void t.test("screens join hidden, and listen", async (t) => {
  const world = await open();
  const room = await world.room(call());
  const admin = await world.admin();
  const profile = { display_name: "Hall", room_id: room };
  await world.configure({ permission_config: { ...rules, "world.update": ["admin"] } });
  const { user } = await admin.do("user.kiosk.create", { profile });
  const ann = await world.person("ann");
  await world.configure({
    permission_config: { ...rules, "world.update": ["admin"], "user.manage": ["admin"] },
  });
  const { token } = await admin.do("user.kiosk.fetch", { id: user.id });
  const screen = await world.connect();
  await screen.login({ token });
  const ticket = await screen.do("call.join", { room });
  t.match(ticket, { speak: false, moderate: false });
  const grant = engine.grants.get(ticket.identity)!;
  t.match(grant, { hidden: true, sources: [] });
  await sendEvent(server, engine.event("joined", engine.enter(ticket.identity)));
  t.match(await ann.do("call.state", { room }), { people: 0, started: null }, "no person");
  t.equal(await screen.code("hand.raise", { room }), "protocol.denied");
  t.equal(await screen.code("call.end", { room }), "protocol.denied");
  const other = await world.room(call());
  t.equal(await screen.code("call.join", { room: other }), "protocol.denied");
});

void t.test("names are no markup", async (t) => {
  const world = await open();
  const room = await world.room(call());
  const name = `<img src=x onerror=alert(1)>${"x".repeat(3000)}`;
  const eve = await world.person({ uid: "eve", profile: { display_name: name } });
  const { identity } = await eve.do("call.join", { room });
  const grant = engine.grants.get(identity)!;
  t.equal(grant.name, [...name].slice(0, 100).join(""));
  t.ok(grant.metadata.length < 2500);
  const { profile } = JSON.parse(grant.metadata);
  t.ok(name.startsWith(profile.display_name));
});
