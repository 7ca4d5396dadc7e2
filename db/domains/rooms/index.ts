import type { PageSelection, RoomStore, RoomValue, Versioned } from "../../contract/store.js";
import { sameValues } from "../../rules/rows.js";
import { readWholeRoom, WHOLE_ROOM_COLUMNS, type WholeRoomRow } from "../../rules/room-rows.js";
import { type Bound, domain } from "../domain.js";
import type { Reading } from "../sql.js";
import { roomLists } from "./lists.js";
import { roomWrites } from "./writes.js";

const FROM_ROOMS = `SELECT ${WHOLE_ROOM_COLUMNS} FROM worlds CROSS JOIN rooms
  WHERE rooms.world_id = worlds.id AND worlds.id = $1`;

const SELECT = `${FROM_ROOMS} AND rooms.id = $2`;

const SELECT_ALL = `${FROM_ROOMS}
  ORDER BY rooms.sorting_priority, rooms.name, rooms.id
  LIMIT CAST($2 AS BIGINT) OFFSET CAST($3 AS BIGINT)`;

/** The reads of rooms. A record stays the same object as long as its row is the same. */
export function roomReads(sql: Reading) {
  const rooms = sql.cached<{ row: WholeRoomRow; room: Versioned<RoomValue> } | undefined>("rooms");
  const keyOf = (world: string, id: string) => `${world} ${id}`;

  function recordOf(world: string, row: WholeRoomRow) {
    const before = rooms.last(keyOf(world, row.id));
    return before && sameValues(before.row, row) ? before : { row, room: readWholeRoom(row) };
  }

  return {
    async get(world: string, id: string): Promise<Versioned<RoomValue> | undefined> {
      const key = keyOf(world, id);
      const known = rooms.find(world, key);
      if (known) return known.room;
      const found = await rooms.read(world, key, async () => {
        const row = await sql.one<WholeRoomRow>(SELECT, [world, id]);
        if (!row) return { value: undefined, size: 0 };
        return { value: recordOf(world, row), size: sizeOf(row) };
      });
      return found?.room;
    },

    list: roomLists(sql),

    async all(world: string, { page, pageSize }: PageSelection): Promise<Versioned<RoomValue>[]> {
      const keep = rooms.begin(world);
      const range = [pageSize, (page - 1) * pageSize];
      const rows = await sql.all<WholeRoomRow>(SELECT_ALL, [world, ...range]);
      return rows.map((row) => {
        const record = recordOf(world, row);
        keep(keyOf(world, row.id), record, sizeOf(row));
        return record.room;
      });
    },
  };
}

/** The memory of a room, in characters: the row and its JSON take about the same. */
const sizeOf = (row: WholeRoomRow): number =>
  2 *
  (row.description.length +
    row.module_config.length +
    row.permission_config.length +
    (row.extras?.length ?? 0));

/** Rooms. */
export const rooms = domain({
  reads: roomReads,
  writes: roomWrites,
  parameters: { create: 2, open: 2, update: 4, schedule: 3, reorder: 2, delete: 3 },
});

/** The store of rooms: rows become frozen records, which cannot come from another thread. */
export const roomStore = (bound: Bound<typeof rooms>): RoomStore => ({
  ...bound,
  create: async (...args) => readWholeRoom(await bound.create(...args)),
  open: async (...args) => readWholeRoom(await bound.open(...args)),
  update: async (...args) => readWholeRoom(await bound.update(...args)),
  schedule: async (...args) => readWholeRoom(await bound.schedule(...args)),
});
