import t from "tap";
import type { Client, Json } from "../live/client.js";
import {
  direct,
  history,
  invalid,
  keys,
  message,
  named,
  namesOf,
  say,
  startTalk,
  text,
  USER,
} from "./talk.js";

const member = (user: Client, membership: string) => ({
  event_type: "channel.member",
  sender: user.id,
  content: { membership, user: { id: user.id } },
});

const channelsOf = ({ hello }: Client): string[] =>
  hello["chat.channels"].map(({ id }: Json) => id);

void t.test("membership", async (t) => {
  const talk = await startTalk(t);
  const { live } = talk;

  await t.test("8.2 chat.join tells whom it concerns", async (t) => {
    const channel = await talk.room();
    const old = await talk.member("old", channel);
    const watch = await live.guest();
    await watch.do("chat.subscribe", { channel });
    const one = await talk.person("one");
    const two = await talk.person("one");
    const third = await talk.person("one");
    await third.do("chat.subscribe", { channel });
    await talk.calm(channel, old, watch, one, two, third);

    const before = await one.do("chat.join", { channel });
    t.notOk(
      before.members.some(({ id }: Json) => id === one.id),
      "J is as it was before",
    );
    t.same(keys(before), [
      "members",
      "next_event_id",
      "state",
      "unread_pointer",
    ]);
    const own = await talk.heard(channel, one);
    t.same(namesOf(own), ["chat.event"], "no chat.channels to me");
    for (const frames of [own, await talk.came(watch), await talk.came(old)]) {
      t.same(namesOf(frames), ["chat.event"]);
      const [event] = named(frames, "chat.event");
      t.match(event, member(one, "join"));
      t.same(keys(event.content), ["membership", "user"]);
      t.same(keys(event.content.user), USER);
    }
    const list = { channels: [{ id: channel, unread_pointer: 0 }] };
    t.same(await talk.came(two), [["chat.channels", list]], "mine−");
    const subscribed = await talk.came(third);
    t.same(namesOf(subscribed).sort(), ["chat.channels", "chat.event"]);

    const again = await one.do("chat.join", { channel });
    t.ok(again.members.some(({ id }: Json) => id === one.id));
    await two.do("chat.join", { channel });
    for (const client of [one, two, third, watch]) {
      t.same(await talk.heard(channel, client), [], "an old member");
    }
    const { event_id } = await say(old, channel, "x");
    await two.next("chat.event", (event) => event.event_id === event_id);
  });

  await t.test("8.2 chat.join needs a display name", async (t) => {
    const channel = await talk.room();
    const guest = await live.guest();
    const join = () => guest.code("chat.join", { channel });
    const missing = "channel.join.missing_profile";
    t.equal(await join(), missing);
    for (const profile of [{}, { display_name: "" }, { greeted: true }]) {
      await guest.do("user.update", { profile });
      t.equal(await join(), missing, JSON.stringify(profile));
    }
    t.same(await talk.heard(channel, guest), [], "nor is it subscribed");
    await guest.do("user.update", { profile: { display_name: "Gus" } });
    t.equal(await join(), "ok");
  });

  await t.test("8.2 chat.join of what cannot be joined", async (t) => {
    const ann = await talk.person("ann");
    const dm = await direct(ann, await talk.person("bob"));
    const closed = await talk.room({
      permission_config: { "chat.join": ["staff"] },
    });
    const nameless = await live.guest();
    t.equal(await ann.code("chat.join", { channel: dm }), "room.unknown");
    t.equal(
      await ann.code("chat.join", { channel: closed }),
      "protocol.denied",
    );
    t.equal(
      await nameless.code("chat.join", { channel: closed }),
      "protocol.denied",
      "the permission comes before the display name",
    );
    const staff = await talk.person("staff", { traits: ["staff"] });
    t.equal(await staff.code("chat.join", { channel: closed }), "ok");
  });

  await t.test("and their joins and leaves are not pushed", async (t) => {
    const channel = await talk.room();
    const admin = await talk.moderator("admin");
    const ann = await talk.member("ann", channel);
    const { id } = await talk.member("silent", channel);
    await admin.do("user.silence", { id });
    const silent = await talk.person("silent");
    await talk.calm(channel, ann);
    for (let i = 0; i < 3; i++) {
      t.equal(await silent.code("chat.leave", { channel }), "ok");
      t.equal(await silent.code("chat.join", { channel }), "ok");
    }
    t.same(named(await talk.came(ann), "chat.event"), []);
    const other = await talk.person("other");
    const { members } = await other.do("chat.subscribe", { channel });
    t.notOk(members.some((member: Json) => member.id === id));
    await admin.do("user.reactivate", { id });
    const again = await talk.person("silent");
    await again.do("chat.join", { channel });
    await ann.next("chat.event", ({ sender }) => sender === id);
  });

  await t.test("8.2 chat.leave of a room", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const one = await talk.member("leaves", channel);
    const two = await talk.person("leaves");
    await two.do("chat.subscribe", { channel });
    await talk.calm(channel, ann, one, two);
    t.same(await one.do("chat.leave", { channel }), {});
    t.same(
      await talk.heard(channel, one),
      [],
      "who leaves is unsubscribed first",
    );
    const [left] = named(await talk.came(ann), "chat.event");
    t.match(left, member(one, "leave"));
    const frames = await talk.came(two);
    t.same(namesOf(frames).sort(), ["chat.channels", "chat.event"]);
    t.same(named(frames, "chat.channels"), [{ channels: [] }]);
    t.match(named(frames, "chat.event"), [member(one, "leave")]);

    const payload = message(channel, text("x"));
    t.equal(await one.code("chat.send", payload), "chat.denied");
    const { members } = await ann.do("chat.subscribe", { channel });
    t.notOk(members.some(({ id }: Json) => id === one.id));
    t.same(channelsOf(await talk.person("leaves")), []);
    await say(ann, channel, "after it");
    t.same(await talk.heard(channel, one), [], "off the unread list");
  });

  await t.test("8.2 chat.leave asks for nothing in a room", async (t) => {
    const channel = await talk.room();
    await talk.member("ann", channel);
    await talk.alter(channel, {
      permission_config: { "chat.join": ["x"], "chat.read": ["x"] },
    });
    const ann = await talk.person("ann");
    t.equal(await ann.code("chat.leave", { channel }), "ok");
    await talk.alter(channel, { permission_config: {} });
    const payload = message(channel, text("x"));
    t.equal(await ann.code("chat.send", payload), "chat.denied");
  });

  await t.test("8.2 a leave event unless the room is volatile", async (t) => {
    const channel = await talk.room({ volatile: true });
    const admin = await talk.moderator("admin");
    await admin.do("chat.join", { channel, volatile: false });
    const watch = await talk.member("watch", channel);
    await admin.do("chat.leave", { channel });
    const frames = await talk.heard(channel, watch, watch);
    const events = named(frames, "chat.event");
    t.notOk(
      events.some(({ content }) => content.membership === "leave"),
      "of a lasting membership",
    );
    t.same(channelsOf(await talk.moderator("admin")), []);
  });

  await t.test("8.2 chat.leave of a DM hides it", async (t) => {
    const ann = await talk.person("leaver");
    const two = await talk.person("leaver");
    const bob = await talk.person("bob");
    const channel = await direct(ann, bob);
    await say(ann, channel, "x");
    await bob.next("chat.channels");
    await talk.settle(channel, ann);
    await two.all();
    t.same(await ann.do("chat.leave", { channel }), {});
    const { channels } = await two.next("chat.channels");
    t.same(channels, []);
    t.same(channelsOf(await talk.person("leaver")), []);
    await bob.do("chat.subscribe", { channel });
    await talk.settle(channel, bob);
    await ann.all();
    const state = await ann.do("chat.subscribe", { channel });
    t.equal(state.members.length, 2, "the membership stays");
    const events = await history(ann, channel);
    t.notOk(events.some(({ content }) => content.membership === "leave"));
    t.equal(await ann.code("chat.send", message(channel, text("x"))), "ok");
  });

  await t.test("3.1 volatile is any value", async (t) => {
    const channel = await talk.room();
    for (const volatile of [true, false, null, 0, "x"]) {
      const guest = await talk.person(`v ${JSON.stringify(volatile)}`);
      const code = await guest.code("chat.join", { channel, volatile });
      t.ok(["ok", invalid].includes(code), code);
      t.equal(await guest.code("user.list.blocked"), "ok");
    }
  });
});
