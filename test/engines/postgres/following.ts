import { until, worldOf } from "../../helper.js";
import { type Clock, processClock } from "../../../db/log/clock.js";
import { LocalBus } from "../../../db/bus/local.js";
import { INDEX } from "../../../db/log/entries.js";
import { LogEvents } from "../../../db/log/log-events.js";
import { Database } from "../../../db/postgres/engine/database.js";
import { postgresStore } from "../../../db/postgres/index.js";
import { emptyDatabase, type Part } from "./setup.js";

/** How many worlds a node follows at most for what it caches. */
const MOST = 1000;

/** Which logs a node follows for what it caches of their worlds. */
export const following: Part = async (t, server) => {
  const url = await emptyDatabase(server);
  const db = await Database.open({ url, pool: 4 }, { create: true });
  const store = postgresStore(db);
  const events = new LogEvents({
    bus: new LocalBus((error) => t.fail(String(error))),
    log: store.log,
    onFault: (error) => void t.fail(String(error)),
  });
  t.teardown(async () => {
    await store.close();
    await events.close();
  });
  const followed = new Set<string>();
  const follow = events.follow.bind(events);
  const unfollow = events.unfollow.bind(events);
  events.follow = (world) => {
    followed.add(world);
    return follow(world);
  };
  events.unfollow = (world) => {
    followed.delete(world);
    unfollow(world);
  };
  // A clock that a test moves on.
  let now = 0;
  let patrol = () => {};
  const clock: Clock = {
    ...processClock,
    now: () => now,
    after: (_, call) => {
      patrol = call;
      return () => {};
    },
  };
  db.caches.follow(events, clock);
  t.strictSame([...followed], [INDEX], "worlds are found by it");

  const { id } = (await store.worlds.create(worldOf("w0"))).value;
  await db.sql.run(
    `INSERT INTO worlds (id, title, config, permission_config, domain)
     SELECT 'w' || i, title, config, permission_config, 'w' || i || '.example.org'
     FROM worlds, generate_series(1, $1::int) AS i WHERE id = $2`,
    [MOST, id],
  );
  await store.worlds.get("absent");
  await store.rooms.get("absent", "absent");
  await store.rooms.get("w0", "absent");
  t.strictSame([...followed], [INDEX], "anybody may ask for what is not there");

  /** Reads a world from the cache. */
  const read = async (world: string) => {
    await until(() => events.isCurrent(world));
    await store.worlds.get(world);
  };
  for (let i = 0; i < MOST; i++) await store.worlds.get(`w${i}`);
  t.equal(followed.size, MOST + 1);
  now += 1;
  await read("w0");
  await store.worlds.get(`w${MOST}`);
  t.notOk(followed.has(`w${MOST}`), "all others were read just now");
  now += 10_000;
  await store.worlds.get(`w${MOST}`);
  t.ok(followed.has(`w${MOST}`));
  t.equal(followed.size, MOST + 1, "no more than some");
  t.ok(followed.has("w0"), "it was read since");
  t.notOk(followed.has("w1"), "this was not");

  now += 59_000;
  await read("w2");
  now += 2000;
  patrol();
  t.strictSame([...followed].sort(), [INDEX, "w2"], "others are idle");
};
