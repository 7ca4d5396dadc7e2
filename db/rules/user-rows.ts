import { StoreError } from "../contract/store.js";

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

export const tooManyBlocked = () =>
  new StoreError("quota", `A user may block ${MAX_BLOCKED} users.`, "blocks");
