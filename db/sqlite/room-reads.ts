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
  rule: Rule | undefined;
  rooms: number;
}

type ViewGroupRow = Omit<ViewGroup, "rule"> & { rule: string };

/** What somebody may see of a world. */
interface Visible {
  world: World;
  groups: ViewGroup[];
  /** Of the groups, as JSON. */
  ids: string;
  /** How many rooms are in them. */
  rooms: number;
}

/** Which rooms are asked for. */
interface Chosen {
  world: string;
  /** Of their groups, as JSON. */
  ids: string;
  /** Of a module; empty for any. */
  type: string;
  /** With case folded; empty for any. */
  search: string;
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
  const selectGroups = db.prepare<[string], ViewGroupRow>(
    "SELECT id, rule, rooms FROM view_groups WHERE world_id = ?",
  );
  const kept = {
    rooms: snapshot.keepRows<
      RoomRow,
      { worldId: string; room: Versioned<Room> }
    >(),
    groups: snapshot.keep<ViewGroup[]>(),
    pages: snapshot.keep<RoomPage>(),
    counts: snapshot.keep<{ count: number }>(),
  };
  const prepared = new Map<string, ReturnType<Connection["prepare"]>>();

  /** A list is asked for in a few dozen forms; each is prepared when it first is. */
  function prepare(sql: string) {
    let statement = prepared.get(sql);
    if (!statement) prepared.set(sql, (statement = db.prepare(sql)));
    return statement;
  }

  function groupsOf(worldId: string): ViewGroup[] {
    return kept.groups.read(worldId, () => {
      const value = selectGroups.all(worldId).map(({ rule, ...rest }) => ({
        ...rest,
        rule: rule === "" ? undefined : (JSON.parse(rule) as Rule),
      }));
      return { value, size: 200 * value.length };
    })!;
  }

  // What one caller may see is worked out once for each state of the rules.
  const visible = new WeakMap<ReadonlySet<string>, Visible>();

  function visibleTo(traits: ReadonlySet<string>, world: World): Visible {
    const groups = groupsOf(world.id);
    const known = visible.get(traits);
    if (known?.world === world && known.groups === groups) return known;
    const seen = groups.filter(({ rule }) =>
      rule
        ? holds(rule, traits)
        : allows("room.view", traits, world.permission_config),
    );
    const found = {
      world,
      groups,
      ids: JSON.stringify(seen.map(({ id }) => id)),
      rooms: seen.reduce((sum, { rooms }) => sum + rooms, 0),
    };
    visible.set(traits, found);
    return found;
  }

  function get(worldId: string, id: string): Versioned<Room> | undefined {
    const found = kept.rooms.read(
      id,
      () => select.get(id, worldId),
      (row) => ({ worldId, room: versioned(row, toRoom) }),
    );
    return found?.worldId === worldId ? found.room : undefined;
  }

  /** A room as it was just changed: who reads or changes it next need not make it again. */
  function changed(worldId: string, row: RoomRow): Versioned<Room> {
    const room = versioned(row, toRoom);
    kept.rooms.keep(row.id, row, { worldId, room });
    return room;
  }

  /**
   * A page that is remembered. To read one takes several statements, between any
   * two of which the writer thread may commit: without a transaction, it is not read.
   */
  function list(
    { value: world }: Versioned<World>,
    { traits, ...asked }: RoomSelection,
  ): RoomPage | undefined {
    const { ids, rooms } = visibleTo(traits, world);
    const { page, pageSize, ordering, type = "", search = "" } = asked;
    const chosen = { world: world.id, ids, type, search: foldCase(search) };
    const among = JSON.stringify(Object.values(chosen));
    return kept.pages.read(`${page} ${pageSize} ${ordering} ${among}`, () => {
      if (!db.inTransaction) return undefined;
      const count =
        type || search
          ? kept.counts.read(among, () => ({
              value: selectCount(chosen),
              size: 0,
            }))!.count
          : rooms;
      const offset = (page - 1) * pageSize;
      const rows =
        offset < count
          ? selectPage(ordering, { ...chosen, limit: pageSize, offset })
          : [];
      return {
        value: { count, rooms: rows.map(toRoom) },
        size: rows.reduce((sum, row) => sum + sizeOf(row), 0),
      };
    });
  }

  function selectCount(chosen: Chosen): { count: number } {
    return prepare(`SELECT count(*) AS count ${fromRooms(chosen)}`).get(
      chosen,
    ) as { count: number };
  }

  function selectPage(
    ordering: RoomOrdering,
    chosen: Chosen & { limit: number; offset: number },
  ): RoomRow[] {
    const order = orders[ordering].replace(/\b(name|id|sorting)/g, "rooms.$1");
    const statement = prepare(
      `SELECT ${ROOM_COLUMNS} ${fromRooms(chosen)} ORDER BY ${order} LIMIT @limit OFFSET @offset`,
    );
    return (
      chosen.limit <= FEW
        ? statement.all(chosen)
        : bounded(statement.iterate(chosen) as Iterable<RoomRow>)
    ) as RoomRow[];
  }

  return { get, changed, list };
}

// The plus keeps SQLite from going by group and sorting: the index of the
// order holds the group too, and gives the page without sorting anything.
const fromRooms = ({ type, search }: Chosen) =>
  `FROM worlds CROSS JOIN rooms ON rooms.world_id = worlds.id
   WHERE worlds.id = @world AND +view_group IN (SELECT value FROM json_each(@ids))
   ${type ? "AND EXISTS (SELECT 1 FROM room_modules WHERE room_id = rooms.id AND type = @type)" : ""}
   ${search ? "AND (instr(name_folded, @search) OR instr(description_folded, @search))" : ""}`;
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
