import type { PermissionConfig, Rule } from "../rules.js";

export type { PermissionConfig, Rule };

/** The keys the server itself asks for. Worlds and rooms may carry others. */
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

/** Taking part needs no configuration; everything else fails closed. */
const openByDefault: ReadonlySet<PermissionKey> = new Set([
  "world.view",
  "room.view",
  "file.upload",
]);

/** What a new world starts with: the defaults of Venueless. */
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

/** Whether somebody with these traits satisfies a rule. */
export function holds(rule: Rule, traits: ReadonlySet<string>): boolean {
  return rule.every((entry) =>
    typeof entry === "string"
      ? traits.has(entry)
      : entry.some((trait) => traits.has(trait)),
  );
}

/**
 * Whether somebody with these traits may do what a key stands for.
 * @param world the rules of the world.
 * @param room the rules of the room in it, which come first.
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
