import t from "tap";
import type { Client, Json } from "../live/client.js";
import {
  direct,
  EVENT,
  history,
  keys,
  MANAGED,
  message,
  PUSHED,
  say,
  startTalk,
  text,
  TYPED,
  USER,
} from "./talk.js";

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

void t.test("shapes", async (t) => {
  const talk = await startTalk(t);
  const { live } = talk;

  await t.test(
    "2 the answer to authenticate has exactly its keys",
    async (t) => {
      const guest = await live.guest();
      t.same(keys(guest.hello), [
        "announcements",
        "chat.channels",
        "chat.notification_counts",
        "chat.read_pointers",
        "exhibition",
        "user.config",
        "world.config",
      ]);
      t.same(
        ["chat.channels", "chat.read_pointers", "chat.notification_counts"].map(
          (key) => guest.hello[key],
        ),
        [[], {}, {}],
      );
      t.same(guest.hello.exhibition, { exhibitors: [], contact_requests: [] });
      t.same(guest.hello.announcements, []);
      t.same(
        keys(guest.hello["user.config"]),
        [...USER, "client_state"].sort(),
      );
    },
  );

  await t.test("2 what authenticate says of chat", async (t) => {
    const [room, read, empty] = [
      await talk.room(),
      await talk.room(),
      await talk.room(),
    ];
    const volatile = await talk.room({ volatile: true });
    const ann = await talk.member("ann", room);
    const bob = await talk.person("bob");
    for (const channel of [room, empty, volatile]) {
      await ann.do("chat.join", { channel });
      await bob.do("chat.join", { channel });
    }
    const dm = await direct(ann, bob);
    const hidden = await direct(ann, bob, await talk.person("cid"));
    const said = (await say(ann, room, `@${bob.id}`)).event_id;
    const told = (await say(ann, dm, "x")).event_id;
    // What bob is told of later is in no count of a login before that.
    for (const id of [said, told]) {
      await bob.next("chat.notification", ({ event }) => event.event_id === id);
    }
    await bob.do("chat.mark_read", { channel: read, id: 3 });
    await bob.do("chat.mark_read", { channel: room, id: said - 1 });
    const { hello } = await talk.person("bob");
    const byId = Object.fromEntries(
      hello["chat.channels"].map((entry: Json) => [entry.id, entry]),
    );
    t.same(keys(byId), [dm, empty, room].sort(), "not volatile, not hidden");
    t.notOk(hidden in byId);
    t.same(byId[room], { id: room, unread_pointer: said });
    t.same(byId[empty], { id: empty, unread_pointer: 0 }, "no member events");
    t.same(keys(byId[dm]), ["id", "members", "unread_pointer"]);
    t.equal(byId[dm].unread_pointer, told);
    for (const user of byId[dm].members) t.same(keys(user), USER);
    t.same(hello["chat.read_pointers"], { [room]: said - 1, [read]: 3 });
    t.same(hello["chat.notification_counts"], { [room]: 1, [dm]: 1 });
  });

  await t.test("4.5 an event, wherever it comes", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob", channel);
    const payload = message(channel, text(`Hello @${bob.id}`));
    const answer = await ann.do("chat.send", payload);
    t.same(keys(answer), ["event"]);
    const { event } = answer;
    t.same(keys(event), EVENT, "no type, no users");
    t.match(event, {
      event_id: Number,
      channel,
      sender: ann.id,
      timestamp: ISO,
      event_type: "channel.message",
      content: payload.content,
      edited: null,
      replaces: null,
      reactions: {},
    });
    t.ok(Number.isInteger(event.event_id));
    t.ok(Math.abs(Date.parse(event.timestamp) - Date.now()) < 60_000);
    const isIt = (data: Json) => data.event_id === event.event_id;
    const pushed = await bob.next("chat.event", isIt);
    t.same(keys(pushed), PUSHED);
    const notice = await bob.next("chat.notification");
    t.same(notice.event, { ...event, type: "chat.event" });
    t.same(keys(notice.sender), USER);
    const fetched = (await history(bob, channel)).at(-1);
    t.same(keys(fetched), TYPED);
    t.same(fetched, { ...event, type: "chat.event" });
    const reaction = { channel, event: event.event_id, reaction: "👍" };
    const reacted = await bob.do("chat.react", reaction);
    t.same(keys(reacted), TYPED);
    t.equal(reacted.type, "chat.event.reaction");
    t.same(keys(await ann.next("chat.event.reaction")), PUSHED);
  });

  await t.test("4.5 users of whom a connection was not told", async (t) => {
    const channel = await talk.room();
    const [ann, bob] = [
      await talk.member("ann", channel),
      await talk.member("bob", channel),
    ];
    const admin = await talk.moderator("admin");
    const guest = await live.guest();
    for (const client of [guest, admin]) {
      await client.do("chat.subscribe", { channel });
    }
    const usersOf = async (client: Client) =>
      (await client.next("chat.event")).users as Record<string, Json>;
    await say(ann, channel, "1");
    t.same(keys(await usersOf(guest)), [ann.id], "the sender");
    const [user] = Object.values(await usersOf(admin));
    t.same(keys(user), MANAGED, "for user.manage");
    await say(ann, channel, "2");
    t.same(await usersOf(guest), {}, "once");
    await say(ann, channel, `@${bob.id}`);
    const [mentioned] = Object.entries(await usersOf(guest));
    t.equal(mentioned![0], bob.id, "the mentioned");
    t.same(keys(mentioned![1]), USER);
    t.equal(mentioned![1].profile.display_name, "bob");
    const other = await talk.room();
    const forget: [action: string, payload: object][] = [
      ["chat.subscribe", { channel }],
      ["chat.subscribe", { channel: other }],
      ["chat.unsubscribe", { channel: other }],
    ];
    for (const [action, payload] of forget) {
      await guest.do(action, payload);
      await say(ann, channel, "again");
      t.same(keys(await usersOf(guest)), [ann.id], action);
      await say(ann, channel, "again");
      t.same(await usersOf(guest), {}, action);
    }
    await guest.do("user.update", { profile: { display_name: "Gus" } });
    await guest.do("chat.join", { channel: other });
    await guest.all();
    await say(ann, channel, "again");
    t.same(keys(await usersOf(guest)), [ann.id], "chat.join");
  });

  await t.test("A7 and F21 member events have the present user", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const old = await history(ann, channel);
    t.equal(old[0].content.user.profile.display_name, "ann");
    t.same(keys(old[0].content.user), USER);
    await ann.do("user.update", { profile: { display_name: "Anna" } });
    for (const client of [ann, await live.guest()]) {
      const [join] = await history(client, channel);
      t.same(join.content.user.profile, { display_name: "Anna" });
    }
    const { store } = live.app;
    const selection = { after: 0, limit: 1 };
    const [kept] = await store.chat.events("demo", channel, selection);
    t.equal(kept!.content, '{"membership":"join"}', "only the id is stored");
  });

  await t.test("4.3 a room names its channel", async (t) => {
    const channel = await talk.room({ volatile: true });
    const { hello } = await live.guest();
    const room = hello["world.config"].rooms.find(
      ({ id }: Json) => id === channel,
    );
    t.match(room.modules, [
      { type: "chat.native", channel_id: channel, config: { volatile: true } },
    ]);
    for (const word of ["chat.read", "chat.join", "chat.send"]) {
      t.ok(room.permissions.includes(`room:${word}`), word);
    }
  });
});
