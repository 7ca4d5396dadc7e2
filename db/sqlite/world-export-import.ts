import type { RoomRecord, WorldCopy } from "../../schemas/world-document.js";
import type { Connection } from "./database.js";
import type { roomWrites } from "./room-writes.js";
import {
  type RoomRow,
  toRoom,
  toWorld,
  WORLD_COLUMNS,
  type WorldRow,
} from "./rows.js";
import type { worldWrites } from "./world-writes.js";

/** The reads of worlds with all their rooms. */
export function copyReads(db: Connection) {
  const selectWorld = db.prepare<[string], WorldRow>(
    `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id = ?`,
  );
  const selectRooms = db.prepare<[string], OwnRow>(
    `SELECT id, name, description, module_config, permission_config, sorting_priority, domain, revision
     FROM rooms WHERE world_id = ? ORDER BY sorting_priority, name, id`,
  );
  return {
    exportWorld(id: string): WorldCopy | undefined {
      const row = selectWorld.get(id);
      return (
        row && {
          world: { ...toWorld(row), revision: row.revision },
          rooms: selectRooms.all(id).map(toRecord),
        }
      );
    },
  };
}

/** A room whose domain is null unless it has one of its own. */
type OwnRow = Omit<RoomRow, "domain"> & { domain: string | null };

function toRecord({ domain, ...row }: OwnRow): RoomRecord {
  return {
    ...toRoom({ ...row, domain: domain ?? "" }),
    domain: domain ?? undefined,
    revision: row.revision,
  };
}

/** The writes of worlds with all their rooms. Each runs inside a transaction of its caller. */
export function copyWrites(
  db: Connection,
  worlds: ReturnType<typeof worldWrites>,
  rooms: ReturnType<typeof roomWrites>,
) {
  const savepoint = db.prepare("SAVEPOINT trial");
  const undo = db.prepare("ROLLBACK TO trial");
  const release = db.prepare("RELEASE trial");

  return {
    importWorld(copy: WorldCopy, dryRun: boolean): WorldRow {
      savepoint.run();
      const row = worlds.createWorld(copy.world);
      for (const room of copy.rooms) rooms.addRoom(row.id, room);
      // The caller undoes a write that fails.
      if (dryRun) undo.run();
      release.run();
      return row;
    },
  };
}
