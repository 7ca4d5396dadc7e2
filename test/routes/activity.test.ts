import t from "tap";
import { Foyer } from "../../client/index.js";
import type { AnyEvent, Events } from "../../db/events.js";
import { Activity } from "../../live/activity.js";
import { message, say, text } from "../chat/talk.js";
import { until } from "../helper.js";
import { makeRoom, startLive } from "../live/client.js";

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
  const content = { ...text("x"), extra: "x".repeat(60_000) };
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

/** Processes in one: what one publishes reaches all, as late as a test wants. */
class Wire {
  readonly #listeners = new Set<(event: AnyEvent) => void>();
  readonly #underWay: AnyEvent[] = [];

  connect(process: string): Events {
    return {
      process,
      lossy: false,
      publish: (event) => void this.#underWay.push(event),
      tell: () => {},
      subscribe: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      count: async () => ({ count: 1, ttl: 0 }),
      close: async () => {},
    };
  }

  /** Delivers everything, also what follows from it. */
  deliver(): void {
    for (let event; (event = this.#underWay.shift());) {
      const copy = structuredClone(event);
      for (const listener of this.#listeners) listener(copy);
    }
  }
}

void t.test("processes add up, those that ended as well", async (t) => {
  const wire = new Wire();
  const a = new Activity(wire.connect("a"));
  const b = new Activity(wire.connect("b"));
  wire.deliver();
  for (let i = 0; i < 3; i++) a.count("fair", "messages");
  b.count("fair", "messages");
  b.count("other", "slowReaders");
  t.match(a.of("fair"), { messages: 3 }, "the others hear of it soon");
  await until(() => {
    wire.deliver();
    return a.of("fair").messages === 4 && b.of("fair").messages === 4;
  });
  for (const each of [a, b]) {
    t.match(each.of("other"), { messages: 0, slowReaders: 1 });
    t.match(each.of("none"), { messages: 0, slowReaders: 0 });
  }
  b.close();
  const late = new Activity(wire.connect("c"));
  wire.deliver();
  t.match(late.of("fair"), { messages: 4 }, "one that comes later knows all");
  t.equal(late.of("fair").since, a.of("fair").since, "the first that began");
  late.count("fair", "messages");
  await until(() => {
    wire.deliver();
    return a.of("fair").messages === 5;
  });
  a.close();
  late.close();
});

void t.test("many processes that end leave one tally", async (t) => {
  const wire = new Wire();
  const a = new Activity(wire.connect("a"));
  const hub = wire.connect("hub");
  const sizes: number[] = [];
  hub.subscribe((event) => {
    if (event.type !== "live") return;
    const { tallies } = event.data as { tallies?: unknown[] };
    if (tallies) sizes.push(tallies.length);
  });
  const tally = (process: string) => ({
    ...{ process, since: 1 },
    worlds: [["fair", { messages: 1, slowReaders: 0 }]],
  });
  const tell = (report: object) => {
    hub.publish({ type: "live", topic: "activity", data: report });
    wire.deliver();
  };
  for (let i = 0; i < 100; i++) {
    tell({ report: "tallies", tallies: [tally(`p${i}`)] });
    hub.publish({ type: "process.ended", process: `p${i}` });
    wire.deliver();
  }
  // A report that comes late counts no process twice.
  tell({ report: "tallies", tallies: [tally("p0")] });
  t.equal(a.of("fair").messages, 100);
  sizes.length = 0;
  const late = new Activity(wire.connect("b"));
  wire.deliver();
  t.ok(Math.max(...sizes) <= 20, `${Math.max(...sizes)} tallies`);
  t.equal(late.of("fair").messages, 100);
  hub.publish({ type: "world.deleted", world: "fair" });
  wire.deliver();
  t.equal(a.of("fair").messages, 0, "a deleted world is not kept");
  a.close();
  late.close();
});
