import type { DocumentRows, Lines } from "../../contract/copies.js";
import type { WorldRow } from "../../rules/rows.js";
import { importWorld, type WorldImporter } from "../../shared/copies/import.js";
import type { Sql } from "../../shared/sql.js";
import type { WriteLog } from "../log/log-writes.js";
import type { roomWrites } from "../rooms/room-writes.js";
import type { worldWrites } from "../worlds/world-writes.js";

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
    noContent: new Uint8Array(),
    withoutTrace: (trial) => log.withoutTrace(trial),
  });

  return {
    async importWorld(
      id: string,
      document: Lines | DocumentRows,
      dryRun: boolean,
    ): Promise<WorldRow> {
      const row = await importWorld(sql, importer(id), document, dryRun);
      if (!dryRun) parts.noteCreated(id);
      return row;
    },
  };
}
