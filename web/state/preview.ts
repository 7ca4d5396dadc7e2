import {
  holdsKey,
  roomKeys,
  type PermissionConfig,
  type PermissionKey,
} from "./rules.js";

// The rooms and rights of users with some traits, by the rules of the server.

/** The rights of a user in a visible room. */
export type RoomKey = Exclude<PermissionKey, "room.view">;

/** A room, as far as rights depend on it. */
export interface RuledRoom {
  readonly id: string;
  readonly name: string;
  readonly rules: PermissionConfig;
}

/** Whether people with these traits may come into the world at all. */
export const entersWorld = (
  traits: readonly string[],
  world: PermissionConfig,
): boolean => holdsKey("world.view", traits, world);

/** The rights of users with these traits in a room; undefined if they do not see it. */
export const rightsIn = (
  traits: readonly string[],
  world: PermissionConfig,
  room: PermissionConfig,
): RoomKey[] | undefined =>
  holdsKey("room.view", traits, world, room)
    ? roomKeys.filter(
        (key): key is RoomKey =>
          key !== "room.view" && holdsKey(key, traits, world, room),
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
    return rights ? [{ room, rights }] : [];
  });
