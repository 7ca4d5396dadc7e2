import { randomUUID } from "node:crypto";
import type { RoomRecord } from "../../schemas/documents/world-document.js";
import { given } from "../../schemas/plain/given.js";
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

// All that the store says about a column of a room: see "A column of a room" in CONTRIBUTING.md.

export interface RoomRow {
  id: string;
  name: string;
  description: string;
  module_config: string;
  permission_config: string;
  sorting_priority: number;
  /** The room's own, or the world's. */
  domain: string;
  revision: number;
}

/** A room with the fields that lists of rooms omit. */
export interface WholeRoomRow extends RoomRow {
  /** JSON of the {@link RoomExtras} that are not at their default; null if all are. */
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

/** The columns of a {@link WholeRoomRow}, of `rooms` joined with `worlds`. */
export const WHOLE_ROOM_COLUMNS = [...ROOM_NAMES, "extras"]
  .map((name) =>
    name === "domain" ? "coalesce(rooms.domain, worlds.domain) AS domain" : `rooms.${name}`,
  )
  .join(", ");

/** The room in a row, with its version. */
export const readRoom = (row: RoomRow): Versioned<Room> =>
  versioned(
    () => toRoom(row),
    () => roomJson(row),
    row.revision,
  );

/** The room in a row with its extras. They are in the version by the revision. */
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

/** The stored form of the extras: JSON of the ones that are not at their default. */
export function extrasJson(extras: Partial<RoomExtras>): string | null {
  const names = Object.keys(DEFAULT_EXTRAS) as (keyof RoomExtras)[];
  const own = names
    .map((name) => [name, extras[name] ?? DEFAULT_EXTRAS[name]] as const)
    .filter(([name, value]) => value !== DEFAULT_EXTRAS[name]);
  return own.length === 0 ? null : JSON.stringify(Object.fromEntries(own));
}

/** The extras that are not at their default. */
export const ownExtras = (stored: string | null): Partial<RoomExtras> =>
  stored === null ? {} : parse<Partial<RoomExtras>>(stored);

/** The name of the extra that may be large. */
const LARGE = '"schedule_data":';

/**
 * Takes stored extras apart: the small ones, and the large one, each as JSON. The large
 * one is the last. Marks within texts are escaped, so its name is found nowhere before it.
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

/** A room as it is stored. Without a domain of its own, it shows the world's. */
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
 * A UUID that begins with the time (version 7, RFC 9562, section 5.7). Rooms that are created
 * together are then close to each other in every index, so fewer pages are written.
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
    const before = name === "domain" ? ownDomain : old[name as keyof WholeRoomRow];
    // A room without a domain of its own shows the world's, which comes back with a whole room.
    const isShown = name === "domain" && ownDomain === null && value === old.domain;
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
      return extrasJson({ ...ownExtras(old.extras), ...given(value as object) });
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

/** The rule by which rooms belong together, as JSON; empty if there is none. */
export function viewRuleOf(permissions: PermissionConfig = {}): string {
  const rule = permissions["room.view"];
  return rule ? JSON.stringify(rule) : "";
}

/** The highest priority that a room can have. */
const HIGHEST = 2 ** 31 - 1;

/** The priority of a room behind all others. @param last the highest of theirs; 0 for none. */
export const priorityBehind = (last: number): number => Math.min(last + 1, HIGHEST);

/**
 * The ids of all rooms of a world when some rooms come first.
 * @param rooms of all rooms, in their order.
 * @param first the ids of the rooms that come first; unknown ones do not count.
 */
export function orderedRooms(rooms: readonly string[], first: readonly string[]): string[] {
  const known = new Set(rooms);
  // A set keeps the first of equal elements in its place.
  return [...new Set([...first.filter((id) => known.has(id)), ...rooms])];
}

export const takenName = (name: string): StoreError =>
  new StoreError("taken", `The name ${name} is taken.`, "name");
