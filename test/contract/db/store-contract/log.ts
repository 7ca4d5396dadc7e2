import type { Author } from "../../../../db/contract/author.js";
import type { Store } from "../../../../db/contract/store.js";
import { type Entry, type Hint, INDEX } from "../../../../db/log/entries.js";
import { exported } from "../../../support/database.js";
import { keyOf, worldOf } from "../../../support/helper.js";
import { allEvents, chatting, crowd, DELETED, message, text } from "./chat-setup.js";
import { asStored, deliveryOf, LogReader, me } from "./logged.js";
import { ABSENT, add, type Contract, enter, fails, file, guest, headOf, idsOf } from "./setup.js";

const allOf = async (store: Store, world = "demo"): Promise<Entry[]> => [
  ...(await store.log.since(world, 0, 10_000)).entries,
];

const seqsOf = (entries: readonly Entry[]) => entries.map(({ seq }) => seq);

/** Returns the numbers in a range, inclusive. */
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** Writes several kinds of changes to a world, including chat. */
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

/** Creates a room with chat, and a user. */
async function furnished(store: Store) {
  const module_config = [{ type: "chat.native", config: {} }];
  const { value } = await store.rooms.create("demo", { name: "a", module_config });
  const user = await enter(store, "ada");
  const by: Author = { ...me, user };
  return { room: value.id, user, by };
}

export async function logContract(contract: Contract): Promise<void> {
  await contract("the log is read from every number", async (t, store, open) => {
    await writeAll(store);
    const all = await allOf(store);
    const head = await headOf(store);
    t.strictSame(seqsOf(all), numbers(1, head), "without gaps");
    for (const { world, tag, at } of all) {
      t.equal(world, "demo");
      t.ok(tag > 0 && Number.isSafeInteger(tag));
      t.ok(Math.abs(at - Date.now()) < 60_000);
    }
    t.equal(new Set(all.map(({ tag }) => tag)).size, all.length);
    const other = await open();
    for (const seq of numbers(0, head)) {
      const tag = seq === 0 ? 0 : all[seq - 1]!.tag;
      t.strictSame(await other.log.since("demo", seq, 1000), { tag, entries: all.slice(seq) });
      const some = { tag, entries: all.slice(seq, seq + 3) };
      t.strictSame(await store.log.since("demo", seq, 3), some);
    }
    for (const [world, seq, tag] of [
      ["demo", head + 1, undefined],
      ["none", 1, undefined],
      ["none", 0, 0],
    ] as const) {
      t.strictSame(await store.log.since(world, seq, 9), { tag, entries: [] });
    }
    const [index, ...heads] = await other.log.heads([INDEX, "none", "demo", "demo"]);
    const last = { seq: head, tag: all.at(-1)!.tag };
    t.strictSame(heads, [{ seq: 0, tag: 0 }, last, last]);
    t.ok(index!.seq > 2);
    t.strictSame(await store.log.heads([]), []);
  });

  await contract("what is committed is read at once", async (t, store) => {
    const start = await headOf(store);
    for (let head = start; head < start + 5; head++) {
      await Promise.all([store.announcements.create("demo", { text: "x" }), headOf(store)]);
      const [own, { entries }] = await Promise.all([
        headOf(store),
        store.log.since("demo", head, 9),
      ]);
      t.strictSame([own, seqsOf(entries)], [head + 1, [head + 1]]);
    }
  });

  await contract("readers follow crowds of writers", async (t, store, open) => {
    const { room, ada, bob, elsewhere } = await chatting(store);
    const stores = [store, await open()];
    const worlds = ["demo", "other", INDEX];
    const readers = [new LogReader(await open(), worlds), new LogReader(store, worlds)];
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
          // Fails after it has changed something.
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
    for (const [world, channel] of [
      ["demo", room],
      ["other", elsewhere.room],
    ] as const) {
      const sent = readers[0]!.of(world).flatMap(deliveryOf);
      const ids = sent.map(({ event }) => event.id);
      const events = await allEvents(store, channel, world);
      t.strictSame(
        events.slice(-40).map(({ id }) => id),
        ids,
        "no event is missed",
      );
      const previous = sent.slice(1).map((one) => [one.previous, one.previousMessage]);
      t.strictSame(
        previous,
        ids.slice(0, -1).map((id) => [id, id]),
        "each names the one before",
      );
    }
    const types = readers[0]!.of("demo").map(({ type }) => type);
    t.equal(types.filter((type) => type === "chat.event").length, 40);
    t.equal(types.filter((type) => type.startsWith("announcement")).length, 40);
    t.notOk(types.includes("file.added"));
    t.equal(readers[0]!.of(INDEX).length, 5);
  });

  await contract("hints come in order, before answers", async (t, first, open) => {
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
      ...numbers(1, 20).map((i) => announcements.create("demo", { text: `${i}` })),
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
      t.strictSame(read.entries, own.filter((entry) => entry.world === world).map(asStored));
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
  });

  await contract("the log outlives its world", async (t, store) => {
    const { worlds, log } = store;
    const [head, index] = [await headOf(store), await headOf(store, INDEX)];
    await worlds.delete("demo");
    await fails(t, worlds.delete("demo"), "absent");
    await worlds.create(worldOf("demo"));
    t.match((await log.since("demo", head, 9)).entries, [
      { type: "world.deleted", seq: head + 1 },
      { type: "world.created", seq: head + 2 },
    ]);
    await worlds.update("demo", { title: "x" });
    await worlds.update("demo", { domain: "new.example.org" });
    const config = { JWT_secrets: [keyOf("new")] };
    for (let i = 0; i < 2; i++) await worlds.update("demo", { config });
    await worlds.configure("demo", { config: { x: 1 } });
    t.equal(await headOf(store), head + 7);
    const { entries } = await log.since(INDEX, index, 9);
    t.ok(entries.every(({ world }) => world === INDEX));
    const types = ["world.deleted", "world.created", "world.updated", "world.updated"];
    t.strictSame(
      entries.map(({ type }) => type),
      types,
      "what concerns all worlds",
    );
  });

  await contract("old entries are pruned", async (t, store) => {
    await writeAll(store);
    const all = await allOf(store);
    const [head, before] = [await headOf(store), await store.log.heads(["demo"])];
    const there = await allOf(store, "other");
    const prune = async (before: number) => {
      while (await store.log.prune("demo", before));
    };
    await prune(all[0]!.at);
    t.strictSame(await allOf(store), all, "none is older");
    await prune(Date.now() + 1000);
    const isEvent = ({ type }: Entry) => type === "chat.event";
    const [events, gone] = [all.filter(isEvent), all.filter((entry) => !isEvent(entry))];
    t.strictSame(await allOf(store), events, "events of chat stay");
    t.strictSame(await allOf(store, "other"), there);
    t.strictSame(await store.log.heads(["demo"]), before);
    const from = (seq: number) => store.log.since("demo", seq, 1);
    t.equal((await from(gone[0]!.seq)).tag, undefined);
    t.equal(await store.log.floor("demo"), gone.at(-1)!.seq);
    t.equal(await store.log.floor("none"), 0);
    t.equal((await from(events[0]!.seq)).tag, events[0]!.tag);

    await store.announcements.create("demo", { text: "x" });
    const [last] = (await from(head)).entries;
    t.equal(last!.seq, head + 1, "numbers go on");
    await prune(Date.now() + 1000);
    t.strictSame(await from(head + 1), { tag: last!.tag, entries: [] });
    t.equal(await store.log.prune("none", Date.now()), false);

    const start = await headOf(store);
    while (await store.chat.expire("demo", Date.now() + 1000));
    t.strictSame((await allOf(store)).filter(isEvent), [], "expired events leave the log");
    const { entries } = await store.log.since("demo", start, 9);
    t.match(entries, [{ type: "chat.erased", by: { kind: "server" } }]);
  });

  await contract("what is hidden is erased with others", async (t, store) => {
    const { questions, polls, rooms, users } = store;
    const { room, elsewhere, ada, bob } = await chatting(store);
    const draft = { sender: ada, content: "secret", state: "visible" } as const;
    const hide = async (world = "demo", where = room, sender = ada) => {
      const { id } = await questions.create(world, where, { ...draft, sender });
      await questions.update(world, where, id, { state: "archived" }, sender);
    };
    const expectHidden = async (world: string, expected: string[], name = "") => {
      const hidden = (await allOf(store, world)).flatMap((entry) =>
        "hidden" in entry ? [(entry.hidden as { content: string }).content] : [],
      );
      t.strictSame(hidden, expected, name);
    };
    await hide("other", elsewhere.room, elsewhere.user);
    const question = await questions.create("demo", room, draft);
    const poll = await polls.create("demo", room, { content: "p", options: [] });
    const { value: other } = await rooms.create("demo", { name: "R2" });
    const changes = { content: "new", state: "archived" } as const;
    const erasures: [name: string, erase: () => Promise<unknown>][] = [
      [
        "a text is replaced while it is hidden",
        () => questions.update("demo", room, question.id, changes, ada),
      ],
      ["a question", () => questions.delete("demo", room, question.id)],
      ["a poll", () => polls.delete("demo", room, poll.id)],
      ["a room", () => rooms.delete("demo", other.id)],
      ["a user", () => users.erase("demo", { user_id: bob })],
      ["a world", () => store.worlds.delete("demo")],
    ];
    for (const [name, erase] of erasures) {
      await hide();
      await fails(t, questions.delete("demo", room, ABSENT), "absent");
      await expectHidden("demo", ["secret"], `before ${name}`);
      await erase();
      await expectHidden("demo", [], name);
      await expectHidden("other", ["secret"], "another world");
    }
  });

  await contract("an import is in the log, and leaves no gap if it fails", async (t, store) => {
    const { room, ada, elsewhere, say } = await chatting(store);
    const { worlds, polls, log } = store;
    await say("one");
    await add(store);
    await polls.create("other", elsewhere.room, { content: "p", options: [] });
    const copy = await exported(store, "demo", { history: true });
    const { lines } = await exported(store, "other");
    await worlds.delete("demo");
    const [head, index] = [await headOf(store), await headOf(store, INDEX)];
    // The poll of another world, so the import fails after chat events have been numbered.
    const at = copy.lines.indexOf('"polls":[') + 1;
    const foreign = lines[lines.indexOf('"polls":[') + 1]!.replace(/,$/, "");
    const taken = `${JSON.stringify({ ...(JSON.parse(foreign) as object), room_id: room })},`;
    const document = { lines: copy.lines.toSpliced(at, 0, taken) };
    await fails(t, worlds.import(document), "taken", "polls");
    await worlds.import(copy, { dryRun: true });
    t.strictSame((await log.since("demo", head, 9)).entries, []);
    await worlds.import(copy);
    const { entries } = await log.since("demo", head, 99);
    const events = numbers(1, 4).map(() => "chat.event");
    t.strictSame(
      entries.map(({ type }) => type),
      [...events, "world.created"],
    );
    t.strictSame(seqsOf(entries), numbers(head + 1, head + 5));
    t.equal(await headOf(store, INDEX), index + 1);
    t.equal((await log.since("demo", head + 2, 9)).tag, entries[1]!.tag);
    const { event } = await store.chat.send("demo", room, { sender: ada, content: text("two") });
    t.equal(event.id, head + 6);
  });

  await contract("without an audit, moderation leaves no note", async (t, _, open) => {
    const types: string[] = [];
    const store = await open((hints) => {
      types.push(...hints.map(({ entry }) => entry.type));
      return undefined;
    }, false);
    const { room, bob, say } = await chatting(store);
    const { event } = await say("x");
    types.length = 0;
    const draft = { sender: bob, content: DELETED, moderates: true };
    await store.chat.send("demo", room, { ...draft, replaces: event.id });
    t.same(types, ["chat.event"]);
  });

  await contract("votes of a crowd share entries", async (t, first, open) => {
    const { room } = await furnished(first);
    const entries: Entry[] = [];
    const store = await open((hints) => {
      entries.push(...hints.map(({ entry }) => entry));
      return undefined;
    });
    const users = await crowd(store, 30);
    const content = "x";
    const options = [{ content }];
    const poll = await store.polls.create("demo", room, { content, state: "open", options });
    const draft = { sender: users[0]!, content, state: "visible" } as const;
    const question = await store.questions.create("demo", room, draft);
    entries.length = 0;
    const head = await headOf(store);
    const chosen = idsOf(poll.options);
    const byOf = (user: string) => ({ ...me, user, connection: `of ${user}` });
    await Promise.all(
      users.flatMap((user) => [
        store.polls.vote("demo", room, poll.id, user, { options: chosen }, byOf(user)),
        store.questions.vote("demo", room, question.id, user, true, true, byOf(user)),
      ]),
    );
    t.ok(entries.length < users.length, "fewer than votes");
    t.equal(await headOf(store), head + entries.length);
    const sorted = (list: unknown[]) => list.map((x) => JSON.stringify(x)).sort();
    const votes = entries.flatMap((entry) =>
      "votes" in entry ? entry.votes.map((vote) => [entry.type, vote]) : [],
    );
    const expected = users.flatMap((user) =>
      ["poll.voted", "question.voted"].map((type) => [type, { user, connection: `of ${user}` }]),
    );
    t.strictSame(sorted(votes), sorted(expected), "each vote is in one");
  });
}
