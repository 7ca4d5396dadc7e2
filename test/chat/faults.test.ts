import t from "tap";
import { direct, message, say, startTalk, text } from "./talk.js";

// Section 15 of the protocol: what other servers do wrong. F13, F15 and F17 are with the rules that they break.

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
