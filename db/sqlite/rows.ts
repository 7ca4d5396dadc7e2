import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import type { Room } from "../../schemas/rooms.js";
import type { User } from "../../schemas/users.js";
import type { World, WorldConfig } from "../../schemas/worlds.js";
import type { PageSelection, UserRecord, Versioned } from "../store.js";
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

export interface UserRow extends Omit<UserRecord, "profile" | "traits"> {
  profile: string | null;
  traits: string;
}

/** The columns of a {@link WorldRow}. */
export const WORLD_COLUMNS =
  "id, title, config, permission_config, domain, revision";

/** The columns of a {@link RoomRow}, of `rooms` joined with `worlds`. */
export const ROOM_COLUMNS =
  "rooms.id, rooms.name, rooms.description, rooms.module_config, rooms.permission_config, rooms.sorting_priority, coalesce(rooms.domain, worlds.domain) AS domain, rooms.revision";

/** The columns of a {@link UserRow}. */
export const USER_COLUMNS =
  "id, token_id, client_id, profile, traits, last_seen";

/** The world in a row, with its version. */
export const readWorld = (row: WorldRow): Versioned<World> =>
  versioned(toWorld(row), () => worldJson(row), row.revision);

/** The room in a row, with its version. */
export const readRoom = (row: RoomRow): Versioned<Room> =>
  versioned(toRoom(row), () => roomJson(row), row.revision);

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

export const toUser = ({ profile, traits, ...rest }: UserRow): UserRecord => ({
  ...rest,
  profile: profile === null ? null : (JSON.parse(profile) as User["profile"]),
  traits: JSON.parse(traits) as string[],
});

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
