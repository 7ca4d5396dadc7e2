import { Cache } from "../../cache.js";
import type { Author } from "../../contract/author.js";
import {
  readWholeRoom,
  sameValues,
  WHOLE_ROOM_COLUMNS,
  type WholeRoomRow,
} from "../../rules/rows.js";
import type { RoomStore, RoomValue, Versioned } from "../../contract/store.js";
import type { Database, Write } from "../engine/database.js";
import { deleteRoom, scheduleRoom, updateRoom } from "./room-changes.js";
import { roomLists } from "./room-lists.js";
import { createRoom, openRoom, reorderRooms } from "./room-writes.js";

const FROM_ROOMS = `SELECT ${WHOLE_ROOM_COLUMNS} FROM rooms JOIN worlds ON worlds.id = rooms.world_id
  WHERE rooms.world_id = $1`;

const SELECT = `${FROM_ROOMS} AND rooms.id = $2`;

const SELECT_ALL = `${FROM_ROOMS}
  ORDER BY rooms.sorting_priority, rooms.name, rooms.id LIMIT $2::bigint OFFSET $3::bigint`;

/** The most characters of records that are kept, each with the values that are made of it. */
const MAX_RECORDS = 16 * 1024 * 1024;

/** The rooms in a PostgreSQL database. */
export function roomStore(db: Database): RoomStore {
  const rooms = db.caches.rooms.reads<Versioned<RoomValue> | undefined>();
  const records = new Cache<{ row: WholeRoomRow; room: Versioned<RoomValue> }>(
    MAX_RECORDS,
  );

  /** The room in a row: the same object as before if the row is the same. */
  function recordOf(row: WholeRoomRow): Versioned<RoomValue> {
    const known = records.get(row.id);
    if (known && sameValues(known.row, row)) return known.room;
    const room = readWholeRoom(row);
    records.set(row.id, { row, room }, sizeOf(row));
    return room;
  }

  const written = async (
    world: string,
    run: Write<WholeRoomRow>,
    by: Author | undefined,
  ) => readWholeRoom(await db.write(world, run, by));

  return {
    get: (world, id) =>
      rooms.read(world, `${world} ${id}`, async () => {
        const row = await db.sql.one<WholeRoomRow>(SELECT, [world, id]);
        if (!row) return { value: undefined, size: 0 };
        return { value: recordOf(row), size: sizeOf(row) };
      }),
    list: roomLists(db),
    all: async (world, { page, pageSize }) => {
      const range = [pageSize, (page - 1) * pageSize];
      const rows = await db.sql.all<WholeRoomRow>(SELECT_ALL, [
        world,
        ...range,
      ]);
      return rows.map(recordOf);
    },
    create: (world, draft, by) =>
      written(world, (sql, log) => createRoom(sql, log, world, draft), by),
    open: (world, draft, by) =>
      written(world, (sql, log) => openRoom(sql, log, world, draft), by),
    update: (world, id, changes, versions, by) =>
      written(
        world,
        (sql, log) => updateRoom(sql, log, world, id, changes, versions),
        by,
      ),
    schedule: (world, id, schedule_data, by) =>
      written(
        world,
        (sql, log) => scheduleRoom(sql, log, world, id, schedule_data),
        by,
      ),
    reorder: (world, ids, by) =>
      db.write(world, (sql, log) => reorderRooms(sql, log, world, ids), by),
    delete: (world, id, versions, by) =>
      db.write(
        world,
        (sql, log) => deleteRoom(sql, log, world, id, versions),
        by,
      ),
  };
}

/** The memory of a room, in characters: the row and its JSON take about the same. */
const sizeOf = (row: WholeRoomRow): number =>
  2 *
  (row.description.length +
    row.module_config.length +
    row.permission_config.length +
    (row.extras?.length ?? 0));
