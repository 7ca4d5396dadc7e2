import { randomUUID } from "node:crypto";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import type { RoomRecord } from "../../schemas/documents/world-document.js";
import { given } from "../../schemas/plain/given.js";
import { extrasJson, ownExtras, type WholeRoomRow } from "./rows.js";
import {
  type RoomExtras,
  type RoomUpdate,
  StoreError,
} from "../contract/store.js";
import {
  changesBetween,
  type FieldChange,
  storedValue,
} from "../log/fields.js";

// Shared by the engines: writes of rooms.

/** A room as it is stored. Without a domain of its own, it shows the world's. */
export type OwnRoomRow = Omit<WholeRoomRow, "domain"> & {
  domain: string | null;
};

/** The names of the columns of an {@link OwnRoomRow}, of `rooms`. */
export const OWN_ROOM_NAMES = [
  ...(["id", "name", "description", "module_config"] as const),
  ...(["permission_config", "sorting_priority", "domain"] as const),
  ...(["revision", "extras"] as const),
] as const satisfies readonly (keyof OwnRoomRow)[];

/** The same for statements. */
export const OWN_ROOM_COLUMNS = OWN_ROOM_NAMES.join(", ");

/** The row of a new room. */
export const newRoomRow = (record: RoomRecord): OwnRoomRow => ({
  id: record.id,
  name: record.name,
  description: record.description ?? "",
  module_config: JSON.stringify(record.module_config ?? []),
  permission_config: JSON.stringify(record.permission_config ?? {}),
  sorting_priority: record.sorting_priority ?? 0,
  domain: record.domain ?? null,
  revision: record.revision ?? 1,
  extras: extrasJson(record),
});

/**
 * A UUID that begins with the time (version 7, RFC 9562, section 5.7). Rooms that
 * are created together are then close to each other in every index, so fewer
 * pages are written.
 */
export function newRoomId(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/**
 * The columns that a change of a room replaces.
 * @param old the room.
 * @param ownDomain the domain of the room itself; null if it shows the world's.
 * @returns none if the room stays as it is. The revision is not among them.
 */
export function roomChanges(
  old: WholeRoomRow,
  ownDomain: string | null,
  changes: RoomUpdate,
): Partial<OwnRoomRow> {
  // Filled field by field: objects that are spread together take ten times as long.
  const changed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    const stored = columnOf(name, value, old);
    const before =
      name === "domain" ? ownDomain : old[name as keyof WholeRoomRow];
    // A room without a domain of its own shows the world's, which comes back with a whole room.
    const isShown =
      name === "domain" && ownDomain === null && value === old.domain;
    if (stored !== before && !isShown) changed[name] = stored;
  }
  return changed;
}

/** The value of a column of a room when a change sets its field. */
function columnOf(name: string, value: unknown, old: WholeRoomRow): unknown {
  switch (name) {
    case "module_config":
    case "permission_config":
      return JSON.stringify(value);
    case "extras":
      return extrasJson({
        ...ownExtras(old.extras),
        ...given(value as object),
      });
    default:
      return value;
  }
}

/** The fields in which a room differs after {@link roomChanges}, for the log. */
export function roomFieldChanges(
  old: WholeRoomRow,
  ownDomain: string | null,
  changed: Partial<OwnRoomRow>,
): FieldChange[] {
  return Object.entries(changed).flatMap(([field, after]): FieldChange[] => {
    const before =
      field === "domain" ? ownDomain : old[field as keyof WholeRoomRow];
    switch (field) {
      case "module_config":
      case "permission_config":
        return [
          {
            field,
            before: storedValue(before as string),
            after: storedValue(after as string),
          },
        ];
      case "extras":
        return changesBetween(
          ownExtras(before as string | null),
          ownExtras(after as string | null),
          EXTRAS,
        );
      default:
        return [{ field, before, after }];
    }
  });
}

/** The fields of a new room, for the log. */
export const newRoomChanges = (record: RoomRecord): FieldChange[] =>
  changesBetween(null, record, ROOM_FIELDS);

/** Which room was deleted, for the log. */
export const deletedRoomChanges = ({ name }: WholeRoomRow): FieldChange[] => [
  { field: "name", before: name, after: null },
];

const EXTRAS = [
  "picture",
  "import_id",
  "pretalx_id",
  "force_join",
  "schedule_data",
] as const satisfies (keyof RoomExtras)[];

const ROOM_FIELDS = [
  "name",
  "description",
  "module_config",
  "permission_config",
  "sorting_priority",
  "domain",
];

/** The rule by which rooms belong together, as JSON; empty if there is none. */
export function viewRuleOf(permissions: PermissionConfig = {}): string {
  const rule = permissions["room.view"];
  return rule ? JSON.stringify(rule) : "";
}

/** The highest priority that a room can have. */
const HIGHEST = 2 ** 31 - 1;

/** The priority of a room behind all others. @param last the highest of theirs; 0 for none. */
export const priorityBehind = (last: number): number =>
  Math.min(last + 1, HIGHEST);

/** A room in the order of its world. */
export type PlacedRoom = Pick<OwnRoomRow, "id" | "sorting_priority">;

/**
 * The rooms whose priority changes when some rooms come first, with the new priorities.
 * @param rooms all rooms of a world, in their order.
 * @param ids the rooms that come first; unknown ones do not count.
 */
export function movedRooms(
  rooms: readonly PlacedRoom[],
  ids: readonly string[],
): PlacedRoom[] {
  const byId = new Map(rooms.map((room) => [room.id, room]));
  const first = ids.flatMap((id) => byId.get(id) ?? []);
  // A set keeps the first of equal elements in its place.
  return [...new Set([...first, ...rooms])].flatMap((room, i) =>
    room.sorting_priority === i + 1
      ? []
      : { id: room.id, sorting_priority: i + 1 },
  );
}

/** The error about a room whose name another room of the world has. */
export const takenName = (name: string): StoreError =>
  new StoreError("taken", `The name ${name} is taken.`, "name");
