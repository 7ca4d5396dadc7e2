import t, { type Test } from "tap";
import { get } from "svelte/store";
import { memoryShelf } from "../../web/lib/storage.js";
import { ChatStore, type ChatView } from "../../web/state/chat.js";
import { MAX_KEPT, MAX_LIVE } from "../../web/state/chat-timeline.js";
import { People } from "../../web/state/people.js";
import { House, hurry } from "../client/house.js";
import { until } from "../helper.js";

/** A store that is open, with what stands behind it. */
async function open(
  t: Test,
  prepare: (house: House) => Promise<unknown> = async () => {},
) {
  hurry(t);
  const house = await House.open(t);
  await prepare(house);
  const shelf = memoryShelf();
  return { ...(await storeOn(t, house, shelf)), house, shelf };
}

async function storeOn(t: Test, house: House, shelf = memoryShelf()) {
  const { live, wire } = await house.visit();
  const people = new People(live);
  const store = new ChatStore(
    {
      ...{ live, people, shelf, world: "demo", maxBytes: 10 },
      upload: async ({ name }) => `https://files/${name}`,
    },
    house.hall,
  );
  const close = store.open();
  t.teardown(close);
  await until(() => get(store).is === "ready");
  return { live, wire, store, close };
}

const bodies = ({ rows, waiting }: ChatView) => [
  ...rows.flatMap((row) =>
    row.is === "message" ? [row.event.content["body"]] : [],
  ),
  ...waiting.map(({ content }) => content["body"]),
];

const say = (house: House, from: number, to: number) =>
  house.say(house.hall, ...numbers(from, to));

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => `${from + at}`);

void t.test("history comes by pages, and new events after it", async (t) => {
  const { store, house } = await open(t, (house) => say(house, 1, 120));
  t.same(bodies(get(store)), numbers(71, 120));
  await store.window.loadOlder();
  await store.window.loadOlder();
  t.same(bodies(get(store)), numbers(1, 120));
  t.equal(get(store).hasOlder, false);
  await say(house, 121, 121);
  await until(() => bodies(get(store)).length === 121);
  t.same(bodies(get(store)), numbers(1, 121));
});

void t.test("edits and deletions change what they replace", async (t) => {
  let ids: number[] = [];
  const { store, house } = await open(t, async (house) => {
    ids = await say(house, 1, 3);
  });
  const put = (content: { type: string; body?: string }, replaces: number) =>
    house.put(house.hall, house.ben, content, replaces);
  await put({ type: "text", body: "two" }, ids[1]!);
  await put({ type: "deleted" }, ids[2]!);
  await until(() => get(store).rows.some(({ is }) => is === "deleted"));
  t.same(bodies(get(store)), ["1", "two"]);
});

void t.test("an own message shows at once, and once", async (t) => {
  const { store, shelf, house, live } = await open(t);
  store.writing.setDraft({ text: "Hel", mentions: [], files: [] });
  store.send({ type: "text", body: "Hello" });
  t.same(bodies(get(store)), ["Hello"]);
  t.equal(get(store).waiting.length, 1);
  await until(() => get(store).waiting.length === 0);
  t.same(bodies(get(store)), ["Hello"]);
  const key = `foyer:demo:chat:${live.state!.user.id}:${house.hall}`;
  const kept = shelf.getItem(key) ?? "";
  t.match(kept, /"Hel"/, "what is being written stays");
  t.notMatch(kept, /Hello/, "what the server has is not kept");
});

void t.test(
  "a reload keeps what was not confirmed, and knows what was",
  async (t) => {
    const { store, house, wire, live, shelf } = await open(t);
    // The first arrives, the second does not; neither is answered.
    const fates = ["ignored", "swallowed"] as const;
    wire.fate = (name) =>
      name === "chat.send" ? fates[wire.count(name) - 1]! : "arrives";
    store.send({ type: "text", body: "arrives" });
    const { world, hall } = house;
    await until(async () => {
      const all = { after: 0, limit: 9 };
      const events = await house.store.chat.events(world, hall, all);
      return events.some(({ content }) => content?.includes("arrives"));
    });
    store.send({ type: "text", body: "is lost" });
    live.close();
    const { store: next } = await storeOn(t, house, shelf);
    t.same(bodies(get(next)), ["arrives", "is lost"]);
    t.match(get(next).waiting, [
      { state: "failed", error: { code: "client.unconfirmed" } },
    ]);
    next.writing.retry(get(next).waiting[0]!.localId);
    await until(() => get(next).waiting.length === 0);
    t.same(bodies(get(next)), ["arrives", "is lost"]);
  },
);

void t.test("memory is bounded at both ends", async (t) => {
  const { store, house } = await open(t, (house) => say(house, 1, 2000));
  for (let page = 0; page < 30; page++) await store.window.loadOlder();
  t.equal(bodies(get(store)).length, MAX_KEPT);
  t.equal(get(store).hasNewer, true);
  const first = bodies(get(store))[0];
  store.setPlace({ isAtEnd: false, isSeen: true });
  await say(house, 2001, 2001);
  await until(() => get(store).newCount === 1);
  t.equal(bodies(get(store))[0], first, "what is shown stays");
  await store.window.loadNewer();
  t.equal(bodies(get(store)).length, MAX_KEPT);
  await store.window.loadNewest();
  t.same(bodies(get(store)), numbers(1952, 2001));
  store.setPlace({ isAtEnd: true, isSeen: true });
  t.equal(get(store).newCount, 0);
  const ids = await say(house, 2002, 2401);
  await until(() => get(store).rows.at(-1)?.key === `event ${ids.at(-1)}`);
  t.ok(bodies(get(store)).length <= MAX_LIVE + 50);
  t.equal(get(store).hasOlder, true);
});

void t.test("a jump during a load leaves no hole", async (t) => {
  hurry(t);
  const house = await House.open(t);
  const ids = await say(house, 1, 400);
  const id = (body: number) => ids[body - 1]!;
  /** A chat that shows a part of the past, without the newest messages. */
  const jumped = async () => {
    const { store, wire } = await storeOn(t, house);
    const { window } = store;
    t.ok(await window.show(id(200)));
    const isWhole = () => {
      const shown = bodies(get(store));
      return shown.every((body, at) => Number(body) === Number(shown[0]) + at);
    };
    return { store, wire, window, isWhole };
  };
  type Window = ChatStore["window"];
  const rows: [string, (window: Window) => Promise<unknown>[]][] = [
    ["older", (window) => [window.show(id(30)), window.loadOlder()]],
    ["older first", (window) => [window.loadOlder(), window.show(id(30))]],
    ["newer", (window) => [window.show(id(30)), window.loadNewer()]],
    ["newer first", (window) => [window.loadNewer(), window.show(id(30))]],
    ["back", (window) => [window.loadOlder(), window.loadNewest()]],
  ];
  for (const [name, act] of rows) {
    const { store, window, isWhole } = await jumped();
    await Promise.all(act(window));
    t.ok(isWhole(), name);
    for (let page = 0; get(store).hasNewer && page < 9; page++) {
      await window.loadNewer();
    }
    t.ok(isWhole(), `${name}, up to the newest`);
    t.equal(bodies(get(store)).at(-1), "400", name);
  }

  // What comes behind the newest page, before its answer, stays.
  const { store, wire, window } = await jumped();
  const loads = Promise.all([window.loadOlder(), window.loadNewest()]);
  const [, last] = wire.sent.findLast(([name]) => name === "chat.fetch")!;
  let late: unknown[] | undefined;
  let hasCome = false;
  wire.change = (frame) => {
    hasCome ||= frame[0] === "chat.event";
    if (frame[1] !== last) return frame;
    late = frame;
    return undefined;
  };
  await until(() => late !== undefined);
  await say(house, 401, 401);
  await until(() => hasCome);
  wire.change = (frame) => frame;
  await wire.deliver(late!);
  await loads;
  t.equal(bodies(get(store)).at(-1), "401", "what came before the answer");
});

void t.test("what a single arrival changes shows with it", async (t) => {
  const { store, house } = await open(t, (house) => say(house, 1, 3));
  let count = 3;
  for (const isQuiet of [true, false]) {
    store.setPlace({ isAtEnd: true, isSeen: true });
    store.setPlace({ isAtEnd: false, isSeen: false });
    // After a pause, an event shows at once; in a crowd, it shows soon.
    const since = Date.now();
    if (isQuiet) await until(() => Date.now() - since > 100);
    await say(house, ++count, count);
    await until(() => bodies(get(store)).length === count);
    const name = isQuiet ? "after a pause" : "in a crowd";
    t.equal(get(store).newCount, 1, name);
    t.equal(get(store).rows.at(-2)?.is, "unread", name);
  }
});

void t.test("no content of anybody breaks a chat", async (t) => {
  const contents: unknown[] = [
    {},
    { type: 5 },
    { type: "text", body: { a: 1 } },
    { type: "files", files: { length: 3 } },
    { type: "files", files: [null, [], { url: {}, name: 1 }] },
    { type: "text", body: "x".repeat(10_000), local_id: [] },
    { type: "call", body: "no" },
    { type: "__proto__" },
  ];
  const { store, wire, live, house } = await open(t);
  const event = {
    ...{ channel: house.hall, sender: live.state!.user.id, edited: null },
    ...{ timestamp: new Date().toISOString(), replaces: null, reactions: {} },
  };
  const types = ["message", "member", "poll"];
  const events = contents.flatMap((content) =>
    types.map((type) => ({ ...event, event_type: `channel.${type}`, content })),
  );
  await wire.deliver(
    // Above all ids that the server gives, as an event with a known one is dropped.
    ...events.map((event, i) => [
      "chat.event",
      { ...event, event_id: i + 1000 },
    ]),
  );
  const kinds = () => get(store).rows.map(({ is }) => is);
  const count = (kind: string) => kinds().filter((is) => is === kind).length;
  await until(() => count("poll") === contents.length);
  t.equal(count("message"), contents.length);
});

void t.test("files are uploaded into the draft, or say why not", async (t) => {
  const { store } = await open(t);
  store.writing.uploads.add([
    new File(["small"], "a.png", { type: "image/png" }),
    new File(["x".repeat(11)], "b.png"),
  ]);
  await until(() => get(store.writing.draft).files.length === 1);
  t.same(get(store.writing.draft).files, [
    { url: "https://files/a.png", name: "a.png", type: "image/png" },
  ]);
  t.match(get(store.writing.uploads), [{ name: "b.png", failure: "size" }]);
  store.writing.uploads.remove(get(store.writing.uploads)[0]!.key);
  t.same(get(store.writing.uploads), []);
});
