import t, { type Test } from "tap";
import { get } from "svelte/store";
import { memoryShelf } from "../../web/lib/storage.js";
import { ChatStore, type ChatView } from "../../web/state/chat.js";
import { MAX_KEPT, MAX_LIVE } from "../../web/state/chat-timeline.js";
import { People } from "../../web/state/people.js";
import { ADA, startChat, type FakeChat } from "../client/fake-chat.js";
import { HALL, liveOf, type FakeServer } from "../client/fake-server.js";
import { until } from "../helper.js";

/** A store that is open, with what stands behind it. */
async function open(
  t: Test,
  prepare: (chat: FakeChat) => void = () => {},
  shelf = memoryShelf(),
) {
  const { server, chat } = await startChat(t);
  prepare(chat);
  return { ...(await storeOn(t, server, shelf)), server, chat, shelf };
}

async function storeOn(t: Test, server: FakeServer, shelf = memoryShelf()) {
  const live = liveOf(t, server);
  await live.connected();
  const people = new People(live);
  const store = new ChatStore(
    {
      live,
      people,
      shelf,
      world: "demo",
      upload: async ({ name }) => `https://files/${name}`,
      maxBytes: 10,
    },
    HALL,
  );
  const close = store.open();
  t.teardown(close);
  await until(() => get(store).is === "ready");
  return { live, store, close };
}

const bodies = ({ rows, waiting }: ChatView) => [
  ...rows.flatMap((row) =>
    row.is === "message" ? [row.event.content["body"]] : [],
  ),
  ...waiting.map(({ content }) => content["body"]),
];

const say = (chat: FakeChat, count: number, from = 1) => {
  for (let n = from; n < from + count; n++) {
    chat.store(HALL, { type: "text", body: `${n}` });
  }
};

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => `${from + at}`);

void t.test("history comes by pages, and new events after it", async (t) => {
  const { store, chat } = await open(t, (chat) => say(chat, 120));
  t.same(bodies(get(store)), numbers(71, 120));
  await store.window.loadOlder();
  await store.window.loadOlder();
  t.same(bodies(get(store)), numbers(1, 120));
  t.equal(get(store).hasOlder, false);
  chat.push(chat.store(HALL, { type: "text", body: "121" }));
  await until(() => bodies(get(store)).length === 121);
  t.same(bodies(get(store)), numbers(1, 121));
});

void t.test(
  "after a broken connection, nothing is missing or twice",
  async (t) => {
    const { store, chat, server } = await open(t, (chat) => say(chat, 5));
    const peer = await server.peer(0);
    peer.drop();
    say(chat, 5, 6);
    await until(() => bodies(get(store)).length >= 10);
    chat.push(chat.store(HALL, { type: "text", body: "11" }));
    await until(() => bodies(get(store)).length >= 11);
    t.same(bodies(get(store)), numbers(1, 11));
  },
);

void t.test("edits and deletions change what they replace", async (t) => {
  const { store, chat } = await open(t, (chat) => say(chat, 3));
  const by = chat.events[0]!.sender!;
  chat.push(chat.store(HALL, { type: "text", body: "two" }, by, 2));
  chat.push(chat.store(HALL, { type: "deleted" }, by, 3));
  await until(() => get(store).rows.some(({ is }) => is === "deleted"));
  t.same(bodies(get(store)), ["1", "two"]);
});

void t.test("an own message shows at once, and once", async (t) => {
  const { store, shelf } = await open(t);
  store.writing.setDraft({ text: "Hel", mentions: [], files: [] });
  store.send({ type: "text", body: "Hello" });
  t.same(bodies(get(store)), ["Hello"]);
  t.equal(get(store).waiting.length, 1);
  await until(() => get(store).waiting.length === 0);
  t.same(bodies(get(store)), ["Hello"]);
  const kept = shelf.getItem(`foyer:demo:chat:${ADA}:${HALL}`) ?? "";
  t.match(kept, /"Hel"/, "what is being written stays");
  t.notMatch(kept, /Hello/, "what the server has is not kept");
});

void t.test("a refused message stays until its author decides", async (t) => {
  const { store, chat } = await open(t);
  let isRefused = true;
  chat.intercept = (peer, name, id) => {
    if (name !== "chat.send" || !isRefused) return false;
    peer.send(["error", id, { code: "chat.denied" }]);
    return true;
  };
  store.send({ type: "text", body: "a" });
  store.send({ type: "text", body: "b" });
  await until(() =>
    get(store).waiting.every(({ state }) => state === "failed"),
  );
  t.same(bodies(get(store)), ["a", "b"]);
  isRefused = false;
  const [first, second] = get(store).waiting;
  t.equal(store.writing.remove(second!.localId)?.["body"], "b");
  store.writing.retry(first!.localId);
  await until(() => get(store).waiting.length === 0);
  t.same(bodies(get(store)), ["a"]);
});

void t.test(
  "a reload keeps what was not confirmed, and knows what was",
  async (t) => {
    const shelf = memoryShelf();
    const { store, chat, server, live } = await open(t, () => {}, shelf);
    chat.intercept = (_peer, name, _id, { content }) => {
      // The first arrives, the second does not; neither is answered.
      if (name !== "chat.send") return false;
      if (content?.["body"] === "arrives") {
        chat.store(HALL, content, live.state!.user.id);
      }
      return true;
    };
    store.send({ type: "text", body: "arrives" });
    await until(() => chat.events.length === 1);
    store.send({ type: "text", body: "is lost" });
    live.close();
    chat.intercept = () => false;
    const { store: next } = await storeOn(t, server, shelf);
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
  const { store, chat } = await open(t, (chat) => say(chat, 2000));
  for (let page = 0; page < 30; page++) await store.window.loadOlder();
  t.equal(bodies(get(store)).length, MAX_KEPT);
  t.equal(get(store).hasNewer, true);
  const first = bodies(get(store))[0];
  store.setPlace({ isAtEnd: false, isSeen: true });
  chat.push(chat.store(HALL, { type: "text", body: "2001" }));
  await until(() => get(store).newCount === 1);
  t.equal(bodies(get(store))[0], first, "what is shown stays");
  await store.window.loadNewer();
  t.equal(bodies(get(store)).length, MAX_KEPT);
  await store.window.loadNewest();
  t.same(bodies(get(store)), numbers(1952, 2001));
  store.setPlace({ isAtEnd: true, isSeen: true });
  t.equal(get(store).newCount, 0);
  for (let n = 0; n < 400; n++) {
    chat.push(chat.store(HALL, { type: "text", body: "more" }));
  }
  await until(() => get(store).rows.at(-1)?.key === "event 2401");
  t.ok(bodies(get(store)).length <= MAX_LIVE + 50);
  t.equal(get(store).hasOlder, true);
});

void t.test("what a single arrival changes shows with it", async (t) => {
  const { store, chat } = await open(t, (chat) => say(chat, 3));
  for (const isQuiet of [true, false]) {
    store.setPlace({ isAtEnd: true, isSeen: true });
    store.setPlace({ isAtEnd: false, isSeen: false });
    // After a pause, an event shows at once; in a crowd, it shows soon.
    const since = Date.now();
    if (isQuiet) await until(() => Date.now() - since > 100);
    chat.push(chat.store(HALL));
    await until(() => bodies(get(store)).length === chat.events.length);
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
  const { store } = await open(t, (chat) => {
    for (const content of contents) {
      chat.store(HALL, content as Record<string, unknown>);
      const member = chat.store(HALL, content as Record<string, unknown>);
      member.event_type = "channel.member";
      const poll = chat.store(HALL, content as Record<string, unknown>);
      poll.event_type = "channel.poll";
    }
  });
  const kinds = get(store).rows.map(({ is }) => is);
  t.equal(kinds.filter((is) => is === "message").length, contents.length);
  t.equal(kinds.filter((is) => is === "poll").length, contents.length);
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
