import t from "tap";
import { until } from "../helper.js";
import { type Client, holdRates } from "../live/client.js";
import { type Half, startPair } from "./pair.js";

// What a user may do counts over all servers where they are connected.

const limited = "protocol.rate_limited";

const named = (uid: string) => ({ uid, profile: { display_name: uid } });

/** Gets what a server hears of spending. */
function spendingIn({ app }: Half): unknown[] {
  const reports: unknown[] = [];
  app.events.subscribe((event) => {
    const isShared = event.type === "live" && event.topic === "replica";
    const text = isShared ? JSON.stringify(event.data) : "";
    if (text.includes('"spent ')) reports.push(JSON.parse(text));
  });
  return reports;
}

/** How many messages of a user processes have told each other of. */
const spentIn = (reports: readonly unknown[], { id }: Client): number =>
  (reports as { put: [string, number, number][] }[])
    .flatMap(({ put }) => put)
    .filter(([key]) => key === `spent messages ${id}`)
    .reduce((last, [, , total]) => Math.max(last, total), 0);

void t.test("who is connected twice may not do twice as much", async (t) => {
  const pair = await startPair(t);
  const { one, two } = pair;
  const { value: room } = await one.store.rooms.create("demo", {
    name: "Lobby",
    module_config: [{ type: "chat.native", config: {} }],
  });
  const channel = room.id;
  const here = await one.person(named("ada"));
  const there = await two.person(named("ada"));
  const other = await two.person(named("bob"));
  for (const client of [here, other]) await client.do("chat.join", { channel });
  const presence = one.app.live.presence;
  await until(
    () => presence.people.connectionsOf("demo", here.id).length === 2,
  );
  const say = (client: Client) =>
    client.code("chat.send", {
      channel,
      event_type: "channel.message",
      content: { type: "text", body: "hello" },
    });

  const shared = spendingIn(two);
  t.equal(await say(other), "ok");
  // Nothing is refilled while the test counts. This clock goes on.
  const go = holdRates(t);
  const began = process.uptime();
  let sent = 0;
  while ((await say(here)) === "ok") sent++;
  const { messagesPerSecond } = one.app.live.limits;
  t.equal(sent, 4 * messagesPerSecond, "a burst");
  await until(() => spentIn(shared, here) === sent);
  t.not(await say(there), "ok", "nothing is left");
  go();
  t.equal(await say(other), "ok", "others are not affected");
  const told = shared.length;
  // The first report may be of the join, and no more than ten come in a second.
  const most = 2 + 10 * (process.uptime() - began);
  t.ok(told <= most, `${told} reports: many share a report`);
});

void t.test("a rate outlives the connections", async (t) => {
  const { one, two } = await startPair(t);
  const { value: room } = await one.store.rooms.create("demo", {
    name: "Lobby",
    module_config: [{ type: "chat.native", config: {} }],
  });
  const channel = room.id;
  const message = {
    channel,
    event_type: "channel.message",
    content: { type: "text", body: "hello" },
  };
  const shared = spendingIn(two);
  const { messagesPerSecond } = one.app.live.limits;
  const burst = 4 * messagesPerSecond;
  // A login waits for what the processes say that it knows, and time stands still from here on.
  const { replica } = two.app.live;
  await until(() => replica.othersIn("").length === 1);
  const go = holdRates(t);
  const first = await one.person(named("ada"));
  await first.do("chat.join", { channel });
  for (let i = 0; i < burst; i++) await first.do("chat.send", message);
  first.close();
  await first.closed;
  const { hub } = one.app.live;
  await until(() => hub.of("demo", first.id).size === 0);
  await until(() => spentIn(shared, first) === burst);

  for (const [name, half] of Object.entries({ one, two })) {
    const again = await half.person(named("ada"));
    t.equal(await again.code("chat.send", message), limited, name);
  }
  go();
  const last = await two.person(named("ada"));
  await until(async () => (await last.code("chat.send", message)) === "ok");
});
