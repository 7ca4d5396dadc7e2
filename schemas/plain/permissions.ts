import type { Room } from "../rooms.js";
import type { PermissionConfig, Rule } from "../rules.js";
import type { World } from "../worlds.js";

// Rights: rules and traits, and nothing of any transport.

export type { PermissionConfig, Rule };

/** The keys that the server itself asks for. Worlds and rooms may have others. */
export type PermissionKey =
  | "world.view"
  | "world.secrets"
  | "world.update"
  | "world.api"
  | "room.view"
  | "room.create"
  | "room.update"
  | "room.delete"
  | "file.upload";

/** The keys that everybody has by default. All other keys fail closed. */
const openByDefault: ReadonlySet<PermissionKey> = new Set([
  "world.view",
  "room.view",
  "file.upload",
]);

/** The rules of a new world, which are the defaults of Venueless. */
export const defaultPermissionConfig: PermissionConfig = {
  "world.update": ["admin"],
  "world.secrets": ["admin", "api"],
  "world.announce": ["admin"],
  "world.api": ["admin", "api"],
  "room.create": ["admin"],
  "room.announce": ["admin"],
  "room.update": ["admin"],
  "room.delete": ["admin"],
  "chat.moderate": ["admin"],
};

/** Whether a rule holds for these traits: every entry must, and of a list one trait is enough. */
export function holds(rule: Rule, traits: ReadonlySet<string>): boolean {
  return rule.every((entry) =>
    typeof entry === "string"
      ? traits.has(entry)
      : entry.some((trait) => traits.has(trait)),
  );
}

/**
 * Whether these traits grant a key.
 * @param world the rules of the world.
 * @param room the rules of a room in it, which take precedence.
 */
export function allows(
  key: PermissionKey,
  traits: ReadonlySet<string>,
  world: PermissionConfig,
  room?: PermissionConfig,
): boolean {
  const rule = room?.[key] ?? world[key];
  return rule ? holds(rule, traits) : openByDefault.has(key);
}

/** What every call of `/api/v1/` needs. */
export const CALL: readonly PermissionKey[] = ["world.api"];

/** What seeing a room needs, by itself or in a list. */
export const SEE: readonly PermissionKey[] = ["room.view"];

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
  const ofWorld = world.permission_config;
  const ofRoom = room?.permission_config;
  for (const key of keys) {
    if (!allows(key, who.traits, ofWorld, ofRoom)) return false;
  }
  return true;
}
