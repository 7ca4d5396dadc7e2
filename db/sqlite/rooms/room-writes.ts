import { roomDeleted, viewersChanged } from "../../shared/program/stamps.js";
import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import type { Room, RoomDraft } from "../../../schemas/rooms.js";
import type { RoomRecord } from "../../../schemas/documents/world-document.js";
import { absent, expectVersion } from "../../rules/preconditions.js";
import {
  movedRooms,
  deletedRoomChanges,
  newRoomChanges,
  newRoomId,
  newRoomRow,
  OWN_ROOM_COLUMNS,
  OWN_ROOM_NAMES,
  type OwnRoomRow,
  type PlacedRoom,
  priorityBehind,
  roomChanges,
  roomFieldChanges,
  takenName,
  viewRuleOf,
} from "../../rules/room-rows.js";
import {
  foldCase,
  readRoom,
  WHOLE_ROOM_COLUMNS,
  wholeRoomIn,
  wholeRoomValues,
  type WholeRoomRow,
  type WholeRoomValues,
} from "../../rules/rows.js";
import type { RoomUpdate } from "../../contract/store.js";
import { takenAs } from "../../copies/taken.js";
import { channelRemoval } from "../chat/chat-remains.js";
import type { Sql } from "../../shared/sql.js";
import type { Connection } from "../engine/connection.js";
import type { WriteLog } from "../log/log-writes.js";

/** The stored columns that a {@link WholeRoomRow} lacks. */
interface HiddenColumns {
  view_group: number;
  own_domain: string | null;
}

/** {@link HiddenColumns}, and the columns of {@link WHOLE_ROOM_COLUMNS}. */
type FoundRoom = [
  view_group: number,
  own_domain: string | null,
  ...columns: WholeRoomValues,
];

/**
 * The writes of rooms. Each runs inside a transaction of its caller. The answers have rooms
 * by position, because to copy the names of fields to another thread takes most of the time.
 */
export function roomWrites(db: Connection, sql: Sql, log: WriteLog) {
  const domainOf = db
    .prepare<[string], string>("SELECT domain FROM worlds WHERE id = ?")
    .pluck();
  const exists = db.prepare("SELECT 1 FROM rooms WHERE id = ?");
  // As arrays: to name the fields of a row takes most of the time of such a read.
  const select = db
    .prepare<[string, string], FoundRoom>(
      `SELECT view_group, rooms.domain, ${WHOLE_ROOM_COLUMNS}
       FROM rooms JOIN worlds ON worlds.id = rooms.world_id
       WHERE rooms.id = ? AND rooms.world_id = ?`,
    )
    .raw();
  const insert = db.prepare(
    `INSERT INTO rooms (${OWN_ROOM_COLUMNS}, name_folded, description_folded, world_id, view_group)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const selectNames = db
    .prepare<[string], string>("SELECT name FROM rooms WHERE world_id = ?")
    .pluck();
  const highest = db
    .prepare<[string], number>(
      "SELECT coalesce(max(sorting_priority), 0) FROM rooms WHERE world_id = ?",
    )
    .pluck();
  const selectOrder = db.prepare<[string], PlacedRoom>(
    "SELECT id, sorting_priority FROM rooms WHERE world_id = ? ORDER BY sorting_priority, name, id",
  );
  const move = db.prepare<[number, string]>(
    "UPDATE rooms SET sorting_priority = ?, revision = revision + 1 WHERE id = ?",
  );
  const removeChannels = channelRemoval(db, log);
  const hasQuestions = db.prepare<[string, string]>(
    "SELECT 1 FROM questions WHERE world_id = ? AND room_id = ? LIMIT 1",
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
  const clearModules = db.prepare<[string, string]>(
    "DELETE FROM room_modules WHERE world_id = ? AND room_id = ?",
  );
  const insertModule = db.prepare<[string, string, string]>(
    "INSERT OR IGNORE INTO room_modules (world_id, room_id, type) VALUES (?, ?, ?)",
  );

  function enterGroup(worldId: string, permissions: PermissionConfig): number {
    return joinGroup.get(worldId, viewRuleOf(permissions))!;
  }

  function quitGroup(group: number): void {
    leaveGroup.run(group);
    removeEmptyGroup.run(group);
  }

  function indexModules(
    worldId: string,
    id: string,
    modules: Room["module_config"],
  ): void {
    for (const { type } of modules) insertModule.run(worldId, id, type);
  }

  function insertRoom(worldId: string, record: RoomRecord): WholeRoomRow {
    const row = newRoomRow(record);
    const world = domainOf.get(worldId);
    if (world === undefined) throw absent("world");
    // By position, as to bind by name would take a quarter longer.
    insert.run(
      ...OWN_ROOM_NAMES.map((name) => row[name]),
      foldCase(row.name),
      foldCase(row.description),
      worldId,
      enterGroup(worldId, record.permission_config ?? {}),
    );
    indexModules(worldId, record.id, record.module_config ?? []);
    return { ...row, domain: row.domain ?? world };
  }

  // Only changed columns are named, because SQLite rewrites each index over a named
  // column. There are a few dozen sets of columns.
  const updates = new Map<string, ReturnType<typeof db.prepare<unknown[]>>>();

  function update(id: string, columns: Record<string, unknown>): void {
    const names = Object.keys(columns).join();
    let statement = updates.get(names);
    if (!statement) {
      const set = names.replaceAll(/\w+/g, "$& = ?");
      statement = db.prepare<unknown[]>(`UPDATE rooms SET ${set} WHERE id = ?`);
      updates.set(names, statement);
    }
    statement.run(...Object.values(columns), id);
  }

  /**
   * A room with its hidden columns.
   * @throws {StoreError} `absent` or `changed`.
   */
  function find(
    worldId: string,
    id: string,
    versions: readonly string[] | undefined,
  ): { seen: WholeRoomRow; hidden: HiddenColumns } {
    const found = select.get(id, worldId);
    if (!found) throw absent("room");
    const [view_group, own_domain, ...columns] = found;
    const seen = wholeRoomIn(columns);
    expectVersion(() => readRoom(seen).version, versions);
    return { seen, hidden: { view_group, own_domain } };
  }

  /** The domain that a room shows after a change. */
  function shownDomain(
    worldId: string,
    seen: WholeRoomRow,
    { domain }: Partial<OwnRoomRow>,
  ): string {
    if (domain === undefined) return seen.domain;
    return domain ?? domainOf.get(worldId)!;
  }

  /** @param type of the entry about the change. */
  async function change(
    type: "room.updated" | "room.scheduled",
    worldId: string,
    id: string,
    asked: RoomUpdate,
    versions?: readonly string[],
  ): Promise<WholeRoomValues> {
    const { seen, hidden } = find(worldId, id, versions);
    const changes = roomChanges(seen, hidden.own_domain, asked);
    log.append(worldId, {
      ...{ type, room: id },
      changes: roomFieldChanges(seen, hidden.own_domain, changes),
    });
    if (Object.keys(changes).length === 0) return wholeRoomValues(seen);
    if (changes.module_config) {
      clearModules.run(worldId, id);
      indexModules(worldId, id, asked.module_config!);
    }
    const revision = seen.revision + 1;
    // In Node.js 20, a second spread into an object takes microseconds.
    const columns: Record<string, unknown> = { ...changes };
    columns.revision = revision;
    fold(columns, changes);
    if (changes.permission_config) {
      columns.view_group = enterGroup(worldId, asked.permission_config!);
    }
    update(id, columns);
    if (changes.permission_config) {
      quitGroup(hidden.view_group);
      if (columns.view_group !== hidden.view_group) {
        await viewersChanged(sql, worldId, id);
      }
    }
    const domain = shownDomain(worldId, seen, changes);
    const row = Object.assign(seen, changes, { domain, revision });
    return wholeRoomValues(row);
  }

  return {
    createRoom(worldId: string, draft: RoomDraft): WholeRoomValues {
      const record = { id: newRoomId(), ...draft };
      const row = insertRoom(worldId, record);
      const changes = newRoomChanges(record);
      log.append(worldId, { type: "room.created", room: row.id, changes });
      return wholeRoomValues(row);
    },

    /** Creates a room behind all others. */
    openRoom(worldId: string, draft: RoomDraft): WholeRoomValues {
      const name = foldCase(draft.name);
      for (const other of selectNames.iterate(worldId)) {
        if (foldCase(other) === name) {
          throw takenName(draft.name);
        }
      }
      const record = {
        id: newRoomId(),
        ...draft,
        sorting_priority: priorityBehind(highest.get(worldId)!),
      };
      const row = insertRoom(worldId, record);
      const changes = newRoomChanges(record);
      log.append(worldId, { type: "room.opened", room: row.id, changes });
      return wholeRoomValues(row);
    },

    scheduleRoom: (
      worldId: string,
      id: string,
      schedule_data: Record<string, unknown> | null,
    ): Promise<WholeRoomValues> =>
      change("room.scheduled", worldId, id, { extras: { schedule_data } }),

    reorderRooms(worldId: string, ids: readonly string[]): void {
      const moved = movedRooms(selectOrder.all(worldId), ids);
      for (const room of moved) move.run(room.sorting_priority, room.id);
      log.append(worldId, { type: "rooms.reordered" });
    },

    /** Creates a room with a given id. */
    addRoom(worldId: string, record: RoomRecord): void {
      if (exists.get(record.id)) {
        throw takenAs("rooms", record.id);
      }
      insertRoom(worldId, record);
    },

    updateRoom: (
      worldId: string,
      id: string,
      asked: RoomUpdate,
      versions?: readonly string[],
    ): Promise<WholeRoomValues> =>
      change("room.updated", worldId, id, asked, versions),

    async deleteRoom(
      worldId: string,
      id: string,
      versions?: readonly string[],
    ): Promise<PermissionConfig> {
      const { seen, hidden } = find(worldId, id, versions);
      if (hasQuestions.get(worldId, id)) log.erased("questions");
      removeChannels.ofRoom(id);
      remove.run(id);
      quitGroup(hidden.view_group);
      const changed = await roomDeleted(sql, worldId, id);
      const rules = readRoom(seen).value.permission_config;
      log.erasedData(worldId);
      log.append(worldId, {
        ...{ type: "room.deleted", room: id, rules },
        changes: deletedRoomChanges(seen),
      });
      for (const entry of changed) log.append(worldId, entry);
      return rules;
    },
  };
}

/** Adds the folded columns of the texts that are given. */
function fold(
  columns: Record<string, unknown>,
  { name, description }: { name?: string; description?: string },
): void {
  if (name !== undefined) columns.name_folded = foldCase(name);
  if (description !== undefined) {
    columns.description_folded = foldCase(description);
  }
}
