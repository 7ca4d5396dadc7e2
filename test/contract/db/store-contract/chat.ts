import type {
  ChatEvent,
  EventSelection,
  StoredReadMark,
  MessageInput,
  NewMark,
} from "../../../../db/contract/chat-store.js";
import { allEvents, chatting, DELETED, message, stored, text } from "./chat-setup.js";
import { ABSENT, type Contract, fails, headOf, idsOf, tick } from "./setup.js";

/** Runs writes with a concurrency of `at`. */
async function crowd<T>(writes: (() => Promise<T>)[], at: number) {
  const results: T[] = [];
  const queue = writes.values();
  const work = async () => {
    for (const write of queue) results.push(await write());
  };
  await Promise.all(Array.from({ length: at }, work));
  return results;
}

/** Tests members, messages and edits. */
export async function chatContract(contract: Contract): Promise<void> {
  await contract("messages are kept in their order", async (t, store, open) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const before = await headOf(store);
    const content = { type: "text", body: "🎪\0", "": [null, { z: 1, a: 2 }] };
    const began = Date.now();
    const first = await say("", { content });
    const second = await chat.send("demo", room, message(bob, "two"));
    t.match(first, { notified: [], appeared: [] });
    const { timestamp } = first.event;
    t.strictSame(first.event, {
      ...{ id: before + 1, channel: room, sender: ada, timestamp, type: "channel.message" },
      ...{ content: stored(content), edited: null, replaces: null, reactions: {} },
    });
    t.ok(Math.abs(timestamp - began) < 60_000, "in milliseconds");
    const event = { id: before + 2 };
    t.match(second, { event, previous: before + 1, previousMessage: before + 1 });
    t.equal(await headOf(store), before + 2);
    const channel = { id: room, direct: undefined, lastMessage: before + 2 };
    t.match(await chat.channel("demo", room), channel);

    const joins = (await allEvents(store, room)).slice(0, 3);
    t.match(joins, [
      { sender: ada, type: "channel.member", content: stored({ membership: "join" }) },
      { sender: bob },
      {},
    ]);
    const all = [...joins, first.event, second.event];
    const pages: [Partial<EventSelection>, ChatEvent[]][] = [
      [{}, all],
      [{ limit: 2 }, all.slice(-2)],
      [{ limit: 0 }, []],
      [{ before: second.event.id, limit: 2 }, all.slice(2, 4)],
      [{ before: 2 ** 63 }, all],
      [{ before: 0 }, []],
      [{ before: joins[0]!.id }, []],
      [{ after: 0, limit: 2 }, all.slice(0, 2)],
      [{ after: joins[2]!.id }, all.slice(3)],
      [{ after: 2 ** 63 }, []],
      [{ withoutMembers: true }, all.slice(3)],
      [{ withoutMembers: true, after: 0, limit: 1 }, all.slice(3, 4)],
      [{ withoutMembers: true, before: first.event.id }, []],
    ];
    for (const [selection, events] of pages) {
      const read = await chat.events("demo", room, { limit: 100, ...selection });
      t.strictSame(read, events, JSON.stringify(selection));
    }
    t.strictSame(await allEvents(await open(), room), all, "elsewhere, too");
    t.strictSame(await chat.event("demo", room, first.event.id), first.event);
    for (const [world, channel, id] of [
      ["demo", room, second.event.id + 1],
      ["demo", room, 1.5],
      ["demo", elsewhere.room, first.event.id],
      ["other", elsewhere.room, first.event.id],
      ["other", room, first.event.id],
    ] as const) {
      t.equal(await chat.event(world, channel, id), undefined);
    }
    t.strictSame(await allEvents(store, room, "other"), []);
    t.equal(await chat.channel("other", room), undefined);
  });

  await contract("an edit replaces a message", async (t, store) => {
    const { room, bob, say } = await chatting(store);
    const { chat } = store;
    const original = await say("one");
    const { id } = original.event;
    const other = await say("other");
    const edit = await say("two", { replaces: id, mentioned: [bob] });
    const sent = [original, other].map(({ event: { id, timestamp } }) => ({ id, timestamp }));
    for (const [world, after, limit, expected] of [
      ["demo", 0, 9, sent],
      ["demo", 0, 1, sent.slice(0, 1)],
      ["demo", id, 9, sent.slice(1)],
      ["other", 0, 9, []],
    ] as const) {
      t.strictSame(await chat.sent(world, room, after, limit), expected);
    }
    const content = stored(text("two"));
    const event = { content, replaces: id, edited: null };
    t.match(edit, { event, previous: other.event.id, notified: [] });
    const { timestamp: edited } = edit.event;
    t.strictSame(await chat.event("demo", room, id), { ...original.event, content, edited });

    const again = await say("three", { replaces: edit.event.id });
    const last = stored(text("three"));
    t.equal(again.event.replaces, id, "an edit of an edit edits the message");
    t.match((await allEvents(store, room)).slice(3), [
      { id, content: last, edited: again.event.timestamp },
      { content: stored(text("other")), edited: null },
      // Intermediate versions are gone: each edit shows the last one.
      { content: last, replaces: id, edited: null, timestamp: edited },
      { content: last, replaces: id, edited: null },
    ]);

    const remove = { content: { type: "deleted", body: "kept?" } };
    const deleted = await say("", { ...remove, replaces: again.event.id });
    const { id: deletion, timestamp } = deleted.event;
    const gone = stored(DELETED);
    t.strictSame(deleted.event, { ...again.event, id: deletion, timestamp, content: gone });
    const events = (await allEvents(store, room)).filter((e) => e.id === id || e.replaces === id);
    t.strictSame(
      events.map((e) => e.content),
      Array(4).fill(gone),
      "with all its edits",
    );
    t.equal(events[0]?.edited, timestamp);
    await fails(t, say("four", { replaces: id }), "denied");
    const twice = await say("", { content: DELETED, replaces: id });
    t.strictSame(twice, deleted, "there is one deletion");
    t.strictSame(await chat.event("demo", room, other.event.id), other.event);
    t.equal((await chat.channel("demo", room))?.lastMessage, deletion);
  });

  await contract("who missed events reads them", async (t, store) => {
    const { room, bob, dan, say } = await chatting(store);
    const { chat } = store;
    const start = await headOf(store);
    const sent = [
      await say("one", { mentioned: [bob] }),
      (await chat.join("demo", room, dan))!,
      await say("two"),
      await say("three"),
    ];
    t.strictSame(await chat.deliveries("demo", room, start, 9), sent);
    t.strictSame(await chat.deliveries("demo", room, sent[0]!.event.id, 2), sent.slice(1, 3));
    t.match(await chat.deliveries("demo", room, 0, 1), [
      { previous: 0, previousMessage: 0, notified: [] },
    ]);
    t.strictSame(await chat.deliveries("demo", room, await headOf(store), 9), []);
    t.strictSame(await chat.deliveries("other", room, 0, 9), []);

    const reacted = { user: bob, reaction: "👍", remove: false, volatile: false };
    const event = await chat.react("demo", room, sent[0]!.event.id, reacted);
    t.strictSame(await chat.deliveries("demo", room, start, 1), [{ ...sent[0], event }]);
  });

  await contract("a page has a size", async (t, store) => {
    const { room, say } = await chatting(store);
    const { chat } = store;
    const body = "x".repeat(64 * 1024);
    await Promise.all(Array.from({ length: 80 }, () => say(body)));
    await fails(t, chat.events("demo", room, { limit: 80 }), "large");
    t.equal((await chat.events("demo", room, { limit: 25 })).length, 25);
  });

  await contract("reactions are kept in their order", async (t, store) => {
    const { room, ada, bob, dan, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const { event } = await say("x");
    const of = (user: string, reaction: string, more = {}) => ({
      user,
      reaction,
      remove: false,
      volatile: false,
      ...more,
    });
    const react = (...args: Parameters<typeof of>) =>
      chat.react("demo", room, event.id, of(...args));
    const remove = { remove: true };
    for (const [user, reaction] of [
      [bob, "👍"],
      [bob, "👍"],
      [ada, "__proto__"],
      [ada, "👍"],
    ]) {
      await react(user!, reaction!);
    }
    await react(ada, "🎪", remove);
    const shown = await react(dan, "👍", { volatile: true });
    const reactions = JSON.parse(
      JSON.stringify({ "👍": [bob, ada, dan], x: [ada] }).replace('"x"', '"__proto__"'),
    ) as ChatEvent["reactions"];
    for (const read of [
      shown,
      await chat.event("demo", room, event.id),
      (await allEvents(store, room)).at(-1),
    ]) {
      t.strictSame(read, { ...event, reactions });
    }
    t.match((await react(bob, "👍", remove)).reactions, { "👍": [ada, dan] });
    t.match((await react(bob, "👍")).reactions, { "👍": [ada, dan, bob] });
    const join = (await allEvents(store, room))[0]!;
    t.match(await chat.react("demo", room, join.id, of(ada, "x")), { reactions: { x: [ada] } });

    await Promise.all(Array.from({ length: 996 }, (_, i) => react(ada, String(i))));
    await fails(t, react(ada, "more"), "quota", "reactions");
    await react(ada, "7");
    await react(ada, "7", remove);
    await react(ada, "more");

    for (const [world, channel, id, user, problem, field] of [
      ["demo", room, event.id + 1, ada, "absent", "event"],
      ["demo", room, 0.5, ada, "absent", "event"],
      ["demo", elsewhere.room, event.id, ada, "absent", "room"],
      ["other", room, event.id, ada, "absent", "room"],
      ["demo", room, event.id, elsewhere.user, "denied", undefined],
      ["other", elsewhere.room, event.id, elsewhere.user, "absent", "event"],
    ] as const) {
      await fails(t, chat.react(world, channel, id, of(user, "x")), problem, field);
    }
  });

  await contract("users join and leave", async (t, store, open) => {
    const { room, ada, bob, cy, dan, elsewhere } = await chatting(store);
    const { chat } = store;
    const before = await headOf(store);
    const joined = await chat.join("demo", room, dan);
    const content = stored({ membership: "join" });
    t.match(joined, {
      event: { id: before + 1, sender: dan, type: "channel.member", content },
      ...{ previousMessage: 0, notified: [], appeared: [] },
    });
    t.equal(await chat.join("demo", room, dan), undefined, "already");
    t.equal(await headOf(store), before + 2);
    t.strictSame(await chat.members("demo", room, 9), [dan, cy, bob, ada]);
    t.strictSame(await chat.members("demo", room, 2), [dan, cy]);
    t.strictSame(await chat.members("other", room, 9), []);
    for (const [world, user, isMember] of [
      ["demo", dan, true],
      ["other", dan, false],
      ["demo", elsewhere.user, false],
    ] as const) {
      t.equal(await chat.isMember(world, room, user), isMember);
    }
    const membership = { id: room, direct: undefined, lastMessage: 0, hidden: false };
    t.strictSame(await chat.memberships("demo", dan), [membership]);
    t.strictSame(await chat.memberships("other", dan), []);
    const mark = { user: dan, channel: room, pointer: null };
    t.match((await chat.unread("demo", dan)).marks, [{ ...mark, listed: before + 1 }]);

    const event = { sender: dan, content: stored({ membership: "leave" }) };
    t.match(await chat.leave("demo", room, dan, false), { event, previous: before + 1 });
    t.equal(await chat.leave("demo", room, dan, false), undefined, "again");
    t.equal(await chat.leave("demo", room, cy, true), undefined, "in silence");
    t.equal(await headOf(store), before + 5);
    t.strictSame(await chat.members("demo", room, 9), [bob, ada]);
    t.equal(await chat.isMember("demo", room, cy), false);
    t.strictSame(await chat.memberships("demo", dan), []);
    t.match((await chat.unread("demo", dan)).marks, [{ listed: null }]);
    await chat.join("demo", room, dan);
    t.strictSame(await (await open()).chat.members("demo", room, 9), [dan, bob, ada]);

    const { id: quiet } = (await store.rooms.create("demo", { name: "Q" })).value;
    t.equal(await chat.leave("demo", quiet, dan, false), undefined);
    t.equal(await chat.channel("demo", quiet), undefined, "nothing happened");
    t.strictSame(await allEvents(store, quiet), []);
    t.strictSame(await chat.deliveries("demo", quiet, 0, 9), []);
    t.strictSame(await chat.members("demo", quiet, 9), []);

    const second = await open();
    const joins = [store, second, store, second].map((one) => one.chat.join("demo", quiet, dan));
    t.equal((await Promise.all(joins)).filter(Boolean).length, 1, "of several at once, one");
    t.strictSame(await store.chat.members("demo", quiet, 9), [dan]);
    t.equal((await allEvents(store, quiet)).length, 1);
  });

  await contract("a room takes its channel along", async (t, store) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat, rooms } = store;
    const { event } = await say("x", { mentioned: [bob] });
    await rooms.delete("demo", room);
    t.equal(await chat.channel("demo", room), undefined);
    t.strictSame(await allEvents(store, room), []);
    t.equal(await chat.event("demo", room, event.id), undefined);
    t.strictSame(await chat.memberships("demo", ada), []);
    t.strictSame(await chat.unread("demo", bob), { marks: [], notifications: [] });
    await fails(t, say("y"), "absent", "room");
    const { id } = (await rooms.create("demo", { name: "N" })).value;
    await chat.join("demo", id, ada);
    const [joined, ...rest] = await allEvents(store, id);
    t.strictSame(rest, [], "a new one is empty");
    t.ok(joined!.id > event.id, "no id is used again");

    await store.worlds.delete("demo");
    t.strictSame(await allEvents(store, id), []);
    t.equal((await chat.members("other", elsewhere.room, 9)).length, 1);
    t.equal((await allEvents(store, elsewhere.room, "other")).length, 1);
  });

  await contract("an erased user is no member of rooms", async (t, store) => {
    const { room, ada, bob, cy, say } = await chatting(store);
    const { chat, users } = store;
    const { event } = await say("x", { mentioned: [bob] });
    const pair = (await chat.direct("demo", ada, [ada, bob], false)).channel;
    const three = (await chat.direct("demo", ada, [cy, ada, bob], false)).channel;
    await chat.send("demo", pair.id, message(ada));
    await chat.leave("demo", three.id, ada, false);
    await users.erase("demo", { user_id: ada });
    t.strictSame(await chat.members("demo", room, 9), [cy, bob]);
    t.strictSame(await chat.memberships("demo", ada), [
      { ...(await chat.channel("demo", pair.id))!, hidden: false },
      { ...three, hidden: false },
    ]);
    t.match(await chat.event("demo", room, event.id), { sender: ada });
    t.strictSame((await chat.unread("demo", ada)).marks, []);
    const members = (await chat.members("demo", pair.id, 9)).toSorted();
    t.strictSame(members, [ada, bob].toSorted(), "the tombstone stays in direct channels");
    const { notifications } = await chat.unread("demo", bob);
    t.match(notifications, [{ channel: room }, { channel: pair.id }]);
    const sent = await chat.send("demo", three.id, message(bob));
    t.strictSame([sent.notified, sent.appeared], [[cy], []]);
    await fails(t, chat.join("demo", room, ada), "absent", "user");

    await users.erase("demo", { user_id: bob });
    t.equal(await chat.channel("demo", pair.id), undefined, "no member is left");
    t.strictSame(await allEvents(store, pair.id), []);
    t.strictSame(idsOf(await chat.memberships("demo", ada)), [three.id]);
    t.equal((await allEvents(store, three.id)).length, 4);
  });

  await contract("who may not join", async (t, store) => {
    const { room, ada, bob, dan, eve, elsewhere } = await chatting(store);
    const { chat, users } = store;
    await users.moderate("demo", dan, "banned");
    await users.moderate("demo", eve, "silenced");
    await fails(t, chat.join("demo", room, dan), "denied");
    t.not(await chat.join("demo", room, eve), undefined, "silenced");
    await fails(t, chat.join("demo", room, elsewhere.user), "absent", "user");
    const { id } = (await chat.direct("demo", ada, [ada, bob], true)).channel;
    for (const [world, where] of [
      ["demo", elsewhere.room],
      ["other", room],
      ["none", room],
    ] as const) {
      await fails(t, chat.join(world, where, bob), "absent", "room");
      await fails(t, chat.leave(world, where, bob, false), "absent", "room");
    }
    await fails(t, chat.join("demo", id, ada), "absent", "room");
    await fails(t, chat.leave("demo", id, eve, false), "denied");
  });

  await contract("who may send and react", async (t, store) => {
    const { room, ada, bob, cy, dan, eve, elsewhere } = await chatting(store);
    const { chat, users } = store;
    const { id: direct } = (await chat.direct("demo", ada, [ada, bob, eve], true)).channel;
    const { id: fresh } = (await store.rooms.create("demo", { name: "F" })).value;
    await users.block("demo", eve, ada);
    await users.block("demo", cy, ada);
    const cases: [
      name: string,
      channel: string,
      sender: string,
      volatile: boolean,
      problem?: "denied" | "absent",
    ][] = [
      ["a member", room, ada, false],
      ["a stranger", room, dan, false, "denied"],
      ["a volatile member", room, dan, true],
      ["a user in a fresh room", fresh, dan, false, "denied"],
      ["a volatile member of a fresh room", fresh, dan, true],
      ["a user of another world", room, elsewhere.user, true, "denied"],
      ["nobody", room, ABSENT, true, "denied"],
      ["a room of another world", elsewhere.room, ada, true, "absent"],
      ["a direct channel", direct, bob, false],
      ["a stranger there", direct, cy, true, "denied"],
      ["who is blocked there", direct, ada, false, "denied"],
      ["who blocks there", direct, eve, false],
    ];
    const reaction = { reaction: "x", remove: false };
    for (const [name, channel, sender, volatile, problem] of cases) {
      const send = chat.send("demo", channel, { ...message(sender), volatile });
      const by = { ...reaction, volatile, user: sender };
      if (problem) {
        await fails(t, send, problem, problem === "absent" ? "room" : undefined);
        const [event] = await allEvents(store, channel);
        if (problem === "denied" && event) {
          await fails(t, chat.react("demo", channel, event.id, by), "denied");
        }
      } else {
        const { event } = await send;
        t.equal(event.sender, sender, name);
        t.match(await chat.react("demo", channel, event.id, by), { reactions: { x: [sender] } });
      }
    }

    const { event } = await chat.send("demo", room, message(ada));
    await users.moderate("demo", ada, "silenced");
    await users.moderate("demo", bob, "banned");
    await users.erase("demo", { user_id: cy });
    for (const sender of [ada, bob, cy]) {
      const draft = { ...message(sender), volatile: true, moderates: true };
      const remove = { ...draft, content: DELETED, replaces: event.id };
      const by = { ...reaction, user: sender, volatile: true };
      await fails(t, chat.send("demo", room, draft), "denied");
      await fails(t, chat.send("demo", room, remove), "denied");
      await fails(t, chat.react("demo", room, event.id, by), "denied");
    }
    await users.moderate("demo", ada, "");
    await chat.send("demo", room, message(ada));
    t.equal((await chat.event("demo", room, event.id))?.edited, null);
  });

  await contract("who may edit and delete", async (t, store) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const { id: direct } = (await chat.direct("demo", ada, [ada, bob], true)).channel;
    const { event: join } = (await chat.deliveries("demo", room, 0, 1))[0]!;
    const there = await chat.send("other", elsewhere.room, message(elsewhere.user));
    const own = await chat.send("demo", direct, message(ada));
    const { event } = await say("x");
    const { id: fresh } = (await store.rooms.create("demo", { name: "F" })).value;
    const edit = { replaces: event.id };
    const remove = { ...edit, content: DELETED };
    const moderates = { moderates: true, sender: bob };
    const denied: [name: string, channel: string, draft: Partial<MessageInput>][] = [
      ["edits another's", room, { ...edit, sender: bob }],
      ["deletes another's", room, { ...remove, sender: bob }],
      ["moderates, but edits", room, { ...edit, ...moderates }],
      [
        "moderates in a direct channel",
        direct,
        { ...remove, ...moderates, replaces: own.event.id },
      ],
    ];
    const absent: typeof denied = [
      ["edits nothing", room, { replaces: event.id + 9 }],
      ["edits half an event", room, { replaces: event.id + 0.5 }],
      ["edits a join", room, { replaces: join.id }],
      ["deletes a join", room, { replaces: join.id, content: DELETED }],
      ["edits in another channel", direct, edit],
      ["edits in another world", room, { replaces: there.event.id }],
      ["edits in a room without a chat", fresh, { ...edit, volatile: true }],
    ];
    const before = await headOf(store);
    for (const [cases, problem, field] of [
      [denied, "denied", undefined],
      [absent, "absent", "event"],
    ] as const) {
      for (const [name, channel, draft] of cases) {
        const write = chat.send("demo", channel, { ...message(ada, "y"), ...draft });
        await fails(t, write, problem, field);
        t.strictSame(await chat.event("demo", room, event.id), event, name);
      }
    }
    t.equal(await headOf(store), before, "and nothing is stored");
    const deleted = await say("", { ...remove, ...moderates });
    t.match(deleted.event, { sender: bob, replaces: event.id });
    t.match(await chat.event("demo", room, event.id), { sender: ada, content: stored(DELETED) });
  });

  await contract("mentions notify", async (t, store) => {
    const { room, ada, bob, cy, dan, eve, elsewhere, say } = await chatting(store);
    const { chat } = store;
    await store.users.erase("demo", { user_id: eve });
    const mentioned = [cy, dan, bob, ada, eve, ABSENT, elsewhere.user, bob];
    const members = await say("x", { mentioned });
    t.strictSame(members.notified.toSorted(), [bob, cy].toSorted());
    const all = await say("y", { mentioned, notifiesAll: true });
    t.strictSame(all.notified.toSorted(), [bob, cy, dan].toSorted());
    const [first, second] = [members.event.id, all.event.id];
    const edit = await say("z", { replaces: second, mentioned });
    t.strictSame(edit.notified, [], "edits send no notices");
    const expectNotified = async (user: string, events: number[], world = "demo") => {
      const { notifications } = await chat.unread(world, user);
      t.strictSame(
        notifications,
        events.map((event) => ({ channel: room, event })),
      );
    };
    await expectNotified(bob, [first, second]);
    await expectNotified(dan, [second]);
    await expectNotified(ada, []);
    await expectNotified(elsewhere.user, [], "other");
    await expectNotified(bob, [], "other");

    const mark = { world: "demo", user: bob, channel: room, pointer: first, listed: null };
    const steps: [changes: Partial<NewMark>, pointer: number, notified: number[]][] = [
      [{}, first, [second]],
      [{ pointer: first - 1 }, first, [second]],
      [{ pointer: null }, first, [second]],
      [{ pointer: 2 ** 53 }, 2 ** 53, []],
    ];
    for (const [changes, pointer, notified] of steps) {
      await chat.mark([{ ...mark, ...changes }]);
      t.equal((await chat.unread("demo", bob)).marks[0]?.pointer, pointer);
      await expectNotified(bob, notified);
    }
    await expectNotified(cy, [first, second]);
  });

  await contract("marks are kept", async (t, store, open) => {
    const { room, ada, bob, dan, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const { id: fresh } = (await store.rooms.create("demo", { name: "F" })).value;
    const marksOf = async (user: string, world = "demo") =>
      (await (await open()).chat.unread(world, user)).marks;
    const listed = (await marksOf(ada))[0]!.listed;
    t.type(listed, "number");
    const first = await say("x");
    t.match(await marksOf(ada), [{ listed: null }], "the sender got a notice");
    t.match(await marksOf(bob), [{ pointer: null, listed: Number }]);
    const { id: direct } = (await chat.direct("demo", ada, [ada, bob], true)).channel;

    const good = [
      { user: ada, channel: room, pointer: 1, listed: 2 },
      { user: ada, channel: direct, pointer: first.event.id, listed: null },
      { user: ada, channel: fresh, pointer: null, listed: 0 },
      { user: dan, channel: room, pointer: 7, listed: null },
    ];
    const other = { ...good[0]!, user: elsewhere.user };
    await chat.mark(
      [
        ...good,
        { ...other, channel: room },
        { ...good[0]!, channel: elsewhere.room },
        { ...good[0]!, user: ABSENT },
        { ...good[0]!, channel: ABSENT },
      ].map((mark) => ({ world: "demo", ...mark })),
    );
    await chat.mark([{ world: "none", ...good[0]!, pointer: 99 }]);
    await chat.mark([]);
    const sorted = (marks: readonly StoredReadMark[]) =>
      marks.toSorted((a, b) => (a.channel < b.channel ? -1 : 1));
    t.strictSame(sorted(await marksOf(ada)), sorted(good.filter(({ user }) => user === ada)));
    t.strictSame(await marksOf(dan), good.slice(3), "who is no member");
    const together = await (await open()).chat.marks("demo", [dan, ada, elsewhere.user]);
    t.strictSame(sorted(together.filter(({ user }) => user === ada)), sorted(await marksOf(ada)));
    t.strictSame(
      together.filter(({ user }) => user !== ada),
      good.slice(3),
    );
    t.strictSame(await marksOf(ada, "other"), []);
    t.match(await marksOf(elsewhere.user, "other"), [{ pointer: null }]);

    await say("", { content: DELETED, replaces: first.event.id });
    const inRoom = (await marksOf(ada)).find(({ channel }) => channel === room);
    t.match(inRoom, { pointer: 1, listed: null }, "edits tell, too");
    await chat.mark([{ world: "demo", ...good[0]!, pointer: 0, listed: 3 }]);
    t.match(
      (await marksOf(ada)).find(({ channel }) => channel === room),
      { pointer: 1, listed: 3 },
      "the larger numbers",
    );
    await store.users.erase("demo", { user_id: ada });
    await chat.mark([{ world: "demo", ...good[0]! }]);
    t.strictSame(await marksOf(ada), []);
  });
}

/** Tests direct channels, erasures, and concurrent writes. */
export async function chatTraceContract(contract: Contract): Promise<void> {
  await contract("a set of users has one channel", async (t, store, open) => {
    const { ada, bob, cy, dan } = await chatting(store);
    const { chat } = store;
    const before = await headOf(store);
    const made = await chat.direct("demo", ada, [bob, ada], true);
    const { id } = made.channel;
    t.strictSame(made.channel, { id, direct: [ada, bob].toSorted(), lastMessage: 0 });
    t.strictSame(made.appeared, [ada], "hidden from the other");
    t.match(made.created, [
      { event: { id: before + 1, channel: id }, previous: 0 },
      { event: { id: before + 2 }, previous: before + 1, previousMessage: 0 },
    ]);
    t.strictSame(
      made.created.map(({ event }) => event),
      await allEvents(store, id),
    );
    t.strictSame(
      made.created.map(({ event }) => event.sender).toSorted(),
      [ada, bob].toSorted(),
      "each joins",
    );
    t.strictSame(await chat.channel("demo", id), made.channel);
    t.equal(await chat.channel("other", id), undefined);
    const again = await chat.direct("demo", ada, [ada, bob], true);
    t.strictSame(again, { ...made, created: [], appeared: [] });

    const sets = [
      [ada, bob, cy],
      [cy, bob],
      [bob, dan, cy],
    ];
    const second = (await open()).chat;
    for (const users of sets) {
      const found = await Promise.all(
        [chat, second, chat, second].map((chat, i) =>
          chat.direct("demo", users[0]!, i % 2 === 0 ? users : users.toReversed(), false),
        ),
      );
      const ids = new Set(found.map(({ channel }) => channel.id));
      t.equal(ids.size, 1, "whichever member asks, and in any order");
      t.equal(found.flatMap(({ created }) => created).length, users.length);
      const told = found.flatMap(({ appeared }) => appeared).toSorted();
      t.strictSame(told, users.toSorted(), "all got it once");
      const [channel] = ids;
      t.equal((await allEvents(store, channel!)).length, users.length);
    }
  });

  await contract("a direct channel is put away", async (t, store) => {
    const { ada, bob, cy } = await chatting(store);
    const { chat } = store;
    const users = [ada, bob, cy];
    const { id } = (await chat.direct("demo", ada, users, true)).channel;
    const hiddenFrom = async () => {
      const hidden = [];
      for (const user of users) {
        const all = await chat.memberships("demo", user);
        if (all.find((one) => one.id === id)!.hidden) hidden.push(user);
      }
      return hidden;
    };
    t.strictSame(await hiddenFrom(), [bob, cy]);
    const first = await chat.send("demo", id, message(ada));
    t.strictSame(first.appeared.toSorted(), [bob, cy].toSorted());
    t.strictSame(first.notified.toSorted(), [bob, cy].toSorted());
    t.strictSame(await hiddenFrom(), []);
    t.match(await chat.send("demo", id, message(bob)), { appeared: [] });

    for (const user of [ada, cy]) {
      t.equal(await chat.leave("demo", id, user, false), undefined);
    }
    t.equal(await chat.isMember("demo", id, ada), true, "still a member");
    t.strictSame(await hiddenFrom(), [ada, cy]);
    const opened = await chat.direct("demo", cy, users.toReversed(), true);
    t.strictSame([opened.appeared, opened.created], [[cy], []]);
    t.strictSame(await hiddenFrom(), [ada]);
    const both = await chat.direct("demo", cy, users, false);
    t.strictSame(both.appeared, [ada]);
    await chat.leave("demo", id, bob, true);
    const edit = await chat.send("demo", id, {
      ...message(ada),
      content: DELETED,
      replaces: first.event.id,
    });
    t.match(edit, { notified: [], appeared: [bob] });
    t.equal((await chat.channel("demo", id))?.lastMessage, edit.event.id);
  });

  await contract("who may not meet", async (t, store) => {
    const { ada, bob, cy, dan, eve, elsewhere } = await chatting(store);
    const { chat, users } = store;
    await users.block("demo", cy, bob);
    await users.moderate("demo", dan, "banned");
    await users.erase("demo", { user_id: eve });
    const before = await headOf(store);
    for (const others of [[bob, cy], [dan], [eve], [ABSENT], [elsewhere.user]]) {
      await fails(t, chat.direct("demo", ada, [ada, ...others], false), "denied");
    }
    for (const by of [bob, cy]) await fails(t, chat.direct("demo", by, [bob, cy], true), "denied");
    await fails(t, chat.direct("other", ada, [ada, bob], true), "denied");
    await users.moderate("demo", ada, "silenced");
    await fails(t, chat.direct("demo", ada, [ada, bob], true), "denied");
    t.equal(await headOf(store), before + 1);
    t.not(await chat.direct("demo", bob, [ada, bob], true), undefined);
    await users.unblock("demo", cy, bob);
    t.not(await chat.direct("demo", bob, [cy, bob], true), undefined);
  });

  await contract("the messages of a user are emptied", async (t, store) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const one = await say("one");
    const two = await say("two");
    const edit = await say("three", { replaces: two.event.id });
    const other = await chat.send("demo", room, message(bob, "b"));
    const { id: direct } = (await chat.direct("demo", ada, [ada, bob], true)).channel;
    const there = await chat.send("demo", direct, message(ada));
    await store.users.erase("demo", { user_id: ada });
    await fails(t, chat.empty("demo", elsewhere.user, 0), "absent", "user");
    for (const count of [4, 0]) {
      let emptied = 0;
      for (let after: number | undefined = 0; after !== undefined;) {
        const slice: { next: number | undefined; emptied: number } = await chat.empty(
          "demo",
          ada,
          after,
        );
        emptied += slice.emptied;
        after = slice.next;
      }
      t.equal(emptied, count);
    }
    const at = (id: number, channel = room) => chat.event("demo", channel, id);
    const content = stored(DELETED);
    t.match(await at(one.event.id), { content, sender: ada });
    t.match(await at(two.event.id), { content, edited: edit.event.timestamp });
    t.match(await at(edit.event.id), { content });
    t.match(await at(there.event.id, direct), { content });
    t.strictSame(await at(other.event.id), other.event, "of others");
    t.match((await allEvents(store, room))[0], { content: stored({ membership: "join" }) });
  });

  await contract("old events expire", async (t, store) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const { id: direct } = (await chat.direct("demo", ada, [ada, bob], true)).channel;
    const old = [];
    for (let i = 0; i < 300; i++) old.push(say(`old ${i}`, { mentioned: [bob] }));
    const [first] = await Promise.all(old);
    const reaction = { user: ada, reaction: "x", remove: false, volatile: false };
    await chat.react("demo", room, first!.event.id, reaction);
    await tick();
    const before = Date.now();
    await tick();
    const edit = await say("edit", { replaces: first!.event.id });
    const kept = await say("new", { mentioned: [bob] });
    let slices = 1;
    while (await chat.expire("demo", before)) slices++;
    t.equal(slices > 1, true, "in slices");
    const head = await headOf(store);
    t.strictSame(await allEvents(store, room), [edit.event, kept.event]);
    t.strictSame(await allEvents(store, direct), []);
    t.equal((await allEvents(store, elsewhere.room, "other")).length, 1);
    t.equal(await chat.event("demo", room, first!.event.id), undefined);
    t.match((await chat.unread("demo", bob)).notifications, [{ event: kept.event.id }]);
    t.match(await chat.deliveries("demo", room, 0, 1), [
      { event: { id: edit.event.id }, previous: 0, previousMessage: 0 },
    ]);
    for (const replaces of [first!.event.id, edit.event.id]) {
      await fails(t, say("late", { replaces }), "absent", "event");
    }
    await fails(t, chat.react("demo", room, first!.event.id, reaction), "absent", "event");
    t.equal(await chat.expire("demo", before), false);
    t.equal(await chat.expire("none", before), false);
    t.equal(await headOf(store), head);
    t.equal((await chat.members("demo", room, 9)).length, 3);
    t.match((await say("next")).event, { id: head + 1, content: stored(text("next")) });
  });

  await contract("the last id never goes back", async (t, store) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat, rooms, users } = store;
    t.equal(await chat.lastId("none"), 0);
    const { id: direct } = (await chat.direct("demo", ada, [ada, bob], true)).channel;
    const { event } = await chat.send("demo", direct, message(ada));
    t.equal(await chat.lastId("demo"), event.id);
    const { id: first } = (await say("first")).event;
    const there = await chat.lastId("other");
    const removals: [name: string, remove: () => Promise<unknown>][] = [
      [
        "a deletion",
        async () => {
          await chat.send("demo", room, { ...message(ada), content: DELETED, replaces: first });
        },
      ],
      [
        "the messages of a user",
        async () => {
          await users.erase("demo", { user_id: bob });
          let after: number | undefined = 0;
          while (after !== undefined) after = (await chat.empty("demo", bob, after)).next;
        },
      ],
      [
        "expiry",
        async () => {
          await tick();
          while (await chat.expire("demo", Date.now()));
        },
      ],
      ["a room", () => rooms.delete("demo", room)],
    ];
    let last = await chat.lastId("demo");
    t.equal(last, first);
    for (const [name, remove] of removals) {
      await remove();
      t.ok((await chat.lastId("demo")) > last, name);
      last = await headOf(store);
      t.equal(await chat.lastId("demo"), last, name);
    }
    t.equal((await chat.send("demo", direct, message(ada))).event.id, last + 1);
    t.equal(await chat.lastId("other"), there, "of each world");
    await rooms.delete("other", elsewhere.room);
    t.equal(await chat.lastId("other"), 0, "without events");
  });

  await contract("messages are found by their words", async (t, store, open) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const other = await open();
    /** Returns the bodies of the messages found, which must be the same in both stores. */
    const find = async (query: string, more: { before?: number; limit?: number } = {}) => {
      const found = await chat.search("demo", room, { query, limit: 20, ...more });
      const elsewhere = await other.chat.search("demo", room, { query, limit: 20, ...more });
      t.strictSame(elsewhere, found, "elsewhere, too");
      return found.map(({ content }) => (JSON.parse(content) as { body?: string }).body);
    };
    t.strictSame(await find("hello"), [], "no message");
    const files = { type: "files", files: [{ url: "/u", name: "Plan-2031.pdf" }] };
    const bodies = [
      "Hello, World!",
      "ＨＥＬＬＯ wörld",
      "say hel\u200blo",
      "cafe\u0301 ſtraße",
      "日本語の文",
      "x".repeat(100),
      "'quoted' \"words\" * AND - :* |",
    ];
    const sent = await Promise.all([
      ...bodies.map((body) => say(body)),
      say("", { content: files }),
    ]);
    const ids = sent.map(({ event }) => event.id);
    await chat.send("other", elsewhere.room, message(elsewhere.user, "hello"));
    const direct = await chat.direct("demo", ada, [ada, bob], false);
    await chat.send("demo", direct.channel.id, message(ada, "hello"));
    const [one, two, three] = bodies;
    const rows: [string, unknown[], { before?: number; limit?: number }?][] = [
      ["hello", [three, two, one]],
      ["HELL", [three, two, one]],
      ["wor hel", [two, one]],
      ["hello say", [three]],
      ["ello", []],
      ["hello nothing", []],
      ["hello", [three], { limit: 1 }],
      ["hello", [two, one], { before: ids[2]! }],
      ["hello", [two], { before: ids[2]!, limit: 1 }],
      ["hello", [], { before: ids[0]! }],
      ["hello", [three, two, one], { before: 2 ** 63 }],
      ["CAFÉ strasse", [bodies[3]]],
      ["日本", [bodies[4]]],
      ["文", [bodies[4]]],
      ["x".repeat(90), [bodies[5]]],
      ["words and", [bodies[6]]],
      ["plan pdf", [undefined]],
      ["2031", [undefined]],
      ["type files", []],
      ["", []],
      ["!? *", []],
    ];
    const compare = async (when: string) => {
      for (const [query, found, more] of rows) {
        t.strictSame(await find(query, more), found, `${query}, ${when}`);
      }
    };
    await compare("not indexed");
    // More events than a search scans without the index.
    await Promise.all(Array.from({ length: 300 }, (_, i) => say(`later ${i}`)));
    await compare("indexed");
    t.strictSame(await find("later 299"), ["later 299"]);

    for (const when of ["indexed", "not indexed"]) {
      const old = when === "indexed" ? sent[0] : await say("Hello, you!");
      const replaces = old.event.id;
      await say("Goodbye", { replaces });
      t.strictSame(await find("goodbye"), ["Goodbye"], when);
      t.strictSame(await find("hello"), [three, two], when);
      t.match(await chat.search("demo", room, { query: "goodbye", limit: 1 }), [{ id: replaces }]);
      await say("", { content: DELETED, replaces });
      t.strictSame(await find("goodbye"), [], when);
    }
    await chat.send("demo", room, message(bob, "hello of bob"));
    await chat.empty("demo", ada, 0);
    t.strictSame(await find("hello"), ["hello of bob"]);
    const end = Date.now() + 1000;
    for (let isLeft = true; isLeft;) isLeft = await chat.expire("demo", end);
    t.strictSame(await find("hello"), []);
    for (const place of [ABSENT, elsewhere.room]) {
      t.strictSame(await chat.search("demo", place, { query: "hello", limit: 20 }), []);
    }
  });

  await contract("crowds react, mark and delete", async (t, store, open) => {
    const { room, ada, bob, cy, say } = await chatting(store);
    const stores = [store, await open()];
    const { event } = await say("x");
    const users = [ada, bob, cy];
    const react = (remove: boolean) =>
      crowd(
        stores.flatMap(({ chat }) =>
          users.flatMap((user) =>
            ["a", "b"].map((reaction) => () => {
              const change = { user, reaction, remove, volatile: false };
              return chat.react("demo", room, event.id, change);
            }),
          ),
        ),
        12,
      );
    await react(false);
    const { reactions } = (await store.chat.event("demo", room, event.id))!;
    for (const reaction of ["a", "b"]) {
      t.strictSame(reactions[reaction]?.toSorted(), users.toSorted(), "each once");
    }
    await react(true);
    t.match(await store.chat.event("demo", room, event.id), { reactions: {} });

    await Promise.all(
      users.map((user, i) =>
        stores[i % 2]!.chat.mark([
          { world: "demo", user, channel: room, pointer: i, listed: null },
        ]),
      ),
    );
    for (const { chat } of stores) {
      for (const [pointer, user] of users.entries()) {
        t.match((await chat.unread("demo", user)).marks, [{ pointer }]);
      }
    }

    const replaced = await Promise.allSettled(
      Array.from({ length: 12 }, (_, i) =>
        stores[i % 2]!.chat.send("demo", room, {
          ...message(ada, `${i}`),
          ...(i === 5 && { content: DELETED }),
          replaces: event.id,
        }),
      ),
    );
    const shown = (await store.chat.event("demo", room, event.id))!;
    t.strictSame(shown.content, stored(DELETED));
    const done = replaced.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const [deletion] = done.toSorted((a, b) => b.event.id - a.event.id);
    t.equal(shown.edited, deletion!.event.timestamp, "nothing comes after it");
    for (const one of replaced) {
      if (one.status === "rejected") t.match(one.reason, { problem: "denied" });
    }
    const edits = (await allEvents(store, room)).filter(({ replaces }) => replaces === event.id);
    t.equal(edits.length, done.length);
    t.ok(edits.every(({ content }) => content === stored(DELETED)));
  });
}
