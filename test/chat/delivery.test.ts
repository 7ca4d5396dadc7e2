import t from "tap";
import { StoreError } from "../../db/contract/store.js";
import {
  type Client,
  type Json,
  type LiveServer,
  makeRoom,
  soon,
  startLive,
} from "../live/client.js";
import { until } from "../helper.js";

const CHAT = { module_config: [{ type: "chat.native" }] };

const text = (body: string) => ({
  event_type: "channel.message",
  content: { type: "text", body },
});

/** A user with a name. */
const named = (uid: string) => ({ uid, profile: { display_name: uid } });

const say = async (client: Client, channel: string, body: string) =>
  (await client.do("chat.send", { channel, ...text(body) })).event;

/** The bodies of the next messages that are pushed. */
async function heard(client: Client, count: number): Promise<string[]> {
  const bodies: string[] = [];
  while (bodies.length < count) {
    const { event_type, content } = await client.next("chat.event");
    if (event_type === "channel.message") bodies.push(content.body as string);
  }
  return bodies;
}

async function readied(live: LiveServer) {
  const channel = await makeRoom(live, CHAT);
  const ada = await live.person(named("ada"));
  const ben = await live.person(named("ben"));
  await ada.do("chat.join", { channel });
  return { channel, ada, ben };
}

void t.test("the own events come after the answer", async (t) => {
  const live = await startLive(t);
  const channel = await makeRoom(live, CHAT);
  const ada = await live.person(named("ada"));
  ada.sendFrame("chat.join", 1, { channel });
  ada.sendFrame("chat.send", 2, { channel, ...text("hello") });
  ada.sendFrame("chat.leave", 3, { channel });
  const frames = [];
  for (let i = 0; i < 5; i++) frames.push(await ada.frame());
  const [joined, , sent] = frames as Json[];
  t.same(
    frames.map(([name]) => name),
    ["success", "chat.event", "success", "chat.event", "success"],
  );
  t.same(joined[2].members, [], "the state is that before the join");
  const join = frames[1]![1] as Json;
  t.ok(join.event_id >= joined[2].next_event_id);
  t.match(join, {
    event_type: "channel.member",
    content: { membership: "join", user: { id: ada.id } },
    users: { [ada.id]: { id: ada.id } },
  });
  t.match(frames[3], ["chat.event", { ...sent[2].event, users: {} }]);
  t.same(await ada.names(), [], "nor does it see its own leave event");
});

/** Sends messages until it is stopped. */
function talk(client: Client, channel: string): () => Promise<void> {
  let talking = true;
  const ended = (async () => {
    for (let i = 0; talking; i++) await say(client, channel, `${i}`);
  })();
  return () => {
    talking = false;
    return ended;
  };
}

const idOf = ({ event_id }: Json): number => event_id as number;

/** Sends a command. @returns its answer, and the ids of the events that were pushed before it. */
async function during(client: Client, action: string, payload: object) {
  client.sendFrame(action, "now", payload);
  const pushed: number[] = [];
  for (;;) {
    const frame = await client.frame();
    if (frame[1] === "now") return { pushed, answer: frame[2] as Json };
    pushed.push(idOf(frame[1]));
  }
}

void t.test("subscribing while others talk", async (t) => {
  // However many messages come while the other one subscribes.
  const tireless = { messagesPerSecond: 10_000, commandsPerSecond: 10_000 };
  const live = await startLive(t, tireless);
  const { channel, ada, ben } = await readied(live);
  const first = idOf(await say(ada, channel, "first"));
  const stop = talk(ada, channel);
  for (let round = 0; round < 10; round++) {
    const { answer } = await during(ben, "chat.subscribe", { channel });
    const { next_event_id: from } = answer;
    const page = await during(ben, "chat.fetch", {
      channel,
      count: 1000,
      before_id: from,
    });
    const pushed = page.pushed;
    while (pushed.length < 5) pushed.push(idOf(await ben.next("chat.event")));
    // The subscription begins again while there are pushes.
    const again = await during(ben, "chat.subscribe", {
      channel,
      after: first,
    });
    pushed.push(...again.pushed);
    const later: number[] = [];
    while (later.length < 5) later.push(idOf(await ben.next("chat.event")));
    const { pushed: rest } = await during(ben, "chat.unsubscribe", { channel });
    later.push(...rest);
    const all = await live.app.store.chat.events("demo", channel, {
      after: first,
      limit: 10_000,
    });
    const ids = all.map(({ id }) => id);
    const between = (start: number, end: number) =>
      ids.filter((id) => id >= start && id <= end);
    const { events, next_event_id: next } = again.answer;
    // What was on its way when the subscription began again may come after the answer.
    while (later[0]! < next) later.shift();
    t.same(
      [
        page.answer.results.map(idOf).filter((id: number) => id > first),
        pushed,
        events.map(idOf),
        later,
      ],
      [
        between(0, from - 1),
        between(from, pushed.at(-1)!),
        between(0, next - 1),
        between(next, later.at(-1)!),
      ],
      "no gap and no overlap",
    );
  }
  await stop();
});

void t.test("a subscription that fails", async (t) => {
  const live = await startLive(t);
  const { channel, ada, ben } = await readied(live);
  const { chat } = live.app.store;
  const { channels } = live.app.live.chat;
  const read = chat.channel.bind(chat);
  const subscribe = channels.subscribe.bind(channels);
  let goOn = () => {};
  /** Makes the next subscription wait for an answer that it does not get. @returns when it does. */
  const fail = () =>
    new Promise<void>((resolve) => {
      channels.subscribe = (...args) => {
        channels.subscribe = subscribe;
        chat.channel = () =>
          new Promise((_, reject) => {
            chat.channel = read;
            resolve();
            goOn = () => reject(new StoreError("busy", "Busy."));
          });
        return subscribe(...args);
      };
    });

  for (const isSubscribed of [false, true]) {
    if (isSubscribed) await ben.do("chat.subscribe", { channel });
    const asked = fail();
    ben.sendFrame("chat.subscribe", "late", { channel });
    await soon(asked);
    const { event_id: id } = await say(ada, channel, "meanwhile");
    goOn();
    t.match(await ben.answered("late"), ["error", "late"]);
    const later = idOf(await say(ada, channel, "later"));
    await until(() => channels.feed.cursorOf("demo", channel) >= later);
    await channels.sent(channel, later);
    t.same(
      (await ben.all()).map(([, data]) => idOf(data)),
      isSubscribed ? [id, later] : [],
      isSubscribed ? "the old one goes on without a gap" : "is none",
    );
  }
});

void t.test("after an event that does not exist yet", async (t) => {
  const live = await startLive(t);
  const { channel, ada, ben } = await readied(live);
  for (const after of [1e6, "9223372036854775807"]) {
    const { events } = await ben.do("chat.subscribe", { channel, after });
    t.same(events, []);
    await say(ada, channel, "still pushed");
    t.same(await heard(ben, 1), ["still pushed"]);
  }
});

void t.test("more missed events than an answer holds", async (t) => {
  const live = await startLive(t);
  const { channel, ada, ben } = await readied(live);
  for (let i = 1; i <= 1100; i++) {
    await live.app.store.chat.send("demo", channel, {
      sender: ada.id,
      content: { type: "text", body: `${i}` },
    });
  }
  const answer = await ben.do("chat.subscribe", { channel, after: 0 });
  const last = answer.events.at(-1).event_id as number;
  t.equal(answer.events.length, 1000);
  const rest = await ben.do("chat.fetch", {
    channel,
    count: 1000,
    after_id: last,
  });
  t.equal(rest.results.at(-1).event_id, answer.next_event_id - 1);
  t.equal(rest.results.length, 101);
});
