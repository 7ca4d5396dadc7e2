import t from "tap";
import { until } from "../helper.js";
import type { Client, Json } from "../live/client.js";
import { Random } from "../simulation/random.js";
import { startPair } from "./pair.js";

// Between two servers, the bus loses, doubles and reorders most messages. Clients of both
// still get everything once and in order, and nothing after they were banned.

const SEED = Number(process.env.SEED ?? 1);

/** The longest delay of a message, in milliseconds: later ones overtake it. */
const LONGEST_DELAY = 400;

const ROOM = {
  name: "Hall",
  module_config: [
    { type: "chat.native", config: {} },
    { type: "question", config: { active: true, requires_moderation: false } },
  ],
};

const named = (uid: string, traits: string[] = []) => ({
  uid,
  traits,
  profile: { display_name: uid },
});

void t.test("a bus that loses, doubles and reorders", async (t) => {
  t.comment(`SEED=${SEED}`);
  const random = new Random(SEED);
  const pair = await startPair(t);
  const { one, two } = pair;
  const { value: hall } = await one.store.rooms.create("demo", ROOM);
  const room = hall.id;
  const boss = await one.person(named("boss", ["admin"]));
  const ann = await two.person(named("ann"));
  const bob = await one.person(named("bob"));
  const eve = await two.person(named("eve"));
  const readers = [boss, ann, bob];
  for (const client of [...readers, eve]) {
    await client.do("room.enter", { room });
    await client.do("chat.join", { channel: room });
  }

  const counts = { lost: 0, doubled: 0, late: 0 };
  pair.link = (message, to) => {
    const fate = random.next();
    if (fate < 0.3) {
      counts.lost++;
      return [];
    }
    if (fate < 0.5) {
      counts.doubled++;
      return [message, message];
    }
    if (fate < 0.9) {
      counts.late++;
      const delay = random.between(0, LONGEST_DELAY);
      setTimeout(() => pair.hand(to, message), delay);
      return [];
    }
    return [message];
  };
  for (const client of readers) await client.all();
  const heard: string[] = [];
  eve.ws.on("message", (data: Buffer) => heard.push(data.toString()));

  const sent: number[] = [];
  const say = async (client: Client, body: string) => {
    const { event } = await client.do("chat.send", {
      channel: room,
      event_type: "channel.message",
      content: { type: "text", body },
    });
    sent.push(event.event_id);
  };
  const { question } = await ann.do("question.ask", { room, content: "Why?" });
  const vote = { room, id: question.id as string, vote: true };
  await Promise.all([
    ...readers.map(async (client, i) => {
      for (let n = 0; n < 15; n++) await say(client, `${i}.${n}`);
    }),
    (async () => {
      for (let n = 0; n < 15; n++) {
        await boss.do("room.config.patch", { room, name: `Hall ${n}` });
        if (n < 3) await [boss, bob, eve][n]!.do("question.vote", vote);
      }
    })(),
  ]);
  await boss.do("user.ban", { id: eve.id });
  await until(() => eve.ws.readyState === eve.ws.CLOSED);
  await say(boss, "a secret of the others");

  await t.test("every message comes once, in order", async (t) => {
    const inOrder = sent.toSorted((a, b) => a - b);
    for (const client of readers) {
      const events: number[] = [];
      while (events.at(-1) !== inOrder.at(-1)) {
        const { event_id, event_type } = await client.next("chat.event");
        if (event_type === "channel.message") events.push(event_id);
      }
      t.strictSame(events, inOrder);
    }
    t.ok(heard.length > 0);
    t.notMatch(heard.join(), "a secret of the others");
  });

  await t.test("what was pushed is what a fresh login finds", async (t) => {
    const isLast = ({ rooms }: Json) =>
      rooms.some(({ name }: Json) => name === "Hall 14");
    const [own] = (await ann.do("question.list", { room })) as Json[];
    t.equal(own!.score, 3);
    for (const client of readers) {
      const { rooms } = await client.next("world.updated", isLast);
      t.equal(rooms.length, 1);
    }
    const { rooms } = (await two.person(named("late"))).hello["world.config"];
    t.ok(isLast({ rooms }));
  });

  for (const [fate, count] of Object.entries(counts))
    t.ok(count > 5, `${fate}: ${count}`);
});
