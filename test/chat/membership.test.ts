import t from "tap";
import type { Client, Json } from "../live/client.js";
import { named, startTalk } from "./talk.js";

const channelsOf = ({ hello }: Client): string[] =>
  hello["chat.channels"].map(({ id }: Json) => id);

void t.test("membership", async (t) => {
  const talk = await startTalk(t);
  const { live } = talk;

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
});
