import { randomUUID } from "node:crypto";
import type { RoomRecord } from "../../schemas/documents.js";
import type { PermissionConfig } from "../../schemas/permissions.js";
import type { Room, RoomChanges, RoomDraft } from "../../schemas/rooms.js";
import { StoreError } from "../store.js";
import type { Connection } from "./database.js";
import { absent, existing, same } from "./guards.js";
import { foldCase, ROOM_COLUMNS, type RoomRow } from "./rows.js";

/** What is kept of a room and not shown as it is. */
interface HiddenColumns {
  view_group: number;
  /** The room's own domain, if it has one. */
  domain: string | null;
}

/** The writes of rooms, each to be run inside a transaction of its caller's. */
export function roomWrites(db: Connection) {
  const worldExists = db.prepare("SELECT 1 FROM worlds WHERE id = ?");
  const exists = db.prepare("SELECT 1 FROM rooms WHERE id = ?");
  const select = db.prepare<[string, string], RoomRow>(
    `SELECT ${ROOM_COLUMNS} FROM rooms JOIN worlds ON worlds.id = rooms.world_id
     WHERE rooms.id = ? AND rooms.world_id = ?`,
  );
  const selectHidden = db.prepare<[string], HiddenColumns>(
    "SELECT view_group, domain FROM rooms WHERE id = ?",
  );
  const insert = db.prepare(
    `INSERT INTO rooms (id, world_id, view_group, name, description, module_config, permission_config,
       sorting_priority, domain, name_folded, description_folded, revision)
     VALUES (@id, @world_id, @view_group, @name, @description, @module_config, @permission_config,
       @sorting_priority, @domain, @name_folded, @description_folded, @revision)`,
  );
  const update = db.prepare(
    `UPDATE rooms SET view_group = @view_group, name = @name, description = @description,
       module_config = @module_config, permission_config = @permission_config,
       sorting_priority = @sorting_priority, domain = @domain, name_folded = @name_folded,
       description_folded = @description_folded, revision = @revision WHERE id = @id`,
  );
  const remove = db.prepare<[string]>("DELETE FROM rooms WHERE id = ?");
  const joinGroup = db
    .prepare<[string, string], number>(
      `INSERT INTO view_groups (world_id, rule, rooms) VALUES (?, ?, 1)
       ON CONFLICT DO UPDATE SET rooms = rooms + 1 RETURNING id`,
    )
    .pluck();
  const leaveGroup = db.prepare<[number]>(
    "UPDATE view_groups SET rooms = rooms - 1 WHERE id = ?",
  );
  const removeEmptyGroup = db.prepare<[number]>(
    "DELETE FROM view_groups WHERE id = ? AND rooms = 0",
  );
  const clearModules = db.prepare<[string]>(
    "DELETE FROM room_modules WHERE room_id = ?",
  );
  const insertModule = db.prepare<[string, string]>(
    "INSERT OR IGNORE INTO room_modules (room_id, type) VALUES (?, ?)",
  );

  function enterGroup(worldId: string, permissions: PermissionConfig): number {
    const rule = permissions["room.view"];
    return joinGroup.get(worldId, rule ? JSON.stringify(rule) : "")!;
  }

  function quitGroup(group: number): void {
    leaveGroup.run(group);
    removeEmptyGroup.run(group);
  }

  function indexModules(id: string, modules: Room["module_config"]): void {
    clearModules.run(id);
    for (const { type } of modules) insertModule.run(id, type);
  }

  function insertRoom(worldId: string, record: RoomRecord): void {
    const {
      id,
      name,
      description = "",
      module_config = [],
      permission_config = {},
      sorting_priority = 0,
      domain = null,
      revision = 1,
    } = record;
    insert.run({
      id,
      world_id: worldId,
      view_group: enterGroup(worldId, permission_config),
      name,
      description,
      module_config: JSON.stringify(module_config),
      permission_config: JSON.stringify(permission_config),
      sorting_priority,
      domain,
      name_folded: foldCase(name),
      description_folded: foldCase(description),
      revision,
    });
    indexModules(id, module_config);
  }

  return {
    createRoom(worldId: string, draft: RoomDraft): RoomRow {
      if (!worldExists.get(worldId)) throw absent("world");
      const id = newId();
      insertRoom(worldId, { id, ...draft });
      return select.get(id, worldId)!;
    },

    /** Makes a room that has an id already. */
    addRoom(worldId: string, record: RoomRecord): void {
      if (exists.get(record.id)) {
        throw new StoreError(
          "taken",
          `The id ${record.id} of a room is taken.`,
          "rooms",
        );
      }
      insertRoom(worldId, record);
    },

    updateRoom(
      worldId: string,
      id: string,
      { module_config, permission_config, ...rest }: RoomChanges,
      versions?: readonly string[],
    ): RoomRow {
      const seen = existing("room", select.get(id, worldId), versions);
      const { view_group, domain } = selectHidden.get(id)!;
      const old = { ...seen, domain, view_group };
      const row = { ...old, ...rest };
      if (module_config) row.module_config = JSON.stringify(module_config);
      if (permission_config) {
        row.permission_config = JSON.stringify(permission_config);
      }
      if (same(old, row)) return seen;
      if (module_config) indexModules(id, module_config);
      if (permission_config) {
        row.view_group = enterGroup(worldId, permission_config);
      }
      row.revision++;
      update.run({
        ...row,
        name_folded: foldCase(row.name),
        description_folded: foldCase(row.description),
      });
      if (permission_config) quitGroup(view_group);
      return select.get(id, worldId)!;
    },

    deleteRoom(
      worldId: string,
      id: string,
      versions?: readonly string[],
    ): void {
      existing("room", select.get(id, worldId), versions);
      const { view_group } = selectHidden.get(id)!;
      remove.run(id);
      quitGroup(view_group);
    },
  };
}

/**
 * A UUID that begins with the time (version 7, RFC 9562, section 5.7): what is
 * made together lies together in every index, and fewer pages are to be written.
 */
function newId(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
