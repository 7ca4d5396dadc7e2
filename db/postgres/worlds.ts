import { readWorld } from "../rows.js";
import type { WorldStore } from "../store.js";
import type { Database } from "./database.js";
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
): Omit<WorldStore, "export" | "import"> => ({
  ...worldReads(db),

  create: async (world) =>
    readWorld(
      await db.writeAll(world.id, (sql, notes) =>
        createWorld(sql, notes, world),
      ),
    ),

  async update(id, changes, versions) {
    // Only one world at a time may claim a domain.
    const write = changes.domain === undefined ? "write" : "writeAll";
    return readWorld(
      await db[write](id, (sql, notes) =>
        updateWorld(sql, notes, id, changes, versions),
      ),
    );
  },

  configure: async (id, changes, versions) =>
    readWorld(
      await db.write(id, (sql, notes) =>
        configureWorld(sql, notes, id, changes, versions),
      ),
    ),

  delete: (id, noted) =>
    db.writeAll(id, (sql, notes) => deleteWorld(sql, notes, id, noted)),
});
