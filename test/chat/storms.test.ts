import t from "tap";
import {
  type Client,
  holdRates,
  type Json,
  startLive,
} from "../live/client.js";
import { direct, history, message, say, startTalk, text } from "./talk.js";

const CREATE = "chat.direct.create";
const limited = "protocol.rate_limited";

const listOf = ({ channels }: Json): string[] =>
  channels.map(({ id }: Json) => id);

/** Changes a user's list of channels until it is no longer sent at once. */
async function exhaust(client: Client, channel: string): Promise<void> {
  for (let i = 0; i < 22; i++) {
    await client.do("chat.join", { channel });
    await client.do("chat.leave", { channel });
  }
}

void t.test("lists of channels have a rate", async (t) => {
  const talk = await startTalk(t);
  const [room, last] = [await talk.room(), await talk.room()];
  const [bob, two] = [await talk.person("bob"), await talk.person("bob")];
  const began = performance.now();
  await bob.do("chat.join", { channel: room });
  t.same(listOf(await two.next("chat.channels")), [room], "at once");
  await bob.do("chat.leave", { channel: room });
  t.same(listOf(await two.next("chat.channels")), [], "and again");
  await exhaust(bob, room);
  await bob.do("chat.join", { channel: last });
  await two.next("chat.channels", (data) => listOf(data).includes(last));
  const sent = (await talk.came(two)).filter(([n]) => n === "chat.channels");
  const seconds = (performance.now() - began) / 1000;
  t.ok(sent.length <= 33 + 8 * seconds, `${sent.length} lists`);
  await talk.settle(last);
  const lists = (await talk.came(two)).filter(([n]) => n === "chat.channels");
  t.same(lists, [], "the last one has the last state");
});

void t.test("direct channels that appear while the list waits", async (t) => {
  const talk = await startTalk(t);
  const room = await talk.room();
  const [ann, bob] = [await talk.person("ann"), await talk.person("bob")];
  const two = await talk.person("bob");
  const known = await direct(bob, ann);
  await two.next("chat.channels");
  const [one, other] = [
    await direct(ann, bob, await talk.person("cyd")),
    await direct(ann, bob, await talk.person("dan")),
  ];
  await two.all();
  await exhaust(bob, room);
  await bob.do("chat.join", { channel: room });
  await bob.all();
  const said: [string, number][] = [];
  for (const channel of [one, other, one]) {
    const { event_id } = await say(ann, channel, "x");
    said.push([channel, event_id]);
    await ann.next("chat.event", (event) => event.event_id === event_id);
  }
  const { event_id } = await say(ann, known, "x");
  const frames: [string, Json][] = [];
  const told = (name: string) =>
    frames.filter(([one]) => one === name).map(([, data]) => data);
  while (told("chat.notification").length < 4) {
    const [[name, data]] = (await two.frames(1)) as [[string, Json]];
    frames.push([name, data]);
  }
  for (const channel of [one, other]) {
    const listed = frames.findIndex(
      ([name, data]) =>
        name === "chat.channels" && listOf(data).includes(channel),
    );
    const first = frames.findIndex(
      ([name, data]) => name === "chat.unread_pointers" && data[channel],
    );
    t.ok(listed >= 0 && listed < first, "first the list, then what is new");
    const ids = said.filter(([id]) => id === channel).map(([, id]) => id);
    const pointers = told("chat.unread_pointers");
    t.same(
      pointers.flatMap((data) => data[channel] ?? []),
      ids,
      "in order",
    );
    const notices = told("chat.notification").map(({ event }) => event);
    t.same(
      notices
        .filter((event) => event.channel === channel)
        .map(({ event_id }) => event_id),
      ids,
    );
  }
  const { hello } = await talk.person("bob");
  t.same(hello["chat.notification_counts"], {
    [one]: 2,
    [other]: 1,
    [known]: 1,
  });
  t.ok(event_id > 0);
});

void t.test("showing channels to people has a rate", async (t) => {
  const live = await startLive(t);
  const ids: string[] = [];
  for (let i = 0; i < 99; i++) {
    const visitor = { tokenId: `v${i}`, traits: new Set<string>() };
    ids.push((await live.app.store.users.enter("demo", visitor)).id);
  }
  const named = (uid: string) =>
    live.person({ uid, profile: { display_name: uid } });
  const [ann, bob] = [await named("ann"), await named("bob")];
  holdRates(t);
  /** Another set of 97 each time. */
  const others = (i: number) => ids.filter((_, at) => at !== i && at !== i + 1);
  const create = (client: Client, i: number, hide: boolean) =>
    client.call(CREATE, { users: others(i), hide });
  const codes: string[] = [];
  for (let i = 0; i < 5; i++) {
    const [kind, , result] = await create(ann, i, false);
    codes.push(kind === "success" ? "ok" : (result as Json).code);
  }
  t.same(codes, ["ok", "ok", "ok", limited, limited]);
  const seen = await live.person({ uid: "v50" });
  t.equal(seen.hello["chat.channels"].length, 3, "nothing was written");

  const hidden = await ann.do(CREATE, { users: others(10) });
  const send = message(hidden.id, text("x"));
  t.equal(await ann.code("chat.send", send), limited, "the first message");
  const events = await history(ann, hidden.id, 1000);
  t.ok(events.every(({ event_type }) => event_type === "channel.member"));

  const pair = await ann.do(CREATE, { users: [bob.id], hide: false });
  await say(ann, pair.id, "a few people are still fine");
  t.equal((await create(bob, 20, false))[0], "success", "others may");
});
