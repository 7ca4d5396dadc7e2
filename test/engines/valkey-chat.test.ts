import { randomUUID } from "node:crypto";
import t from "tap";
import { ValkeyBus } from "../../db/bus/valkey/bus.js";
import { until } from "../helper.js";
import type { Client, Frame, Json } from "../live/client.js";
import { startValkey } from "../servers/valkey.js";
import { type Half, startHalves } from "../chat/pair.js";

const isMessage = ([name, data]: Frame): boolean =>
  name === "chat.event" && (data as Json).event_type === "channel.message";

const named = (uid: string, traits: string[] = []) => ({
  uid,
  traits,
  profile: { display_name: uid },
});

void t.test("two servers share a Valkey that goes and comes", async (t) => {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const open = () =>
    ValkeyBus.open({
      url: valkey.url,
      namespace,
      onFault: (error) => t.fail(error as Error),
    });
  const buses = [await open(), await open()] as const;
  const halves = (await startHalves(t, buses)) as [Half, Half];
  const [one, two] = halves;
  const { value: hall } = await one.store.rooms.create("demo", {
    name: "Hall",
    module_config: [{ type: "chat.native", config: {} }],
  });
  const room = hall.id;
  const ada = await one.person(named("ada", ["admin"]));
  const ben = await two.person(named("ben"));
  const people = [ada, ben];
  for (const client of people) {
    await client.do("room.enter", { room });
    await client.do("chat.join", { channel: room });
    await client.do("chat.subscribe", { channel: room });
  }
  const viewers = (half: Half) => half.app.live.presence.countIn("demo", room);
  const say = (client: Client, body: string) =>
    client.do("chat.send", {
      channel: room,
      event_type: "channel.message",
      content: { type: "text", body },
    });
  const hears = (client: Client, body: string) =>
    client.next("chat.event", ({ content }) => content.body === body);
  await until(() => halves.every((half) => viewers(half) === 2));
  await say(ada, "before");
  for (const client of people) await hears(client, "before");
  await say(ben, "back");
  for (const client of people) await hears(client, "back");

  await valkey.stop();
  await until(() => buses.every(({ connected }) => !connected));
  await say(ada, "meanwhile");
  await say(ben, "as well");
  for (const client of people) {
    await hears(client, "meanwhile");
    await hears(client, "as well");
  }
  await until(() => halves.every((half) => viewers(half) === 1));
  t.match(await ada.next("room.viewer.removed"), { user_id: ben.id });
  await ada.do("world.config.patch", { title: "Renamed" });
  const eve = await two.person(named("eve"));
  await eve.do("room.enter", { room });

  await valkey.restart();
  await until(() => buses.every(({ connected }) => connected));
  await until(() => halves.every((half) => viewers(half) === 3));
  const renamed = (data: Json) => data.world.title === "Renamed";
  await ben.next("world.updated", renamed);
  const added = (id: string) => (data: Json) => data.user.id === id;
  for (const { id } of [ben, eve]) {
    await ada.next("room.viewer.added", added(id));
  }
  await say(ben, "after");
  for (const client of people) await hears(client, "after");

  const spoken = (await ada.all()).filter(isMessage);
  t.strictSame(spoken, [], "each message came once");
  await two.app.close();
  await until(() => viewers(one) === 1);
});
