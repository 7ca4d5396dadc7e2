import { createHash } from "node:crypto";
import type { UserKind } from "../contract/store.js";

// Users who are no people. Their kind stands before a colon in the client ID, where no client can
// put it: client IDs have no colons.

/** After this time without a login, a user counts as inactive, in milliseconds. */
export const INACTIVE = 36 * 3600 * 1000;

/**
 * Whether a user counts as inactive.
 * @param last_login in milliseconds since 1970; null before the first login.
 * @param now in milliseconds since 1970.
 */
export const isInactive = (last_login: number | null, now: number): boolean =>
  last_login === null || now - last_login > INACTIVE;

/** Whether a row of the table of users is a person. */
export const IS_PERSON = "(client_id IS NULL OR client_id NOT LIKE '%:%')";

/** Whether a row of the table of users is of another kind. */
export const isOfKind = (kind: UserKind): string =>
  kind === "person" ? IS_PERSON : `client_id LIKE '${kind}:%'`;

/** The client ID of the user of a screen. */
export const kioskId = (name: string): string => `kiosk:${name}`;

/** The client ID of a person whom the link of a room let in. Each room knows another user. */
export const anonymousId = (room: string, clientId: string): string =>
  `anonymous:${room}:${createHash("sha256").update(clientId).digest("base64url")}`;

/** What a user is. An erased user is a person. */
export function kindOf({
  client_id,
}: {
  readonly client_id?: string | null | undefined;
}): UserKind {
  if (client_id?.startsWith("kiosk:")) return "kiosk";
  return client_id?.startsWith("anonymous:") ? "anonymous" : "person";
}
