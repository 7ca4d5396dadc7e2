import type { RoomRecord } from "../../../schemas/documents/world-document.js";
import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import type { Room, RoomDraft } from "../../../schemas/rooms.js";
import type {
  PageSelection,
  RoomExtras,
  RoomStore,
  RoomUpdate,
  RoomValue,
  Versioned,
} from "../../contract/store.js";
import { absent, expectVersion } from "../../rules/preconditions.js";
import {
  deletedRoomChanges,
  newRoomChanges,
  newRoomId,
  newRoomRow,
  orderedRooms,
  type OwnRoomRow,
  priorityAfter,
  readRoom,
  readWholeRoom,
  roomChanges,
  roomFieldChanges,
  takenName,
  viewRuleOf,
  WHOLE_ROOM_COLUMNS,
  type WholeRoomRow,
} from "../../rules/room-rows.js";
import { foldCase } from "../../../schemas/plain/folding.js";
import { sameValues } from "../../rules/rows.js";
import { removeCallOfRoom } from "../calls.js";
import { removeChannelOfRoom } from "../chat/chat-erasing.js";
import {
  type Bound,
  domain,
  type DomainLog,
  type Inserted,
  perEngine,
  type Reading,
  type Sql,
} from "../domain.js";
import { roomDeleted, viewersChanged } from "../program/stamps.js";
import { roomLists } from "./room-lists.js";

const FROM_ROOMS = `SELECT ${WHOLE_ROOM_COLUMNS} FROM worlds CROSS JOIN rooms
  WHERE rooms.world_id = worlds.id AND worlds.id = $1`;

const SELECT = `${FROM_ROOMS} AND rooms.id = $2`;

const SELECT_ALL = `${FROM_ROOMS}
  ORDER BY rooms.sorting_priority, rooms.name, rooms.id
  LIMIT CAST($2 AS BIGINT) OFFSET CAST($3 AS BIGINT)`;

/** Creates the room reads. A room keeps the same record object while its row is unchanged. */
function roomReads(sql: Reading) {
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

/** Returns the memory that a room uses, in characters. The row and the row's JSON use about the same amount. */
const sizeOf = (row: WholeRoomRow): number =>
  2 *
  (row.description.length +
    row.module_config.length +
    row.permission_config.length +
    (row.extras?.length ?? 0));

/** The stored columns that a {@link WholeRoomRow} lacks. */
interface HiddenColumns {
  view_group: number;
  own_domain: string | null;
  world_domain: string;
}

const SELECT_WITH_HIDDEN = `SELECT ${WHOLE_ROOM_COLUMNS}, rooms.view_group, rooms.domain AS own_domain,
    worlds.domain AS world_domain
  FROM rooms JOIN worlds ON worlds.id = rooms.world_id
  WHERE rooms.world_id = $1 AND rooms.id = $2`;

const SELECT_DOMAIN = "SELECT domain FROM worlds WHERE id = $1";

const FIND_NAME = `SELECT 1 FROM rooms WHERE world_id = $1
  AND foyer_digest(name_folded) = foyer_digest($2) AND name_folded = $2`;

const SELECT_LAST = `SELECT sorting_priority FROM rooms WHERE world_id = $1
  ORDER BY sorting_priority DESC, name, id LIMIT 1`;

const SELECT_ORDER = `SELECT id FROM rooms WHERE world_id = $1 ORDER BY sorting_priority, name, id`;

/** The statement that sets each room's priority to the room's position in a list. */
const reordering = perEngine(
  {
    sqlite: "(SELECT value AS id, key + 1 AS place FROM json_each($2)) AS moved",
    postgres: "unnest($2::text[]) WITH ORDINALITY AS moved (id, place)",
  },
  (moved) => `UPDATE rooms SET sorting_priority = moved.place, revision = rooms.revision + 1
    FROM ${moved} WHERE rooms.world_id = $1 AND rooms.id = moved.id
      AND rooms.sorting_priority <> moved.place`,
);

const JOIN_GROUP = `INSERT INTO view_groups (world_id, rule, rooms) VALUES ($1, $2, $3)
  ON CONFLICT (world_id, foyer_digest(rule))
  DO UPDATE SET rooms = view_groups.rooms + excluded.rooms RETURNING id`;

const LEAVE_GROUP =
  "UPDATE view_groups SET rooms = rooms - 1 WHERE world_id = $1 AND id = $2 RETURNING rooms";

const REMOVE_GROUP = "DELETE FROM view_groups WHERE world_id = $1 AND id = $2";

const HAS_CAPTIONS = `SELECT 1 FROM captions WHERE world_id = $1 AND room_id = $2 UNION ALL
  SELECT 1 FROM caption_languages WHERE world_id = $1 AND room_id = $2 LIMIT 1`;
const HAS_HELD = "SELECT 1 FROM chat_held WHERE world_id = $1 AND room_id = $2 LIMIT 1";

const HAS_QUESTIONS = "SELECT 1 FROM questions WHERE world_id = $1 AND room_id = $2 LIMIT 1";

/** Creates the room writes. They return rows, because records cannot be sent between threads. */
const roomWrites = (sql: Sql, log: DomainLog) => ({
  create: (world: string, draft: RoomDraft): Promise<WholeRoomRow> =>
    createRoom(sql, log, world, draft, "room.created"),

  async open(world: string, draft: RoomDraft): Promise<WholeRoomRow> {
    if (await sql.one(FIND_NAME, [world, foldCase(draft.name)])) throw takenName(draft.name);
    const sorting_priority = priorityAfter(await lastPriority(sql, world));
    return createRoom(sql, log, world, { ...draft, sorting_priority }, "room.opened");
  },

  update: (
    world: string,
    id: string,
    changes: RoomUpdate,
    versions?: readonly string[],
  ): Promise<WholeRoomRow> => updateRoom(sql, log, world, id, changes, versions, "room.updated"),

  schedule: (
    world: string,
    id: string,
    schedule_data: RoomExtras["schedule_data"],
  ): Promise<WholeRoomRow> => {
    const changes = { extras: { schedule_data } };
    return updateRoom(sql, log, world, id, changes, undefined, "room.scheduled");
  },

  async reorder(world: string, ids: readonly string[]): Promise<void> {
    const rooms = await sql.column<string>(SELECT_ORDER, [world]);
    if (rooms.length === 0 && (await domainOf(sql, world)) === undefined) throw absent("world");
    log.append(world, { type: "rooms.reordered" });
    if (rooms.length > 0) await sql.run(reordering(sql), [world, orderedRooms(rooms, ids)]);
  },

  async delete(world: string, id: string, versions?: readonly string[]): Promise<PermissionConfig> {
    const { seen, hidden } = await find(sql, world, id, versions);
    if (await sql.one(HAS_QUESTIONS, [world, id])) log.erased("questions", "question_votes");
    if (await sql.one(HAS_CAPTIONS, [world, id])) log.erased("captions", "caption_languages");
    if (await sql.one(HAS_HELD, [world, id])) log.erased("chat_held");
    await removeChannelOfRoom(sql, log, world, id);
    await removeCallOfRoom(sql, log, world, id);
    await sql.run("DELETE FROM rooms WHERE world_id = $1 AND id = $2", [world, id]);
    await leaveGroup(sql, world, hidden.view_group);
    const changed = await roomDeleted(sql, world, id);
    const rules = readRoom(seen).value.permission_config;
    log.erasedData(world);
    log.append(world, { type: "room.deleted", room: id, rules, changes: deletedRoomChanges(seen) });
    for (const entry of changed) log.append(world, entry);
    return rules;
  },
});

/** Creates the rooms that a program import names, placed after all existing rooms. */
export async function addRooms(
  sql: Sql,
  log: DomainLog,
  world: string,
  rooms: readonly RoomRecord[],
): Promise<void> {
  if (rooms.length === 0) return;
  let last = await lastPriority(sql, world);
  const rows = rooms.map((room) => {
    last = priorityAfter(last);
    return newRoomRow({ ...room, sorting_priority: last });
  });
  await insertRooms(sql, world, rows);
  for (const { id } of rows) log.append(world, { type: "room.created", room: id });
}

/** Inserts rooms along with their derived rows and columns. */
export async function insertRooms(
  sql: Sql,
  world: string,
  rows: readonly OwnRoomRow[],
): Promise<void> {
  const rules = rows.map(({ permission_config }) =>
    viewRuleOf(JSON.parse(permission_config) as PermissionConfig),
  );
  const groups = new Map<string, number>();
  for (const rule of new Set(rules)) {
    const rooms = rules.filter((other) => other === rule).length;
    groups.set(rule, await joinGroup(sql, world, rule, rooms));
  }
  const whole = rows.map((row, i) => ({
    ...row,
    ...foldedOf(row),
    world_id: world,
    view_group: groups.get(rules[i]!)!,
  }));
  await sql.insert("rooms", whole);
  const modules = rows.flatMap(({ id, module_config }) => modulesOf(world, id, module_config));
  if (modules.length > 0) await sql.insert("room_modules", modules);
}

/** @throws {StoreError} `absent`. */
async function createRoom(
  sql: Sql,
  log: DomainLog,
  world: string,
  draft: RoomDraft,
  type: "room.created" | "room.opened",
): Promise<WholeRoomRow> {
  const domain = await domainOf(sql, world);
  if (domain === undefined) throw absent("world");
  const record = { id: newRoomId(), ...draft };
  const row = newRoomRow(record);
  await insertRooms(sql, world, [row]);
  log.append(world, { type, room: row.id, changes: newRoomChanges(record) });
  return { ...row, domain: row.domain ?? domain };
}

async function updateRoom(
  sql: Sql,
  log: DomainLog,
  world: string,
  id: string,
  update: RoomUpdate,
  versions: readonly string[] | undefined,
  type: "room.updated" | "room.scheduled",
): Promise<WholeRoomRow> {
  const { seen, hidden } = await find(sql, world, id, versions);
  const changes = roomChanges(seen, hidden.own_domain, update);
  log.append(world, {
    type,
    room: id,
    changes: roomFieldChanges(seen, hidden.own_domain, changes),
  });
  if (Object.keys(changes).length === 0) return seen;
  if (changes.module_config !== undefined) {
    await sql.run("DELETE FROM room_modules WHERE world_id = $1 AND room_id = $2", [world, id]);
    const modules = modulesOf(world, id, changes.module_config);
    if (modules.length > 0) await sql.insert("room_modules", modules);
  }
  const revision = seen.revision + 1;
  const columns: Record<string, unknown> = { ...changes, ...foldedOf(changes), revision };
  if (changes.permission_config !== undefined) {
    columns.view_group = await joinGroup(sql, world, viewRuleOf(update.permission_config), 1);
  }
  await setColumns(sql, world, id, columns);
  if (changes.permission_config !== undefined) {
    await leaveGroup(sql, world, hidden.view_group);
    if (columns.view_group !== hidden.view_group) await viewersChanged(sql, world, id);
  }
  const { domain = hidden.own_domain } = changes;
  return { ...seen, ...changes, domain: domain ?? hidden.world_domain, revision };
}

/** Finds a room with its hidden columns. @throws {StoreError} `absent` or `changed`. */
async function find(
  sql: Sql,
  world: string,
  id: string,
  versions: readonly string[] | undefined,
): Promise<{ seen: WholeRoomRow; hidden: HiddenColumns }> {
  const row = await sql.one<WholeRoomRow & HiddenColumns>(SELECT_WITH_HIDDEN, [world, id]);
  if (!row) throw absent("room");
  const { view_group, own_domain, world_domain, ...seen } = row;
  expectVersion(() => readRoom(seen).version, versions);
  return { seen, hidden: { view_group, own_domain, world_domain } };
}

/** Writes only the changed columns, because the unchanged columns may be large or indexed. */
async function setColumns(
  sql: Sql,
  world: string,
  id: string,
  columns: Readonly<Record<string, unknown>>,
): Promise<void> {
  // Sort the names, to keep the number of distinct statements small.
  const names = Object.keys(columns).sort();
  const set = names.map((name, i) => `${name} = $${i + 3}`).join(", ");
  await sql.run(`UPDATE rooms SET ${set} WHERE world_id = $1 AND id = $2`, [
    world,
    id,
    ...names.map((name) => columns[name]),
  ]);
}

const domainOf = (sql: Sql, world: string): Promise<string | undefined> =>
  sql.value(SELECT_DOMAIN, [world]);

const lastPriority = async (sql: Sql, world: string): Promise<number> =>
  (await sql.value<number>(SELECT_LAST, [world])) ?? 0;

/** Adds rooms to the view group for a rule. @returns the group's id. */
const joinGroup = async (sql: Sql, world: string, rule: string, rooms: number): Promise<number> =>
  (await sql.value<number>(JOIN_GROUP, [world, rule, rooms]))!;

async function leaveGroup(sql: Sql, world: string, group: number): Promise<void> {
  const left = await sql.value<number>(LEAVE_GROUP, [world, group]);
  if (left === 0) await sql.run(REMOVE_GROUP, [world, group]);
}

/** Returns a row for each distinct type among a room's modules. */
const modulesOf = (world_id: string, room_id: string, modules: string): Inserted[] => {
  const types = (JSON.parse(modules) as Room["module_config"]).map(({ type }) => type);
  return [...new Set(types)].map((type) => ({ world_id, room_id, type }));
};

/** Returns the search columns, which are derived from the name and the description. */
const foldedOf = ({ name, description }: Partial<OwnRoomRow>) => ({
  ...(name !== undefined && { name_folded: foldCase(name) }),
  ...(description !== undefined && { description_folded: foldCase(description) }),
});

export const rooms = domain({
  reads: roomReads,
  writes: roomWrites,
  parameters: { create: 2, open: 2, update: 4, schedule: 3, reorder: 2, delete: 3 },
});

/**
 * Adapts the room domain to `RoomStore`. Rows become frozen records here, because records cannot be
 * sent between threads.
 */
export const roomStore = (bound: Bound<typeof rooms>): RoomStore => ({
  ...bound,
  create: async (...args) => readWholeRoom(await bound.create(...args)),
  open: async (...args) => readWholeRoom(await bound.open(...args)),
  update: async (...args) => readWholeRoom(await bound.update(...args)),
  schedule: async (...args) => readWholeRoom(await bound.schedule(...args)),
});
