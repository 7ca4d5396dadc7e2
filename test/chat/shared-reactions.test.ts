import t from "tap";
import { until } from "../helper.js";
import { type Client, type Json, soon } from "../live/client.js";
import { startPair } from "./pair.js";

const named = (uid: string) => ({ uid, profile: { display_name: uid } });

void t.test("reactions reach other servers, once", async (t) => {
  const pair = await startPair(t);
  const { one, two } = pair;
  const { value } = await one.store.rooms.create("demo", { name: "Lobby" });
  const room = value.id;
  const ann = await one.person(named("ann"));
  const bob = await two.person(named("bob"));
  for (const client of [ann, bob]) await client.do("room.enter", { room });
  const { presence } = two.app.live;
  await until(() => presence.countIn("demo", room) === 2);
  pair.link = (message) => [message, message];
  const react = (reaction: string) => ann.do("room.react", { room, reaction });
  const next = async (client: Client): Promise<Json> =>
    (await soon(client.next("room.reaction"))).reactions;
  for (const emoji of ["👏", "❤️"]) {
    await react(emoji);
    for (const client of [ann, bob]) {
      t.strictSame(await next(client), { [emoji]: 1 });
    }
  }
  for (const client of [ann, bob]) {
    t.notOk((await client.names()).includes("room.reaction"));
  }
  const stranger = await two.person(named("eve"));
  await stranger.do("room.enter", { room });
  await react("👍");
  await next(bob);
  t.notOk((await bob.names()).includes("room.reaction"));
});
