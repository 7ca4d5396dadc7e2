import { randomUUID } from "node:crypto";
import t from "tap";
import type { Client, Json } from "../live/client.js";
import {
  direct,
  invalid,
  message,
  named,
  namesOf,
  say,
  startTalk,
  text,
} from "./talk.js";

void t.test("reading", async (t) => {
  const talk = await startTalk(t);
  const { live } = talk;

  const read = (client: Client, channel: string, id: unknown) =>
    client.do("chat.mark_read", { channel, id });

  await t.test("3.1 chat.invalid_body", async (t) => {
    const channel = await talk.room();
    const guest = await live.guest();
    const table: [id: unknown, code: string][] = [
      [undefined, "chat.invalid_body"],
      [null, "chat.invalid_body"],
      [0, "chat.invalid_body"],
      ["x", invalid],
      [randomUUID(), invalid],
      [{}, invalid],
      [[5], invalid],
      [1.5, invalid],
      [true, invalid],
      [5, "ok"],
    ];
    for (const [id, code] of table) {
      const got = await guest.code("chat.mark_read", { channel, id });
      t.equal(got, code, JSON.stringify(id));
    }
  });

  await t.test("8.5 a member gets one notice until they read", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob", channel);
    const two = await talk.person("bob");
    await bob.do("chat.unsubscribe", { channel });
    await talk.calm(channel, ann, bob, two);
    const first = await say(ann, channel, "1");
    const pointers = { [channel]: first.event_id };
    for (const client of [bob, two]) {
      t.same(
        await client.next("chat.unread_pointers"),
        pointers,
        "all connections of the user",
      );
    }
    await say(ann, channel, "2");
    t.same(await talk.heard(channel, bob), [], "it has had its notice");
    t.same(await talk.came(two), []);
    await read(bob, channel, first.event_id);
    const third = await say(ann, channel, "3");
    t.same(await two.next("chat.unread_pointers"), {
      [channel]: third.event_id,
    });
    const frames = await talk.heard(channel, ann);
    t.same(new Set(namesOf(frames)), new Set(["chat.event"]), "not the sender");
  });

  await t.test("8.5 edits, joins and others: what tells", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob", channel);
    await talk.calm(channel, bob);
    const cid = await talk.member("cid", channel);
    await cid.do("chat.leave", { channel });
    const frames = await talk.heard(channel, bob);
    t.same(new Set(namesOf(frames)), new Set(["chat.event"]), "not members");
    await talk.came(cid);
    await say(ann, channel, "x");
    await bob.next("chat.unread_pointers");
    await say(ann, channel, "y");
    t.same(await talk.heard(channel, cid), [], "who left is off the list");
  });

  await t.test("8.5 volatile members only after a mark_read", async (t) => {
    const channel = await talk.room({ volatile: true });
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob", channel);
    const first = await say(ann, channel, "1");
    t.same(namesOf(await talk.heard(channel, bob, ann)), ["chat.event"]);
    await read(bob, channel, first.event_id);
    await bob.next("chat.notification_counts");
    const second = await say(ann, channel, "2");
    const frames = await talk.heard(channel, bob, ann);
    t.same(namesOf(frames), ["chat.event", "chat.unread_pointers"]);
    t.same(named(frames, "chat.unread_pointers"), [
      { [channel]: second.event_id },
    ]);
  });

  await t.test("8.5 Counts fall only by mark_read, up to its id", async (t) => {
    const bob = await talk.person("counted");
    const ann = await talk.person("ann 3");
    const dm = await direct(ann, bob);
    const other = await direct(await talk.person("cid"), bob);
    const cid = await talk.person("cid");
    const ids: number[] = [];
    for (let i = 0; i < 4; i++) ids.push((await say(ann, dm, "x")).event_id);
    const { event_id } = await say(cid, other, "y");
    await bob.next("chat.notification", ({ event }) => {
      return event.event_id === event_id;
    });
    const counts = async () =>
      (await talk.person("counted")).hello["chat.notification_counts"];
    t.same(await counts(), { [dm]: 4, [other]: 1 });
    const steps: [channel: string, id: number, counts: Json][] = [
      [dm, ids[0]! - 1, { [dm]: 4, [other]: 1 }],
      [dm, ids[1]!, { [dm]: 2, [other]: 1 }],
      [dm, ids[0]!, { [dm]: 2, [other]: 1 }],
      [dm, ids[3]!, { [other]: 1 }],
      [other, 1, { [other]: 1 }],
    ];
    await bob.all();
    for (const [channel, id, expected] of steps) {
      await read(bob, channel, id);
      t.same(await bob.next("chat.notification_counts"), expected, "F17");
      t.same(await counts(), expected);
    }
    await say(bob, dm, "an answer");
    t.same(await counts(), { [other]: 1 }, "an answer changes nothing");
  });

  await t.test("8.3 no notification of what is read already", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const bob = await talk.member("bob", channel);
    await read(bob, channel, 10 ** 6);
    await talk.calm(channel, bob);
    await say(ann, channel, `Hello @${bob.id}`);
    const frames = await talk.heard(channel, bob);
    t.same(named(frames, "chat.notification"), []);
  });

  await t.test("F17 notifications of other channels stay", async (t) => {
    const [a, b] = [await talk.room(), await talk.room()];
    const ann = await talk.member("ann", a);
    await ann.do("chat.join", { channel: b });
    const bob = await talk.member("bob f17", a);
    await bob.do("chat.join", { channel: b });
    for (const channel of [a, b]) await say(ann, channel, `@${bob.id}`);
    await talk.settle(a);
    await talk.calm(b, bob);
    // The last command of this connection was on the other channel.
    await bob.do("chat.subscribe", { channel: b });
    const { event_id } = await say(ann, a, `again @${bob.id}`);
    await bob.next("chat.notification", (data) => {
      return data.event.event_id === event_id;
    });
    const { hello } = await talk.person("bob f17");
    t.same(hello["chat.notification_counts"], { [a]: 2, [b]: 1 });
    const payload = message(a, text("x"));
    t.equal(await bob.code("chat.send", payload), "ok");
  });
});
