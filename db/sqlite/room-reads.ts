import { may, type Rule, SEE } from "../../schemas/plain/permissions.js";
import type { RoomOrdering } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";
import {
  type PageSelection,
  type RoomSelection,
  type RoomValue,
  StoreError,
  type Versioned,
} from "../store.js";
import type { Connection } from "./database.js";
import type { ReadCache } from "./read-cache.js";
import {
  foldCase,
  readWholeRoom,
  ROOM_COLUMNS,
  type RoomRow,
  WHOLE_ROOM_COLUMNS,
  type WholeRoomRow,
} from "./rows.js";

/** Rooms that the same people may see. */
interface ViewGroup {
  id: number;
  rooms: number;
  /** What these rooms have in common; empty if they leave it to their world. */
  permission_config: { "room.view"?: Rule };
}

interface ViewGroupRow {
  id: number;
  /** As JSON; empty if there is none. */
  rule: string;
  rooms: number;
}

/** Selects rooms, in the form of parameters for SQL. */
interface Filter {
  world: string;
  /** The ids of the view groups, as JSON. */
  groups: string;
  /** The type of a module; empty for any. */
  type: string;
  /** With case folded; empty for any. */
  search: string;
}

/** A page of rooms as one caller asks for it. It is valid in the state in which it was made. */
export interface RoomQuery {
  /** Names the page in a cache. */
  key: string;
  filter: Filter;
  selection: RoomSelection;
  /** How many rooms of the world the caller may see. */
  visible: number;
}

/** A page as it is read. */
export interface RoomRows {
  /** The number of rooms on all pages. */
  count: number;
  rows: RoomRow[];
  /** In bytes. */
  size: number;
}

/** The largest page, in bytes. A larger one would block the event loop for too long. */
const MAX_ROOM_PAGE = 4 * 1024 * 1024;

/** Each order has an index that gives the rooms in that order. */
const orders: Record<RoomOrdering, string> = {
  sorting_priority: "sorting_priority, name, id",
  "-sorting_priority": "sorting_priority DESC, name, id",
  name: "name, sorting_priority, id",
  "-name": "name DESC, sorting_priority, id",
};

/** The reads of rooms. */
export function roomReads(db: Connection, cache: ReadCache) {
  const select = db.prepare<[string, string], WholeRoomRow>(
    `SELECT ${WHOLE_ROOM_COLUMNS} FROM rooms JOIN worlds ON worlds.id = rooms.world_id
     WHERE rooms.id = ? AND rooms.world_id = ?`,
  );
  const selectAll = db.prepare<[string, number, number], WholeRoomRow>(
    `SELECT ${WHOLE_ROOM_COLUMNS} FROM worlds CROSS JOIN rooms ON rooms.world_id = worlds.id
     WHERE worlds.id = ?
     ORDER BY rooms.sorting_priority, rooms.name, rooms.id LIMIT ? OFFSET ?`,
  );
  const selectGroups = db.prepare<[string], ViewGroupRow>(
    "SELECT id, rule, rooms FROM view_groups WHERE world_id = ?",
  );
  const rooms = cache.rows<
    WholeRoomRow,
    { worldId: string; room: Versioned<RoomValue> }
  >();
  const groups = cache.reads<readonly ViewGroup[]>();
  const counts = cache.reads<number>();
  const prepared = new Map<string, ReturnType<Connection["prepare"]>>();

  /** There are a few dozen forms of lists. Each statement is prepared on first use. */
  function prepare(sql: string) {
    let statement = prepared.get(sql);
    if (!statement) prepared.set(sql, (statement = db.prepare(sql)));
    return statement;
  }

  function groupsOf(worldId: string): readonly ViewGroup[] {
    return groups.read(worldId, () => {
      const value = selectGroups.all(worldId).map(({ rule, ...rest }) => ({
        ...rest,
        permission_config:
          rule === "" ? {} : { "room.view": JSON.parse(rule) as Rule },
      }));
      return { value, size: 200 * value.length };
    });
  }

  /** @param selectRow reads the row if it is in this world. */
  function cached(
    worldId: string,
    id: string,
    selectRow: () => WholeRoomRow | undefined,
  ): Versioned<RoomValue> | undefined {
    const found = rooms.read(id, selectRow, (row) => ({
      worldId,
      room: readWholeRoom(row),
    }));
    return found?.worldId === worldId ? found.room : undefined;
  }

  const get = (worldId: string, id: string): Versioned<RoomValue> | undefined =>
    cached(worldId, id, () => select.get(id, worldId));

  const all = (
    worldId: string,
    { page, pageSize }: PageSelection,
  ): Versioned<RoomValue>[] =>
    selectAll
      .all(worldId, pageSize, (page - 1) * pageSize)
      .map((row) => cached(worldId, row.id, () => row)!);

  /** Caches a room that was just written, so that its next reader need not parse it. */
  function written(worldId: string, row: WholeRoomRow): Versioned<RoomValue> {
    const room = readWholeRoom(row);
    rooms.keep(row.id, row, { worldId, room });
    return room;
  }

  /** Finds out which rooms of a world a caller may see. */
  function query(world: World, selection: RoomSelection): RoomQuery {
    const { traits, page, pageSize, ordering, type = "" } = selection;
    const seen = groupsOf(world.id).filter((room) =>
      may({ traits }, SEE, { world, room }),
    );
    const filter = {
      world: world.id,
      groups: JSON.stringify(seen.map(({ id }) => id)),
      type,
      search: foldCase(selection.search ?? ""),
    };
    return {
      key: `${page} ${pageSize} ${ordering} ${cacheKeyOf(filter)}`,
      filter,
      selection,
      visible: seen.reduce((sum, { rooms }) => sum + rooms, 0),
    };
  }

  /**
   * Reads a page, row by row, up to {@link MAX_ROOM_PAGE}.
   * @throws {StoreError} `large`.
   */
  function readPage({ filter, selection, visible }: RoomQuery): RoomRows {
    const { page, pageSize, ordering } = selection;
    const count = isFiltered(filter)
      ? counts.read(cacheKeyOf(filter), () => ({
          value: selectCount(filter),
          size: 0,
        }))
      : visible;
    const offset = (page - 1) * pageSize;
    const rows: RoomRow[] = [];
    let size = 0;
    if (offset < count) {
      const range = { ...filter, limit: pageSize, offset };
      for (const row of selectPage(ordering, filter).iterate(range)) {
        size += byteSizeOf(row);
        // A single room is never refused, as nobody could ask for less.
        if (size > MAX_ROOM_PAGE && rows.length > 0) {
          throw new StoreError("large", "The page is too large.");
        }
        rows.push(row);
      }
    }
    return { count, rows, size };
  }

  function selectPage(ordering: RoomOrdering, filter: Filter) {
    const order = orders[ordering].replace(/\b(name|id|sorting)/g, "rooms.$1");
    return prepare(
      `SELECT ${ROOM_COLUMNS} ${fromRooms(filter)} ORDER BY ${order} LIMIT @limit OFFSET @offset`,
    ) as ReturnType<typeof db.prepare<object, RoomRow>>;
  }

  function selectCount(filter: Filter): number {
    const sql = `SELECT count(*) AS count ${fromRooms(filter)}`;
    return (prepare(sql).get(filter) as { count: number }).count;
  }

  return { get, all, written, query, readPage };
}

/** Whether the list has to look at every room. */
export const isFiltered = ({ type, search }: Filter): boolean =>
  type !== "" || search !== "";

const cacheKeyOf = (filter: Filter) => JSON.stringify(Object.values(filter));

// The plus keeps SQLite from selecting by group and then sorting. The index of the
// order includes the group and gives the page without sorting.
const fromRooms = ({ type, search }: Filter) =>
  `FROM worlds CROSS JOIN rooms ON rooms.world_id = worlds.id
   WHERE worlds.id = @world AND +view_group IN (SELECT value FROM json_each(@groups))
   ${type ? "AND EXISTS (SELECT 1 FROM room_modules WHERE room_id = rooms.id AND type = @type)" : ""}
   ${search ? "AND (instr(name_folded, @search) OR instr(description_folded, @search))" : ""}`;

const byteSizeOf = (row: RoomRow) =>
  Buffer.byteLength(row.description) +
  Buffer.byteLength(row.module_config) +
  Buffer.byteLength(row.permission_config);
