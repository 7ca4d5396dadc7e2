import {
  allows,
  type PermissionConfig,
  type PermissionKey,
} from "../../schemas/plain/permissions.js";
import type { Room } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";

/** What every call of `/api/v1/` needs. */
export const CALL: readonly PermissionKey[] = ["world.api"];

/** What an upload needs. */
export const UPLOAD: readonly PermissionKey[] = ["world.view", "file.upload"];

/** Whose rules apply: those of the room come first, if there is one. */
export interface Place {
  readonly world: Pick<World, "permission_config">;
  readonly room?: Pick<Room, "permission_config"> | undefined;
}

/**
 * Whether somebody may do everything that `keys` stand for.
 * @param who only their traits count.
 */
export function may(
  who: { readonly traits: ReadonlySet<string> },
  keys: readonly PermissionKey[],
  { world, room }: Place,
): boolean {
  const ofWorld: PermissionConfig = world.permission_config;
  const ofRoom = room?.permission_config;
  for (const key of keys) {
    if (!allows(key, who.traits, ofWorld, ofRoom)) return false;
  }
  return true;
}
