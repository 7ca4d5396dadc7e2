import type { UserCopy } from "../../schemas/documents/world-document.js";
import { foldedNameOf } from "./rows.js";
import { StoreError } from "../contract/store.js";
import { foldedFieldsOf } from "./user-fields.js";

/** How many users one user may block. */
export const MAX_BLOCKED = 1000;

/**
 * The largest page of users, in characters. A thousand profiles that fill a header
 * each would block the event loop for too long.
 */
export const MAX_USER_PAGE = 4 * 1024 * 1024;

/** How much of the blocked users is read, in characters of their profiles. */
export const MAX_BLOCKED_SIZE = 1024 * 1024;

/** The order of users in lists for users. */
export const BY_NAME = "display_name_folded, id";

/** The client state as it is stored. */
export const stateJson = (
  state: Record<string, unknown> | undefined,
): string | null =>
  state && Object.keys(state).length > 0 ? JSON.stringify(state) : null;

/** The row of a user in a document. */
export const copiedUserRow = (user: UserCopy) => ({
  id: user.id,
  token_id: user.token_id,
  client_id: user.client_id,
  profile: user.profile && JSON.stringify(user.profile),
  traits: JSON.stringify(user.traits),
  last_seen: Date.parse(user.last_seen),
  moderation_state: user.moderation_state ?? "",
  client_state: stateJson(user.client_state),
  pretalx_id: user.pretalx_id ?? null,
  last_login: user.last_login == null ? null : Date.parse(user.last_login),
  display_name_folded: foldedNameOf(user.profile),
  fields_folded: foldedFieldsOf(user.profile),
});

export const tooManyBlocked = () =>
  new StoreError("quota", `A user may block ${MAX_BLOCKED} users.`, "blocks");
