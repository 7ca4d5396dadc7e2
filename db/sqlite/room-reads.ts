import { allows, holds, type Rule } from "../../schemas/permissions.js";
import type { Room, RoomOrdering } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";
import {
  type RoomPage,
  type RoomSelection,
  StoreError,
  type Versioned,
} from "../store.js";
import type { Connection } from "./database.js";
import {
  foldCase,
  ROOM_COLUMNS,
  type RoomRow,
  toRoom,
  versioned,
} from "./rows.js";
import type { Snapshot } from "./snapshot.js";

/** Rooms that the same people may see; without a rule, the world's holds. */
interface ViewGroup {
  id: number;
  rule: string;
  rooms: number;
}

/** How many rooms are read without asking how large they are: none is larger than 1 MiB. */
const FEW = 64;

/** How large a page of more rooms may be, in characters. */
const MAX_PAGE = 64 * 1024 * 1024;

/** Each has an index that gives the rooms in this order. */
const orders: Record<RoomOrdering, string> = {
  sorting_priority: "sorting_priority, name, id",
  "-sorting_priority": "sorting_priority DESC, name, id",
  name: "name, sorting_priority, id",
  "-name": "name DESC, sorting_priority, id",
};

/** The reads of rooms. */
export function roomReads(db: Connection, snapshot: Snapshot) {
  const select = db.prepare<[string, string], RoomRow>(
    `SELECT ${ROOM_COLUMNS} FROM rooms JOIN worlds ON worlds.id = rooms.world_id
     WHERE rooms.id = ? AND rooms.world_id = ?`,
  );
  const selectGroups = db.prepare<[string], ViewGroup>(
    "SELECT id, rule, rooms FROM view_groups WHERE world_id = ?",
  );
  const prepared = new Map<string, ReturnType<Connection["prepare"]>>();

  /** A list is asked for in a few dozen forms; each is prepared when it first is. */
  function prepare(sql: string) {
    let statement = prepared.get(sql);
    if (!statement) prepared.set(sql, (statement = db.prepare(sql)));
    return statement;
  }

  function visibleGroups(world: World, traits: ReadonlySet<string>) {
    return selectGroups
      .all(world.id)
      .filter(({ rule }) =>
        rule === ""
          ? allows("room.view", traits, world.permission_config)
          : holds(JSON.parse(rule) as Rule, traits),
      );
  }

  function get(worldId: string, id: string): Versioned<Room> | undefined {
    return snapshot.read(`room ${worldId} ${id}`, () => {
      const row = select.get(id, worldId);
      return row && { value: versioned(row, toRoom), size: sizeOf(row) };
    });
  }

  function list(world: World, selection: RoomSelection): RoomPage {
    const { page, pageSize, ordering, type, search } = selection;
    const groups = visibleGroups(world, selection.traits);
    const binding = {
      world: world.id,
      groups: JSON.stringify(groups.map(({ id }) => id)),
      type,
      search: search && foldCase(search),
      limit: pageSize,
      offset: (page - 1) * pageSize,
    };
    // The plus keeps SQLite from going by group and sorting: the index of the
    // order holds the group too, and gives the page without sorting anything.
    const chosen = `FROM worlds CROSS JOIN rooms ON rooms.world_id = worlds.id
      WHERE worlds.id = @world AND +view_group IN (SELECT value FROM json_each(@groups))
      ${type ? "AND EXISTS (SELECT 1 FROM room_modules WHERE room_id = rooms.id AND type = @type)" : ""}
      ${search ? "AND (instr(name_folded, @search) OR instr(description_folded, @search))" : ""}`;
    const count =
      type || search
        ? (
            prepare(`SELECT count(*) AS count ${chosen}`).get(
              binding,
            ) as RoomPage
          ).count
        : groups.reduce((sum, { rooms }) => sum + rooms, 0);
    if (binding.offset >= count) return { count, rooms: [] };
    const order = orders[ordering].replace(/\b(name|id|sorting)/g, "rooms.$1");
    const statement = prepare(
      `SELECT ${ROOM_COLUMNS} ${chosen} ORDER BY ${order} LIMIT @limit OFFSET @offset`,
    );
    const rows =
      pageSize <= FEW
        ? statement.all(binding)
        : bounded(statement.iterate(binding) as Iterable<RoomRow>);
    return { count, rooms: (rows as RoomRow[]).map(toRoom) };
  }

  return { get, list };
}

/** Rows one by one: a thousand rooms may be as large as the memory. */
function bounded(rows: Iterable<RoomRow>): RoomRow[] {
  const read: RoomRow[] = [];
  let size = 0;
  for (const row of rows) {
    size += sizeOf(row);
    if (size > MAX_PAGE)
      throw new StoreError("large", "The page is too large.");
    read.push(row);
  }
  return read;
}

const sizeOf = (row: RoomRow) =>
  row.description.length +
  row.module_config.length +
  row.permission_config.length;
