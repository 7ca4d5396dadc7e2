import { randomUUID } from "node:crypto";
import t from "tap";
import { until } from "../helper.js";
import { demo, type Json } from "../live/client.js";
import { direct, message, named, namesOf, say, startTalk } from "./talk.js";

const at = (...ids: string[]) => ids.map((id) => `@${id}`).join(" ");

/** The ids of the users who miss an event, as a warning says. */
const missedOf = (warnings: Json[]): string[] =>
  warnings
    .flatMap(({ missed_users }) => missed_users)
    .map(({ id }: Json) => id)
    .sort();

void t.test("mentions", async (t) => {
  const talk = await startTalk(t, {}, [demo(), demo({ id: "other" })]);

  const counts = async (uid: string, channel: string): Promise<number> => {
    const client = await talk.person(uid);
    client.close();
    return client.hello["chat.notification_counts"][channel] ?? 0;
  };

  await t.test("8.5 What: @<uuid> anywhere, in any case", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob", channel);
    const cid = await talk.member("cid", channel);
    const browser = await talk.person("bob");
    const { id } = bob;
    type Row = [body: string, bob: number, cid: number];
    const table: Row[] = [
      [`@${id}`, 1, 0],
      [`Hello @${id}, how are you?`, 1, 0],
      [`mail@${id}`, 1, 0],
      [`@${id.toUpperCase()}`, 1, 0],
      [`@${id} @${id.toUpperCase()} @${id}`, 1, 0],
      [`@${id}@${cid.id}`, 1, 1],
      [`line\n@${cid.id}\n\n@${id}.`, 1, 1],
      [id, 0, 0],
      [`@ ${id}`, 0, 0],
      [`@${id.slice(1)}`, 0, 0],
      [`@${id.replaceAll("-", "")}`, 0, 0],
      ["@bob", 0, 0],
    ];
    for (const [body, ...expected] of table) {
      await talk.calm(channel, ann, bob, cid, browser);
      const { event_id } = await say(ann, channel, body);
      await talk.settle(channel);
      for (const [i, client] of [bob, cid, browser].entries()) {
        const frames = await talk.came(client);
        const notified = named(frames, "chat.notification");
        t.equal(notified.length, expected[i % 2], body);
        for (const { event } of notified) t.equal(event.event_id, event_id);
      }
      const own = await talk.came(ann);
      t.same(
        named(own, "chat.mention_warning"),
        [],
        `${body} sends no warning`,
      );
    }
    const total = table.reduce((sum, [, ofBob]) => sum + ofBob, 0);
    t.equal(await counts("bob", channel), total, "stored, one each");
    await bob.do("chat.mark_read", { channel, id: 10 ** 6 });
  });

  await t.test("8.5 Until when: its message is deleted", async () => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob", channel);
    const places = [channel, await direct(ann, bob)];
    const content = { type: "deleted" };
    for (const isThere of [true, false]) {
      // Without a connection, only the store counts.
      if (!isThere) {
        bob.close();
        await bob.closed;
      }
      for (const place of places) {
        const { event_id } = await say(ann, place, at(bob.id));
        await until(async () => (await counts("bob", place)) === 1);
        const replaces = event_id;
        await ann.do("chat.send", message(place, content, { replaces }));
        await until(async () => (await counts("bob", place)) === 0);
      }
    }
  });

  await t.test("8.5 Who: everybody if the room is volatile", async (t) => {
    const channel = await talk.room({
      volatile: true,
      permission_config: { "chat.read": [["reader"]] },
    });
    const reader = { traits: ["reader"] };
    const ann = await talk.member("ann r", channel, reader);
    const away = await talk.person("away", reader);
    const offline = await talk.person("offline", reader);
    offline.close();
    await offline.closed;
    const denied = await talk.person("denied");
    const body = at(away.id, denied.id, offline.id);
    const { event_id } = await say(ann, channel, body);
    t.match(await away.next("chat.notification"), { event: { event_id } });
    const warning = await ann.next("chat.mention_warning");
    t.same(missedOf([warning]), [denied.id]);
    await talk.settle(channel, ann);
    t.same(await talk.came(denied), []);
    const back = await talk.person("offline", reader);
    t.same(back.hello["chat.notification_counts"], { [channel]: 1 });
    const closed = await talk.person("denied");
    t.same(closed.hello["chat.notification_counts"], {});
  });

  await t.test("8.5 Who: rights decide, of members as well", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("reads no more", channel);
    await talk.alter(channel, {
      permission_config: { "chat.read": [["nobody"]] },
    });
    await bob.next("world.updated");
    await say(ann, channel, at(bob.id));
    await talk.alter(channel, { permission_config: {} });
    await talk.settle(channel);
    const frames = await bob.all();
    t.notOk(namesOf(frames).includes("chat.notification"));
  });

  await t.test("8.5 50 or more ids notify no user", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob", channel);
    const outside = await talk.person("outside");
    const some = (count: number) =>
      Array.from({ length: count }, () => randomUUID());
    for (const [more, isNotified] of [
      [47, true],
      [48, false],
      [60, false],
    ] as const) {
      await talk.calm(channel, ann, bob);
      await bob.do("chat.mark_read", { channel, id: 1 });
      await bob.all();
      const twice = at(bob.id);
      const body = `${at(...some(more))} ${at(outside.id, bob.id)} ${twice}`;
      const { event_id } = await say(ann, channel, body);
      await talk.settle(channel);
      const frames = await talk.came(bob);
      const name = `${more + 2} distinct ids`;
      t.equal(
        named(frames, "chat.notification").length,
        isNotified ? 1 : 0,
        name,
      );
      t.same(
        named(frames, "chat.unread_pointers"),
        [{ [channel]: event_id }],
        "unread pointers as usual",
      );
      const own = await talk.came(ann);
      const warned = missedOf(named(own, "chat.mention_warning"));
      t.same(warned, isNotified ? [outside.id] : [], name);
    }
  });

  await t.test("8.5 Mentions are in texts", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob files", channel);
    const files = [{ url: "https://x.test/a", name: at(bob.id) }];
    const content = { type: "files", files, body: at(bob.id) };
    await ann.do("chat.send", message(channel, content));
    const frames = await talk.heard(channel, bob);
    t.same(named(frames, "chat.notification"), []);
    t.equal(await counts("bob files", channel), 0);
  });

  await t.test("8.5 Not notifiable: in DMs too", async (t) => {
    const [ann, bob] = [await talk.person("ann d"), await talk.person("bob d")];
    const outside = await talk.person("outside");
    const dm = await direct(ann, bob);
    await ann.all();
    await say(ann, dm, at(bob.id, outside.id));
    const warning = await ann.next("chat.mention_warning");
    t.same(missedOf([warning]), [outside.id]);
    await talk.settle(dm, ann);
    t.same(await talk.came(outside), []);
    const told = named(await talk.came(bob), "chat.notification");
    t.equal(told.length, 1, "once, as of any message");
    t.equal(await counts("bob d", dm), 1 + 1, "and one more: the fence");
  });
});
