import {
  holdsKey,
  roomKeys,
  type PermissionConfig,
  type PermissionKey,
} from "./rules.js";

// What holders of some traits would see and could do, by the rules of the server.

/** What somebody can do in a room that they see. */
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

/** What people with these traits may do in a room; undefined if they do not see it. */
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

/** The rooms that people with these traits see, and what they may do in each. */
export const previewOf = <R extends RuledRoom>(
  traits: readonly string[],
  world: PermissionConfig,
  rooms: readonly R[],
): { room: R; rights: RoomKey[] }[] =>
  rooms.flatMap((room) => {
    const rights = rightsIn(traits, world, room.rules);
    return rights ? [{ room, rights }] : [];
  });
