import { randomUUID } from "node:crypto";
import t from "tap";
import { StoreError } from "../../db/contract/store.js";
import { rules, until } from "../helper.js";
import {
  type Client,
  type Json,
  type LiveServer,
  makeRoom,
  startLive,
} from "../live/client.js";

const MARK = "chat.mark_read";

const chatRoom = (live: LiveServer, draft: object = {}) =>
  makeRoom(live, {
    name: `Chat ${randomUUID()}`,
    module_config: [{ type: "chat.native", config: {} }],
    ...draft,
  });

/** Gives somebody a name, without which nobody joins. */
async function named(client: Client, name = "Somebody"): Promise<Client> {
  await client.do("user.update", { profile: { display_name: name } });
  return client;
}

/** Somebody with a name. */
const guest = async (live: LiveServer, id: string): Promise<Client> =>
  named(await live.guest(id), id);

/** Sends a text. @returns the id of its event. */
async function say(
  client: Client,
  channel: string,
  body = "Hi",
  replaces?: number,
): Promise<number> {
  const { event } = await client.do("chat.send", {
    channel,
    event_type: "channel.message",
    content: { type: "text", body },
    ...(replaces !== undefined && { replaces }),
  });
  return event.event_id as number;
}

/** What has come of some names, when all that was caused before is delivered. */
async function came(
  live: LiveServer,
  client: Client,
  ...names: string[]
): Promise<Json[]> {
  await delivered(live);
  const frames = await client.all();
  return frames.filter(([name]) => names.includes(name)) as Json[];
}

/** Waits until every event of every channel was delivered, and whoever is told of it was told. */
async function delivered({ app }: LiveServer): Promise<void> {
  const { channels } = app.live.chat;
  const { value } = (await app.store.worlds.get("demo"))!;
  const page = { page: 1, pageSize: 100 };
  const rooms = await app.store.rooms.all(value.id, page);
  const { entries } = await app.store.log.since("demo", 0, 10_000);
  const last = entries.at(-1)?.seq ?? 0;
  const ids = new Set(rooms.map((room) => room.value.id));
  for (const entry of entries) {
    if (entry.type === "chat.event") ids.add(entry.channel);
  }
  await until(() => app.events.reached("demo") >= last);
  for (const channel of ids) await channels.sent(channel, last);
}

void t.test("mark_read", async (t) => {
  const live = await startLive(t);
  const channel = await chatRoom(live);
  const other = await chatRoom(live);
  const me = await guest(live, "me");
  const mine = await live.guest("me");
  const foreign = await guest(live, "foreign");
  await me.all();

  t.same(await me.do(MARK, { channel, id: 5 }), {});
  t.same(await me.all(), [["chat.notification_counts", {}]]);
  t.same(await mine.all(), [
    ["chat.read_pointers", { [channel]: 5 }],
    ["chat.notification_counts", {}],
  ]);
  await me.do(MARK, { channel: other, id: "7" });
  t.same(await mine.next("chat.read_pointers"), { [channel]: 5, [other]: 7 });
  await me.do(MARK, { channel, id: 2 });
  t.same(await mine.next("chat.read_pointers"), { [channel]: 2, [other]: 7 });
  await me.do(MARK, { channel, id: 2 });
  t.same(await mine.next("chat.read_pointers"), { [channel]: 2, [other]: 7 });
  t.same(await foreign.names(), [], "others");

  const codes: [payload: object, code: string][] = [
    [{ channel }, "chat.invalid_body"],
    [{ channel, id: 0 }, "chat.invalid_body"],
    [{ channel, id: null }, "chat.invalid_body"],
    [{ channel, id: "" }, "chat.invalid_body"],
    [{ channel, id: "0" }, "chat.invalid_body"],
    [{ channel, id: "x" }, "protocol.invalid_payload"],
    [{ channel, id: -1 }, "protocol.invalid_payload"],
    [{ channel, id: 1.5 }, "protocol.invalid_payload"],
    [{ channel, id: true }, "protocol.invalid_payload"],
    [{ channel, id: [1] }, "protocol.invalid_payload"],
    [{ channel, id: { a: 1 } }, "protocol.invalid_payload"],
    [{ channel, id: "99999999999999999999" }, "protocol.invalid_payload"],
    [{ id: 1 }, "chat.unknown"],
    [{ channel: randomUUID(), id: 1 }, "room.unknown"],
    [{ channel: await makeRoom(live), id: 1 }, "room.unknown"],
  ];
  for (const [payload, code] of codes) {
    t.equal(await me.code(MARK, payload), code, JSON.stringify(payload));
  }
  const again = await live.guest("me");
  const pointers = { [channel]: 2, [other]: 7 };
  t.same(again.hello["chat.read_pointers"], pointers, "before it is written");
  for (const client of [me, mine, again]) client.ws.terminate();
  await until(() => live.app.live.chat.readStates.pending === 0);
  await until(() => live.app.live.hub.of("demo", me.id).size === 0);
  const later = await live.guest("me");
  t.same(later.hello["chat.read_pointers"], pointers, "after it is written");
});

void t.test("marks that the store does not take at once", async (t) => {
  const live = await startLive(t);
  const channel = await chatRoom(live);
  const me = await live.guest("me");
  const { chat } = live.app.store;
  const mark = chat.mark.bind(chat);
  let refused = 0;
  chat.mark = async () => {
    refused++;
    throw new StoreError("busy", "busy");
  };
  await me.do(MARK, { channel, id: 3 });
  me.ws.terminate();
  await until(() => refused > 0);
  const again = await live.guest("me");
  t.same(again.hello["chat.read_pointers"], { [channel]: 3 });
  again.ws.terminate();
  chat.mark = mark;
  await until(() => live.app.live.chat.readStates.pending === 0);
  const { marks } = await chat.unread("demo", me.id);
  t.match(marks, [{ channel, pointer: 3 }]);
});

void t.test("unread pointers", async (t) => {
  const live = await startLive(t);
  const channel = await chatRoom(live);
  const [ann, bob, tab] = [
    await guest(live, "ann"),
    await guest(live, "bob"),
    await live.guest("bob"),
  ];
  const volatile = await guest(live, "volatile");
  await ann.do("chat.join", { channel });
  await bob.do("chat.join", { channel });
  await bob.do("chat.unsubscribe", { channel });
  const pointers = async (client: Client) =>
    (await came(live, client, "chat.unread_pointers")).map(([, data]) => data);
  await pointers(bob);
  await pointers(tab);

  const first = await say(ann, channel);
  t.same(await pointers(bob), [{ [channel]: first }], "after joining");
  t.same(await pointers(tab), [{ [channel]: first }], "in every browser");
  t.same(await pointers(ann), [], "not the sender");
  t.same(await pointers(volatile), [], "nobody else");
  await say(ann, channel);
  t.same(await pointers(bob), [], "once");
  const read = await say(ann, channel);
  await bob.do(MARK, { channel, id: read });
  const edit = await say(ann, channel, "Edited", read);
  t.same(await pointers(bob), [{ [channel]: edit }], "edits, too");

  await volatile.do(MARK, { channel, id: 1 });
  const next = await say(ann, channel);
  t.same(await pointers(volatile), [{ [channel]: next }], "no member needed");

  await bob.do(MARK, { channel, id: next });
  await bob.do("chat.leave", { channel });
  await say(ann, channel);
  t.same(await pointers(bob), [], "not after leaving");

  // What is not in memory comes from the store.
  await bob.do(MARK, { channel, id: next });
  for (const { ws } of [bob, tab]) ws.terminate();
  await until(() => live.app.live.chat.readStates.pending === 0);
  await until(() => live.app.live.hub.of("demo", bob.id).size === 0);
  const back = await live.guest("bob");
  const last = await say(ann, channel);
  t.same(await pointers(back), [{ [channel]: last }], "after another login");
  back.ws.terminate();
  await until(() => live.app.live.hub.of("demo", bob.id).size === 0);
  const again = await live.guest("bob");
  await say(ann, channel);
  t.same(await pointers(again), [], "told already");
});

void t.test("mentions", async (t) => {
  const live = await startLive(t);
  const channel = await chatRoom(live);
  const volatile = await chatRoom(live, {
    module_config: [{ type: "chat.native", config: { volatile: true } }],
  });
  const ann = await guest(live, "ann");
  const bob = await guest(live, "bob");
  const cyd = await guest(live, "cyd");
  for (const client of [ann, bob]) {
    await client.do("chat.join", { channel });
  }
  await ann.do("chat.join", { channel: volatile });
  const NOTICES = ["chat.notification", "chat.unread_pointers", "chat.event"];
  await came(live, bob);

  const id = await say(ann, channel, `@${bob.id.toUpperCase()} @${ann.id}`);
  const frames = await came(live, bob, ...NOTICES);
  t.match(frames, [
    ["chat.event", { event_id: id }],
    [
      "chat.notification",
      {
        event: { type: "chat.event", event_id: id, sender: ann.id },
        sender: { id: ann.id, profile: { display_name: "ann" } },
      },
    ],
    ["chat.unread_pointers", { [channel]: id }],
  ]);
  t.notOk("users" in frames[1][1].event);
  t.same(
    await came(live, ann, "chat.notification", "chat.mention_warning"),
    [],
  );
  const second = await live.guest("bob");
  t.same(second.hello["chat.notification_counts"], { [channel]: 1 });

  await say(ann, channel, `@${bob.id}`, id);
  t.same(await came(live, bob, "chat.notification"), [], "no edits");
  const many = Array.from({ length: 49 }, () => `@${randomUUID()}`);
  await say(ann, channel, `@${bob.id} ${many.join(" ")}`);
  t.same(await came(live, bob, "chat.notification"), [], "not with 50");
  const crowd = await say(
    ann,
    channel,
    `x@${bob.id}y ${many.slice(1).join("")}`,
  );
  t.equal((await came(live, bob, "chat.notification")).length, 1, "with 49");

  await bob.do(MARK, { channel, id });
  t.same(await bob.next("chat.notification_counts"), { [channel]: 1 });
  t.same(await second.next("chat.notification_counts"), { [channel]: 1 });
  await bob.do(MARK, { channel, id: crowd });
  t.same(await bob.next("chat.notification_counts"), {});
  await bob.do(MARK, { channel, id: crowd + 1000 });
  await bob.all();
  await say(ann, channel, `@${bob.id}`);
  t.same(await came(live, bob, "chat.notification"), [], "read already");
  for (const { ws } of [bob, second]) ws.terminate();
  await until(() => live.app.live.chat.readStates.pending === 0);
  await until(() => live.app.live.hub.of("demo", bob.id).size === 0);
  const back = await live.guest("bob");
  t.same(back.hello["chat.notification_counts"], {}, "nor counted later");

  // Who is no member is not told, but the sender is.
  await ann.all();
  const missed = await say(ann, channel, `@${cyd.id} @${randomUUID()}`);
  const [warning, event] = await ann.all();
  t.match(warning, [
    "chat.mention_warning",
    { channel, event_id: missed, missed_users: [{ id: cyd.id }] },
  ]);
  t.equal((warning![1] as Json).missed_users.length, 1);
  t.equal(event![0], "chat.event", "before the own event");
  t.same(await came(live, cyd, ...NOTICES), []);

  const told = await say(ann, volatile, `@${cyd.id}`);
  t.match(await came(live, cyd, ...NOTICES), [
    ["chat.notification", { event: { event_id: told } }],
  ]);
});

void t.test("rooms that somebody may not read", async (t) => {
  const live = await startLive(t);
  const channel = await chatRoom(live);
  const gone = await chatRoom(live);
  const ann = await live.person({
    uid: "ann",
    traits: ["staff"],
    profile: { display_name: "Ann" },
  });
  const bob = await guest(live, "bob");
  for (const client of [ann, bob]) {
    await client.do("chat.join", { channel });
    await client.do("chat.join", { channel: gone });
  }
  await say(ann, channel, `@${bob.id}`);
  await say(ann, gone, `@${bob.id}`);
  await bob.next("chat.notification");
  await bob.next("chat.notification");
  await bob.do(MARK, { channel, id: 1 });
  t.same(await bob.next("chat.notification_counts"), {
    [channel]: 1,
    [gone]: 1,
  });

  await live.rest("PATCH", `demo/rooms/${channel}/`, {
    permission_config: { "chat.read": [["staff"]] },
  });
  await live.rest("DELETE", `demo/rooms/${gone}/`);
  await came(live, bob);
  await say(ann, channel, `@${bob.id}`);
  const NOTICES = ["chat.notification", "chat.unread_pointers"];
  t.same(await came(live, bob, ...NOTICES), []);
  await bob.do(MARK, { channel, id: 1 });
  t.same(await bob.next("chat.notification_counts"), {});
  const again = await live.guest("bob");
  t.match(again.hello, {
    "chat.channels": [],
    "chat.notification_counts": {},
  });
  t.same(again.hello["chat.channels"], []);
});

void t.test("forced joins", async (t) => {
  const live = await startLive(t);
  const { rooms, chat } = live.app.store;
  const force = async (draft: object = {}) => {
    const id = await chatRoom(live, draft);
    await rooms.update("demo", id, { extras: { force_join: true } }, undefined);
    return id;
  };
  const channel = await force();
  await force({ module_config: [] });
  await force({ permission_config: rules({ "chat.join": [["staff"]] }) });
  const nameless = await live.guest("a");
  t.same(await came(live, nameless, "chat.channels"), []);
  const tab = await live.guest("a");
  await nameless.do("user.update", { profile: { display_name: "A" } });
  for (const client of [nameless, tab]) {
    const { channels } = await client.next("chat.channels");
    t.same(channels, [{ id: channel, unread_pointer: 0 }]);
  }
  await nameless.do("user.update", { client_state: { b: 1 } });
  t.same(await came(live, nameless, "chat.channels"), [], "only once");

  const person = { uid: "b", profile: { display_name: "B" } };
  const both = await Promise.all([live.person(person), live.person(person)]);
  for (const client of both) {
    // Who logs in a little later than the other one has it from there.
    const known = client.hello["chat.channels"] as Json[];
    const { channels } =
      known.length > 0
        ? { channels: known }
        : await client.next("chat.channels");
    t.same(channels, [{ id: channel, unread_pointer: 0 }]);
  }
  const events = await chat.events("demo", channel, { after: 0, limit: 10 });
  t.equal(events.length, 2, "one event for each user");
});
