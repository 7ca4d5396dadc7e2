import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import type { Room } from "../../schemas/rooms.js";
import type { User } from "../../schemas/users.js";
import type { World, WorldConfig } from "../../schemas/worlds.js";
import type {
  PageSelection,
  RoomExtras,
  RoomValue,
  UserRecord,
  Versioned,
} from "../store.js";
import { frozen, versioned } from "../versions.js";

export interface WorldRow {
  id: string;
  title: string;
  config: string;
  permission_config: string;
  domain: string;
  revision: number;
}

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

/** A room with what lists of rooms do not show. */
export interface WholeRoomRow extends RoomRow {
  /** JSON of the {@link RoomExtras} that are not at their default; null if all are. */
  extras: string | null;
}

type PlainFields = Omit<
  UserRecord,
  "profile" | "traits" | "client_state" | "deleted"
>;

export interface UserRow extends PlainFields {
  profile: string | null;
  /** Null for a tombstone. */
  traits: string | null;
  /** Null for an empty object. */
  client_state: string | null;
}

/** The columns of a {@link WorldRow}. */
export const WORLD_COLUMNS =
  "id, title, config, permission_config, domain, revision";

/** The columns of a {@link RoomRow}, of `rooms` joined with `worlds`. */
export const ROOM_COLUMNS =
  "rooms.id, rooms.name, rooms.description, rooms.module_config, rooms.permission_config, rooms.sorting_priority, coalesce(rooms.domain, worlds.domain) AS domain, rooms.revision";

/** The columns of a {@link WholeRoomRow}, from the same tables. */
export const WHOLE_ROOM_COLUMNS = `${ROOM_COLUMNS}, rooms.extras`;

/** The columns of a {@link UserRow}. */
export const USER_COLUMNS =
  "id, token_id, client_id, profile, traits, last_seen, moderation_state, client_state, pretalx_id, last_login";

/** The condition for users that are no tombstones. SQLite uses the partial indexes for no other wording. */
export const IS_KNOWN = "(token_id IS NOT NULL OR client_id IS NOT NULL)";

/** The world in a row, with its version. */
export const readWorld = (row: WorldRow): Versioned<World> =>
  versioned(toWorld(row), () => worldJson(row), row.revision);

/** The room in a row, with its version. */
export const readRoom = (row: RoomRow): Versioned<Room> =>
  versioned(toRoom(row), () => roomJson(row), row.revision);

/** The room in a row with its extras. They are in the version by the revision. */
export const readWholeRoom = (row: WholeRoomRow): Versioned<RoomValue> =>
  versioned(toWholeRoom(row), () => roomJson(row), row.revision);

// A record may hold a megabyte of JSON with hundreds of thousands of values.
// To parse it takes a hundred times as long as to copy it, and twenty times the
// memory. So what is stored is parsed when it is used, and sent as it is.

export function toWorld(row: WorldRow): World {
  let config: WorldConfig | undefined;
  let permissions: PermissionConfig | undefined;
  return Object.freeze({
    id: row.id,
    title: row.title,
    get config() {
      return (config ??= parse<WorldConfig>(row.config));
    },
    get permission_config() {
      return (permissions ??= parse<PermissionConfig>(row.permission_config));
    },
    domain: row.domain,
  });
}

export function toRoom(row: RoomRow): Room {
  let modules: Room["module_config"] | undefined;
  let permissions: PermissionConfig | undefined;
  return Object.freeze({
    id: row.id,
    name: row.name,
    description: row.description,
    get module_config() {
      return (modules ??= parse<Room["module_config"]>(row.module_config));
    },
    get permission_config() {
      return (permissions ??= parse<PermissionConfig>(row.permission_config));
    },
    sorting_priority: row.sorting_priority,
    domain: row.domain,
  });
}

const parse = <T>(json: string): T => frozen(JSON.parse(json) as T);

const worldJson = (row: WorldRow) =>
  `{"id":${JSON.stringify(row.id)},"title":${JSON.stringify(row.title)},"config":${row.config},"permission_config":${row.permission_config},"domain":${JSON.stringify(row.domain)}}`;

const roomJson = (row: RoomRow) =>
  `{"id":${JSON.stringify(row.id)},"name":${JSON.stringify(row.name)},"description":${JSON.stringify(row.description)},"module_config":${row.module_config},"permission_config":${row.permission_config},"sorting_priority":${row.sorting_priority},"domain":${JSON.stringify(row.domain)}}`;

const DEFAULT_EXTRAS: Readonly<RoomExtras> = Object.freeze({
  picture: null,
  import_id: null,
  pretalx_id: 0,
  force_join: false,
  schedule_data: null,
});

/** The extras as they are stored: JSON of those that are not at their default. */
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

const extrasIn = (stored: string | null): Readonly<RoomExtras> =>
  stored === null
    ? DEFAULT_EXTRAS
    : Object.freeze({ ...DEFAULT_EXTRAS, ...ownExtras(stored) });

function toWholeRoom(row: WholeRoomRow): RoomValue {
  let modules: Room["module_config"] | undefined;
  let permissions: PermissionConfig | undefined;
  let extras: Readonly<RoomExtras> | undefined;
  return Object.freeze({
    id: row.id,
    name: row.name,
    description: row.description,
    get module_config() {
      return (modules ??= parse<Room["module_config"]>(row.module_config));
    },
    get permission_config() {
      return (permissions ??= parse<PermissionConfig>(row.permission_config));
    },
    sorting_priority: row.sorting_priority,
    domain: row.domain,
    get extras() {
      return (extras ??= extrasIn(row.extras));
    },
  });
}

/** The user in a row. */
export function toUser(row: UserRow): UserRecord {
  let profile: User["profile"] | undefined;
  let traits: string[] | undefined;
  let state: Record<string, unknown> | undefined;
  return Object.freeze({
    id: row.id,
    token_id: row.token_id,
    client_id: row.client_id,
    get profile() {
      return (profile ??= parse<User["profile"]>(row.profile ?? "null"));
    },
    get traits() {
      return (traits ??= parse<string[]>(row.traits ?? "[]"));
    },
    last_seen: row.last_seen,
    moderation_state: row.moderation_state,
    get client_state() {
      return (state ??= parse<Record<string, unknown>>(
        row.client_state ?? "{}",
      ));
    },
    pretalx_id: row.pretalx_id,
    last_login: row.last_login,
    deleted: row.token_id === null && row.client_id === null,
  });
}

/** The display name in the profile of a user without differences of case; empty if there is none. */
export function foldedNameOf(profile: User["profile"] | undefined): string {
  const name = profile?.display_name;
  return typeof name === "string" ? foldCase(name) : "";
}

/**
 * Removes differences of case from a text. One conversion is not enough: only upper
 * case unites σ and ς, and only lower case unites K and the Kelvin sign.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase();
}

/** Whether a row has the same values as before. */
export function sameValues<T extends object>(old: T, row: T): boolean {
  return (Object.keys(row) as (keyof T)[]).every((k) => row[k] === old[k]);
}

/** The rows of a page. SQLite takes no offset beyond 64 bits, and a client may ask for any page. */
export const rangeOf = ({ page, pageSize }: PageSelection, count: number) => ({
  limit: pageSize,
  offset: Math.min((page - 1) * pageSize, count),
});
