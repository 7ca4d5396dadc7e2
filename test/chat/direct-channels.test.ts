import { randomUUID } from "node:crypto";
import t from "tap";
import { rules, until } from "../helper.js";
import {
  type Client,
  demo,
  type LiveServer,
  startLive,
} from "../live/client.js";

const CREATE = "chat.direct.create";

/** People with names, who stay in the order of the names. */
const people = (live: LiveServer, ...names: string[]): Promise<Client[]> =>
  Promise.all(
    names.map((name) =>
      live.person({ uid: name, profile: { display_name: name } }),
    ),
  );

const say = async (client: Client, channel: string, body = "Hi") => {
  const { event } = await client.do("chat.send", {
    channel,
    event_type: "channel.message",
    content: { type: "text", body },
  });
  return event.event_id as number;
};

/** Waits until a channel is delivered up to an event, and takes what came. */
async function framesAfter(
  { app }: LiveServer,
  client: Client,
  channel: string,
  event: number,
) {
  const { channels } = app.live.chat;
  await until(() => channels.lastDelivered("demo", channel) >= event);
  await channels.sent(channel, event);
  return client.all();
}

void t.test("who may open a direct channel", async (t) => {
  const live = await startLive(t, {}, [demo(), demo({ id: "other" })]);
  const [me, ann, banned, erased, blocks, blocked] = (await people(
    live,
    ...["me", "ann", "banned", "erased", "blocks", "blocked"],
  )) as [Client, Client, Client, Client, Client, Client];
  const foreign = await live.guest("foreign", "other");
  const { users } = live.app.store;
  await users.moderate("demo", banned.id, "banned");
  await users.erase("demo", { user_id: erased.id });
  await users.block("demo", blocks.id, me.id);
  await users.block("demo", me.id, blocked.id);
  const many = Array.from({ length: 100 }, () => randomUUID());
  const denied: [name: string, users: unknown[]][] = [
    ["nobody", []],
    ["only oneself", [me.id]],
    ["somebody unknown", [randomUUID()]],
    ["no id", ["ann"]],
    ["no text", [5]],
    ["null", [null]],
    ["of another world", [foreign.id]],
    ["banned", [ann.id, banned.id]],
    ["erased", [erased.id]],
    ["blocks the caller", [ann.id, blocks.id]],
    ["blocked by the caller", [blocked.id]],
    ["too many", many],
  ];
  for (const [name, users] of denied) {
    t.equal(await me.code(CREATE, { users }), "chat.denied", name);
  }
  t.equal(await me.code(CREATE, { users: "x" }), "protocol.invalid_payload");
  t.equal(await me.code(CREATE, {}), "protocol.invalid_payload");
  t.equal(await ann.code(CREATE, { users: [blocks.id, blocked.id] }), "ok");
  await users.moderate("demo", ann.id, "silenced");
  const silenced = await live.person({ uid: "ann" });
  t.equal(await silenced.code(CREATE, { users: [me.id] }), "auth.denied");
});

void t.test("the key chat.direct", async (t) => {
  const permission_config = rules({ "chat.direct": [["staff"]] });
  const live = await startLive(t, {}, [demo({ permission_config })]);
  const [me, ann] = await people(live, "me", "ann");
  t.equal(await me!.code(CREATE, { users: [ann!.id] }), "auth.denied");
});

void t.test("hidden until the first message", async (t) => {
  const live = await startLive(t);
  const [ann, bob] = (await people(live, "ann", "bob")) as [Client, Client];
  const tab = await live.person({ uid: "ann" });
  ann.sendFrame(CREATE, 1, { users: [bob.id, ann.id, bob.id.toUpperCase()] });
  const answer = await ann.frame();
  t.match(answer, ["success", 1, { state: null, unread_pointer: 0 }]);
  const {
    id: channel,
    members,
    next_event_id,
  } = answer[2] as {
    id: string;
    members: { id: string }[];
    next_event_id: number;
  };
  t.same(members.map(({ id }) => id).sort(), [ann.id, bob.id].sort());
  const joins = [await ann.frame(), await ann.frame()];
  t.match(joins, [
    ["chat.event", { channel, content: { membership: "join" } }],
    ["chat.event", { channel, content: { membership: "join" } }],
  ]);
  t.equal(next_event_id, (joins[0]![1] as { event_id: number }).event_id);
  t.same(await ann.names(), [], "no list for the caller");
  const { channels } = await tab.next("chat.channels");
  t.match(channels, [{ id: channel, unread_pointer: 0 }]);
  t.equal(channels[0].members.length, 2);
  t.same(await bob.names(), [], "nothing for the other");
  const early = await live.person({ uid: "bob" });
  t.same(early.hello["chat.channels"], []);
  early.ws.terminate();

  const first = await say(ann, channel);
  const frames = await bob.frames(3);
  t.match(frames, [
    ["chat.channels", { channels: [{ id: channel, unread_pointer: first }] }],
    ["chat.unread_pointers", { [channel]: first }],
    [
      "chat.notification",
      { event: { event_id: first }, sender: { id: ann.id } },
    ],
  ]);
  const second = await say(ann, channel);
  const names = (await framesAfter(live, bob, channel, second)).map(([n]) => n);
  t.same(names, ["chat.unread_pointers", "chat.notification"], "every message");
  await ann.all();
  await tab.all();

  const same = await bob.do(CREATE, { users: [ann.id], hide: false });
  t.equal(same.id, channel, "the same set again");
  const reply = await say(bob, channel);
  const got = await framesAfter(live, ann, channel, reply);
  t.same(
    got.map(([name]) => name),
    ["chat.event", "chat.unread_pointers", "chat.notification"],
    "the creator knows the channel",
  );
  t.same(
    (await framesAfter(live, tab, channel, reply)).map(([name]) => name),
    ["chat.unread_pointers", "chat.notification"],
  );
  const again = await live.person({ uid: "bob" });
  t.same(again.hello["chat.notification_counts"], { [channel]: 2 });
  await bob.do("chat.mark_read", { channel, id: second });
  t.same(await again.next("chat.notification_counts"), {});

  // Somebody who does not belong to it learns nothing of it.
  const [eve] = await people(live, "eve");
  t.equal(await eve!.code("chat.mark_read", { channel, id: 1 }), "ok");
  t.equal(await eve!.code("chat.subscribe", { channel }), "chat.denied");
  const secret = await say(bob, channel);
  t.same(
    (await framesAfter(live, eve!, channel, secret)).map(([name]) => name),
    ["chat.notification_counts"],
  );
});

void t.test("shown at once, put away, and back", async (t) => {
  const live = await startLive(t);
  const [ann, bob, cyd] = (await people(live, "ann", "bob", "cyd")) as [
    Client,
    Client,
    Client,
  ];
  const users = [bob.id, cyd.id];
  const { id: channel } = await ann.do(CREATE, { users, hide: false });
  for (const client of [ann, bob, cyd]) {
    const { channels } = await client.next("chat.channels");
    t.equal(channels[0].members.length, 3);
  }
  const pair = await ann.do(CREATE, { users: [bob.id] });
  t.not(pair.id, channel, "three never reuse one of two");
  await ann.all();

  const tab = await live.person({ uid: "bob" });
  await bob.do("chat.leave", { channel });
  t.same((await tab.next("chat.channels")).channels, []);
  t.same(await bob.names(), []);
  await say(ann, channel);
  for (const client of [bob, tab]) {
    const names = await client.frames(3);
    t.same(
      names.map(([name]) => name),
      ["chat.channels", "chat.unread_pointers", "chat.notification"],
    );
  }
  await bob.do("chat.leave", { channel });
  await tab.next("chat.channels");
  await bob.do(CREATE, { users: [ann.id, cyd.id] });
  for (const client of [bob, tab]) {
    const { channels } = await client.next("chat.channels");
    t.match(channels, [{ id: channel }], "opening it shows it again");
  }
});

void t.test("the members of very many direct channels", async (t) => {
  const live = await startLive(t);
  const { users, chat } = live.app.store;
  const me = await live.guest("me");
  const large = { display_name: "n".repeat(500), text: "x".repeat(15_000) };
  const ids: string[] = [];
  for (let i = 0; i < 60; i++) {
    const visitor = {
      clientId: `c${i}`,
      traits: new Set<string>(),
      profile: large,
    };
    ids.push((await users.enter("demo", visitor)).id);
  }
  for (const id of ids) await chat.direct("demo", me.id, [me.id, id], true);
  const again = await live.guest("me");
  const channels = again.hello["chat.channels"] as {
    members: { id: string; profile: { display_name: string; text?: string } }[];
  }[];
  t.equal(channels.length, 60, "all are there");
  t.ok(JSON.stringify(channels).length < 512 * 1024);
  const others = channels.map(({ members }) =>
    members.find(({ id }) => id !== me.id)!,
  );
  const whole = others.filter(({ profile }) => profile.text !== undefined);
  t.ok(whole.length >= 10 && whole.length < 20, `${whole.length} are whole`);
  t.equal(whole.at(-1), others.at(-1), "the newest");
  t.equal(others[0]!.profile.display_name, "n".repeat(100), "a name at least");
});
