import t from "tap";
import type { Client, Json } from "../live/client.js";
import { message, named, namesOf, say, startTalk, text } from "./talk.js";

const listOf = ({ channels }: Json): string[] =>
  channels.map(({ id }: Json) => id);

void t.test("forced joins", async (t) => {
  const talk = await startTalk(t);
  const { live } = talk;
  const sends = (client: Client, channel: string) =>
    client.code("chat.send", message(channel, text("x")));

  await t.test("8.7 at login", async (t) => {
    const watch = await live.guest();
    const other = await talk.person("early");
    const channel = await talk.room({ force_join: true });
    await watch.do("chat.subscribe", { channel });
    const early = await talk.person("early");
    for (const client of [early, other]) {
      const list = await client.next("chat.channels");
      t.same(listOf(list), [channel], "mine, me too");
    }
    t.match(await watch.next("chat.event"), {
      channel,
      sender: early.id,
      event_type: "channel.member",
      content: { membership: "join" },
    });
    t.equal(await sends(early, channel), "ok");
    const again = await talk.person("early");
    t.same(listOf({ channels: again.hello["chat.channels"] }), [channel]);
    const { event_id } = await say(early, channel, "next");
    const isLater = (event: Json) => event.event_id >= event_id;
    await watch.next("chat.event", isLater);
    t.same(
      named(await again.all(), "chat.channels"),
      [],
      "an old member is not joined again",
    );
    t.same(await talk.came(watch).then(namesOf), ["chat.event"], "one message");
    await talk.alter(channel, { extras: { force_join: false } });
  });

  await t.test("1 and 8.7 before the next message", async (t) => {
    const rooms = [];
    for (let i = 0; i < 20; i++) {
      rooms.push(await talk.room({ force_join: true }));
    }
    const client = await live.connect();
    const token = live.tokenOf({
      uid: "hasty",
      profile: { display_name: "Hasty" },
    });
    client.sendFrame("authenticate", { token });
    for (const channel of rooms) {
      client.sendFrame("chat.send", channel, message(channel, text("x")));
    }
    for (const channel of rooms) {
      t.equal((await client.answered(channel))[0], "success");
    }
    for (const channel of rooms) {
      await talk.alter(channel, { extras: { force_join: false } });
    }
  });

  await t.test("8.7 onto the unread list", async (t) => {
    const channel = await talk.room({ force_join: true });
    const late = await talk.person("listed");
    await late.next("chat.channels");
    const speaker = await talk.person("speaker");
    await speaker.next("chat.channels");
    const { event_id } = await say(speaker, channel, "x");
    t.same(await late.next("chat.unread_pointers"), { [channel]: event_id });
    await talk.alter(channel, { extras: { force_join: false } });
  });

  await t.test("8.7 after user.update", async (t) => {
    const channel = await talk.room({ force_join: true });
    const guest = await live.guest("nameless");
    const two = await live.guest("nameless");
    t.equal(await sends(guest, channel), "chat.denied", "without a name");
    await guest.do("user.update", { profile: { greeted: true } });
    t.equal(await sends(guest, channel), "chat.denied", "still without");
    for (const client of [guest, two]) await client.all();
    await guest.do("user.update", { profile: { display_name: "Gus" } });
    for (const client of [guest, two]) {
      t.same(listOf(await client.next("chat.channels")), [channel]);
    }
    t.equal(await sends(guest, channel), "ok");
    await talk.alter(channel, { extras: { force_join: false } });
  });

  await t.test(
    "8.7 only with chat.join, and where there is a chat",
    async (t) => {
      const closed = await talk.room({
        force_join: true,
        permission_config: { "chat.join": [["staff"]] },
      });
      const bare = await talk.room({ force_join: true, modules: [] });
      const open = await talk.room({ force_join: true });
      const guest = await talk.person("guest 8.7");
      t.same(listOf(await guest.next("chat.channels")), [open]);
      t.equal(await sends(guest, closed), "chat.denied");
      t.equal(await sends(guest, bare), "room.unknown");
      const staff = await talk.person("staff", { traits: ["staff"] });
      const list = await staff.next(
        "chat.channels",
        ({ channels }) => channels.length === 2,
      );
      t.same(listOf(list).sort(), [closed, open].sort());
      for (const room of [closed, bare, open]) {
        await talk.alter(room, { extras: { force_join: false } });
      }
    },
  );

  await t.test("a silenced user joins later", async (t) => {
    const admin = await talk.moderator("admin");
    const { id } = await talk.person("sil");
    await admin.do("user.silence", { id });
    const channel = await talk.room({ force_join: true });
    const sil = await talk.person("sil");
    t.same(await sil.do("user.update", { client_state: {} }), {});
    const { chat } = talk.live.app.store;
    t.notOk(await chat.isMember("demo", channel, id));
    await admin.do("user.reactivate", { id });
    const later = await talk.person("sil");
    t.same(listOf(await later.next("chat.channels")), [channel]);
    await talk.alter(channel, { extras: { force_join: false } });
  });

  await t.test("8.7 it is persistent, also in a volatile room", async (t) => {
    const channel = await talk.room({ force_join: true, volatile: true });
    const ann = await talk.person("persistent");
    t.same(listOf(await ann.next("chat.channels")), [channel]);
    await ann.do("chat.subscribe", { channel });
    await ann.do("chat.unsubscribe", { channel });
    t.equal(await sends(ann, channel), "ok");
    await talk.alter(channel, { extras: { force_join: false } });
  });
});
