import type { WorldCopy } from "../../../schemas/documents/world-document.js";
import type { WorldRow } from "../../rules/rows.js";
import { importWorld, type WorldImporter } from "../../shared/copies/worlds.js";
import type { Sql } from "../../shared/sql.js";
import type { WriteLog } from "../log/log-writes.js";
import type { roomWrites } from "../rooms/room-writes.js";
import type { worldWrites } from "../worlds/world-writes.js";

/** The condition of an event `e` that is not over. */
export const IS_PRESENT = "e.gone = 0";

/** The writes that an import consists of. */
type Parts = Pick<ReturnType<typeof worldWrites>, "addWorld" | "noteCreated"> &
  Pick<ReturnType<typeof roomWrites>, "addRoom">;

/** The writes of worlds with all that they hold. Each runs inside a transaction of its caller. */
export function copyWrites(sql: Sql, log: WriteLog, parts: Parts) {
  const importer = (world: string): WorldImporter => ({
    addWorld: async (draft) => parts.addWorld(draft),
    async addRooms(id, rooms) {
      for (const room of rooms) parts.addRoom(id, room);
    },
    skip: (count) => log.skip(world, count),
    newTag: () => log.newTag(),
    noContent: new Uint8Array(),
    withoutTrace: (trial) => log.withoutTrace(trial),
  });

  return {
    async importWorld(copy: WorldCopy, dryRun: boolean): Promise<WorldRow> {
      const { id } = copy.world;
      const row = await importWorld(sql, importer(id), copy, dryRun);
      if (!dryRun) parts.noteCreated(id);
      return row;
    },
  };
}
