import { randomUUID } from "node:crypto";
import t from "tap";
import { demo, type Json } from "../live/client.js";
import {
  bodiesOf,
  direct,
  keys,
  MANAGED,
  message,
  named,
  say,
  startTalk,
  text,
  USER,
} from "./talk.js";

void t.test("subscriptions", async (t) => {
  const talk = await startTalk(t, {}, [demo(), demo({ id: "other" })]);
  const { live } = talk;

  await t.test("8.2 J: 1 is the next event on an empty server", async (t) => {
    const guest = await live.guest();
    const channel = await talk.room();
    t.same(
      await guest.do("chat.subscribe", { channel }),
      { state: null, next_event_id: 1, unread_pointer: 0, members: [] },
      "no display name needed, and no membership",
    );
  });

  const commands: [action: string, more: object][] = [
    ["chat.subscribe", {}],
    ["chat.unsubscribe", {}],
    ["chat.join", {}],
    ["chat.leave", {}],
    ["chat.send", message("", text("x"))],
    ["chat.fetch", { count: 5, before_id: 5 }],
    ["chat.react", { event: 1, reaction: "👍" }],
    ["chat.mark_read", { id: 1 }],
  ];

  await t.test("8.1 channels that commands do not find", async (t) => {
    const ann = await talk.person("ann");
    const bob = await talk.person("bob");
    const foreignRoom = await talk.room({ world: "other" });
    const other = { world: "other" };
    const cid = await talk.person("cid", other);
    const foreign = await direct(cid, await talk.person("dan", other));
    const deleted = await talk.room();
    await (await talk.moderator("admin")).do("room.delete", { room: deleted });
    const bare = await talk.room({ modules: [{ type: "question" }] });
    const unknown = { code: "room.unknown", message: "Unknown room ID" };
    const none = { code: "chat.unknown", message: "Unknown channel ID" };
    const noModule = {
      code: "room.unknown",
      message: "Room does not contain a matching module.",
    };
    type Row = [channel: unknown, problem: object];
    const table: Row[] = [
      [undefined, none],
      [null, none],
      [randomUUID(), unknown],
      ["x", unknown],
      [5, unknown],
      [{}, unknown],
      [[bob.id], unknown],
      [foreignRoom, unknown],
      [foreign, unknown],
      [deleted, unknown],
      [bob.id, unknown],
      [bare, noModule],
    ];
    for (const [action, more] of commands) {
      for (const [channel, problem] of table) {
        const [, , got] = await ann.call(action, { ...more, channel });
        t.same(got, problem, `${action} ${JSON.stringify(channel)}`);
      }
    }
  });

  await t.test("3.1 the order of checks", async (t) => {
    const closed = {
      "chat.read": ["staff"],
      "chat.join": ["staff"],
      "chat.send": ["staff"],
    };
    const channel = await talk.room({ permission_config: closed });
    const open = await talk.room();
    const bare = await talk.room({ modules: [], permission_config: closed });
    // A hidden room does not show which modules it has.
    const hidden = await talk.room({
      modules: [],
      permission_config: { "room.view": ["staff"] },
    });
    const guest = await live.guest();
    const wrong = { ...message("", null), event_type: 5, content: null };
    type Row = [action: string, payload: object, code: string];
    const table: Row[] = [
      ["chat.subscribe", { channel }, "protocol.denied"],
      ["chat.join", { channel }, "protocol.denied"],
      ["chat.fetch", { channel }, "protocol.denied"],
      ["chat.send", { ...wrong, channel }, "protocol.denied"],
      ["chat.react", { channel }, "protocol.denied"],
      ["chat.send", { ...wrong, channel: bare }, "room.unknown"],
      ["chat.subscribe", { channel: bare }, "room.unknown"],
      ["chat.subscribe", { channel: hidden }, "protocol.denied"],
      ["chat.leave", { channel: hidden }, "protocol.denied"],
      ["chat.join", { channel: open }, "channel.join.missing_profile"],
      ["chat.send", message(open, text("")), "chat.denied"],
      [
        "chat.react",
        { channel: open, event: 1, reaction: "👍" },
        "chat.denied",
      ],
      ["chat.leave", { channel }, "ok"],
      ["chat.unsubscribe", { channel }, "ok"],
      ["chat.mark_read", { channel, id: 1 }, "ok"],
    ];
    for (const [action, payload, code] of table) {
      const name = `${action} ${JSON.stringify(payload)}`;
      t.equal(await guest.code(action, payload), code, name);
    }
    const [, , problem] = await guest.call("chat.subscribe", { channel });
    t.match(problem, { message: "Permission denied." });
  });

  await t.test("8.2 J: members, unread_pointer, next_event_id", async (t) => {
    const [channel, elsewhere] = [await talk.room(), await talk.room()];
    const admin = await talk.moderator("admin");
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob", channel);
    const banned = await talk.member("banned", channel);
    const erased = await talk.member("erased", channel);
    const left = await talk.member("left", channel);
    await admin.do("user.ban", { id: banned.id });
    await admin.do("user.delete", { id: erased.id });
    await left.do("chat.leave", { channel });
    const { event_id: last } = await say(ann, channel, "last");
    await talk.member("late", channel);
    const far = await talk.member("far", elsewhere);
    const { event_id: latest } = await say(far, elsewhere, "of another room");

    const guest = await live.guest();
    const state = await guest.do("chat.subscribe", { channel });
    t.same(keys(state), [
      "members",
      "next_event_id",
      "state",
      "unread_pointer",
    ]);
    t.equal(state.unread_pointer, last, "not the id of a member event");
    t.equal(state.next_event_id, latest + 1, "the last of the server and one");
    const names = state.members.map(({ profile }: Json) => profile);
    t.same(
      names.map(({ display_name }: Json) => display_name).sort(),
      ["ann", "bob", "late"],
      "without users who are banned, erased or left",
    );
    t.ok(state.members.some(({ id }: Json) => id === bob.id));
    for (const user of state.members) t.same(keys(user), USER);
    const seen = await admin.do("chat.subscribe", { channel });
    for (const user of seen.members) t.same(keys(user), MANAGED);
  });

  await t.test("8.2 J: banned members are in direct channels", async (t) => {
    const admin = await talk.moderator("admin");
    const [ann, bad] = [await talk.person("ann"), await talk.person("bad")];
    const channel = await direct(ann, bad);
    await admin.do("user.ban", { id: bad.id });
    const { members } = await ann.do("chat.subscribe", { channel });
    t.same(
      members.map(({ id }: Json) => id).sort(),
      [ann.id, bad.id].sort(),
      "own user included",
    );
  });

  await t.test("8.2 chat.subscribe: only members of a DM", async (t) => {
    const ann = await talk.person("ann");
    const channel = await direct(ann, await talk.person("bob"));
    const guest = await live.guest();
    const admin = await talk.moderator("admin");
    for (const stranger of [guest, admin]) {
      const payload = { channel, count: 5, before_id: 5 };
      for (const action of ["chat.subscribe", "chat.fetch", "chat.leave"]) {
        t.equal(await stranger.code(action, payload), "chat.denied", action);
      }
      const sent = message(channel, text("x"));
      t.equal(await stranger.code("chat.send", sent), "chat.denied");
      const reaction = { channel, event: 1, reaction: "👍" };
      t.equal(await stranger.code("chat.react", reaction), "chat.denied");
      t.equal(await stranger.code("chat.join", { channel }), "room.unknown");
    }
  });
});

type Method = (...args: never[]) => Promise<unknown>;

/** Holds up the next call of a method of the store. */
function holdNext(part: object, name: string) {
  const methods = part as Record<string, Method>;
  const method = methods[name]!;
  let go = () => {};
  const gone = new Promise<void>((resolve) => (go = resolve));
  const held = new Promise<void>((resolve) => {
    methods[name] = async (...args) => {
      methods[name] = method;
      resolve();
      await gone;
      return method(...args);
    };
  });
  return { held, go };
}

void t.test(
  "events that come before the answer to a subscription",
  async (t) => {
    const talk = await startTalk(t);
    const { chat, users } = talk.live.app.store;
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const early = await talk.live.guest("early");
    await early.do("chat.subscribe", { channel });
    const late = await talk.live.guest("late");
    // By the store: a connection that sends waits for what it causes.
    const write = (body: string) =>
      chat.send("demo", channel, { sender: ann.id, content: text(body) });
    const pass = holdNext(users, "getMany");
    await write("the first");
    await pass.held;
    await write("before the subscription");
    const read = holdNext(chat, "channel");
    const subscribed = late.do("chat.subscribe", { channel });
    await read.held;
    const { event } = await write("after it");
    pass.go();
    await early.next("chat.event", ({ event_id }) => event_id === event.id);
    read.go();
    await subscribed;
    await talk.settle(channel);
    const events = named(await talk.came(late), "chat.event");
    t.strictSame(bodiesOf(events), ["after it"]);
    t.strictSame(Object.keys(events[0].users as object), [ann.id]);
  },
);

void t.test("an answer repeats nothing that is pushed after it", async (t) => {
  const talk = await startTalk(t);
  const { chat } = talk.live.app.store;
  const channel = await talk.room();
  const ann = await talk.member("ann", channel);
  const write = (body: string) =>
    chat.send("demo", channel, { sender: ann.id, content: text(body) });
  await write("missed");
  const guest = await talk.live.guest();
  const read = holdNext(chat, "events");
  const subscribed = guest.do("chat.subscribe", { channel, after: 0 });
  await read.held;
  await write("meanwhile");
  read.go();
  const { events } = await subscribed;
  await talk.settle(channel);
  const pushed = named(await talk.came(guest), "chat.event");
  const bodies = bodiesOf([...events, ...pushed]);
  t.strictSame(
    bodies.filter((body) => body !== undefined),
    ["missed", "meanwhile"],
  );
});
