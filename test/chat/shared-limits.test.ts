import t from "tap";
import { until } from "../helper.js";
import { type Client, holdRates } from "../live/client.js";
import { startPair } from "./pair.js";

// What a user may do counts over all servers where they are connected.

const named = (uid: string) => ({ uid, profile: { display_name: uid } });

/** How many messages processes have told each other of. */
const spentIn = (reports: readonly unknown[]): number =>
  (reports as { spent: [string, string, string, number][] }[])
    .flatMap(({ spent }) => spent)
    .filter(([, , kind]) => kind === "messages")
    .reduce((sum, [, , , count]) => sum + count, 0);

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
  await until(() => presence.connectionsOf("demo", here.id).length === 2);
  const say = (client: Client) =>
    client.code("chat.send", {
      channel,
      event_type: "channel.message",
      content: { type: "text", body: "hello" },
    });

  const shared: unknown[] = [];
  two.app.events.subscribe((event) => {
    if (event.type === "live" && event.topic === "rates") {
      shared.push(event.data);
    }
  });
  t.equal(await say(other), "ok");
  // Nothing is refilled while the test counts. This clock goes on.
  const go = holdRates(t);
  const began = process.uptime();
  let sent = 0;
  while ((await say(here)) === "ok") sent++;
  const { messagesPerSecond } = one.app.live.limits;
  t.equal(sent, 4 * messagesPerSecond, "a burst");
  await until(() => spentIn(shared) === sent);
  t.not(await say(there), "ok", "nothing is left");
  go();
  t.equal(await say(other), "ok", "others are not affected");
  const told = shared.length;
  // The first report may be of the join, and no more than ten come in a second.
  const most = 2 + 10 * (process.uptime() - began);
  t.ok(told <= most, `${told} reports: many are told together`);

  there.close();
  await until(() => presence.connectionsOf("demo", here.id).length === 1);
  await until(async () => (await say(here)) === "ok");
  t.ok(shared.length <= told + 2, "nobody else has to know");
});
