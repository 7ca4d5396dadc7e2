import {
  defaultPermissionConfig,
  fallbackOf,
  grants,
  type PermissionConfig,
  type PermissionKey,
  permissionKeys,
  roomKeys,
  type Rule,
} from "../../schemas/plain/permissions.js";
import { textFault, trait as traitText } from "../../schemas/plain/texts.js";

// Rules for the pages, evaluated by the same code as on the server.

export { fallbackOf, permissionKeys, roomKeys };
export type { PermissionConfig, PermissionKey, Rule };

export const isRoomKey = (key: string): boolean => (roomKeys as readonly string[]).includes(key);

/** Returns a new world's rule for a key. */
export const defaultRule = (key: string): Rule | undefined => defaultPermissionConfig[key];

/** Whether a user holds a key, as decided by the live layer. */
export const holdsKey = (
  key: PermissionKey,
  traits: readonly string[],
  world: PermissionConfig,
  room?: PermissionConfig,
): boolean => grants(key, new Set(traits), world, room);

/** Returns all traits that rules require, sorted. */
export const traitsIn = (...configs: readonly PermissionConfig[]): string[] =>
  [...new Set(configs.flatMap((it) => Object.values(it).flat(2)))].sort();

/** Whether text is a valid trait. */
export const isTrait = (text: string): boolean => textFault(traitText, text) === undefined;

/** Parses traits in text, separated by spaces, commas or `|`. */
export const traitsOf = (text: string): string[] => text.split(/[\s,|]+/).filter(isTrait);

/** The keys required for the console, and for editing a room. */
const NEEDED = {
  world: ["world.view", "world.update", "world.secrets", "world.api", "world.feed"],
  room: ["room.view", "room.update"],
} as const satisfies Record<string, readonly PermissionKey[]>;

/** The world's rules and, if a room's rules change, the room's rules. */
type Rules = readonly [world: PermissionConfig, room?: PermissionConfig];

/** Returns the keys that a user would lose by a change, among the keys for the console or for a room's editor. */
export const lostBy = (traits: readonly string[], before: Rules, after: Rules): PermissionKey[] =>
  NEEDED[after[1] ? "room" : "world"].filter(
    (key) => holdsKey(key, traits, ...before) && !holdsKey(key, traits, ...after),
  );

/** Returns the rules with a key's rule replaced, or removed if the new rule is undefined. */
export function withRule(
  rules: PermissionConfig,
  key: string,
  rule: Rule | undefined,
): PermissionConfig {
  const { [key]: _, ...others } = rules;
  return rule ? { ...others, [key]: rule } : others;
}

/** Parses rules from text. Returns undefined if the rules are invalid. */
export function rulesFrom(text: string): PermissionConfig | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return undefined;
    }
    return Object.values(value).every(isRule) ? (value as PermissionConfig) : undefined;
  } catch {
    return undefined;
  }
}

/** Parses a rule from text. Returns undefined if the rule is invalid. */
export function ruleFrom(text: string): Rule | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRule(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isRule = (value: unknown): value is Rule =>
  Array.isArray(value) &&
  value.every((entry: unknown) =>
    (Array.isArray(entry) ? entry : [entry]).every(
      (text) => typeof text === "string" && isTrait(text),
    ),
  );

// Rooms and rights of users with given traits, according to the server's rules.

/** A right that a user may have in a visible room. */
export type RoomKey = Exclude<PermissionKey, "room.view">;

/** The parts of a room that rights depend on. */
export interface RuledRoom {
  readonly id: string;
  readonly name: string;
  readonly rules: PermissionConfig;
  /** Types of the room's modules. Rights for module types that the room lacks have no meaning there. */
  readonly types?: readonly string[];
}

/** The module types that rights apply to, or the beginning of these types, by the prefix of the key. */
const MODULES: Readonly<Record<string, string>> = {
  chat: "chat.native",
  question: "question",
  poll: "poll",
  call: "call.",
};

/** Whether a right has a meaning in a room with these modules. */
const isOf = (key: string, types: readonly string[] | undefined): boolean => {
  const type = MODULES[key.split(".")[0]!];
  return type === undefined || types === undefined || types.some((it) => it.startsWith(type));
};

/** Whether people with these traits may enter the world. */
export const entersWorld = (traits: readonly string[], world: PermissionConfig): boolean =>
  holdsKey("world.view", traits, world);

/** Returns the rights of users with these traits in a room, or undefined if they cannot see the room. */
export const rightsIn = (
  traits: readonly string[],
  world: PermissionConfig,
  room: PermissionConfig,
): RoomKey[] | undefined =>
  holdsKey("room.view", traits, world, room)
    ? roomKeys.filter(
        (key): key is RoomKey => key !== "room.view" && holdsKey(key, traits, world, room),
      )
    : undefined;

/** Returns the rooms that users with these traits can see, with their rights in each. */
export const previewOf = <R extends RuledRoom>(
  traits: readonly string[],
  world: PermissionConfig,
  rooms: readonly R[],
): { room: R; rights: RoomKey[] }[] =>
  rooms.flatMap((room) => {
    const rights = rightsIn(traits, world, room.rules);
    if (!rights) return [];
    return [{ room, rights: rights.filter((key) => isOf(key, room.types)) }];
  });
