import { createServer } from "node:net";
import { once } from "node:events";
import t from "tap";
import { type Json } from "../live/client.js";
import {
  direct,
  history,
  invalid,
  message,
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

void t.test("F2 a strange profile breaks no chat", async (t) => {
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
