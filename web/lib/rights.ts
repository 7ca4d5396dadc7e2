import type { LiveState, SentRoom } from "../../client/index.js";

// The server's permissions, so that pages offer nothing that it refuses.

/** Whether a list of permissions, of the world or a room, has one. */
export const may = (
  holder: { readonly permissions: readonly string[] } | undefined,
  permission: string,
): boolean => holder?.permissions.includes(permission) ?? false;

/** The permissions that silenced people keep. */
const QUIET = new Set([
  "world:view",
  "room:view",
  "room:chat.read",
  "room:chat.join",
  "room:question.read",
  "room:poll.read",
]);

/** Whether a moderator silenced the user. It ends with the first right that comes back. */
export function isSilenced(view: LiveState | undefined): boolean {
  if (view?.user.moderation_state !== "silenced") return false;
  return [view, ...view.rooms].every(({ permissions }) =>
    permissions.every((it) => QUIET.has(it)),
  );
}

/** A module of a room, as the server sends it. */
export type RoomModule = SentRoom["modules"][number];

/** The first module of a room with one of these types. */
export const moduleOf = (
  room: SentRoom,
  ...types: string[]
): RoomModule | undefined =>
  room.modules.find(({ type }) => types.includes(type));
