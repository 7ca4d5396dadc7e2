import t from "tap";
import { Foyer } from "../../client/index.js";
import { Activity } from "../../live/people/activity.js";
import { message, say, text } from "../chat/talk.js";
import { until } from "../helper.js";
import { makeRoom, startLive } from "../live/client.js";
import { Wire } from "../live/wire.js";

const chat = { module_config: [{ type: "chat.native", config: {} }] };

void t.test("what goes on in a world", async (t) => {
  const started = Date.now();
  const live = await startLive(t);
  const [big, small, hidden] = await Promise.all([
    makeRoom(live, chat),
    makeRoom(live, { name: "Side room" }),
    makeRoom(live, { permission_config: { "room.view": ["crew"] } }),
  ]);
  const foyerAs = (...traits: string[]) =>
    new Foyer({
      baseUrl: live.baseUrl,
      world: "demo",
      token: live.tokenOf({ traits }),
    });
  const foyer = foyerAs("admin", "api");
  const quiet = await foyer.getActivity();
  t.match(quiet, { connections: 0, users: 0, messages: 0, slow_readers: 0 });
  t.same(quiet.rooms, []);
  const since = Date.parse(quiet.since);
  t.ok(since >= started && since <= Date.now(), quiet.since);

  const profile = { display_name: "Ann" };
  const crewed = { uid: "ann", traits: ["crew"], profile };
  const [ann, again] = [await live.person(crewed), await live.person(crewed)];
  const bob = await live.guest();
  // It has not logged in.
  await live.connect();
  for (const [client, room] of [
    [ann, big],
    [again, big],
    [bob, big],
    [ann, small],
    [ann, hidden],
  ] as const) {
    await client.do("room.enter", { room });
  }
  await ann.do("chat.join", { channel: big });
  const { event_id: replaces } = (await say(ann, big, "Hello")) as {
    event_id: number;
  };
  await say(ann, big, "Hi");
  await ann.do("chat.send", message(big, text("Hi!"), { replaces }));
  const rooms = [
    { id: big, viewers: 2 },
    { id: small, viewers: 1 },
  ];
  const busy = { connections: 3, users: 2, messages: 2, slow_readers: 0 };
  const expected = { ...busy, rooms, since: quiet.since };
  t.strictSame(await foyer.getActivity(), expected);
  const crew = await foyerAs("admin", "api", "crew").getActivity();
  t.equal(crew.rooms.length, 3, "rooms that the caller may see");

  ann.ws.terminate();
  const last = { connections: 2, users: 2, rooms: [{ id: big, viewers: 2 }] };
  await until(async () => (await foyer.getActivity()).connections === 2);
  t.match(await foyer.getActivity(), { ...last, messages: 2 });

  for (const traits of [["api"], ["admin"], []]) {
    const refused = await foyerAs(...traits)
      .getActivity()
      .catch((error: unknown) => error);
    t.match(refused, { status: 403 }, traits.join());
  }
});

void t.test("a reader that is dropped is counted", async (t) => {
  // The sender is no slow reader, also if several events come to it at once.
  const live = await startLive(t, { maxUnsent: 1024 * 1024 });
  const room = await makeRoom(live, chat);
  const profile = { display_name: "Mod" };
  const mod = await live.person({ uid: "mod", profile });
  const slow = await live.guest();
  await mod.do("chat.join", { channel: room });
  await slow.do("chat.subscribe", { channel: room });
  (slow.ws as unknown as { _socket: { pause(): void } })._socket.pause();
  const { hub, activity } = live.app.live;
  const content = { ...text("x"), client: "x".repeat(60_000) };
  const { restore } = t.intercept(live.app.live.rates, "mayMessage", {
    value: () => true,
  });
  for (let i = 0; i < 2000 && hub.of("demo", slow.id).size > 0; i++) {
    await mod.do("chat.send", message(room, content));
  }
  restore();
  t.equal(activity.of("demo").slowReaders, 1);
  t.match(await live.rest("GET", "demo/activity/"), {
    body: { slow_readers: 1 },
  });
});

/** Starts a process that counts. */
function startCounting(wire: Wire, name: string) {
  const process = wire.start(name);
  const { clock, replica } = process;
  return { process, counted: new Activity(clock, replica) };
}

void t.test("processes add up, those that ended as well", async (t) => {
  const wire = new Wire();
  const [a, b] = [startCounting(wire, "a"), startCounting(wire, "b")];
  await wire.wait(100);
  for (let i = 0; i < 3; i++) a.counted.count("fair", "messages");
  b.counted.count("fair", "messages");
  b.counted.count("other", "slowReaders");
  t.match(a.counted.of("fair"), { messages: 3 }, "the others hear of it soon");
  await wire.wait(600);
  for (const { counted } of [a, b]) {
    t.match(counted.of("fair"), { messages: 4 });
    t.match(counted.of("other"), { messages: 0, slowReaders: 1 });
    t.match(counted.of("none"), { messages: 0, slowReaders: 0 });
  }
  b.process.kill();
  const late = startCounting(wire, "c");
  await wire.wait(600);
  t.match(late.counted.of("fair"), { messages: 4 }, "a late one knows all");
  t.equal(
    late.counted.of("fair").since,
    a.counted.of("fair").since,
    "the first that began",
  );
  late.counted.count("fair", "messages");
  await wire.wait(600);
  t.match(a.counted.of("fair"), { messages: 5 });
  a.process.kill(true);
  await wire.wait(6_000);
  t.match(late.counted.of("fair"), { messages: 5 });
});

void t.test("a process that was only silent counts once", async (t) => {
  const wire = new Wire();
  const [a, b] = [startCounting(wire, "a"), startCounting(wire, "b")];
  await wire.wait(100);
  b.counted.count("fair", "messages");
  await wire.wait(600);
  b.process.clock.pause(10_000);
  await wire.wait(8_000);
  t.match(a.counted.of("fair"), { messages: 1 });
  await wire.wait(5_000);
  b.counted.count("fair", "messages");
  await wire.wait(600);
  for (const { counted } of [a, b]) {
    t.match(counted.of("fair"), { messages: 2 });
  }
});

void t.test("processes that lose the bus for long count once", async (t) => {
  const wire = new Wire();
  const all = Array.from({ length: 30 }, (_, i) =>
    startCounting(wire, `p${i}`),
  );
  await wire.wait(100);
  for (const { counted } of all) counted.count("fair", "messages");
  await wire.wait(600);
  wire.link = () => [];
  await wire.wait(100_000);
  wire.link = (message) => [message];
  await wire.wait(3_000);
  for (const { counted } of all) t.equal(counted.of("fair").messages, 30);
});

void t.test(
  "processes that adopt the same ones add them up once",
  async (t) => {
    const wire = new Wire();
    const [a, b] = [startCounting(wire, "a"), startCounting(wire, "b")];
    const others = Array.from({ length: 30 }, (_, i) =>
      startCounting(wire, `p${i}`),
    );
    await wire.wait(100);
    for (const { counted } of others) counted.count("fair", "messages");
    await wire.wait(600);
    wire.link = () => [];
    for (const { process } of others) process.kill();
    await wire.wait(10_000);
    wire.link = (message) => [message];
    for (let i = 0; i < 20; i++) {
      await wire.wait(10_000);
      t.equal(a.counted.of("fair").messages, 30);
      t.equal(b.counted.of("fair").messages, 30);
    }
  },
);

void t.test("many processes that end leave one tally", async (t) => {
  const wire = new Wire();
  const [a, z] = [startCounting(wire, "a"), startCounting(wire, "z")];
  for (let i = 0; i < 100; i++) {
    const one = startCounting(wire, `p${i}`);
    one.counted.count("fair", "messages");
    await wire.wait(600);
    one.process.kill();
    await wire.wait(600);
  }
  await wire.wait(60_000);
  t.equal(a.counted.of("fair").messages, 100);
  t.equal(z.counted.of("fair").messages, 100);
  let items = 0;
  wire.link = (message) => {
    if (message.type === "live") {
      const { put } = message.data as { put?: unknown[] };
      items += put?.length ?? 0;
    }
    return [message];
  };
  const late = startCounting(wire, "b");
  await wire.wait(600);
  t.equal(late.counted.of("fair").messages, 100);
  // Each says since when it counts, and what it counted.
  t.ok(items <= 2 * 20, `${items} items`);
  a.process.kill();
  for (const wait of [100, 6_000, 100_000]) {
    await wire.wait(wait);
    t.equal(z.counted.of("fair").messages, 100);
    t.equal(late.counted.of("fair").messages, 100);
  }
  z.counted.count("fair", "messages");
  await wire.wait(600);
  late.counted.forget("fair");
  await wire.wait(100_000);
  for (const { counted } of [late, z, startCounting(wire, "c")]) {
    await wire.wait(600);
    t.equal(
      counted.of("fair").messages,
      0,
      "a deleted world is kept nowhere, also where its log is not followed",
    );
  }
});
