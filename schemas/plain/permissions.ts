import type { Room } from "../rooms.js";
import type { PermissionConfig, Rule } from "../rules.js";
import type { World } from "../worlds.js";

// Rights: rules and traits, and nothing of any transport.

export type { PermissionConfig, Rule };

interface KeyDefaults {
  /** Whether everybody has it by default. All other keys fail closed. */
  open?: true;
  /** The key whose rule counts if neither the room nor the world has one for this key. */
  otherwise?: string;
}

const open: KeyDefaults = { open: true };
const closed: KeyDefaults = {};
const ruleOf = (otherwise: string): KeyDefaults => ({ otherwise });

/**
 * The keys that the server itself checks, and their defaults without a rule. Worlds
 * and rooms may have others.
 */
const keys = {
  "world.view": open,
  "room.view": open,
  "file.upload": open,
  "chat.read": open,
  "chat.join": open,
  "chat.send": open,
  "chat.direct": open,
  "question.read": open,
  "question.ask": open,
  "question.vote": open,
  "poll.read": open,
  "poll.vote": open,
  "chat.moderate": closed,
  "question.moderate": ruleOf("chat.moderate"),
  "poll.manage": ruleOf("chat.moderate"),
  "poll.results": ruleOf("poll.manage"),
  "room.viewers": ruleOf("chat.moderate"),
  "room.announce": closed,
  "world.announce": closed,
  "room.create": closed,
  "room.update": closed,
  "room.delete": closed,
  "world.update": closed,
  "user.list": ruleOf("world.update"),
  "user.manage": ruleOf("chat.moderate"),
  "user.delete": ruleOf("world.update"),
  "world.connections": ruleOf("world.update"),
  "world.secrets": closed,
  "world.api": closed,
} satisfies Record<string, KeyDefaults>;

export type PermissionKey = keyof typeof keys;

/** All keys that the server asks for. */
export const permissionKeys = Object.keys(keys) as PermissionKey[];

/** The default of a key without a rule: everybody, nobody, or the rule of another key. */
export function fallbackOf(
  key: PermissionKey,
): "everybody" | "nobody" | PermissionKey {
  const { open, otherwise }: KeyDefaults = keys[key];
  return (otherwise as PermissionKey) ?? (open ? "everybody" : "nobody");
}

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
  if (rule) return holds(rule, traits);
  const { open, otherwise }: KeyDefaults = keys[key];
  return otherwise === undefined
    ? open === true
    : allows(otherwise as PermissionKey, traits, world, room);
}

/**
 * Whether these traits grant a key in the live layer, which also requires `world.view`, and
 * `room.view` if there is a room.
 */
export const grants = (
  key: PermissionKey,
  traits: ReadonlySet<string>,
  world: PermissionConfig,
  room?: PermissionConfig,
): boolean =>
  allows("world.view", traits, world) &&
  (!room || allows("room.view", traits, world, room)) &&
  allows(key, traits, world, room);

/** The keys for every call of `/api/v1/`. */
export const CALL: readonly PermissionKey[] = ["world.api"];

/** The keys for seeing a room, alone or in a list. */
export const SEE: readonly PermissionKey[] = ["room.view"];

/** The keys for an upload. */
export const UPLOAD: readonly PermissionKey[] = ["world.view", "file.upload"];

/** The objects whose rules apply: first the room, if there is one. */
export interface Place {
  readonly world: Pick<World, "permission_config">;
  readonly room?: Pick<Room, "permission_config"> | undefined;
}

/**
 * Whether a user has all of `keys`.
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
