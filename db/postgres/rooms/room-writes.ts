import type { Room } from "../../../schemas/rooms.js";
import type { RoomRecord } from "../../../schemas/documents/world-document.js";
import { absent } from "../../rules/preconditions.js";
import {
  movedRooms,
  newRoomChanges,
  newRoomId,
  newRoomRow,
  OWN_ROOM_NAMES,
  type OwnRoomRow,
  type PlacedRoom,
  priorityBehind,
  takenName,
  viewRuleOf,
} from "../../rules/room-rows.js";
import { foldCase, type WholeRoomRow } from "../../rules/rows.js";
import { takenAs } from "../../copies/taken.js";
import type { Log } from "../log/log.js";
import type { Sql } from "../../shared/sql.js";

// The writes that make rooms. Each runs in a transaction of its caller.

const INSERT = `
  WITH world AS (SELECT domain FROM worlds WHERE id = $1),
  given AS (
    SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
      $8::text[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[])
    AS given (id, name, description, module_config, permission_config, sorting_priority,
      domain, revision, extras, name_folded, description_folded, rule)
  ),
  joined AS (
    INSERT INTO view_groups (world_id, rule, rooms)
    SELECT $1, rule, count(*) FROM given, world GROUP BY rule
    ON CONFLICT (world_id, foyer_digest(rule)) DO UPDATE SET rooms = view_groups.rooms + excluded.rooms
    RETURNING id, rule
  ),
  made AS (
    INSERT INTO rooms (world_id, id, view_group, name, description, module_config, permission_config,
      sorting_priority, domain, revision, extras, name_folded, description_folded)
    SELECT $1, given.id, joined.id, name, description, module_config, permission_config,
      sorting_priority, domain, revision, extras, name_folded, description_folded
    FROM given JOIN joined USING (rule)
  ),
  typed AS (
    INSERT INTO room_modules (world_id, room_id, type)
    SELECT $1, room_id, type FROM unnest($14::text[], $15::text[]) AS modules (room_id, type), world
  )
  SELECT domain FROM world`;

const SELECT_TAKEN = "SELECT id FROM rooms WHERE id = ANY($1) LIMIT 1";

const FIND_NAME = `SELECT 1 FROM rooms WHERE world_id = $1
  AND foyer_digest(name_folded) = foyer_digest($2) AND name_folded = $2`;

const SELECT_LAST = `SELECT sorting_priority FROM rooms WHERE world_id = $1
  ORDER BY sorting_priority DESC, name, id LIMIT 1`;

const SELECT_ORDER = `SELECT id, sorting_priority FROM rooms WHERE world_id = $1
  ORDER BY sorting_priority, name, id`;

const MOVE = `UPDATE rooms SET sorting_priority = moved.priority, revision = revision + 1
  FROM unnest($2::text[], $3::bigint[]) AS moved (id, priority)
  WHERE rooms.world_id = $1 AND rooms.id = moved.id`;

/** The types of some modules, each once. */
export const typesOf = (modules: Room["module_config"] = []): string[] => [
  ...new Set(modules.map(({ type }) => type)),
];

/**
 * Creates rooms with their ids.
 * @throws {StoreError} `absent` when the world does not exist, or `taken` on `rooms`.
 */
export async function addRooms(
  sql: Sql,
  world: string,
  records: readonly RoomRecord[],
): Promise<void> {
  if (records.length === 0) return;
  const ids = new Set<string>();
  const twice = records.find(({ id }) => ids.size === ids.add(id).size)?.id;
  const found = twice ?? (await sql.value<string>(SELECT_TAKEN, [[...ids]]));
  if (found !== undefined) throw takenAs("rooms", found);
  await insertRooms(sql, world, records);
}

/** Creates a room with a new id. @throws {StoreError} `absent`. */
export async function createRoom(
  sql: Sql,
  log: Log,
  world: string,
  draft: Omit<RoomRecord, "id">,
  type: "room.created" | "room.opened" = "room.created",
): Promise<WholeRoomRow> {
  const record = { id: newRoomId(), ...draft };
  const domain = await insertRooms(sql, world, [record]);
  log.append({ type, room: record.id, changes: newRoomChanges(record) });
  const row = newRoomRow(record);
  return { ...row, domain: row.domain ?? domain };
}

/** @see RoomStore.open */
export async function openRoom(
  sql: Sql,
  log: Log,
  world: string,
  draft: Omit<RoomRecord, "id">,
): Promise<WholeRoomRow> {
  if (await sql.one(FIND_NAME, [world, foldCase(draft.name)])) {
    throw takenName(draft.name);
  }
  const last = (await sql.value<number>(SELECT_LAST, [world])) ?? 0;
  const sorting_priority = priorityBehind(last);
  const placed = { ...draft, sorting_priority };
  return createRoom(sql, log, world, placed, "room.opened");
}

/** @see RoomStore.reorder */
export async function reorderRooms(
  sql: Sql,
  log: Log,
  world: string,
  ids: readonly string[],
): Promise<void> {
  const rooms = await sql.all<PlacedRoom>(SELECT_ORDER, [world]);
  const moved = movedRooms(rooms, ids);
  log.append({ type: "rooms.reordered" });
  if (moved.length === 0) return;
  await sql.run(MOVE, [
    world,
    moved.map(({ id }) => id),
    moved.map(({ sorting_priority }) => sorting_priority),
  ]);
}

/** @returns the domain of the world. @throws {StoreError} `absent`. */
async function insertRooms(
  sql: Sql,
  world: string,
  records: readonly RoomRecord[],
): Promise<string> {
  const rows = records.map(newRoomRow);
  const modules = records.flatMap(({ id, module_config }) =>
    typesOf(module_config).map((type) => ({ id, type })),
  );
  const domain = await sql.value<string>(INSERT, [
    world,
    ...columnsOf(rows),
    rows.map(({ name }) => foldCase(name)),
    rows.map(({ description }) => foldCase(description)),
    records.map(({ permission_config }) => viewRuleOf(permission_config)),
    modules.map(({ id }) => id),
    modules.map(({ type }) => type),
  ]);
  if (domain === undefined) throw absent("world");
  return domain;
}

const columnsOf = (rows: OwnRoomRow[]): unknown[][] =>
  OWN_ROOM_NAMES.map((name) => rows.map((row) => row[name]));
