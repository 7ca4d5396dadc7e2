import pg from "pg";
import { pageSql } from "../../../db/postgres/rooms/room-reads.js";
import { addRooms } from "../../../db/postgres/rooms/room-writes.js";
import type { RoomOrdering } from "../../../schemas/rooms.js";
import { worldOf } from "../../helper.js";
import { selection } from "../../db/store-contract/setup.js";
import { emptyDatabase, openNode, type Part } from "./setup.js";

const INDEXES: Record<RoomOrdering, string> = {
  sorting_priority: "rooms_by_priority",
  "-sorting_priority": "rooms_by_falling_priority",
  name: "rooms_by_name",
  "-name": "rooms_by_falling_name",
};

/** How many rooms the large world has. */
const ROOMS = 100_000;

/** How many small worlds there are beside it, so that an average world is small. */
const WORLDS = 5000;

/** What a world with a hundred thousand rooms costs. */
export const plans: Part = async (t, server) => {
  const url = await emptyDatabase(server);
  const { db, worlds, rooms } = await openNode(t, url);
  await worlds.create(worldOf("demo"));
  // Ten thousand at a time.
  for (let from = 0; from < ROOMS; from += 10_000) {
    const records = Array.from({ length: 10_000 }, (_, i) => ({
      id: `00000000-0000-4000-8000-${String(from + i).padStart(12, "0")}`,
      name: `room ${(from + i) * 7919}`,
      sorting_priority: (from + i) % 100,
    }));
    await db.write("demo", (sql) => addRooms(sql, "demo", records));
  }
  await db.write("demo", async (sql) => {
    await sql.run(
      `WITH made AS (
         INSERT INTO worlds (id, title, config, permission_config, domain)
         SELECT 'w' || i, '', '{}', '{}', 'w' || i FROM generate_series(1, $1::int) AS i RETURNING id),
       joined AS (
         INSERT INTO view_groups (world_id, rule, rooms) SELECT id, '', 10 FROM made RETURNING world_id, id)
       INSERT INTO rooms (world_id, id, view_group, name, description, module_config,
         permission_config, sorting_priority, name_folded, description_folded)
       SELECT world_id, world_id || '-' || i, id, 'x', '', '[]', '{}', i, 'X', ''
       FROM joined, generate_series(1, 10) AS i`,
      [WORLDS],
    );
  });

  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.teardown(() => client.end());
  for (const prepare of ["SELECT 1", "ANALYZE", "VACUUM ANALYZE"]) {
    await client.query(prepare);
    // The first executions of a statement have plans of their own.
    for (const mode of ["force_custom_plan", "force_generic_plan"]) {
      await client.query(`SET plan_cache_mode = ${mode}`);
      for (const [ordering, index] of Object.entries(INDEXES)) {
        const text = pageSql({
          world: "demo",
          revision: 1,
          groups: [1],
          visible: ROOMS,
          type: "",
          search: "",
          ordering: ordering as RoomOrdering,
          limit: 50,
          offset: 0,
          after: undefined,
        });
        await client.query(`PREPARE page (text, bigint[]) AS ${text}`);
        for (const offset of [0, ROOMS - 50]) {
          const { rows } = await client.query<Record<string, string>>(
            `EXPLAIN EXECUTE page ('demo', '{1}', 50, ${offset})`,
          );
          const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
          const name = `${prepare}, ${mode}, ${ordering}, ${offset}`;
          t.match(plan, new RegExp(`using ${index} `), `${name}: ${plan}`);
          t.notMatch(plan, /Sort/, name);
        }
        await client.query("DEALLOCATE page");
      }
    }
  }
  const { value } = await rooms.list("demo", selection());
  t.equal(value.count, ROOMS);
};
