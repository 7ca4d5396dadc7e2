import { newRoomRow, priorityBehind } from "../../rules/room-rows.js";
import { foldCase } from "../../rules/rows.js";
import type { DomainLog } from "../domain.js";
import type { Sql } from "../sql.js";

const LAST =
  "SELECT COALESCE(MAX(sorting_priority), 0) FROM rooms WHERE world_id = $1";

// Rooms without a rule of their own share one group.
const ADD_GROUP = `INSERT INTO view_groups (world_id, rule, rooms) VALUES ($1, '', 0)
  ON CONFLICT DO NOTHING`;
const ENTER_GROUP =
  "UPDATE view_groups SET rooms = rooms + $2 WHERE world_id = $1 AND rule = ''";
const GROUP = "SELECT id FROM view_groups WHERE world_id = $1 AND rule = ''";

const INSERT = `INSERT INTO rooms (world_id, view_group, name_folded, description_folded,
    id, name, description, module_config, permission_config, sorting_priority, domain, revision, extras)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;

/** Makes the rooms that an import names, behind all others. */
export async function addRooms(
  sql: Sql,
  log: DomainLog,
  world: string,
  rooms: readonly { readonly id: string; readonly name: string }[],
): Promise<void> {
  if (rooms.length === 0) return;
  await sql.run(ADD_GROUP, [world]);
  await sql.run(ENTER_GROUP, [world, rooms.length]);
  const group = await sql.value<number>(GROUP, [world]);
  let last = (await sql.value<number>(LAST, [world]))!;
  for (const room of rooms) {
    last = priorityBehind(last);
    const row = newRoomRow({ ...room, sorting_priority: last });
    await sql.run(INSERT, [
      ...[world, group, foldCase(row.name), foldCase(row.description)],
      ...[row.id, row.name, row.description, row.module_config],
      ...[row.permission_config, row.sorting_priority, row.domain],
      ...[row.revision, row.extras],
    ]);
    log.append(world, { type: "room.created", room: room.id });
  }
}
