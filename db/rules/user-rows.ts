import { createHash } from "node:crypto";
import type { User } from "../../schemas/users.js";
import { StoreError, type UserKind } from "../contract/store.js";
import { foldCase } from "../../schemas/plain/folding.js";
import { foldedNameOf, shapeIn } from "./rows.js";

// For users who are not people, the client ID begins with the user's kind and a colon. No client
// can forge this prefix, because the IDs that clients send contain no colons.

/** A user counts as inactive after this time without a login. */
export const INACTIVE_AFTER_MS = 36 * 3600 * 1000;

/**
 * Whether a user counts as inactive. Times are in milliseconds since 1970.
 * @param last_login null before the first login.
 */
export const isInactive = (last_login: number | null, now: number): boolean =>
  last_login === null || now - last_login > INACTIVE_AFTER_MS;

/** The condition for rows of `users` that represent people. */
export const IS_PERSON = "(client_id IS NULL OR client_id NOT LIKE '%:%')";

export const isOfKind = (kind: UserKind): string =>
  kind === "person" ? IS_PERSON : `client_id LIKE '${kind}:%'`;

export const kioskId = (name: string): string => `kiosk:${name}`;

/** Returns the client ID of a person admitted by a room's link. The same person is a different user in each room. */
export const anonymousId = (room: string, clientId: string): string =>
  `anonymous:${room}:${createHash("sha256").update(clientId).digest("base64url")}`;

/** Returns a user's kind. Erased users count as people. */
export function kindOf({
  client_id,
}: {
  readonly client_id?: string | null | undefined;
}): UserKind {
  if (client_id?.startsWith("kiosk:")) return "kiosk";
  return client_id?.startsWith("anonymous:") ? "anonymous" : "person";
}

// The text fields of a profile are also stored as one case-folded string, such as
// "xcityzROMExjobzNURSE", so that searches need not parse profiles. Folded text contains no
// lowercase letters from a to z, so these letters can separate names from values.

/** The letters before the name and before the value of each field. */
export const FIELD = "x";
const VALUE = "z";

/** Returns the marker that precedes the value of the named field, and occurs nowhere else. */
export const markerOf = (name: string): string =>
  FIELD + name.replace(/[qxz]/g, (char) => `q${char.toUpperCase()}`) + VALUE;

/** Returns a profile's case-folded text fields, or an empty string if the profile has no text fields. */
export function foldedFieldsOf(profile: User["profile"] | undefined): string {
  const fields = profile?.fields;
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    return "";
  }
  return Object.entries(fields)
    .map(([name, value]) => (typeof value === "string" ? markerOf(name) + foldCase(value) : ""))
    .join("");
}

/** Like {@link foldedFieldsOf}, for a stored profile. An unreadable profile has no fields. */
export function foldedFieldsIn(profile: string | null): string {
  if (!profile?.includes('"fields"')) return "";
  try {
    return foldedFieldsOf(JSON.parse(profile) as User["profile"]);
  } catch {
    return "";
  }
}

export const isInField = (folded: string, marker: string, term: string): boolean =>
  (folded.split(marker, 2)[1] ?? "").split(FIELD, 1)[0]!.includes(term);

/** Computes the columns derived from a stored profile, which is known to be valid. */
export function derivedOf(profile: string | null) {
  const parsed = profile === null ? null : (JSON.parse(profile) as User["profile"]);
  return {
    display_name_folded: foldedNameOf(parsed),
    fields_folded: foldedFieldsOf(parsed),
    name_shape: shapeIn(parsed),
  };
}

/** Maximum number of users that one user may block. */
export const MAX_BLOCKED = 1000;

/**
 * Maximum size of a page of users, in characters. A thousand profiles of the largest size that fits
 * into a header would block the event loop for too long.
 */
export const MAX_USER_PAGE = 4 * 1024 * 1024;

/** Maximum total size of the blocked users' profiles to load, in characters. */
export const MAX_BLOCKED_SIZE = 1024 * 1024;

export const BY_NAME = "display_name_folded, id";

export const stateJson = (state: Record<string, unknown> | undefined): string | null =>
  state && Object.keys(state).length > 0 ? JSON.stringify(state) : null;

export const tooManyBlocked = () =>
  new StoreError("quota", `A user may block at most ${MAX_BLOCKED} users.`, "blocks");
