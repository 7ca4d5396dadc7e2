import t from "tap";
import type { Client, Json } from "../live/client.js";
import { keys, say, startTalk, USER } from "./talk.js";

/** How large the users of a push may be together, in bytes, with what is around them. */
const MOST = 33 * 1024;

const at = (ids: string[]) => ids.map((id) => `@${id}`).join(" ");

const sizeOf = (value: unknown): number =>
  Buffer.byteLength(JSON.stringify(value));

void t.test("C pushes about users with large profiles", async (t) => {
  const talk = await startTalk(t, { maxUnsent: 256 * 1024 });
  const { users } = talk.live.app.store;
  const pad = "x".repeat(15_900);
  const enter = async (uid: string, profile: Json) => {
    const visitor = { tokenId: uid, traits: new Set<string>(), profile };
    return (await users.enter("demo", visitor)).id;
  };
  const fat: string[] = [];
  for (let i = 0; i < 49; i++) {
    const uid = `fat ${i}`;
    // A hundred characters, the last of which has two units.
    const display_name = `${uid.padEnd(99, "x")}😀`;
    fat.push(await enter(uid, { display_name, pad }));
  }
  const comes = (client: Client, name: string, id: number): Promise<Json> =>
    client.next(name, ({ event_id }) => event_id === id);

  await t.test("an event tells of the sender and who fits in", async (t) => {
    const channel = await talk.room();
    const slim = await talk.person("slim");
    const ann = await talk.member("ann", channel);
    const bob = await talk.person("bob");
    await bob.do("chat.subscribe", { channel });
    const { event_id } = await say(ann, channel, at(fat.slice(0, 48)));
    const { users } = await comes(bob, "chat.event", event_id);
    t.equal(keys(users).length, 3, "two large ones");
    t.ok(users[ann.id]);
    t.ok(sizeOf(users) <= MOST);

    const body = at([...fat.slice(0, 48), slim.id]);
    const next = await say(ann, channel, body);
    const more = await comes(bob, "chat.event", next.event_id);
    t.ok(more.users[slim.id], "what is small fits in after what does not");

    // Who was left out does not count as told of.
    const left = fat.find((id) => !(id in users) && !(id in more.users))!;
    const speaker = await talk.live.person({ uid: `fat ${fat.indexOf(left)}` });
    await speaker.do("chat.join", { channel });
    const joined = await bob.next("chat.event", (e) => e.sender === left);
    t.equal(joined.users[left].profile.pad, pad);
    const said = await say(speaker, channel, at(fat));
    const told = await comes(bob, "chat.event", said.event_id);
    t.notOk(left in told.users);
    const stranger = await talk.person("stranger");
    await stranger.do("chat.subscribe", { channel });
    const { event_id: id } = await say(speaker, channel, at(fat));
    const first = await comes(stranger, "chat.event", id);
    t.equal(first.users[left].profile.pad, pad, "the sender comes first");
    t.ok(sizeOf(first.users) <= MOST);
  });

  await t.test("as does an event with its reactions", async (t) => {
    const channel = await talk.room({ volatile: true });
    const ann = await talk.member("ann", channel);
    const { event_id: event } = await say(ann, channel, "x");
    const { chat } = talk.live.app.store;
    const bob = await talk.person("bob");
    await bob.do("chat.subscribe", { channel });
    for (const user of fat) {
      const more = { reaction: "👍", remove: false, volatile: true };
      await chat.react("demo", channel, event, { user, ...more });
    }
    for (;;) {
      const push = await comes(bob, "chat.event.reaction", event);
      t.ok(sizeOf(push.users) <= MOST);
      if (push.reactions["👍"].length === fat.length) break;
    }
  });

  await t.test("a warning names all, and shows who fits in", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const { event_id } = await say(ann, channel, at(fat));
    const warning = await comes(ann, "chat.mention_warning", event_id);
    const missed = warning.missed_users as Json[];
    t.same(missed.map(({ id }) => id).sort(), [...fat].sort());
    for (const user of missed) {
      t.same(keys(user), USER);
      t.match(user.profile.display_name, /^fat .*x😀$/);
    }
    t.equal(missed.filter(({ profile }) => profile.pad).length, 2);
    t.ok(sizeOf(warning) < 48 * 1024);
    await comes(ann, "chat.event", event_id);
  });

  await t.test("a sender is not dropped by what they send", async (t) => {
    const channel = await talk.room();
    const ann = await talk.member("ann", channel);
    const ids: Json[] = [];
    for (let i = 0; i < 4; i++) ids.push(say(ann, channel, at(fat)));
    for (const { event_id } of await Promise.all(ids)) {
      await comes(ann, "chat.event", event_id);
    }
    t.equal(await ann.code("user.list.blocked"), "ok");
  });
});
