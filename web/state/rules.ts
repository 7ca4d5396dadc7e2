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

// Rules as the pages show them, by the code that the server uses.

export { fallbackOf, permissionKeys, roomKeys };
export type { PermissionConfig, PermissionKey, Rule };

export const isRoomKey = (key: string): boolean => (roomKeys as readonly string[]).includes(key);

/** The rules of a new world. */
export const defaultRule = (key: string): Rule | undefined => defaultPermissionConfig[key];

/** Whether a user holds a key, as the live layer decides it. */
export const holdsKey = (
  key: PermissionKey,
  traits: readonly string[],
  world: PermissionConfig,
  room?: PermissionConfig,
): boolean => grants(key, new Set(traits), world, room);

/** All traits that rules ask for, sorted. */
export const traitsIn = (...configs: readonly PermissionConfig[]): string[] =>
  [...new Set(configs.flatMap((it) => Object.values(it).flat(2)))].sort();

/** Whether a text is a trait. */
export const isTrait = (text: string): boolean => textFault(traitText, text) === undefined;

/** The traits in a text, which spaces and commas separate. */
export const traitsOf = (text: string): string[] => text.split(/[\s,|]+/).filter(isTrait);

/** The keys that the console needs, and the keys for editing a room. */
const NEEDED = {
  world: ["world.view", "world.update", "world.secrets", "world.api", "world.feed"],
  room: ["room.view", "room.update"],
} as const satisfies Record<string, readonly PermissionKey[]>;

/** Rules of the world, and of a room if its rules change. */
type Rules = readonly [world: PermissionConfig, room?: PermissionConfig];

/** The keys for the console that a user would lose by a change. */
export const lostBy = (traits: readonly string[], before: Rules, after: Rules): PermissionKey[] =>
  NEEDED[after[1] ? "room" : "world"].filter(
    (key) => holdsKey(key, traits, ...before) && !holdsKey(key, traits, ...after),
  );

/** Rules with another one for a key, or without one if it is undefined. */
export function withRule(
  rules: PermissionConfig,
  key: string,
  rule: Rule | undefined,
): PermissionConfig {
  const { [key]: _, ...others } = rules;
  return rule ? { ...others, [key]: rule } : others;
}

/** The rules in a text, or its fault. */
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

/** The rule in a text; undefined if it is none. */
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

// The rooms and rights of users with some traits, by the rules of the server.

/** The rights of a user in a visible room. */
export type RoomKey = Exclude<PermissionKey, "room.view">;

/** A room, as far as rights depend on it. */
export interface RuledRoom {
  readonly id: string;
  readonly name: string;
  readonly rules: PermissionConfig;
  /** The types of its modules; rights of others mean nothing there. */
  readonly types?: readonly string[];
}

/** The modules that rights are about, by the beginnings of their keys. */
const MODULES: Readonly<Record<string, string>> = {
  chat: "chat.native",
  question: "question",
  poll: "poll",
};

/** Whether a right means something in a room with these modules. */
const isOf = (key: string, types: readonly string[] | undefined): boolean => {
  const type = MODULES[key.split(".")[0]!];
  return type === undefined || types === undefined || types.includes(type);
};

/** Whether people with these traits may enter the world. */
export const entersWorld = (traits: readonly string[], world: PermissionConfig): boolean =>
  holdsKey("world.view", traits, world);

/** The rights of users with these traits in a room; undefined if they do not see it. */
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

/** The visible rooms of users with these traits, with their rights in each. */
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
