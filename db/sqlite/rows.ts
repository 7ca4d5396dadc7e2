import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import type { Room } from "../../schemas/rooms.js";
import type { User } from "../../schemas/users.js";
import type { World, WorldConfig } from "../../schemas/worlds.js";
import type { UserRecord, Versioned } from "../store.js";
import { versionedRoom, versionedWorld } from "../versions.js";

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
  versionedWorld(toWorld(row), row.revision);

/** The room in a row, with its version. */
export const readRoom = (row: RoomRow): Versioned<Room> =>
  versionedRoom(toRoom(row), row.revision);

export function toWorld(row: WorldRow): World {
  const { revision: _, config, permission_config, ...rest } = row;
  return {
    ...rest,
    config: JSON.parse(config) as WorldConfig,
    permission_config: JSON.parse(permission_config) as PermissionConfig,
  };
}

export function toRoom(row: RoomRow): Room {
  const { revision: _, module_config, permission_config, ...rest } = row;
  return {
    ...rest,
    module_config: JSON.parse(module_config) as Room["module_config"],
    permission_config: JSON.parse(permission_config) as PermissionConfig,
  };
}

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
