import t from "tap";
import { StoreError } from "../../db/contract/store.js";
import type { Client } from "../simulation/live/client.js";
import { House } from "../simulation/live/house.js";
import { roomStore } from "../simulation/store/places.js";

// A push waits while the database fails. Then the database goes back, and the client logs in
// again before the push leaves: it is of a history that is gone. Time is simulated.

/** How the client leaves the world: after the database has gone back, or before. */
type Row = [name: string, leave: (client: Client) => void];

void t.test("a push of a lost history", async (t) => {
  const rows: Row[] = [
    ["the log of the world goes back", () => {}],
    ["nobody follows the world meanwhile", (client) => client.drop()],
  ];
  for (const [name, leave] of rows) {
    const got: string[] = [];
    const people = { seed: 1, nodes: 1, clients: 1, hasProgram: false };
    const house = new House(people, (line) => got.push(line));
    const { timeline, database, world } = house;
    const [client] = house.clients as [Client];
    const { store, live } = house.nodes[0]!;
    await timeline.runUntil(3_000);
    const earlier = database.tables.copy();
    const [room] = client.state!.rooms;
    const read = store.rooms.all.bind(store.rooms);
    store.rooms.all = async (...selection) => {
      if (timeline.now > 4_300) return read(...selection);
      throw new StoreError("busy", "Simulated.");
    };
    database.write((tx) => roomStore.delete!(tx, world, room!.id));
    await timeline.runUntil(3_700);
    t.ok(live.lines.ended(world), `${name}: the push waits`);
    client.isAway = true;
    leave(client);
    database.goBack(earlier);
    await timeline.runUntil(4_350);
    t.equal(live.hub.in(world).size, 0, "the client has left");
    t.notOk(live.lines.ended(world), "the push waits no longer");
    client.isAway = false;
    client.drop();
    client.connect();
    await timeline.runUntil(4_800);
    t.equal(live.hub.in(world).size, 1, "and is back");
    await timeline.runUntil(9_000);
    const isTold = got.some((line) => line.includes("room.delete"));
    t.notOk(isTold, "it gets no push of what did not happen");
    t.equal(client.state?.rooms[0]?.id, room!.id, "and the room stays");
    t.same(house.violations, []);
    live.stop();
  }
});
