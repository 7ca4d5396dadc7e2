import { exported } from "../../exported.js";
import type { Test } from "tap";
import { type Entry, INDEX } from "../../../db/log/entries.js";
import type { Hint } from "../../../db/log/log.js";
import type { Store } from "../../../db/contract/store.js";
import { keyOf, worldOf } from "../../helper.js";
import { chatting, message, text } from "./chat-setup.js";
import { asStored, LogReader } from "./log-reader.js";
import {
  ABSENT,
  add,
  type Contract,
  fails,
  file,
  guest,
  headOf,
} from "./setup.js";

/** All entries of a world. */
const allOf = async (store: Store, world = "demo"): Promise<Entry[]> => [
  ...(await store.log.since(world, 0, 10_000)).entries,
];

const seqsOf = (entries: readonly Entry[]) => entries.map(({ seq }) => seq);

/** The numbers from one to another. */
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** Writes of several kinds to a world, chat among them. */
async function writeAll(store: Store): Promise<void> {
  const { room, ada, bob, say } = await chatting(store);
  const { event } = await say("x", { mentioned: [bob] });
  await store.announcements.create("demo", { text: "x" });
  await say("y", { replaces: event.id });
  const reaction = { user: bob, reaction: "r", remove: false, volatile: false };
  await store.chat.react("demo", room, event.id, reaction);
  await store.chat.direct("demo", ada, [ada, bob], false);
  await store.users.moderate("demo", bob, "silenced");
  await say("z");
}

export async function logContract(contract: Contract): Promise<void> {
  await contract(
    "the log is read from every number",
    async (t, store, open) => {
      await writeAll(store);
      const all = await allOf(store);
      const head = await headOf(store);
      t.strictSame(seqsOf(all), numbers(1, head), "without gaps");
      t.strictSame(
        all.map(({ world }) => world),
        all.map(() => "demo"),
      );
      t.ok(all.every(({ tag }) => tag > 0 && Number.isSafeInteger(tag)));
      t.equal(new Set(all.map(({ tag }) => tag)).size, all.length);
      t.ok(all.every(({ at }) => Math.abs(at - Date.now()) < 60_000));
      const other = await open();
      for (const seq of numbers(0, head)) {
        const tag = seq === 0 ? 0 : all[seq - 1]!.tag;
        t.strictSame(await other.log.since("demo", seq, 1000), {
          tag,
          entries: all.slice(seq),
        });
        t.strictSame(await store.log.since("demo", seq, 3), {
          tag,
          entries: all.slice(seq, seq + 3),
        });
      }
      const nowhere = { tag: undefined, entries: [] };
      t.strictSame(await store.log.since("demo", head + 1, 9), nowhere);
      t.strictSame(await store.log.since("none", 1, 9), nowhere);
      t.strictSame(await store.log.since("none", 0, 9), {
        tag: 0,
        entries: [],
      });

      const [index, none, demo, again] = await other.log.heads([
        INDEX,
        "none",
        "demo",
        "demo",
      ]);
      t.strictSame(demo, { seq: head, tag: all.at(-1)!.tag });
      t.strictSame(again, demo);
      t.strictSame(none, { seq: 0, tag: 0 });
      t.ok(index!.seq > 2);
      t.strictSame(await store.log.heads([]), []);
    },
  );

  await contract("what is committed is read at once", async (t, store) => {
    const seen: number[] = [];
    let head = await headOf(store);
    const start = head;
    for (let i = 0; i < 5; i++) {
      await Promise.all([
        store.announcements.create("demo", { text: "x" }),
        headOf(store),
      ]);
      const [own, { entries }] = await Promise.all([
        headOf(store),
        store.log.since("demo", head, 9),
      ]);
      seen.push(...seqsOf(entries));
      t.equal(own, head + 1);
      head = own;
    }
    t.strictSame(seen, numbers(start + 1, start + 5));
  });

  await contract("readers follow crowds of writers", async (t, store, open) => {
    const { room, ada, bob, elsewhere } = await chatting(store);
    const stores = [store, await open()];
    const worlds = ["demo", "other", INDEX];
    const readers = [
      new LogReader(await open(), worlds),
      new LogReader(store, worlds),
    ];
    await Promise.all(readers.map((reader) => reader.begin()));
    const following = readers.map((reader) => reader.follow());
    await Promise.all(
      numbers(1, 40).flatMap((i) => {
        const { announcements, chat, users, worlds, files } = stores[i % 2]!;
        const visitor = { tokenId: `${i % 7}`, traits: new Set([`${i % 3}`]) };
        const there = elsewhere.room;
        return [
          announcements.create("demo", { text: `${i}` }),
          chat.send("demo", room, message(i % 3 ? ada : bob)),
          chat.send("other", there, message(elsewhere.user)),
          users.enter(i % 2 ? "other" : "demo", visitor),
          worlds.configure("other", { title: `${i % 5}` }),
          ...(i % 8 === 0 ? [worlds.create(worldOf(`w${i}`))] : []),
          // This fails after it has changed something.
          files.add("demo", visitor, file(`k${i}`), 1).catch(() => {}),
        ];
      }),
    );
    readers.forEach((reader) => reader.end());
    await Promise.all(following);
    for (const { faults } of readers) t.strictSame(faults, []);
    for (const world of worlds) {
      const [one, two] = readers.map((reader) => reader.of(world));
      t.strictSame(one, two);
      const all = await allOf(store, world);
      t.strictSame(one, all.slice(-one!.length));
      t.strictSame(seqsOf(all), numbers(1, await headOf(store, world)));
    }
    const types = readers[0]!.of("demo").map(({ type }) => type);
    t.equal(types.filter((type) => type === "chat.event").length, 40);
    t.equal(types.filter((type) => type.startsWith("announcement")).length, 40);
    t.notOk(types.includes("file.added"));
    t.equal(readers[0]!.of(INDEX).length, 5);
  });

  await contract(
    "hints come in order, before answers",
    async (t, first, open) => {
      const hints: Hint<Entry>[] = [];
      let heads = await first.log.heads(["demo", INDEX]);
      const taking: { end?: Promise<void> } = {};
      const store = await open((some) => {
        hints.push(...some);
        return taking.end;
      });
      const { users, announcements } = store;
      for (let i = 0; i < 5; i++) {
        const visitor = { clientId: `${i}`, traits: new Set<string>() };
        const { id } = await users.enter("demo", visitor);
        t.match(hints.at(-1)!.entry, { type: "user.entered", user: id });
      }
      await Promise.all([
        ...numbers(1, 20).map((i) =>
          announcements.create("demo", { text: `${i}` }),
        ),
        store.worlds.create(worldOf("other")),
        fails(t, announcements.create("none", { text: "x" }), "absent"),
        fails(t, store.files.add("demo", guest, file("k"), 1), "quota"),
      ]);
      for (const [i, world] of ["demo", INDEX].entries()) {
        let { tag, seq } = heads[i]!;
        for (const { entry, previous } of hints) {
          if (entry.world !== world) continue;
          t.equal(previous, tag);
          t.equal(entry.seq, seq + 1);
          ({ tag, seq } = entry);
        }
        t.strictSame(await store.log.heads([world]), [{ seq, tag }]);
        const read = await store.log.since(world, heads[i]!.seq, 1000);
        const own = hints.map(({ entry }) => entry);
        t.strictSame(
          read.entries,
          own.filter((entry) => entry.world === world).map(asStored),
        );
      }
      t.equal(hints.find(({ entry }) => entry.world === "other")!.previous, 0);
      t.strictSame(JSON.parse(JSON.stringify(hints)), hints, "are plain JSON");

      let resume = () => {};
      taking.end = new Promise((resolve) => (resume = resolve));
      let isDone = false;
      hints.length = 0;
      const write = announcements.create("demo", { text: "x" });
      void write.then(() => (isDone = true));
      while (hints.length === 0) await new Promise(setImmediate);
      heads = await store.log.heads(["demo"]);
      t.equal(heads[0]!.seq, hints[0]!.entry.seq, "it is committed");
      t.equal(isDone, false, "the answer waits for who takes the hints");
      resume();
      await write;
    },
  );

  await contract("the log outlives its world", async (t, store) => {
    const { worlds, log } = store;
    const index = await headOf(store, INDEX);
    const head = await headOf(store);
    await worlds.delete("demo");
    await fails(t, worlds.delete("demo"), "absent");
    t.equal(await headOf(store), head + 1);
    t.match((await log.since("demo", head, 9)).entries, [
      { type: "world.deleted", seq: head + 1 },
    ]);
    await worlds.create(worldOf("demo"));
    t.match((await log.since("demo", head, 9)).entries.slice(-1), [
      { type: "world.created", seq: head + 2 },
    ]);
    await worlds.update("demo", { title: "x" });
    await worlds.update("demo", { domain: "new.example.org" });
    const JWT_secrets = [keyOf("new")];
    await worlds.update("demo", { config: { JWT_secrets } });
    await worlds.update("demo", { config: { JWT_secrets } });
    await worlds.configure("demo", { config: { x: 1 } });
    t.equal(await headOf(store), head + 7);
    const entries = (await log.since(INDEX, index, 9)).entries;
    t.strictSame(
      entries.map(({ type, world }) => [type, world]),
      [
        ["world.deleted", INDEX],
        ["world.created", INDEX],
        ["world.updated", INDEX],
        ["world.updated", INDEX],
      ],
    );
  });

  await contract("old entries are pruned", async (t, store) => {
    await writeAll(store);
    const all = await allOf(store);
    const head = await headOf(store);
    const before = await store.log.heads(["demo"]);
    const there = await allOf(store, "other");
    const prune = async (before: number) => {
      while (await store.log.prune("demo", before));
    };
    await prune(all[0]!.at);
    t.strictSame(await allOf(store), all, "none is older");
    await prune(Date.now() + 1000);
    const events = all.filter(({ type }) => type === "chat.event");
    t.strictSame(await allOf(store), events, "events of chat stay");
    t.strictSame(await allOf(store, "other"), there);
    t.strictSame(await store.log.heads(["demo"]), before);
    const from = (seq: number) => store.log.since("demo", seq, 1);
    const gone = all.find(({ type }) => type !== "chat.event")!;
    t.equal((await from(gone.seq)).tag, undefined);
    const pruned = all.filter(({ type }) => type !== "chat.event").at(-1)!.seq;
    t.equal(await store.log.floor("demo"), pruned);
    t.equal(await store.log.floor("none"), 0);
    t.equal((await from(events[0]!.seq)).tag, events[0]!.tag);

    await store.announcements.create("demo", { text: "x" });
    const [last] = (await from(head)).entries;
    t.equal(last!.seq, head + 1, "numbers go on");
    await prune(Date.now() + 1000);
    t.strictSame(await from(head + 1), { tag: last!.tag, entries: [] });
    t.equal(await store.log.prune("none", Date.now()), false);
  });

  await contract("expired events leave the log", async (t, store) => {
    const { say } = await chatting(store);
    const { event } = await say("x");
    const head = await headOf(store);
    while (await store.chat.expire("demo", Date.now() + 1000));
    const all = await allOf(store);
    t.strictSame(
      all.filter(({ type }) => type === "chat.event"),
      [],
    );
    t.match(
      all.filter(({ seq }) => seq > head),
      [{ type: "chat.erased", by: { kind: "server" } }],
    );
    t.equal((await store.log.since("demo", event.id - 1, 9)).entries.length, 1);
  });

  await contract("what is hidden is erased with others", async (t, store) => {
    await eraseHidden(t, store);
  });

  await contract("an import that fails leaves no gap", async (t, store) => {
    const { room, elsewhere, say } = await chatting(store);
    const { worlds, polls } = store;
    await say("one");
    await polls.create("other", elsewhere.room, { content: "p", options: [] });
    const copy = await exported(store, "demo", { history: true });
    const { rows } = await exported(store, "other");
    // The poll of another world.
    const at = copy.lines.indexOf('"polls":[') + 1;
    const poll = { ...rows.polls![0]!, room_id: room };
    const taken = `${JSON.stringify(poll)},`;
    await worlds.delete("demo");
    const head = await headOf(store);
    // Its chat has numbers before it fails.
    const document = { lines: copy.lines.toSpliced(at, 0, taken) };
    await fails(t, worlds.import(document), "taken", "polls");
    await worlds.create(worldOf("demo"));
    t.match((await store.log.since("demo", head, 9)).entries, [
      { type: "world.created", seq: head + 1 },
    ]);
    t.equal(await headOf(store), head + 1);
  });

  await contract("an import is in the log", async (t, store) => {
    const { room, ada, say } = await chatting(store);
    await say("one");
    await add(store);
    const copy = await exported(store, "demo", { history: true });
    await store.worlds.delete("demo");
    const [head, index] = [await headOf(store), await headOf(store, INDEX)];
    await store.worlds.import(copy, { dryRun: true });
    const { log } = store;
    t.strictSame(seqsOf((await log.since("demo", head, 9)).entries), []);
    await store.worlds.import(copy);
    const { entries } = await log.since("demo", head, 99);
    t.strictSame(
      entries.map(({ type }) => type),
      [...numbers(1, 4).map(() => "chat.event"), "world.created"],
    );
    t.strictSame(seqsOf(entries), numbers(head + 1, head + 5));
    t.equal(await headOf(store, INDEX), index + 1);
    t.equal((await log.since("demo", head + 2, 9)).tag, entries[1]!.tag);
    const { event } = await store.chat.send("demo", room, {
      sender: ada,
      content: text("two"),
    });
    t.equal(event.id, head + 6);
  });
}

/** Each erasure takes all hidden content in the log of its world along. */
async function eraseHidden(t: Test, store: Store): Promise<void> {
  const { questions, polls, rooms, users } = store;
  const { room, elsewhere, ada, bob } = await chatting(store);
  const hide = async (world: string, room: string, sender: string) => {
    const draft = { sender, content: "secret", state: "visible" } as const;
    const { id } = await questions.create(world, room, draft);
    await questions.update(world, room, id, { state: "archived" }, sender);
  };
  const hiddenIn = async (world: string) =>
    (await allOf(store, world)).flatMap((entry) =>
      "hidden" in entry ? [(entry.hidden as { content: string }).content] : [],
    );
  await hide("other", elsewhere.room, elsewhere.user);
  const question = await questions.create("demo", room, {
    sender: ada,
    content: "q",
    state: "visible",
  });
  const poll = await polls.create("demo", room, { content: "p", options: [] });
  const { value: other } = await rooms.create("demo", { name: "R2" });
  const erasures: [name: string, erase: () => Promise<unknown>][] = [
    [
      "a text is replaced while it is hidden",
      () =>
        questions.update(
          ...(["demo", room, question.id] as const),
          { content: "new", state: "archived" },
          ada,
        ),
    ],
    ["a question", () => questions.delete("demo", room, question.id)],
    ["a poll", () => polls.delete("demo", room, poll.id)],
    ["a room", () => rooms.delete("demo", other.id)],
    ["a user", () => users.erase("demo", { user_id: bob })],
  ];
  for (const [name, erase] of erasures) {
    await hide("demo", room, ada);
    t.strictSame(await hiddenIn("demo"), ["secret"], name);
    await fails(t, questions.delete("demo", room, ABSENT), "absent");
    t.strictSame(await hiddenIn("demo"), ["secret"], "nothing was erased");
    await erase();
    t.strictSame(await hiddenIn("demo"), [], name);
    t.strictSame(await hiddenIn("other"), ["secret"], "another world");
  }
  await hide("demo", room, ada);
  await store.worlds.delete("demo");
  t.strictSame(await hiddenIn("demo"), []);
}
