import t from "tap";
import { type Json } from "../live/client.js";
import { direct, invalid, message, say, startTalk, text } from "./talk.js";

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
