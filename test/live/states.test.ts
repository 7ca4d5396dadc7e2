import t from "tap";
import { StoreError } from "../../db/store.js";
import { startLive } from "./client.js";

void t.test("a read that failed once", async (t) => {
  const live = await startLive(t);
  const { rooms } = live.app.store;
  const all = rooms.all.bind(rooms);
  t.teardown(() => Object.assign(rooms, { all }));
  rooms.all = async () => {
    rooms.all = all;
    throw new StoreError("busy", "The database is locked.");
  };
  const unlucky = await live.connect();
  t.match(await unlucky.login({ client_id: "a" }), [
    "error",
    { code: "server.unavailable" },
  ]);
  const lucky = await live.guest();
  t.equal(lucky.hello["world.config"].world.id, "demo");
});
