import t from "tap";
import { ask } from "../system/chatter.js";
import {
  createRoom,
  SECONDS,
  SHORT,
  startNode,
  startSite,
  within,
} from "./kit.js";
import { personAt, Talk } from "./talk.js";

/** How many listen at the node that is killed. */
const CROWD = SHORT ? 300 : 1000;

void t.test("kill -9 of a node", async (t) => {
  const site = await startSite(t);
  const doomed = await startNode(t, site);
  const other = await startNode(t, site);
  const talk = await Talk.start(t, [doomed, other], CROWD);

  // Some who do not come back.
  const lobby = await createRoom(other, "Lobby");
  const host = await personAt(t, other, "host", "admin");
  const viewers = async () => {
    const entered = await ask(host, "room.enter", { room: lobby });
    return (entered.viewers as { id: string }[]).length;
  };
  for (const uid of ["ann", "bob", "eve"]) {
    const ghost = await personAt(t, doomed, uid);
    await ask(ghost, "room.enter", { room: lobby });
  }
  await within(10 * SECONDS, "the host sees them", async () => {
    return (await viewers()) === 4;
  });

  talk.begin();
  await talk.goOn(60);
  const tell = (took: number) =>
    t.comment(`${CROWD} clients were back after ${Math.round(took)} ms`);
  const survived = talk.survives(doomed, 5 * SECONDS);
  survived.catch(() => {});
  const gone = await within(
    10 * SECONDS,
    "users who do not come back are gone",
    async () => (await viewers()) === 1,
  );
  tell(await survived);
  t.comment(`the others were gone after ${Math.round(gone)} ms`);
  await talk.goOn(60);

  // The other one is killed as soon as there is a new one in the place of the first.
  const next = await startNode(t, site, { PORT: `${doomed.port}` });
  tell(await talk.survives(other, 5 * SECONDS));
  await talk.goOn(60);
  await talk.end();
  t.equal(await next.status("/readyz"), 200);
});
