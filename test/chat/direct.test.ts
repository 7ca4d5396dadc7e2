import { randomUUID } from "node:crypto";
import t from "tap";
import { type Client, demo, type Json } from "../live/client.js";
import {
  direct,
  history,
  idsOf,
  keys,
  message,
  MANAGED,
  named,
  namesOf,
  say,
  startTalk,
  text,
  USER,
} from "./talk.js";

const ids = (...clients: Client[]): string[] => clients.map(({ id }) => id);

const listOf = ({ channels }: Json): string[] =>
  channels.map(({ id }: Json) => id);

void t.test("direct messages", async (t) => {
  const direct_only = { "chat.direct": [["talker", "admin"]] };
  const talk = await startTalk(t, {}, [
    demo(),
    demo({ id: "other" }),
    demo({ id: "closed", permission_config: direct_only }),
  ]);
  const { live } = talk;
  const create = (client: Client, users: unknown, more = {}) =>
    client.code("chat.direct.create", { users, ...more });
  const sends = (client: Client, channel: string) =>
    client.code("chat.send", message(channel, text("x")));
  let count = 0;
  /** People whom no other test knows. */
  const people = (...names: string[]): Promise<Client[]> => {
    count += 1;
    return Promise.all(names.map((name) => talk.person(`${name} ${count}`)));
  };

  await t.test("8.6 Answer, events", async (t) => {
    const [ann, bob] = (await people("ann", "bob")) as [Client, Client];
    const users = ids(bob);
    ann.sendFrame("chat.direct.create", "d", { users });
    const [kind, , state] = (await ann.frame()) as Json[];
    t.equal(kind, "success");
    t.same(keys(state), [
      "id",
      "members",
      "next_event_id",
      "state",
      "unread_pointer",
    ]);
    t.match(state, { state: null, unread_pointer: 0 });
    t.same(
      state.members.map(({ id }: Json) => id).sort(),
      ids(ann, bob).sort(),
    );
    for (const user of state.members) t.same(keys(user), USER);
    const joins = [await ann.frame(), await ann.frame()];
    t.same(namesOf(joins), ["chat.event", "chat.event"], "me is subscribed");
    const events = named(joins, "chat.event");
    t.same(events.map(({ sender }) => sender).sort(), ids(ann, bob).sort());
    for (const event of events) {
      t.match(event, {
        channel: state.id,
        event_type: "channel.member",
        content: { membership: "join", user: { id: event.sender } },
      });
    }
    t.same(idsOf(await history(bob, state.id)), idsOf(events));
    const { event_id } = await say(ann, state.id, "Hello");
    t.equal((await ann.next("chat.event")).event_id, event_id);
    const admin = await talk.moderator("admin");
    const seen = await admin.do("chat.direct.create", { users });
    for (const user of seen.members) t.same(keys(user), MANAGED);
  });

  await t.test("8.6 Who, and F15: the own id", async (t) => {
    const [ann, bob] = (await people("ann", "bob")) as [Client, Client];
    const foreign = await talk.person("foreign", { world: "other" });
    const erased = await talk.person("erased");
    const admin = await talk.moderator("admin");
    await admin.do("user.delete", { id: erased.id });
    type Row = [users: unknown[], code: string];
    const table: Row[] = [
      [[], "chat.denied"],
      [[ann.id], "chat.denied"],
      [[ann.id, ann.id], "chat.denied"],
      [[randomUUID()], "chat.denied"],
      [[bob.id, randomUUID()], "chat.denied"],
      [["x"], "chat.denied"],
      [[""], "chat.denied"],
      [[null], "chat.denied"],
      [[5], "chat.denied"],
      [[{}], "chat.denied"],
      [[foreign.id], "chat.denied"],
      [[erased.id], "chat.denied"],
      [[bob.id, erased.id], "chat.denied"],
      [[bob.id], "ok"],
      [[bob.id, bob.id], "ok"],
      [[bob.id, ann.id], "ok"],
      [[ann.id, bob.id, ann.id], "ok"],
    ];
    for (const [users, code] of table) {
      t.equal(await create(ann, users), code, JSON.stringify(users));
    }
    const same = new Set<string>();
    for (const users of [[bob.id], [bob.id, bob.id], ids(bob, ann)]) {
      same.add((await ann.do("chat.direct.create", { users })).id);
    }
    t.equal(same.size, 1, "a set of users");
    for (const users of ["x", null, {}, undefined, 5]) {
      t.equal(await create(ann, users), "protocol.invalid_payload");
    }
  });

  await t.test("8.2 chat.direct asks the world", async (t) => {
    const closed = (name: string, traits: string[] = []) =>
      talk.person(name, { world: "closed", traits });
    const mute = await closed("mute");
    const talker = await closed("talker", ["talker"]);
    const [, , problem] = await mute.call("chat.direct.create", {
      users: ids(talker),
    });
    t.match(problem, { code: "auth.denied", message: "Permission denied." });
    t.equal(await create(talker, ids(mute)), "ok");
    const dm = await direct(talker, mute);
    t.equal(await sends(mute, dm), "ok", "members answer without the key");
  });

  await t.test("8.6 New, hide: true", async (t) => {
    const [ann, bob] = (await people("ann", "bob")) as [Client, Client];
    const mine = await talk.person(`ann ${count}`);
    const theirs = await talk.person(`bob ${count}`);
    const dm = await direct(ann, bob);
    t.same(listOf(await mine.next("chat.channels")), [dm]);
    const entry = (await talk.person(`ann ${count}`)).hello["chat.channels"];
    t.same(listOf({ channels: entry }), [dm]);
    t.same(keys(entry[0]), ["id", "members", "unread_pointer"]);
    t.same(
      entry[0].members.map(({ id }: Json) => id).sort(),
      ids(ann, bob).sort(),
      "own user included",
    );
    t.same((await talk.person(`bob ${count}`)).hello["chat.channels"], []);
    const { event_id } = await say(ann, dm, "1");
    await talk.settle(dm, ann);
    for (const client of [bob, theirs]) {
      const frames = await talk.came(client);
      t.same(
        namesOf(frames),
        ["chat.channels", "chat.unread_pointers", "chat.notification"],
        "nothing before the first message",
      );
      const [list, pointers, notice] = frames.map(([, data]) => data as Json);
      t.same(listOf(list), [dm]);
      t.equal(list.channels[0].unread_pointer, event_id);
      t.same(pointers, { [dm]: event_id });
      t.match(notice, { event: { event_id }, sender: { id: ann.id } });
    }
    t.same(
      namesOf(await talk.came(mine)),
      [],
      "the sender knows what was said",
    );
    const late = await talk.person(`bob ${count}`);
    t.same(listOf({ channels: late.hello["chat.channels"] }), [dm]);
    t.same(late.hello["chat.notification_counts"], { [dm]: 2 });
  });

  await t.test("8.6 New, hide: false", async (t) => {
    const [ann, bob, cid] = await people("ann", "bob", "cid");
    const theirs = await talk.person(`bob ${count}`);
    const mine = await talk.person(`ann ${count}`);
    const users = ids(bob!, cid!);
    const { id } = await ann!.do("chat.direct.create", { users, hide: false });
    for (const client of [bob!, cid!, theirs, mine]) {
      t.same(listOf(await client.next("chat.channels")), [id]);
    }
    const late = await talk.person(`bob ${count}`);
    t.same(listOf({ channels: late.hello["chat.channels"] }), [id]);
    const { event_id } = await say(ann!, id, "1");
    await talk.settle(id, ann);
    for (const client of [bob!, theirs]) {
      const frames = await talk.came(client);
      t.same(namesOf(frames), ["chat.unread_pointers", "chat.notification"]);
      t.same(frames[0]![1], { [id]: event_id });
    }
  });

  await t.test(
    "8.6 First message after a member hid the channel",
    async (t) => {
      const [ann, bob] = (await people("ann", "bob")) as [Client, Client];
      const theirs = await talk.person(`bob ${count}`);
      const dm = await direct(ann, bob);
      await say(ann, dm, "1");
      await bob.do("chat.leave", { channel: dm });
      await talk.settle(dm, ann);
      // The fence has shown it again.
      await bob.do("chat.leave", { channel: dm });
      await theirs.next(
        "chat.channels",
        ({ channels }) => channels.length === 0,
      );
      const hidden = await talk.person(`bob ${count}`);
      t.same(hidden.hello["chat.channels"], []);
      for (const client of [bob, theirs]) await client.all();
      const { event_id } = await say(ann, dm, "2");
      for (const client of [bob, theirs, hidden]) {
        t.same(listOf(await client.next("chat.channels")), [dm]);
        t.same(await client.next("chat.unread_pointers"), { [dm]: event_id });
        const { event } = await client.next("chat.notification");
        t.equal(event.event_id, event_id);
      }
      await ann.do("chat.leave", { channel: dm });
      t.same((await talk.person(`ann ${count}`)).hello["chat.channels"], []);
      await say(bob, dm, "3");
      t.same(listOf(await ann.next("chat.channels")), [dm], "the creator, too");
    },
  );

  await t.test("F15 direct.create shows it to the caller again", async (t) => {
    const [ann, bob] = (await people("ann", "bob")) as [Client, Client];
    const mine = await talk.person(`ann ${count}`);
    const dm = await direct(ann, bob);
    await ann.do("chat.leave", { channel: dm });
    await mine.next("chat.channels", ({ channels }) => channels.length === 0);
    t.equal(await direct(ann, bob), dm);
    t.same(listOf(await mine.next("chat.channels")), [dm]);
    const { hello } = await talk.person(`ann ${count}`);
    t.same(listOf({ channels: hello["chat.channels"] }), [dm]);
  });

  await t.test("F9 a new DM can be used by others at once", async (t) => {
    for (let round = 0; round < 5; round++) {
      const [ann, bob] = (await people("ann", "bob")) as [Client, Client];
      const dm = await direct(ann, bob);
      const codes = await Promise.all([
        sends(bob, dm),
        bob.code("chat.subscribe", { channel: dm }),
        sends(ann, dm),
      ]);
      t.same(codes, ["ok", "ok", "ok"]);
    }
  });

  await t.test("6 Blocked: no message into a DM that has X", async (t) => {
    const [ann, bob, cid] = (await people("ann", "bob", "cid")) as [
      Client,
      Client,
      Client,
    ];
    const two = await direct(ann, bob);
    const three = await direct(cid, ann, bob);
    const { event_id: event } = await say(bob, two, "x");
    await bob.do("user.block", { id: ann.id });
    for (const channel of [two, three]) {
      t.equal(await sends(ann, channel), "chat.denied");
      t.equal(await sends(bob, channel), "ok", "X may send");
      const page = { channel, count: 5, before_id: 10 ** 9 };
      t.equal(await ann.code("chat.fetch", page), "ok", "reads on");
      t.equal(await ann.code("chat.subscribe", { channel }), "ok");
    }
    t.equal(await sends(cid, three), "ok");
    const reaction = { channel: two, event, reaction: "👍" };
    t.equal(await ann.code("chat.react", reaction), "chat.denied");
    t.equal(await create(ann, ids(bob)), "chat.denied");
    await bob.do("user.unblock", { id: ann.id });
    t.equal(await sends(ann, two), "ok");
  });

  await t.test("6 who is silenced", async (t) => {
    const admin = await talk.moderator("admin");
    const [ann, bob, cid] = (await people("ann", "bob", "cid")) as [
      Client,
      Client,
      Client,
    ];
    const dm = await direct(ann, bob);
    const { event_id } = await say(bob, dm, "x");
    await admin.do("user.silence", { id: ann.id });
    const silent = await talk.person(`ann ${count}`);
    t.equal(await create(silent, ids(cid)), "auth.denied");
    t.equal(await create(silent, ids(bob)), "auth.denied");
    t.equal(await sends(silent, dm), "chat.denied");
    const reaction = { channel: dm, event: event_id, reaction: "👍" };
    t.equal(await silent.code("chat.react", reaction), "chat.denied");
    t.equal(await silent.code("chat.subscribe", { channel: dm }), "ok");
    t.equal(idsOf(await history(silent, dm)).at(-1), event_id);
    t.equal(await create(cid, ids(silent)), "ok", "others may open one");
  });

  await t.test("8.4 call is for DMs, and 4.5 content stays", async (t) => {
    const [ann, bob] = (await people("ann", "bob")) as [Client, Client];
    const dm = await direct(ann, bob);
    const content = { type: "call", body: { id: "c", type: "bbb" }, extra: 1 };
    const { event } = await ann.do("chat.send", message(dm, content));
    t.same(event.content, content);
    t.match(await bob.next("chat.notification"), { event: { content } });
  });

  await t.test("6 a DM goes with its last undeleted member", async (t) => {
    const admin = await talk.moderator("admin");
    const [ann, bob] = (await people("ann", "bob")) as [Client, Client];
    const dm = await direct(ann, bob);
    await say(ann, dm, "x");
    await admin.do("user.delete", { id: ann.id });
    const events = await history(bob, dm);
    t.match(events.at(-1), { sender: ann.id, content: text("x") });
    const { members } = await bob.do("chat.subscribe", { channel: dm });
    const tombstone = members.find(({ id }: Json) => id === ann.id);
    t.match(tombstone ?? { deleted: true }, { deleted: true });
    await admin.do("user.delete", { id: bob.id });
    const page = { channel: dm, count: 5, before_id: 10 ** 9 };
    t.equal(await admin.code("chat.fetch", page), "room.unknown");
    t.equal(await live.app.store.chat.channel("demo", dm), undefined);
  });
});
