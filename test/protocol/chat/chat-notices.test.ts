import { randomUUID } from "node:crypto";
import t from "tap";
import { until } from "../../support/helper.js";
import {
  type Client,
  type Json,
  chatOf,
  chatRoom,
  direct,
  invalid,
  member,
  message,
  named,
  namesOf,
  openWorld,
  say,
} from "../../support/open-world.js";
import { startServer } from "../../support/server.js";
import { embedded } from "../../support/shared.js";

// Mentions, notifications, unread pointers, and what clears them.

const server = await startServer(t);

const at = (...ids: string[]) => ids.map((id) => `@${id}`).join(" ");

/** Returns the ids of the users who miss an event, according to warnings. */
const missedOf = (warnings: Json[]): string[] =>
  warnings
    .flatMap(({ missed_users }) => missed_users)
    .map(({ id }: Json) => id)
    .sort();

const read = (client: Client, channel: string, id: unknown) =>
  client.do("chat.mark_read", { channel, id });

void t.test("mentions", async (t) => {
  const world = await openWorld(server);
  const countsOf = async (uid: string): Promise<Json> => {
    const client = await world.person(uid);
    client.close();
    return client.hello["chat.notification_counts"];
  };

  await t.test("8.5 What: @<uuid> anywhere, in any case", async (t) => {
    const channel = await chatRoom(world);
    const [ann, bob, cid] = [
      await member(world, "ann", channel),
      await member(world, "bob", channel),
      await member(world, "cid", channel),
    ];
    const browser = await world.person("bob");
    const { id } = bob;
    const table: [body: string, bob: number, cid: number][] = [
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
    await world.calm(channel, ann, bob, cid, browser);
    for (const [body, ofBob, ofCid] of table) {
      const { event_id } = await say(ann, channel, body);
      await world.settled(channel);
      for (const [client, expected] of [
        [bob, ofBob],
        [cid, ofCid],
        [browser, ofBob],
      ] as const) {
        const notified = named(await chatOf(client), "chat.notification");
        const ids = notified.map(({ event }) => event.event_id);
        t.same(ids, Array(expected).fill(event_id), body);
      }
      t.same(named(await chatOf(ann), "chat.mention_warning"), [], `${body} sends no warning`);
    }
    const total = table.reduce((sum, [, ofBob]) => sum + ofBob, 0);
    t.equal((await countsOf("bob"))[channel], total, "stored, one each");
    await read(bob, channel, 10 ** 6);
  });

  await t.test("8.5 Until when: its message is deleted", async () => {
    const channel = await chatRoom(world);
    const [ann, bob] = [await member(world, "ann", channel), await member(world, "bob", channel)];
    const dm = await direct(ann, bob);
    for (const isThere of [true, false]) {
      // Without a connection, only the store can count.
      if (!isThere) {
        bob.close();
        await bob.closed;
      }
      for (const place of [channel, dm]) {
        const { event_id: replaces } = await say(ann, place, at(bob.id));
        await until(async () => (await countsOf("bob"))[place] === 1);
        await ann.do("chat.send", message(place, { type: "deleted" }, { replaces }));
        await until(async () => (await countsOf("bob"))[place] === undefined);
      }
    }
  });

  await t.test("8.5 Who: everybody if the room is volatile", async (t) => {
    const permission_config = { "chat.read": [["reader"]] };
    const channel = await chatRoom(world, { volatile: true, permission_config });
    const ann = await world.person("ann r", "reader");
    await ann.do("chat.join", { channel });
    const [away, offline] = [
      await world.person("away", "reader"),
      await world.person("offline", "reader"),
    ];
    offline.close();
    await offline.closed;
    const denied = await world.person("denied");
    const { event_id } = await say(ann, channel, at(away.id, denied.id, offline.id));
    t.match(await away.next("chat.notification"), { event: { event_id } });
    t.same(missedOf([await ann.next("chat.mention_warning")]), [denied.id]);
    t.same(await world.heard(channel, denied), []);
    const back = await world.person("offline", "reader");
    t.same(back.hello["chat.notification_counts"], { [channel]: 1 });
    t.same(await countsOf("denied"), {});
  });

  await t.test("8.5 Who: rights decide, of members as well", async (t) => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const bob = await member(world, "reads no more", channel);
    await world.alter(channel, { permission_config: { "chat.read": [["nobody"]] } });
    await bob.next("world.updated");
    await say(ann, channel, at(bob.id));
    await world.settled(channel);
    t.notOk(namesOf(await bob.all()).includes("chat.notification"));
  });

  await t.test("8.5 50 or more ids notify no user", async (t) => {
    const channel = await chatRoom(world);
    const [ann, bob] = [await member(world, "ann", channel), await member(world, "bob", channel)];
    const outside = await world.person("outside");
    for (const [more, isNotified] of [
      [47, true],
      [48, false],
      [60, false],
    ] as const) {
      await read(bob, channel, 1);
      await world.calm(channel, ann, bob);
      const some = Array.from({ length: more }, () => randomUUID());
      const { event_id } = await say(ann, channel, at(...some, outside.id, bob.id, bob.id));
      const frames = await world.heard(channel, bob);
      const name = `${more + 2} distinct ids`;
      t.equal(named(frames, "chat.notification").length, isNotified ? 1 : 0, name);
      const pointers = named(frames, "chat.unread_pointers");
      t.same(pointers, [{ [channel]: event_id }], "unread pointers as usual");
      const warned = missedOf(named(await chatOf(ann), "chat.mention_warning"));
      t.same(warned, isNotified ? [outside.id] : [], name);
    }
  });

  await t.test("8.5 Mentions are in texts", async (t) => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const bob = await member(world, "bob files", channel);
    const files = [{ url: "https://x.test/a", name: at(bob.id) }];
    await ann.do("chat.send", message(channel, { type: "files", files, body: at(bob.id) }));
    t.same(named(await world.heard(channel, bob), "chat.notification"), []);
    t.same(await countsOf("bob files"), {});
  });

  await t.test("8.5 Not notifiable: in DMs too", async (t) => {
    const [ann, bob] = [await world.person("ann d"), await world.person("bob d")];
    const outside = await world.person("outside");
    const dm = await direct(ann, bob);
    await say(ann, dm, at(bob.id, outside.id));
    t.same(missedOf([await ann.next("chat.mention_warning")]), [outside.id]);
    t.same(await world.heard(dm, outside), []);
    const notified = named(await chatOf(bob), "chat.notification");
    t.equal(notified.length, 1, "once, as of any message");
    t.same(await countsOf("bob d"), { [dm]: 1 });
  });
});

void t.test("reading", async (t) => {
  const world = await openWorld(server);

  await t.test("3.1 chat.invalid_body", async (t) => {
    const channel = await chatRoom(world);
    const guest = await world.guest();
    for (const [code, ids] of Object.entries({
      "chat.invalid_body": [undefined, null, 0],
      [invalid]: ["x", randomUUID(), {}, [5], 1.5, true],
      ok: [5],
    })) {
      for (const id of ids) {
        t.equal(await guest.code("chat.mark_read", { channel, id }), code, JSON.stringify(id));
      }
    }
  });

  await t.test("8.5 volatile members only after a mark_read", async (t) => {
    const channel = await chatRoom(world, { volatile: true });
    const [ann, bob] = [await member(world, "ann", channel), await member(world, "bob", channel)];
    const first = await say(ann, channel, "1");
    t.same(namesOf(await world.heard(channel, bob)), ["chat.event"]);
    await read(bob, channel, first.event_id);
    await bob.next("chat.notification_counts");
    const second = await say(ann, channel, "2");
    const frames = await world.heard(channel, bob);
    t.same(namesOf(frames), ["chat.event", "chat.unread_pointers"]);
    t.same(named(frames, "chat.unread_pointers"), [{ [channel]: second.event_id }]);
  });

  await t.test("8.5 Counts fall only by mark_read, up to its id", async (t) => {
    const [bob, ann, cid] = [
      await world.person("counted"),
      await world.person("ann 3"),
      await world.person("cid"),
    ];
    const [dm, other] = [await direct(ann, bob), await direct(cid, bob)];
    const ids: number[] = [];
    for (let i = 0; i < 4; i++) ids.push((await say(ann, dm, "x")).event_id);
    const { event_id } = await say(cid, other, "y");
    await bob.next("chat.notification", ({ event }) => event.event_id === event_id);
    const counts = async () => (await world.person("counted")).hello["chat.notification_counts"];
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
    const channel = await chatRoom(world);
    const [ann, bob] = [await member(world, "ann", channel), await member(world, "bob", channel)];
    await read(bob, channel, 10 ** 6);
    await world.calm(channel, bob);
    await say(ann, channel, `Hello @${bob.id}`);
    t.same(named(await world.heard(channel, bob), "chat.notification"), []);
  });
});

const alone = embedded("has processes of its own");

void t.test("another process learns of a mark from the log, without hints", alone, async (t) => {
  // Two servers that share a folder, but no bus.
  const other = await startServer(t, { dataDir: server.dataDir });
  const world = await openWorld(server);
  const channel = await chatRoom(world);
  const [ann, bob] = [await member(world, "ann", channel), await member(world, "bob", channel)];
  const person = (uid: string) =>
    other.person({ uid, profile: { display_name: uid }, world: world.id });
  const [two, watch] = [await person("bob"), await person("cid")];
  await watch.do("chat.subscribe", { channel });
  await bob.do("chat.unsubscribe", { channel });
  /**
   * Sends a message.
   * @returns the notices about it that the other process has pushed.
   */
  const noticed = async (body: string): Promise<unknown[]> => {
    const { event_id } = await say(ann, channel, body);
    await watch.next("chat.event", (event) => event.event_id === event_id);
    const notices = named(await two.all(), "chat.unread_pointers");
    return notices.map((pointers) => pointers[channel] === event_id);
  };
  t.same(await noticed("1"), [true]);
  t.same(await noticed("2"), [], "it has had its notice");
  const third = await say(ann, channel, "3");
  await read(bob, channel, third.event_id);
  let notices: unknown[] = [];
  await until(async () => (notices = await noticed("again")).length > 0);
  t.same(notices, [true]);
});
