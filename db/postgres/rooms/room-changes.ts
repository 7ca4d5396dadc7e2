import { roomDeleted, viewersChanged } from "../../shared/program/stamps.js";
import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import { absent, expectVersion } from "../../rules/preconditions.js";
import {
  deletedRoomChanges,
  type OwnRoomRow,
  roomChanges,
  roomFieldChanges,
  viewRuleOf,
} from "../../rules/room-rows.js";
import {
  foldCase,
  readRoom,
  WHOLE_ROOM_COLUMNS,
  type WholeRoomRow,
} from "../../rules/rows.js";
import type { RoomExtras, RoomUpdate } from "../../contract/store.js";
import { removeChannelOfRoom } from "../chat/channel-removal.js";
import type { Log } from "../log/log.js";
import { typesOf } from "./room-writes.js";
import type { Sql } from "../../shared/sql.js";

// The writes that change and delete rooms. Each runs in a transaction of its caller.

/** The stored columns that a {@link WholeRoomRow} lacks. */
interface HiddenColumns {
  view_group: number;
  own_domain: string | null;
  world_domain: string;
}

const SELECT = `SELECT ${WHOLE_ROOM_COLUMNS}, view_group, rooms.domain AS own_domain,
    worlds.domain AS world_domain
  FROM rooms JOIN worlds ON worlds.id = rooms.world_id
  WHERE rooms.world_id = $1 AND rooms.id = $2`;

// Unchanged values are not written again, as they may be large.
const UPDATE = `UPDATE rooms SET
    name = coalesce($3, name), name_folded = coalesce($4, name_folded),
    description = coalesce($5, description), description_folded = coalesce($6, description_folded),
    module_config = coalesce($7, module_config), permission_config = coalesce($8, permission_config),
    sorting_priority = coalesce($9::bigint, sorting_priority), view_group = coalesce($10::bigint, view_group),
    domain = CASE WHEN $11::boolean THEN $12 ELSE domain END,
    extras = CASE WHEN $13::boolean THEN $14 ELSE extras END,
    revision = $15
  WHERE world_id = $1 AND id = $2`;

const SET_TYPES = `
  WITH gone AS (DELETE FROM room_modules WHERE world_id = $1 AND room_id = $2 AND type <> ALL ($3::text[]))
  INSERT INTO room_modules (world_id, room_id, type) SELECT $1, $2, unnest($3::text[])
  ON CONFLICT DO NOTHING`;

const JOIN_GROUP = `INSERT INTO view_groups (world_id, rule, rooms) VALUES ($1, $2, 1)
  ON CONFLICT (world_id, foyer_digest(rule)) DO UPDATE SET rooms = view_groups.rooms + 1 RETURNING id`;

const LEAVE_GROUP =
  "UPDATE view_groups SET rooms = rooms - 1 WHERE world_id = $1 AND id = $2 RETURNING rooms";

const REMOVE_GROUP = "DELETE FROM view_groups WHERE world_id = $1 AND id = $2";

/** @see RoomStore.update */
export async function updateRoom(
  sql: Sql,
  log: Log,
  world: string,
  id: string,
  update: RoomUpdate,
  versions?: readonly string[],
  type: "room.updated" | "room.scheduled" = "room.updated",
): Promise<WholeRoomRow> {
  const { seen, hidden } = await find(sql, world, id, versions);
  const changes = roomChanges(seen, hidden.own_domain, update);
  log.append({
    ...{ type, room: id },
    changes: roomFieldChanges(seen, hidden.own_domain, changes),
  });
  if (Object.keys(changes).length === 0) return seen;
  if (changes.module_config) {
    await sql.run(SET_TYPES, [world, id, typesOf(update.module_config)]);
  }
  const group = changes.permission_config
    ? await sql.value<number>(JOIN_GROUP, [
        world,
        viewRuleOf(update.permission_config),
      ])
    : undefined;
  const revision = seen.revision + 1;
  await write(sql, world, id, { ...changes, revision }, group);
  if (group !== undefined) {
    await leaveGroup(sql, world, hidden.view_group);
    if (group !== hidden.view_group) await viewersChanged(sql, world, id);
  }
  const { domain = hidden.own_domain } = changes;
  return {
    ...seen,
    ...changes,
    domain: domain ?? hidden.world_domain,
    revision,
  };
}

/** @see RoomStore.schedule */
export const scheduleRoom = (
  sql: Sql,
  log: Log,
  world: string,
  id: string,
  schedule_data: RoomExtras["schedule_data"],
): Promise<WholeRoomRow> => {
  const update = { extras: { schedule_data } };
  return updateRoom(sql, log, world, id, update, undefined, "room.scheduled");
};

/** @see RoomStore.delete */
export async function deleteRoom(
  sql: Sql,
  log: Log,
  world: string,
  id: string,
  versions?: readonly string[],
): Promise<PermissionConfig> {
  const { seen, hidden } = await find(sql, world, id, versions);
  const hasQuestions =
    "SELECT 1 FROM questions WHERE world_id = $1 AND room_id = $2 LIMIT 1";
  if (await sql.one(hasQuestions, [world, id])) {
    log.erased("questions", "question_votes");
  }
  await removeChannelOfRoom(sql, world, id);
  await sql.run("DELETE FROM rooms WHERE world_id = $1 AND id = $2", [
    world,
    id,
  ]);
  await leaveGroup(sql, world, hidden.view_group);
  const changed = await roomDeleted(sql, world, id);
  const rules = readRoom(seen).value.permission_config;
  log.append({
    ...{ type: "room.deleted", room: id, rules },
    changes: deletedRoomChanges(seen),
  });
  for (const entry of changed) log.append(entry);
  log.erasedData();
  return rules;
}

/**
 * A room with its hidden columns.
 * @throws {StoreError} `absent` or `changed`.
 */
async function find(
  sql: Sql,
  world: string,
  id: string,
  versions: readonly string[] | undefined,
): Promise<{ seen: WholeRoomRow; hidden: HiddenColumns }> {
  const row = await sql.one<WholeRoomRow & HiddenColumns>(SELECT, [world, id]);
  if (!row) throw absent("room");
  const { view_group, own_domain, world_domain, ...seen } = row;
  expectVersion(() => readRoom(seen).version, versions);
  return { seen, hidden: { view_group, own_domain, world_domain } };
}

const write = (
  sql: Sql,
  world: string,
  id: string,
  changes: Partial<OwnRoomRow>,
  group: number | undefined,
) =>
  sql.run(UPDATE, [
    world,
    id,
    changes.name,
    changes.name === undefined ? undefined : foldCase(changes.name),
    changes.description,
    changes.description === undefined
      ? undefined
      : foldCase(changes.description),
    changes.module_config,
    changes.permission_config,
    changes.sorting_priority,
    group,
    changes.domain !== undefined,
    changes.domain,
    changes.extras !== undefined,
    changes.extras,
    changes.revision,
  ]);

async function leaveGroup(
  sql: Sql,
  world: string,
  group: number,
): Promise<void> {
  const left = await sql.value<number>(LEAVE_GROUP, [world, group]);
  if (left === 0) await sql.run(REMOVE_GROUP, [world, group]);
}
