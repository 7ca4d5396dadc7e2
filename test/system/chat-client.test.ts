import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { Live, type SentEvent } from "../../client/index.js";
import { until } from "../helper.js";
import { type Pair, startPair } from "./pair.js";

/** How many messages each of two people sends. */
const MESSAGES = 40;

/** The client of a user with a name. */
async function person(t: Test, pair: Pair, name: string): Promise<Live> {
  const live = new Live({
    baseUrl: pair.server.address,
    world: "sample",
    token: pair.sign(name, ...(name === "ada" ? ["admin", "api"] : [])).token,
    retryDelay: 20,
    maxRetryDelay: 200,
  });
  t.teardown(() => live.close());
  await live.connected();
  await live.call("user.update", { profile: { display_name: name } });
  return live;
}

void t.test("two people talk while each worker is killed", async (t) => {
  const pair = await startPair(t, { LIVE_MESSAGES_PER_SECOND: "1000" });
  const ada = await person(t, pair, "ada");
  const ben = await person(t, pair, "ben");
  const { channel } = await ada.call("room.create", {
    name: "Talk",
    description: "",
    modules: [{ type: "chat.native", config: {} }],
  });
  const sent = new Map<number, string>();
  let last = 0;
  const talks = [ada, ben].map(async (live, i) => {
    const talk = live.channel(channel!);
    await talk.join();
    const heard: SentEvent[] = [];
    const listening = (async () => {
      for await (const event of talk.events({ after: 0 })) {
        if (event.event_type === "channel.message") heard.push(event);
        if (heard.length === 2 * MESSAGES) return;
      }
    })();
    for (let n = 0; n < MESSAGES; n++) {
      const body = `${i} ${n}`;
      const { event_id } = await talk.send(body);
      sent.set(event_id, body);
      last = sent.size;
      await delay(10);
    }
    await listening;
    return heard;
  });
  // Each process dies in turn, with its connections.
  for (const [i, pid] of pair.workers().entries()) {
    await until(() => last > (i + 1) * 20);
    process.kill(pid, "SIGKILL");
    // Another one takes its place.
    await until(() => pair.workers().length > i + 2);
  }
  const [first, second] = await Promise.all(talks);
  const all = [...sent].sort(([a], [b]) => a - b);
  t.equal(all.length, 2 * MESSAGES);
  for (const heard of [first!, second!]) {
    t.same(
      heard.map(({ event_id, content }) => [event_id, content.body]),
      all,
      "each message once, and in the order of the ids",
    );
  }
  for (const i of [0, 1]) {
    t.same(
      all.map(([, body]) => body).filter((body) => body.startsWith(`${i} `)),
      Array.from({ length: MESSAGES }, (_, n) => `${i} ${n}`),
      "in the order in which they were sent",
    );
  }
});
