import { readWorld } from "../../rules/rows.js";
import type { WorldStore } from "../../contract/store.js";
import type { Database } from "../engine/database.js";
import { worldReads } from "./world-reads.js";
import {
  configureWorld,
  createWorld,
  deleteWorld,
  updateWorld,
} from "./world-writes.js";

/** The worlds in a PostgreSQL database. */
export const worldStore = (
  db: Database,
): Omit<WorldStore, "export" | "clone" | "import"> => ({
  ...worldReads(db),

  create: async (world, by) =>
    readWorld(
      await db.writeAll(
        world.id,
        async (sql, log) => {
          const row = await createWorld(sql, world);
          log.appendToAll({ type: "world.created" });
          return row;
        },
        by,
      ),
    ),

  async update(id, changes, versions, by) {
    // Only one world at a time may claim a domain.
    const write = changes.domain === undefined ? "write" : "writeAll";
    return readWorld(
      await db[write](
        id,
        (sql, log) => updateWorld(sql, log, id, changes, versions),
        by,
      ),
    );
  },

  configure: async (id, changes, versions, by) =>
    readWorld(
      await db.write(
        id,
        (sql, log) => configureWorld(sql, log, id, changes, versions),
        by,
      ),
    ),

  delete: (id, noted, by) =>
    db.writeAll(id, (sql, log) => deleteWorld(sql, log, id, noted), by),
});
