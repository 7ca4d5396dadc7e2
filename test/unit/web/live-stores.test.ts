import { get } from "svelte/store";
import t, { type Test } from "tap";
import { LiveError } from "../../../client/index.js";
import { memoryShelf } from "../../../web/lib/storage.js";
import { MAX_KEPT, MAX_LIVE } from "../../../web/state/chat-timeline.js";
import { ChatStore, type ChatView } from "../../../web/state/chat.js";
import { Online } from "../../../web/state/directs.js";
import { newsOf, type RoomNews } from "../../../web/state/room-news.js";
import { PeopleSearch } from "../../../web/state/search.js";
import { People } from "../../../web/state/session.js";
import { type Presence, visit, Visit } from "../../../web/state/viewers.js";
import {
  asText,
  Intents,
  isUnsure,
  kept,
  type Listing,
  listingOf,
} from "../../../web/state/votes.js";
import { House, hurry, rejection } from "../../protocol/client/house.js";
import { until } from "../../support/helper.js";

/** Opens a store, and returns it with its dependencies. */
async function open(t: Test, prepare: (house: House) => Promise<unknown> = async () => {}) {
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
      live,
      people,
      shelf,
      world: "demo",
      maxBytes: 10,
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
  ...rows.flatMap((row) => (row.is === "message" ? [row.event.content["body"]] : [])),
  ...waiting.map(({ content }) => content["body"]),
];

const say = (house: House, from: number, to: number) => house.say(house.hall, ...numbers(from, to));

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => `${from + at}`);

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

void t.test("a reload keeps what was not confirmed, and knows what was", async (t) => {
  const { store, house, wire, live, shelf } = await open(t);
  // The first message arrives, the second does not. Neither is answered.
  const fates = ["ignored", "swallowed"] as const;
  wire.fate = (name) => (name === "chat.send" ? fates[wire.count(name) - 1]! : "arrives");
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
  t.match(get(next).waiting, [{ state: "failed", error: { code: "client.unconfirmed" } }]);
  next.writing.retry(get(next).waiting[0]!.localId);
  await until(() => get(next).waiting.length === 0);
  t.same(bodies(get(next)), ["arrives", "is lost"]);
});

void t.test("memory is bounded at both ends", async (t) => {
  const { store, house } = await open(t, (house) => say(house, 1, 2000));
  for (let page = 0; page < 30; page++) await store.window.loadOlder();
  t.equal(bodies(get(store)).length, MAX_KEPT);
  t.equal(get(store).hasNewer, true);
  const first = bodies(get(store))[0];
  store.setView({ isAtEnd: false, isSeen: true });
  await say(house, 2001, 2001);
  await until(() => get(store).newCount === 1);
  t.equal(bodies(get(store))[0], first, "what is shown stays");
  await store.window.loadNewer();
  t.equal(bodies(get(store)).length, MAX_KEPT);
  await store.window.loadNewest();
  t.same(bodies(get(store)), numbers(1952, 2001));
  store.setView({ isAtEnd: true, isSeen: true });
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
  /** Opens a chat that shows a part of the past, without the newest messages. */
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

  // A message that arrives after the newest page was read, but before the page itself, is kept.
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
    store.setView({ isAtEnd: true, isSeen: true });
    store.setView({ isAtEnd: false, isSeen: false });
    // After a pause, an event is shown immediately; in a crowd, after a short delay.
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
    channel: house.hall,
    sender: live.state!.user.id,
    edited: null,
    timestamp: new Date().toISOString(),
    replaces: null,
    reactions: {},
  };
  const types = ["message", "member", "poll"];
  const events = contents.flatMap((content) =>
    types.map((type) => ({ ...event, event_type: `channel.${type}`, content })),
  );
  // Until the store has received a message, a page of history may still be on its way.
  await say(house, 1, 1);
  await until(() => bodies(get(store)).length === 1);
  await wire.deliver(
    // Higher than any id from the server, because events with known ids are dropped.
    ...events.map((event, i) => ["chat.event", { ...event, event_id: i + 1_000_000 }]),
  );
  const kinds = () => get(store).rows.map(({ is }) => is);
  const count = (kind: string) => kinds().filter((is) => is === kind).length;
  await until(() => count("poll") === contents.length);
  t.equal(count("message"), contents.length + 1);
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

// A visit to a room, and who else is there.

function watch(stay: Visit) {
  let last: Presence = {};
  stay.subscribe((value) => (last = value));
  return {
    get presence() {
      return last;
    },
    names: () =>
      last.viewers
        ?.map(({ profile }) => String(profile["display_name"]))
        .sort()
        .join(" "),
  };
}

void t.test("people come, change and go", async (t) => {
  hurry(t);
  const house = await House.open(t, { "room.viewers": [] });
  const seat = { room: house.hall };
  const { live, wire, reconnect } = await house.visit();
  const come = async (uid: string) => {
    const guest = await house.visit({ uid });
    await guest.live.call("room.enter", seat);
    return guest.live;
  };
  const bea = await come("bea");
  const stay = new Visit(live, house.hall);
  const seen = watch(stay);
  t.equal(seen.names(), undefined);
  await until(() => seen.names() === "ada bea");
  const cy = await come("cy");
  await until(() => seen.names() === "ada bea cy");
  // The same user, in another browser.
  await come("cy");
  const beate = { ...bea.state!.user, profile: { display_name: "beate" } };
  await wire.deliver(["user.updated", beate]);
  // A user who is not in the room.
  await wire.deliver(["user.updated", { ...beate, id: "eve" }]);
  await until(() => seen.names() === "ada beate cy");
  await bea.call("room.leave", seat);
  await until(() => seen.names() === "ada cy");
  wire.cut();
  await until(() => !live.isConnected);
  await come("dan");
  cy.close();
  wire.restore();
  await until(() => seen.names() === "ada cy dan");
  await reconnect();
  stay.leave();
  await wire.answers("room.leave");
});

void t.test("a user without the right is not told", async (t) => {
  const house = await House.open(t);
  const { live, wire } = await house.visit();
  const stay = new Visit(live, house.hall);
  const seen = watch(stay);
  await wire.answers("room.enter");
  await wire.deliver(["room.viewer.added", { user: live.state!.user }]);
  t.strictSame(seen.presence, {});
  // The right is granted later.
  await house.allow(house.hall, { "room.viewers": [] });
  await until(() => {
    stay.enter();
    return seen.names() === "ada";
  });
});

void t.test("a busy server is asked again, a refusal is shown", async (t) => {
  hurry(t);
  const house = await House.open(t);
  const { live, wire } = await house.visit();
  const codes = ["protocol.rate_limited", "protocol.denied"];
  wire.fate = () => ({ error: codes.shift()! });
  const stay = new Visit(live, house.hall);
  const seen = watch(stay);
  await until(() => seen.presence.lost === "protocol.denied");
  t.equal(wire.count("room.enter"), 2);
  wire.fate = () => "arrives";
  stay.leave();
});

void t.test("all parts of a page share one stay", async (t) => {
  const house = await House.open(t);
  const { live, wire } = await house.visit();
  const one = visit(live, house.hall);
  const other = visit(live, house.hall);
  t.equal(one.visit, other.visit);
  await wire.answers("room.enter");
  one.release();
  one.release();
  await live.call("user.fetch", { ids: [] });
  t.equal(wire.count("room.leave"), 0);
  other.release();
  await wire.answers("room.leave");
  t.equal(wire.count("room.enter"), 1);
  t.not(visit(live, house.hall).visit, one.visit);
});

void t.test("a listing follows a room", async (t) => {
  hurry(t);
  const house = await House.open(t);
  const { live, reconnect, wire } = await house.visit();
  const host = await house.host();
  const ask = (text: string) => host.questions(house.hall).ask(text);
  await host.call("room.enter", { room: house.hall });
  await ask("1");
  const listing = listingOf(live.questions(house.hall));
  const seen: Listing<unknown>[] = [];
  const end = listing.subscribe((value) => seen.push(value));
  const count = () => {
    const last = seen.at(-1)!;
    return last.is === "known" ? last.items.length : last.is;
  };
  t.equal(count(), "loading");
  await until(() => count() === 1);
  await ask("2");
  await until(() => count() === 2);
  await reconnect();
  await ask("3");
  await until(() => count() === 3);
  end();
  await wire.answers("room.leave");
  // Restarts for another subscriber.
  const more = listing.subscribe((value) => seen.push(value));
  t.equal(count(), "loading");
  await until(() => count() === 3);
  more();
});

void t.test("a listing says why it ended", async (t) => {
  const house = await House.open(t);
  const { store, world, attic } = house;
  await store.rooms.update(world, attic, { module_config: [] });
  const { live } = await house.visit();
  const listing = listingOf(live.polls(attic));
  let last: Listing<unknown> | undefined;
  t.teardown(listing.subscribe((value) => (last = value)));
  await until(() => last?.is === "lost");
  t.strictSame(last, { is: "lost", code: "room.unknown" });
});

void t.test("a wish shows until it is settled", async (t) => {
  const wishes = new Intents<boolean>();
  const now = () => [...get(wishes)];
  let confirm = () => {};
  let refuse = (_error: Error) => {};
  const first = new Promise<void>((resolve) => (confirm = resolve));
  const second = new Promise<void>((_, reject) => (refuse = reject));
  const one = wishes.want("a", true, () => first);
  t.strictSame(now(), [["a", true]]);
  const other = wishes.want("a", false, () => second);
  confirm();
  await one;
  t.strictSame(now(), [["a", false]], "the later wish counts");
  refuse(new Error("No"));
  await t.rejects(other, { message: "No" });
  t.strictSame(now(), []);
});

void t.test("typed text is kept", async (t) => {
  const shelf = memoryShelf();
  const draft = () => kept(shelf, "draft", asText, "");
  draft().set("Why?");
  t.equal(get(draft()), "Why?");
  draft().update((text) => `${text}!`);
  t.equal(get(draft()), "Why?!");
  draft().set("");
  t.equal(shelf.getItem("draft"), null);
  for (const junk of ["{", "7", "null", '{"a":1}']) {
    shelf.setItem("draft", junk);
    t.equal(get(draft()), "", junk);
  }
});

void t.test("which failures leave a doubt", async (t) => {
  const house = await House.open(t);
  const { live, wire } = await house.visit();
  wire.fate = (name) => (name === "question.ask" ? "lost" : "arrives");
  const broken = await rejection(live.questions(house.hall).ask("Why?"));
  t.type(broken, LiveError);
  t.ok(isUnsure(broken));
  t.notOk(isUnsure(new Error("No")));
});

void t.test("what is new in other rooms", async (t) => {
  hurry(t);
  const house = await House.open(t, { "question.moderate": ["moderator"] });
  const { live } = await house.visit({ traits: ["moderator"] });
  const { hall, attic } = house;
  for (const channel of [hall, attic]) await live.call("chat.join", { channel });
  let open: string | undefined = attic;
  const news = newsOf({ live, open: () => open, isHidden: () => false, pace: 20 });
  t.teardown(news.subscribe(() => {}));
  const inHall = () => get(news).get(hall);
  const shows = (messages: number, questions = 0) =>
    until(() => {
      const { messages: m, questions: q } =
        inHall() ?? ({ messages: 0, questions: 0, held: 0 } satisfies RoomNews);
      return m === messages && q === questions;
    });

  const ids = await house.say(hall, "one", "two");
  await house.say(attic, "seen");
  await shows(2);
  // The server notifies only about the first message.
  await house.say(hall, "three");
  await shows(3);
  await house.put(hall, house.ben, { type: "text", body: "2" }, ids[1]);
  await house.put(hall, house.ben, { type: "deleted" }, ids[0]);
  await house.put(hall, live.state!.user.id, { type: "text", body: "mine" });
  await shows(2);
  t.notOk(get(news).has(attic), "nothing is new in the room that is open");

  const { rooms } = house.store;
  await rooms.update(house.world, hall, {
    module_config: [
      { type: "chat.native", config: {} },
      { type: "question", config: { active: true, requires_moderation: true } },
    ],
  });
  const { live: asker } = await house.visit({ uid: "asker" });
  await asker.call("question.ask", { room: hall, content: "Why?" });
  await shows(2, 1);
  const last = (await house.say(hall, "last"))[0]!;
  await live.call("chat.mark_read", { channel: hall, id: last });
  await shows(0, 1);
  await house.say(hall, ...Array.from({ length: 130 }, (_, n) => `${n}`));
  await until(() => (inHall()?.messages ?? 0) > 99);
  open = hall;
  await shows(0, 0);
});

void t.test("people are found page by page", async (t) => {
  const house = await House.open(t);
  const config = { user_list: { page_size: 2, search_min_chars: 1 } };
  await house.store.worlds.configure(house.world, { config });
  const { live, wire } = await house.visit();
  for (const uid of ["ada b", "ada c", "eve"]) (await house.visit({ uid })).live.close();
  const search = new PeopleSearch(live, 1);
  t.teardown(() => search.close());
  const names = () => get(search).users.map(({ profile }) => profile["display_name"]);
  search.search("lost");
  search.search(" ada ");
  await until(() => get(search).is === "done");
  t.same(names(), ["ada b"], "the others");
  t.ok(get(search).hasMore);
  // A new user moves others to the next page.
  (await house.visit({ uid: "ada a" })).live.close();
  await search.more();
  t.same(names(), ["ada b", "ada c"]);
  t.notOk(get(search).hasMore);
  t.equal(wire.count("user.list.search"), 2);
});

void t.test("who is online is asked while it is shown", async (t) => {
  const house = await House.open(t);
  const { live } = await house.visit();
  const ben = await house.visit({ uid: "ben" });
  const online = new Online(live, 5);
  online.watch([house.ben, "nobody"]);
  let seen: readonly string[] = [];
  const stop = online.subscribe((ids) => (seen = [...ids]));
  await until(() => seen.join() === house.ben);
  ben.live.close();
  await until(() => seen.length === 0);
  stop();
});
