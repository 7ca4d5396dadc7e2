import { holdsKey, roomKeys, type PermissionConfig, type PermissionKey } from "./rules.js";

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

/** Whether people with these traits may come into the world at all. */
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
