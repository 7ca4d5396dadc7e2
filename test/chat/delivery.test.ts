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

const idOf = ({ event_id }: Json): number => event_id as number;

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
