import type { RoomOrdering } from "../../../schemas/rooms.js";
import type { World } from "../../../schemas/worlds.js";
import { following } from "../../rules/pages.js";
import { pageTooLarge } from "../../rules/preconditions.js";
import {
  isFiltered,
  MAX_ROOM_PAGE,
  ROOM_ORDERS,
  type RoomFilter,
  seenRooms,
  toViewGroup,
  type ViewGroup,
  type ViewGroupRow,
} from "../../rules/room-lists.js";
import {
  foldCase,
  readWholeRoom,
  ROOM_COLUMNS,
  type RoomRow,
  WHOLE_ROOM_COLUMNS,
  wholeRoomIn,
  type WholeRoomRow,
  type WholeRoomValues,
} from "../../rules/rows.js";
import type {
  PageSelection,
  RoomSelection,
  RoomValue,
  Versioned,
} from "../../contract/store.js";
import type { Connection } from "../engine/connection.js";
import type { ReadCache } from "../engine/read-cache.js";

/** Selects rooms, in the form of parameters for SQL. */
interface Filter extends RoomFilter {
  world: string;
  /** The ids of the view groups, as JSON. */
  groups: string;
}

/** A page of rooms as one caller asks for it. It is valid in the state in which it was made. */
interface RoomQuery {
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

/** The reads of rooms. */
export function roomReads(db: Connection, cache: ReadCache) {
  const select = db.prepare<string[], WholeRoomRow>(
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
  >(select, "places");
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
      const value = selectGroups.all(worldId).map(toViewGroup);
      return { value, size: 200 * value.length };
    });
  }

  /** @param selected the row, if it has just been selected. */
  function get(
    worldId: string,
    id: string,
    selected?: WholeRoomRow,
  ): Versioned<RoomValue> | undefined {
    const make = (row: WholeRoomRow) => ({ worldId, room: readWholeRoom(row) });
    const found = rooms.read(worldId, id, [id, worldId], make, selected);
    return found?.worldId === worldId ? found.room : undefined;
  }

  const all = (
    worldId: string,
    { page, pageSize }: PageSelection,
  ): Versioned<RoomValue>[] =>
    selectAll
      .all(worldId, pageSize, (page - 1) * pageSize)
      .map((row) => get(worldId, row.id, row)!);

  /** Caches a room that was just written, so that its next reader need not parse it. */
  function written(
    worldId: string,
    columns: WholeRoomValues,
  ): Versioned<RoomValue> {
    const row = wholeRoomIn(columns);
    const room = readWholeRoom(row);
    rooms.keep(row.id, row, { worldId, room });
    return room;
  }

  /** Finds out which rooms of a world a caller may see. */
  function query(world: World, selection: RoomSelection): RoomQuery {
    const { traits, page, pageSize, ordering, type = "", after } = selection;
    const { groups, visible } = seenRooms(world, groupsOf(world.id), traits);
    const filter = {
      world: world.id,
      groups: JSON.stringify(groups),
      type,
      search: foldCase(selection.search ?? ""),
    };
    return {
      key: `${page} ${pageSize} ${ordering} ${cacheKeyOf(filter)} ${JSON.stringify(after)}`,
      filter,
      selection,
      visible,
    };
  }

  /**
   * Reads a page, row by row, up to {@link MAX_ROOM_PAGE}.
   * @throws {StoreError} `large`.
   */
  function readPage({ filter, selection, visible }: RoomQuery): RoomRows {
    const { page, pageSize, ordering, after } = selection;
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
      const [key0, key1, key2] = after ?? [];
      const range = {
        ...{ ...filter, limit: pageSize, offset },
        ...(after && { key0, key1, key2 }),
      };
      const statement = selectPage(ordering, filter, after !== undefined);
      for (const row of statement.iterate(range)) {
        size += byteSizeOf(row);
        // A single room is never refused, as no client could ask for less.
        if (size > MAX_ROOM_PAGE && rows.length > 0) {
          throw pageTooLarge();
        }
        rows.push(row);
      }
    }
    return { count, rows, size };
  }

  function selectPage(
    ordering: RoomOrdering,
    filter: Filter,
    follows: boolean,
  ) {
    const order = ROOM_ORDERS[ordering].replace(
      /\b(name|id|sorting)/g,
      "rooms.$1",
    );
    return prepare(
      `SELECT ${ROOM_COLUMNS} ${fromRooms(filter)}
       ${follows ? `AND ${following(order, (i) => `@key${i}`)}` : ""}
       ORDER BY ${order} LIMIT @limit OFFSET @offset`,
    ) as ReturnType<typeof db.prepare<object, RoomRow>>;
  }

  function selectCount(filter: Filter): number {
    const sql = `SELECT count(*) AS count ${fromRooms(filter)}`;
    return (prepare(sql).get(filter) as { count: number }).count;
  }

  return { get, all, written, query, readPage };
}

const cacheKeyOf = (filter: Filter) => JSON.stringify(Object.values(filter));

const HAS_TYPE = `AND EXISTS (SELECT 1 FROM room_modules
     WHERE world_id = @world AND room_id = rooms.id AND type = @type)`;

// The plus keeps SQLite from selecting by group and then sorting. The index of the
// order includes the group and gives the page without sorting.
const fromRooms = ({ type, search }: Filter) =>
  `FROM worlds CROSS JOIN rooms ON rooms.world_id = worlds.id
   WHERE worlds.id = @world AND +view_group IN (SELECT value FROM json_each(@groups))
   ${type ? HAS_TYPE : ""}
   ${search ? "AND (instr(name_folded, @search) OR instr(description_folded, @search))" : ""}`;

const byteSizeOf = (row: RoomRow) =>
  Buffer.byteLength(row.description) +
  Buffer.byteLength(row.module_config) +
  Buffer.byteLength(row.permission_config);
