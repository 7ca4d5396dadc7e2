import { randomUUID } from "node:crypto";
import type { RoomRecord } from "../../schemas/documents/world-document.js";
import { definedFields } from "../../schemas/plain/given.js";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import type { Room } from "../../schemas/rooms.js";
import { changesBetween, type FieldChange, storedValue } from "../contract/audit-store.js";
import {
  type RoomExtras,
  type RoomUpdate,
  type RoomValue,
  StoreError,
  type Versioned,
} from "../contract/store.js";
import { later, parse, recordOf, sizeOf } from "./rows.js";
import { versioned } from "./versions.js";

// Everything the store defines about a room's columns: see "A column of a room" in CONTRIBUTING.md.

export interface RoomRow {
  id: string;
  name: string;
  description: string;
  module_config: string;
  permission_config: string;
  sorting_priority: number;
  /** The room's own domain, or the world's domain. */
  domain: string;
  revision: number;
}

/** A room including the fields omitted from lists of rooms. */
export interface WholeRoomRow extends RoomRow {
  /** The {@link RoomExtras} that differ from their defaults, as JSON; null if all extras have their defaults. */
  extras: string | null;
}

export const ROOM_NAMES = [
  "id",
  "name",
  "description",
  "module_config",
  "permission_config",
  "sorting_priority",
  "domain",
  "revision",
] as const satisfies readonly (keyof RoomRow)[];

/** The columns of a {@link WholeRoomRow}, for `rooms` joined with `worlds`. */
export const WHOLE_ROOM_COLUMNS = [...ROOM_NAMES, "extras"]
  .map((name) =>
    name === "domain" ? "coalesce(rooms.domain, worlds.domain) AS domain" : `rooms.${name}`,
  )
  .join(", ");

/** Returns the room in a row, with its version. */
export const readRoom = (row: RoomRow): Versioned<Room> =>
  versioned(
    () => toRoom(row),
    () => roomJson(row),
    row.revision,
  );

/**
 * Returns the room in a row, including the room's extras. The version depends on the revision, and
 * therefore changes with the extras.
 */
export const readWholeRoom = (row: WholeRoomRow): Versioned<RoomValue> =>
  versioned(
    () => toWholeRoom(row),
    () => roomJson(row),
    row.revision,
  );

export const toRoom = (row: RoomRow): Room =>
  recordOf(plainOf(row), storedIn(row), sizeOf(row.module_config, row.permission_config));

const plainOf = (row: RoomRow) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  module_config: later,
  permission_config: later,
  sorting_priority: row.sorting_priority,
  domain: row.domain,
});

const storedIn = (row: RoomRow) => ({
  module_config: () => parse<Room["module_config"]>(row.module_config),
  permission_config: () => parse<PermissionConfig>(row.permission_config),
});

const roomJson = (row: RoomRow) =>
  `{"id":${JSON.stringify(row.id)},"name":${JSON.stringify(row.name)},"description":${JSON.stringify(row.description)},"module_config":${row.module_config},"permission_config":${row.permission_config},"sorting_priority":${row.sorting_priority},"domain":${JSON.stringify(row.domain)}}`;

// `schedule_data` comes last: see `splitExtras`.
const DEFAULT_EXTRAS: Readonly<RoomExtras> = Object.freeze({
  picture: null,
  import_id: null,
  pretalx_id: 0,
  force_join: false,
  schedule_data: null,
});

/** Returns the extras that differ from their defaults, as JSON, or null if all extras have their defaults. */
export function extrasJson(extras: Partial<RoomExtras>): string | null {
  const names = Object.keys(DEFAULT_EXTRAS) as (keyof RoomExtras)[];
  const own = names
    .map((name) => [name, extras[name] ?? DEFAULT_EXTRAS[name]] as const)
    .filter(([name, value]) => value !== DEFAULT_EXTRAS[name]);
  return own.length === 0 ? null : JSON.stringify(Object.fromEntries(own));
}

/** Returns the extras that differ from their defaults. */
export const ownExtras = (stored: string | null): Partial<RoomExtras> =>
  stored === null ? {} : parse<Partial<RoomExtras>>(stored);

/** The JSON name of the extra that may be large. */
const LARGE = '"schedule_data":';

/**
 * Splits stored extras into the small extras and the large extra, each as JSON. The large extra is
 * last. Quotation marks within strings are escaped, so the quoted name of the large extra cannot
 * occur earlier.
 */
function splitExtras(stored: string): { small: string; large: string } {
  const at = stored.indexOf(LARGE);
  if (at === -1) return { small: stored, large: "null" };
  return {
    small: `${stored.slice(0, at).replace(/,$/, "")}}`,
    large: stored.slice(at + LARGE.length, -1),
  };
}

function toWholeRoom(row: WholeRoomRow): RoomValue {
  const { module_config, permission_config } = row;
  const { small, large } = splitExtras(row.extras ?? "{}");
  const extras = () =>
    recordOf(
      { ...DEFAULT_EXTRAS, ...ownExtras(small), schedule_data: later },
      { schedule_data: () => parse<RoomExtras["schedule_data"]>(large) },
      large.length,
    );
  return recordOf(
    plainOf(row),
    { ...storedIn(row), extras },
    sizeOf(module_config, permission_config, small),
    { module_config, permission_config, schedule_data: large },
  );
}

/** A room as stored. If the domain is null, the room uses the world's domain. */
export type OwnRoomRow = Omit<WholeRoomRow, "domain"> & {
  domain: string | null;
};

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
 * Generates a UUID that begins with the time (version 7, RFC 9562, section 5.7). Rooms created
 * together are then close together in every index, so fewer pages are written.
 */
export function newRoomId(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/**
 * Returns the columns that an update of a room replaces.
 * @param old the current room.
 * @param ownDomain the room's own domain; null if the room uses the world's domain.
 * @returns an empty object if nothing changes. The revision is never included.
 */
export function roomChanges(
  old: WholeRoomRow,
  ownDomain: string | null,
  changes: RoomUpdate,
): Partial<OwnRoomRow> {
  // Assigned field by field: spreading objects takes ten times as long.
  const changed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    const stored = columnOf(name, value, old);
    const before = name === "domain" ? ownDomain : old[name as keyof WholeRoomRow];
    // A room without its own domain uses the world's domain, which clients that write a whole room
    // send back.
    const isShown = name === "domain" && ownDomain === null && value === old.domain;
    if (stored !== before && !isShown) changed[name] = stored;
  }
  return changed;
}

/** Returns the column value for a changed field. */
function columnOf(name: string, value: unknown, old: WholeRoomRow): unknown {
  switch (name) {
    case "module_config":
    case "permission_config":
      return JSON.stringify(value);
    case "extras":
      return extrasJson({ ...ownExtras(old.extras), ...definedFields(value as object) });
    default:
      return value;
  }
}

/** Returns the fields changed by {@link roomChanges}, for the log. */
export function roomFieldChanges(
  old: WholeRoomRow,
  ownDomain: string | null,
  changed: Partial<OwnRoomRow>,
): FieldChange[] {
  return Object.entries(changed).flatMap(([field, after]): FieldChange[] => {
    const before = field === "domain" ? ownDomain : old[field as keyof WholeRoomRow];
    switch (field) {
      case "module_config":
      case "permission_config":
        return [
          { field, before: storedValue(before as string), after: storedValue(after as string) },
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

export const newRoomChanges = (record: RoomRecord): FieldChange[] =>
  changesBetween(null, record, ROOM_FIELDS);

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

/** Returns the rule by which rooms are grouped, as JSON, or an empty string if there is no such rule. */
export function viewRuleOf(permissions: PermissionConfig = {}): string {
  const rule = permissions["room.view"];
  return rule ? JSON.stringify(rule) : "";
}

/** The maximum priority of a room. */
const HIGHEST = 2 ** 31 - 1;

/**
 * Returns the priority that sorts a room after all other rooms.
 * @param last the maximum priority of the other rooms, or 0 if there are none.
 */
export const priorityAfter = (last: number): number => Math.min(last + 1, HIGHEST);

/**
 * Returns the ids of all rooms in a world, with some of the rooms moved to the front.
 * @param rooms the ids of all rooms, in order.
 * @param first the ids of the rooms to move; unknown ids are ignored.
 */
export function orderedRooms(rooms: readonly string[], first: readonly string[]): string[] {
  const known = new Set(rooms);
  // A set keeps the first occurrence of each element.
  return [...new Set([...first.filter((id) => known.has(id)), ...rooms])];
}

export const takenName = (name: string): StoreError =>
  new StoreError("taken", `The name ${name} is taken.`, "name");
