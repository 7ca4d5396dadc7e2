import type { LiveState, SentRoom } from "../../client/index.js";

// Mirrors the server's permissions, so that pages offer nothing that the server would refuse.

/** Whether a world or room grants a permission. */
export const may = (
  holder: { readonly permissions: readonly string[] } | undefined,
  permission: string,
): boolean => holder?.permissions.includes(permission) ?? false;

/** Whether a user has any of the given rights in the world or in any room. */
export const mayAnywhere = (state: LiveState, ...rights: readonly string[]): boolean =>
  [state, ...state.rooms].some((it) => rights.some((right) => may(it, right)));

/** Whether any page of the console is available to a user; see `console/pages.ts`. */
export const hasConsole = (state: LiveState): boolean =>
  ["update", "users.list", "users.manage", "announce"].some((it) => may(state, `world:${it}`)) ||
  may(state, "world:rooms.create.stage") ||
  mayAnywhere(state, "room:update", "room:delete", "room:chat.moderate") ||
  (may(state, "world:api") &&
    ["secrets", "feed", "users.invite"].some((it) => may(state, `world:${it}`)));

/** Permissions that silenced users keep. */
const QUIET = new Set([
  "world:view",
  "room:view",
  "room:chat.read",
  "room:chat.join",
  "room:question.read",
  "room:poll.read",
  "room:call.join",
  "room:bbb.join",
]);

/**
 * Whether a moderator has silenced the user. The silence is over once the user has any permission
 * that silenced users lack.
 */
export function isSilenced(view: LiveState | undefined): boolean {
  if (view?.user.moderation_state !== "silenced") return false;
  return [view, ...view.rooms].every(({ permissions }) => permissions.every((it) => QUIET.has(it)));
}

/** A room's module, as sent by the server. */
export type RoomModule = SentRoom["modules"][number];

/** Returns a room's first module of one of the given types. */
export const moduleOf = (room: SentRoom, ...types: string[]): RoomModule | undefined =>
  room.modules.find(({ type }) => types.includes(type));
