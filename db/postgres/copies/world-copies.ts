import type {
  RoomRecord,
  WorldCopy,
} from "../../../schemas/documents/world-document.js";
import type { WorldStore } from "../../contract/store.js";
import { worldCopies } from "../../copies/world-copies.js";
import { importWorld, type WorldImporter } from "../../shared/copies/import.js";
import { slices } from "../../shared/slices.js";
import type { Sql } from "../../shared/sql.js";
import type { Database } from "../engine/database.js";
import type { Log } from "../log/log.js";
import { addRooms } from "../rooms/room-writes.js";
import { createWorld } from "../worlds/world-writes.js";
import { postgresSource } from "./dump.js";

/** The worlds with all that they hold. */
export const postgresCopies = (
  db: Database,
): Pick<WorldStore, "export" | "clone" | "import"> =>
  worldCopies({
    source: () => postgresSource(db.url),
    create: (id, lines, dryRun, by) =>
      db.writeAll(
        id,
        async (sql, log) => {
          const row = await importWorld(sql, importer(sql, log), lines, dryRun);
          if (!dryRun) log.appendToAll({ type: "world.created" });
          return row;
        },
        by,
      ),
  });

const importer = (sql: Sql, log: Log): WorldImporter => ({
  addWorld: (world: WorldCopy["world"]) => createWorld(sql, world),
  async addRooms(world, rooms) {
    for (const slice of slices(rooms, sizeOf)) {
      await addRooms(sql, world, slice);
    }
  },
  skip: (count) => log.skip(count),
  noContent: null,
  withoutTrace: (trial) => log.withoutTrace(trial),
});

/** About how many characters a room has. */
const sizeOf = (room: RoomRecord): number => JSON.stringify(room).length;
