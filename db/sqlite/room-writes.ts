import { randomUUID } from "node:crypto";
import type { RoomRecord } from "../../schemas/world-document.js";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import type { Room, RoomDraft } from "../../schemas/rooms.js";
import { type RoomUpdate, StoreError } from "../store.js";
import { channelRemoval } from "./chat-remains.js";
import type { Connection } from "./database.js";
import { absent, expectVersion } from "./preconditions.js";
import {
  extrasJson,
  foldCase,
  ownExtras,
  readRoom,
  WHOLE_ROOM_COLUMNS,
  type WholeRoomRow,
} from "./rows.js";

/** A row as it is stored. Without a domain of its own, the room shows the world's. */
type RoomColumns = Omit<WholeRoomRow, "domain"> & { domain: string | null };

/** The stored columns that a {@link WholeRoomRow} lacks. */
interface HiddenColumns {
  view_group: number;
  own_domain: string | null;
}

/**
 * The writes of rooms. Each runs inside a transaction of its caller.
 * @param erases is called before a room with questions is deleted, whose bytes then
 *   have to leave the database.
 */
export function roomWrites(db: Connection, erases: () => void) {
  const domainOf = db
    .prepare<[string], string>("SELECT domain FROM worlds WHERE id = ?")
    .pluck();
  const exists = db.prepare("SELECT 1 FROM rooms WHERE id = ?");
  const select = db.prepare<[string, string], WholeRoomRow & HiddenColumns>(
    `SELECT ${WHOLE_ROOM_COLUMNS}, view_group, rooms.domain AS own_domain
     FROM rooms JOIN worlds ON worlds.id = rooms.world_id
     WHERE rooms.id = ? AND rooms.world_id = ?`,
  );
  const insert = db.prepare(
    `INSERT INTO rooms (id, name, description, module_config, permission_config, sorting_priority,
       domain, revision, extras, name_folded, description_folded, world_id, view_group)
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
  const selectOrder = db.prepare<
    [string],
    Pick<RoomColumns, "id" | "sorting_priority">
  >(
    "SELECT id, sorting_priority FROM rooms WHERE world_id = ? ORDER BY sorting_priority, name, id",
  );
  const move = db.prepare<[number, string]>(
    "UPDATE rooms SET sorting_priority = ?, revision = revision + 1 WHERE id = ?",
  );
  const removeChannels = channelRemoval(db);
  const hasQuestions = db.prepare<[string]>(
    "SELECT 1 FROM questions WHERE room_id = ? LIMIT 1",
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
    for (const { type } of modules) insertModule.run(id, type);
  }

  function insertRoom(worldId: string, record: RoomRecord): WholeRoomRow {
    const row = {
      id: record.id,
      name: record.name,
      description: record.description ?? "",
      module_config: JSON.stringify(record.module_config ?? []),
      permission_config: JSON.stringify(record.permission_config ?? {}),
      sorting_priority: record.sorting_priority ?? 0,
      domain: record.domain ?? null,
      revision: record.revision ?? 1,
      extras: extrasJson(record),
    };
    const world = domainOf.get(worldId);
    if (world === undefined) throw absent("world");
    // By position, in the order of the columns above. By name would take a quarter longer.
    insert.run(
      ...Object.values(row),
      foldCase(row.name),
      foldCase(row.description),
      worldId,
      enterGroup(worldId, record.permission_config ?? {}),
    );
    indexModules(record.id, record.module_config ?? []);
    return { ...row, domain: row.domain ?? world };
  }

  // Only changed columns are named, because SQLite rewrites each index over a named
  // column. There are a few dozen sets of columns.
  const updates = new Map<string, ReturnType<Connection["prepare"]>>();

  function update(id: string, columns: Record<string, unknown>): void {
    const names = Object.keys(columns);
    const set = names.map((name) => `${name} = @${name}`).join(", ");
    let statement = updates.get(set);
    if (!statement) {
      statement = db.prepare(`UPDATE rooms SET ${set} WHERE id = @id`);
      updates.set(set, statement);
    }
    statement.run({ ...columns, id });
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
    const row = select.get(id, worldId);
    if (!row) throw absent("room");
    const { view_group, own_domain, ...seen } = row;
    expectVersion(() => readRoom(seen).version, versions);
    return { seen, hidden: { view_group, own_domain } };
  }

  /** The domain that a room shows after a change. */
  function shownDomain(
    worldId: string,
    seen: WholeRoomRow,
    { domain }: Partial<RoomColumns>,
  ): string {
    if (domain === undefined) return seen.domain;
    return domain ?? domainOf.get(worldId)!;
  }

  function updateRoom(
    worldId: string,
    id: string,
    { module_config, permission_config, extras, ...rest }: RoomUpdate,
    versions?: readonly string[],
  ): WholeRoomRow {
    const { seen, hidden } = find(worldId, id, versions);
    const { view_group, own_domain } = hidden;
    const asked: Partial<RoomColumns> = {
      ...rest,
      ...(module_config && { module_config: JSON.stringify(module_config) }),
      ...(permission_config && {
        permission_config: JSON.stringify(permission_config),
      }),
      ...(extras && {
        extras: extrasJson({ ...ownExtras(seen.extras), ...given(extras) }),
      }),
    };
    const old: Record<string, unknown> = { ...seen, domain: own_domain };
    const changes = Object.fromEntries(
      Object.entries(given(asked)).filter(
        ([name, value]) => value !== old[name],
      ),
    ) as Partial<RoomColumns>;
    if (Object.keys(changes).length === 0) return seen;
    if (changes.module_config) {
      clearModules.run(id);
      indexModules(id, module_config!);
    }
    const row = {
      ...seen,
      ...changes,
      domain: shownDomain(worldId, seen, changes),
      revision: seen.revision + 1,
    };
    update(id, {
      ...changes,
      ...folded(changes),
      ...(changes.permission_config && {
        view_group: enterGroup(worldId, permission_config!),
      }),
      revision: row.revision,
    });
    if (changes.permission_config) quitGroup(view_group);
    return row;
  }

  return {
    createRoom: (worldId: string, draft: RoomDraft): WholeRoomRow =>
      insertRoom(worldId, { id: newId(), ...draft }),

    /** Creates a room behind all others. */
    openRoom(worldId: string, draft: RoomDraft): WholeRoomRow {
      const name = foldCase(draft.name);
      for (const other of selectNames.iterate(worldId)) {
        if (foldCase(other) === name) {
          throw new StoreError(
            "taken",
            `The name ${draft.name} is taken.`,
            "name",
          );
        }
      }
      const last = Math.min(highest.get(worldId)! + 1, HIGHEST);
      return insertRoom(worldId, {
        id: newId(),
        ...draft,
        sorting_priority: last,
      });
    },

    scheduleRoom: (
      worldId: string,
      id: string,
      schedule_data: Record<string, unknown> | null,
    ): WholeRoomRow => updateRoom(worldId, id, { extras: { schedule_data } }),

    reorderRooms(worldId: string, ids: readonly string[]): void {
      const rooms = selectOrder.all(worldId);
      const byId = new Map(rooms.map((room) => [room.id, room]));
      const first = ids.flatMap((id) => byId.get(id) ?? []);
      // A set keeps the first of equal elements in its place.
      [...new Set([...first, ...rooms])].forEach((room, i) => {
        if (room.sorting_priority !== i + 1) move.run(i + 1, room.id);
      });
    },

    /** Creates a room with a given id. */
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

    updateRoom,

    deleteRoom(
      worldId: string,
      id: string,
      versions?: readonly string[],
    ): void {
      const { hidden } = find(worldId, id, versions);
      if (hasQuestions.get(id)) erases();
      removeChannels.ofRoom(id);
      remove.run(id);
      quitGroup(hidden.view_group);
    },
  };
}

/** The fields that have a value. */
const given = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<T>;

/** The highest priority that a room can have. */
const HIGHEST = 2 ** 31 - 1;

/** The folded columns of the texts that are given. */
const folded = ({
  name,
  description,
}: {
  name?: string;
  description?: string;
}) => ({
  ...(name !== undefined && { name_folded: foldCase(name) }),
  ...(description !== undefined && {
    description_folded: foldCase(description),
  }),
});

/**
 * A UUID that begins with the time (version 7, RFC 9562, section 5.7). Rooms that
 * are created together are then close to each other in every index, so fewer
 * pages are written.
 */
function newId(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
