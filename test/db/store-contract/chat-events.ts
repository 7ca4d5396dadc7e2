import type { ChatEvent, EventSelection } from "../../../db/contract/chat.js";
import {
  allEvents,
  chatting,
  DELETED,
  message,
  stored,
  text,
} from "./chat-setup.js";
import { type Contract, fails, headOf } from "./setup.js";

export async function chatEventContract(contract: Contract): Promise<void> {
  await contract("messages are kept in their order", async (t, store, open) => {
    const { room, ada, bob, elsewhere, say } = await chatting(store);
    const { chat } = store;
    const before = await headOf(store);
    const content = { type: "text", body: "🎪\0", "": [null, { z: 1, a: 2 }] };
    const began = Date.now();
    const first = await say("", { content });
    const second = await chat.send("demo", room, message(bob, "two"));
    t.match(first, { notified: [], appeared: [] });
    t.strictSame(first.event, {
      id: before + 1,
      channel: room,
      sender: ada,
      timestamp: first.event.timestamp,
      type: "channel.message",
      content: stored(content),
      edited: null,
      replaces: null,
      reactions: {},
    });
    t.equal(
      Math.abs(first.event.timestamp - began) < 60_000,
      true,
      "in milliseconds",
    );
    t.match(second, {
      event: { id: before + 2 },
      previous: before + 1,
      previousMessage: before + 1,
    });
    t.equal(await headOf(store), before + 2);
    t.match(await chat.channel("demo", room), {
      id: room,
      direct: undefined,
      lastMessage: before + 2,
    });

    const joins = (await allEvents(store, room)).slice(0, 3);
    t.match(joins, [
      {
        sender: ada,
        type: "channel.member",
        content: stored({ membership: "join" }),
      },
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
      t.strictSame(
        await chat.events("demo", room, { limit: 100, ...selection }),
        events,
        JSON.stringify(selection),
      );
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
    const { room, ada, bob, say } = await chatting(store);
    const { chat } = store;
    const original = await say("one");
    const { id } = original.event;
    const other = await say("other");
    const edit = await say("two", { replaces: id, mentioned: [bob] });
    const sent = [original, other].map(({ event: { id, timestamp } }) => ({
      ...{ id, timestamp },
    }));
    t.strictSame(await chat.sent("demo", room, 0, 9), sent);
    t.strictSame(await chat.sent("demo", room, 0, 1), sent.slice(0, 1));
    t.strictSame(await chat.sent("demo", room, id, 9), sent.slice(1));
    t.strictSame(await chat.sent("other", room, 0, 9), []);
    t.match(edit, {
      event: { content: stored(text("two")), replaces: id, edited: null },
      previous: other.event.id,
      notified: [],
    });
    const { timestamp: edited } = edit.event;
    const content = stored(text("two"));
    const shown = { ...original.event, content, edited };
    t.strictSame(await chat.event("demo", room, id), shown);

    const again = await say("three", { replaces: edit.event.id });
    const last = stored(text("three"));
    t.equal(again.event.replaces, id, "an edit of an edit edits the message");
    t.match(await allEvents(store, room), [
      {},
      {},
      {},
      { id, content: last, edited: again.event.timestamp },
      { content: stored(text("other")), edited: null },
      { content: last, replaces: id, edited: null },
      { content: last, replaces: id, edited: null },
    ]);
    t.match(
      await chat.event("demo", room, edit.event.id),
      { content: last, timestamp: edited },
      "what was between the first and the last is gone",
    );

    const deleted = await say("", {
      content: { type: "deleted", body: "kept?" },
      replaces: again.event.id,
    });
    t.strictSame(deleted.event, {
      ...again.event,
      id: deleted.event.id,
      timestamp: deleted.event.timestamp,
      content: stored(DELETED),
      sender: ada,
      replaces: id,
    });
    const gone = (await allEvents(store, room)).filter(
      (event) => event.id === id || event.replaces === id,
    );
    t.strictSame(
      gone.map(({ content }) => content),
      Array(4).fill(stored(DELETED)),
      "with all its edits",
    );
    t.equal(gone[0]?.edited, deleted.event.timestamp);
    await fails(t, say("four", { replaces: id }), "denied");
    const twice = await say("", { content: DELETED, replaces: id });
    t.strictSame(twice, deleted, "there is one deletion");
    t.match(await chat.event("demo", room, other.event.id), {
      content: stored(text("other")),
      edited: null,
    });
    t.equal((await chat.channel("demo", room))?.lastMessage, deleted.event.id);
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
    t.strictSame(
      await chat.deliveries("demo", room, sent[0]!.event.id, 2),
      sent.slice(1, 3),
    );
    t.match(await chat.deliveries("demo", room, 0, 1), [
      { previous: 0, previousMessage: 0, notified: [] },
    ]);
    t.strictSame(
      await chat.deliveries("demo", room, await headOf(store), 9),
      [],
    );
    t.strictSame(await chat.deliveries("other", room, 0, 9), []);

    const reacted = {
      user: bob,
      reaction: "👍",
      remove: false,
      volatile: false,
    };
    const event = await chat.react("demo", room, sent[0]!.event.id, reacted);
    t.strictSame(await chat.deliveries("demo", room, start, 1), [
      { ...sent[0], event },
    ]);
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
    const react = (user: string, reaction: string, more = {}) =>
      chat.react("demo", room, event.id, {
        user,
        reaction,
        remove: false,
        volatile: false,
        ...more,
      });
    await react(bob, "👍");
    await react(bob, "👍");
    await react(ada, "__proto__");
    await react(ada, "👍");
    const remove = { remove: true };
    await react(ada, "🎪", remove);
    const shown = await react(dan, "👍", { volatile: true });
    const wanted = {
      ...event,
      reactions: JSON.parse(
        JSON.stringify({ "👍": [bob, ada, dan], x: [ada] }).replace(
          '"x"',
          '"__proto__"',
        ),
      ) as ChatEvent["reactions"],
    };
    t.strictSame(shown, wanted);
    t.strictSame(await chat.event("demo", room, event.id), wanted);
    t.strictSame((await allEvents(store, room)).at(-1), wanted);
    t.match((await react(bob, "👍", remove)).reactions, { "👍": [ada, dan] });
    t.match((await react(bob, "👍")).reactions, { "👍": [ada, dan, bob] });
    const join = (await allEvents(store, room))[0]!;
    const own = { user: ada, reaction: "x", remove: false, volatile: false };
    t.match((await chat.react("demo", room, join.id, own)).reactions, {
      x: [ada],
    });

    await Promise.all(
      Array.from({ length: 996 }, (_, i) => react(ada, String(i))),
    );
    await fails(t, react(ada, "more"), "quota", "reactions");
    await react(ada, "7");
    await react(ada, "7", remove);
    await react(ada, "more");

    const at = (channel: string, id: number, world = "demo") =>
      chat.react(world, channel, id, own);
    await fails(t, at(room, event.id + 1), "absent", "event");
    await fails(t, at(room, 0.5), "absent", "event");
    await fails(t, at(elsewhere.room, event.id), "absent", "room");
    await fails(t, at(room, event.id, "other"), "absent", "room");
    const stranger = { ...own, user: elsewhere.user };
    await fails(t, chat.react("demo", room, event.id, stranger), "denied");
    await fails(
      t,
      chat.react("other", elsewhere.room, event.id, stranger),
      "absent",
      "event",
    );
  });
}
