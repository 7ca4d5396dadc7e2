import { createServer } from "node:net";
import { once } from "node:events";
import t from "tap";
import { type Client, demo, type Json, soon } from "../live/client.js";
import {
  direct,
  history,
  idsOf,
  invalid,
  message,
  named,
  say,
  startTalk,
  text,
} from "./talk.js";

// Section 15 of the protocol: what other servers do wrong. F13, F15 and F17 are with the rules that they break.

void t.test("F1 malformed commands cost nothing but an answer", async (t) => {
  const talk = await startTalk(t);
  const channel = await talk.room();
  const ann = await talk.member("ann", channel);
  const bob = await talk.person("bob");
  const { event_id: event } = await say(ann, channel, "x");
  const good: Record<string, Json> = {
    "chat.subscribe": { channel },
    "chat.unsubscribe": { channel },
    "chat.join": { channel },
    "chat.leave": { channel },
    "chat.send": message(channel, text("x")),
    "chat.fetch": { channel, count: 5, before_id: 5 },
    "chat.react": { channel, event, reaction: "👍" },
    "chat.mark_read": { channel, id: event },
    "chat.direct.create": { users: [bob.id] },
  };
  const odd: unknown[] = [
    null,
    true,
    5,
    -1,
    1e300,
    "",
    "x",
    "\0",
    "\ud800",
    [],
    [[]],
    {},
    { length: 5 },
    { __proto__: null, constructor: 1 },
  ];
  for (const [action, payload] of Object.entries(good)) {
    for (const whole of [null, [], "x", 5, true, [payload]]) {
      const [kind, , problem] = await ann.call(action, whole);
      t.equal(kind, "error", `${action} ${JSON.stringify(whole)}`);
      t.match(problem, { code: invalid });
    }
    for (const field of Object.keys(payload as object)) {
      for (const value of odd) {
        const changed = { ...payload, [field]: value };
        const [kind, , problem] = await ann.call(action, changed);
        const name = `${action} ${field} ${JSON.stringify(value)}`;
        if (kind === "error") {
          t.notMatch((problem as Json).code, /^server\./, name);
        }
      }
      const { [field]: _left, ...less } = payload;
      const [, , problem] = await ann.call(action, less);
      t.notMatch((problem as Json).code ?? "", /^server\./, `no ${field}`);
    }
    ann.sendFrame(action, payload);
    await ann.all();
    const { unanswered } = ann.conversation;
    t.equal(unanswered, 0, `${action} with two elements is answered`);
    await ann.code("chat.join", { channel });
  }
  t.equal(await ann.code("chat.nothing", {}), "chat.unsupported_command");
  t.equal(await ann.code("chat.", {}), "chat.unsupported_command");
  t.equal(ann.ws.readyState, ann.ws.OPEN);
});

void t.test("F2 a strange profile breaks nobody's chat", async (t) => {
  const talk = await startTalk(t);
  const channel = await talk.room();
  const guest = await talk.live.guest();
  for (const display_name of [5, {}, ["x"], true]) {
    const profile = { display_name };
    await guest.call("user.update", { profile });
    t.match(
      await guest.code("chat.join", { channel }),
      /^(channel\.join\.missing_profile|protocol\.invalid_payload)$/,
      JSON.stringify(display_name),
    );
  }
  const profile = { display_name: "Gus", avatar: 5, fields: [null], x: "\0" };
  await guest.call("user.update", { profile });
  await guest.call("user.update", {
    profile: { display_name: "Gus", __proto__: { a: 1 } },
  });
  await guest.do("chat.join", { channel });
  await say(guest, channel, "x");
  const ann = await talk.person("ann");
  const { members } = await ann.do("chat.join", { channel });
  t.equal(members.length, 1);
  t.equal((await history(ann, channel)).length, 3);
});

void t.test("F4 grants of one room count in that room only", async (t) => {
  const talk = await startTalk(t);
  const own = await talk.room({
    permission_config: { "chat.moderate": ["owner"] },
  });
  const other = await talk.room();
  const owner = await talk.member("owner", own, { traits: ["owner"] });
  await owner.do("chat.join", { channel: other });
  const ann = await talk.member("ann", own);
  await ann.do("chat.join", { channel: other });
  const dm = await direct(ann, owner);
  await owner.do("room.enter", { room: own });
  for (const [channel, code] of [
    [own, "ok"],
    [other, "chat.denied"],
    [dm, "chat.denied"],
  ] as const) {
    const { event_id: replaces } = await say(ann, channel, "x");
    const remove = message(channel, { type: "deleted" }, { replaces });
    t.equal(await owner.code("chat.send", remove), code);
  }
  const state = await owner.do("chat.subscribe", { channel: other });
  for (const user of state.members) t.notOk("moderation_state" in user);
  t.equal(await owner.code("user.ban", { id: ann.id }), "auth.denied");
  const volatile = await talk.person("owner 2", { traits: ["owner"] });
  await volatile.do("chat.join", { channel: other, volatile: true });
  await volatile.do("chat.unsubscribe", { channel: other });
  const payload = message(other, text("x"));
  t.equal(await volatile.code("chat.send", payload), "ok", "it is lasting");
});

void t.test("F6 two first logins at once are one user", async (t) => {
  const talk = await startTalk(t);
  const channel = await talk.room({ force_join: true });
  const watch = await talk.live.guest();
  await watch.do("chat.subscribe", { channel });
  const people = await Promise.all(
    Array.from({ length: 6 }, () => talk.person("first")),
  );
  t.equal(new Set(people.map(({ id }) => id)).size, 1);
  for (const client of people) {
    const payload = message(channel, text("x"));
    t.equal(await client.code("chat.send", payload), "ok");
  }
  const events = await talk.live.app.store.chat.events("demo", channel, {
    after: 0,
    limit: 100,
  });
  const joins = events.filter(({ type }) => type === "channel.member");
  t.equal(joins.length, 1, "and one forced join");
});

void t.test("F6 joining twice at once makes one event", async (t) => {
  const talk = await startTalk(t);
  const channel = await talk.room();
  const people = await Promise.all(
    Array.from({ length: 5 }, () => talk.person("joiner")),
  );
  await Promise.all(
    people.flatMap((client) => [
      client.do("chat.join", { channel }),
      client.do("chat.join", { channel }),
    ]),
  );
  t.equal((await history(people[0]!, channel)).length, 1);
  const { members } = await people[0]!.do("chat.subscribe", { channel });
  t.equal(members.length, 1);
  await Promise.all(
    people.map((client) => client.do("chat.leave", { channel })),
  );
  t.equal((await history(people[0]!, channel)).length, 2, "nor leaving");
});

void t.test("F8 nothing is lost while somebody logs in", async (t) => {
  const talk = await startTalk(t);
  const [ann, bob] = [await talk.person("ann"), await talk.person("bob")];
  const dm = await direct(ann, bob);
  const sent: number[] = [];
  let isOver = false;
  const storm = (async () => {
    for (let i = 0; !isOver; i++) {
      sent.push((await say(ann, dm, String(i))).event_id);
    }
  })();
  const logins: Client[] = [];
  for (let i = 0; i < 6; i++) logins.push(await talk.person("bob"));
  isOver = true;
  await storm;
  const last = await say(ann, dm, "last");
  for (const client of logins) {
    const count = client.hello["chat.notification_counts"][dm] ?? 0;
    // The notices of one user may wait for a list of channels, but keep their order.
    await client.next(
      "chat.notification",
      ({ event }) => event.event_id === last.event_id,
    );
    const notices = named(await talk.came(client), "chat.notification");
    const pushed = notices.map(({ event }) => event.event_id);
    t.same(
      pushed.slice(-(sent.length - count)),
      sent.slice(count),
      "what the login did not count is pushed, in order",
    );
    t.equal(new Set(pushed).size, pushed.length, "once");
    t.equal(pushed.length + count, sent.length, "counted or pushed, not both");
  }
});

void t.test("F9 the store decides, not a cache", async (t) => {
  const talk = await startTalk(t);
  const admin = await talk.moderator("admin");
  const listOf = (client: Client) =>
    client.hello["chat.channels"].map(({ id }: Json) => id);

  await t.test("a deleted room", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const { event_id: event } = await say(ann, channel, "x");
    await admin.do("room.delete", { room: channel });
    const commands: [string, object][] = [
      ["chat.send", message(channel, text("x"))],
      ["chat.fetch", { channel, count: 5, before_id: 5 }],
      ["chat.react", { channel, event, reaction: "👍" }],
      ["chat.subscribe", { channel }],
      ["chat.join", { channel }],
      ["chat.mark_read", { channel, id: event }],
    ];
    for (const [action, payload] of commands) {
      t.equal(await ann.code(action, payload), "room.unknown", action);
    }
    t.same(listOf(await talk.person("ann")), [], "nor is it in the list");
  });

  await t.test("a room that may not be read any more", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    t.same(listOf(await talk.person("ann")), [channel]);
    const closed = { permission_config: { "room.view": [["staff"]] } };
    await talk.alter(channel, closed);
    t.same(listOf(await talk.person("ann")), []);
    const payload = message(channel, text("x"));
    t.equal(await ann.code("chat.send", payload), "protocol.denied");
    await talk.alter(channel, { permission_config: {} });
    t.same(listOf(await talk.person("ann")), [channel], "the membership stays");
    t.equal(await ann.code("chat.send", payload), "ok");
  });

  await t.test("a new room", async (t) => {
    const ann = await talk.person("ann");
    const modules = [{ type: "chat.native" }];
    const draft = { name: "Fresh", description: "", modules };
    const { channel } = await admin.do("room.create", draft);
    t.equal(await ann.code("chat.join", { channel }), "ok");
    t.equal(await ann.code("chat.send", message(channel, text("x"))), "ok");
  });
});

void t.test("F10 who is silenced reads, and sees that it may", async (t) => {
  const talk = await startTalk(t);
  const channel = await talk.room();
  const admin = await talk.moderator("admin");
  const { id } = await talk.member("sil", channel);
  await admin.do("user.silence", { id });
  const { hello } = await talk.person("sil");
  const [room] = hello["world.config"].rooms;
  const { permissions } = room;
  for (const word of ["room:view", "room:chat.read", "room:chat.join"]) {
    t.ok(permissions.includes(word), word);
  }
  t.notOk(permissions.includes("room:chat.send"));
  t.ok(hello["world.config"].permissions.includes("world:view"));
  t.notOk(hello["world.config"].permissions.includes("world:chat.direct"));
  t.same(
    hello["chat.channels"].map(({ id }: Json) => id),
    [channel],
  );
});

void t.test("F15 chat.leave of a non-member writes nothing", async (t) => {
  const talk = await startTalk(t);
  const channel = await talk.room();
  const ann = await talk.member("ann", channel);
  const guest = await talk.person("guest");
  await guest.do("chat.subscribe", { channel });
  await talk.calm(channel, ann);
  t.same(await guest.do("chat.leave", { channel }), {});
  t.same(await guest.do("chat.leave", { channel }), {});
  t.same(await talk.heard(channel, ann), []);
  t.same(await talk.heard(channel, guest), [], "but it is unsubscribed");
});

void t.test("F15 chat.leave untracks the connection", async (t) => {
  const talk = await startTalk(t);
  const channel = await talk.room({ volatile: true });
  const [one, two] = [
    await talk.member("u", channel),
    await talk.member("u", channel),
  ];
  await one.do("chat.leave", { channel });
  await two.do("chat.join", { channel });
  await two.do("chat.unsubscribe", { channel });
  const payload = message(channel, text("x"));
  t.equal(await two.code("chat.send", payload), "chat.denied", "it ended");
});

void t.test("F18 an id is never followed by a lower one", async (t) => {
  const talk = await startTalk(t);
  const channels = [await talk.room(), await talk.room()];
  const people = await Promise.all(
    Array.from({ length: 6 }, (_, i) => talk.member(`p${i}`, channels[0]!)),
  );
  for (const client of people) {
    await client.do("chat.join", { channel: channels[1] });
  }
  for (const client of people) await client.all();
  const answered: number[] = [];
  await Promise.all(
    people.map(async (client, i) => {
      for (let n = 0; n < 20; n++) {
        const channel = channels[(i + n) % 2]!;
        answered.push((await say(client, channel, "x")).event_id);
        if (n === 10) await client.do("chat.leave", { channel });
        if (n === 10) await client.do("chat.join", { channel });
      }
    }),
  );
  for (const channel of channels) await talk.settle(channel);
  const guest = await talk.live.guest();
  const all = await Promise.all(
    channels.map(async (one) => idsOf(await history(guest, one, 1000))),
  );
  const stored = new Set(all.flat());
  t.ok(
    answered.every((id) => stored.has(id)),
    "what was acknowledged is stored",
  );
  t.equal(new Set(answered).size, answered.length);
  for (const client of people) {
    const events = named(await talk.came(client), "chat.event");
    for (const [i, channel] of channels.entries()) {
      const ids = idsOf(events.filter((event) => event.channel === channel));
      t.same(
        ids,
        [...new Set(ids)].sort((a, b) => a - b),
      );
      const messages = answered.filter((id) => all[i]!.includes(id));
      t.ok(ids.length >= messages.length / 2);
    }
  }
});

void t.test("F20 delete_user and a ban end the chat of users", async (t) => {
  const talk = await startTalk(t);
  const { live } = talk;
  const channel = await talk.room();
  const gone = await talk.member("gone", channel);
  const banned = await talk.member("banned", channel);
  const watch = await talk.member("watch", channel);
  await say(gone, channel, "before");
  const { id } = gone;
  const body = { user_id: id };
  const { status } = await live.rest("POST", "demo/delete_user", body);
  t.equal(status, 204);
  const admin = await talk.moderator("admin");
  await admin.do("user.ban", { id: banned.id });
  for (const client of [gone, banned]) {
    t.ok(await client.next("connection.reload"));
    client.sendFrame("chat.send", "late", message(channel, text("late")));
  }
  for (const client of [gone, banned]) await soon(client.closed);
  const page = { channel, count: 50, before_id: 10 ** 9 };
  const guest = await live.guest();
  const { results, users } = await guest.do("chat.fetch", page);
  t.notOk(JSON.stringify(results).includes("late"));
  t.match(users[id], { deleted: true, profile: {} });
  const { members } = await watch.do("chat.subscribe", { channel });
  t.same(
    members.map((user: Json) => user.id),
    [watch.id],
  );
});

void t.test("F23 no address in a message is fetched", async (t) => {
  const talk = await startTalk(t);
  const channel = await talk.room();
  const ann = await talk.member("ann", channel);
  let visits = 0;
  const server = createServer((socket) => {
    visits += 1;
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => void server.close());
  const { port } = server.address() as { port: number };
  const url = `http://127.0.0.1:${port}/page`;
  await say(ann, channel, `Look at ${url} and <${url}>`);
  const files = [{ url, name: "a", mimeType: "image/png" }];
  await ann.do("chat.send", message(channel, { type: "files", files }));
  const preview_card = { url, title: "T", image: url };
  const content = { ...text(url), preview_card };
  const { event } = await ann.do("chat.send", message(channel, content));
  t.same(event.content, content, "what clients say of it stays");
  await talk.settle(channel);
  t.equal(visits, 0);
  const events = await history(ann, channel);
  t.equal(events.filter(({ replaces }) => replaces !== null).length, 0);
});

void t.test("A12 channels do not leak between worlds", async (t) => {
  const talk = await startTalk(t, {}, [demo(), demo({ id: "other" })]);
  const other = { world: "other" };
  const here = await talk.room();
  const ann = await talk.member("ann", here);
  const spy = await talk.person("spy", other);
  const { event_id } = await say(ann, here, "secret");
  t.equal(await spy.code("chat.subscribe", { channel: here }), "room.unknown");
  const there = await talk.room(other);
  await spy.do("chat.join", { channel: there });
  const replaces = { replaces: event_id };
  const edit = message(there, text("x"), replaces);
  t.equal(await spy.code("chat.send", edit), "chat.unknown_event");
  const react = { channel: there, event: event_id, reaction: "👍" };
  t.equal(await spy.code("chat.react", react), "chat.unknown_event");
  const page = { channel: there, count: 100, after_id: 0 };
  const seen = JSON.stringify(await spy.do("chat.fetch", page));
  t.notOk(seen.includes("secret"));
  const create = { users: [ann.id] };
  t.equal(await spy.code("chat.direct.create", create), "chat.denied");
});
