import type { LiveState, SentRoom } from "../../client/index.js";

// The server's permissions, so that pages offer nothing that it refuses.

/** Whether a list of permissions, of the world or a room, has one. */
export const may = (
  holder: { readonly permissions: readonly string[] } | undefined,
  permission: string,
): boolean => holder?.permissions.includes(permission) ?? false;

/** Whether a user has a right on the world, or on any room. */
export const mayAnywhere = (state: LiveState, ...rights: readonly string[]): boolean =>
  [state, ...state.rooms].some((it) => rights.some((right) => may(it, right)));

/** Whether the console has a page for a user: see `console/pages.ts`. */
export const hasConsole = (state: LiveState): boolean =>
  ["update", "users.list", "users.manage", "announce"].some((it) => may(state, `world:${it}`)) ||
  may(state, "world:rooms.create.stage") ||
  mayAnywhere(state, "room:update", "room:delete") ||
  (may(state, "world:api") && (may(state, "world:secrets") || may(state, "world:feed")));

/** The permissions that silenced people keep. */
const QUIET = new Set([
  "world:view",
  "room:view",
  "room:chat.read",
  "room:chat.join",
  "room:question.read",
  "room:poll.read",
]);

/** Whether a moderator silenced the user. It ends with the first right that is restored. */
export function isSilenced(view: LiveState | undefined): boolean {
  if (view?.user.moderation_state !== "silenced") return false;
  return [view, ...view.rooms].every(({ permissions }) => permissions.every((it) => QUIET.has(it)));
}

/** A module of a room, as the server sends it. */
export type RoomModule = SentRoom["modules"][number];

/** The first module of a room with one of these types. */
export const moduleOf = (room: SentRoom, ...types: string[]): RoomModule | undefined =>
  room.modules.find(({ type }) => types.includes(type));
