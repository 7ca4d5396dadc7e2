import type { SentRoom } from "../../client/index.js";

// The server's permissions, so that pages offer nothing that it refuses.

/** Whether a list of permissions, of the world or a room, has one. */
export const may = (
  holder: { readonly permissions: readonly string[] } | undefined,
  permission: string,
): boolean => holder?.permissions.includes(permission) ?? false;

/** A module of a room, as the server sends it. */
export type RoomModule = SentRoom["modules"][number];

/** The first module of a room with one of these types. */
export const moduleOf = (
  room: SentRoom,
  ...types: string[]
): RoomModule | undefined =>
  room.modules.find(({ type }) => types.includes(type));
