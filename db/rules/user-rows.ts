import { createHash } from "node:crypto";
import type { User } from "../../schemas/users.js";
import { StoreError, type UserKind } from "../contract/store.js";
import { foldCase, foldedNameOf } from "./rows.js";

// Users who are no people. Their kind stands before a colon in the client ID, where no client can
// put it: client IDs have no colons.

/** After this time without a login, a user counts as inactive. */
export const INACTIVE_AFTER_MS = 36 * 3600 * 1000;

/**
 * Whether a user counts as inactive.
 * @param last_login in milliseconds since 1970; null before the first login.
 * @param now in milliseconds since 1970.
 */
export const isInactive = (last_login: number | null, now: number): boolean =>
  last_login === null || now - last_login > INACTIVE_AFTER_MS;

/** Whether a row of the table of users is a person. */
export const IS_PERSON = "(client_id IS NULL OR client_id NOT LIKE '%:%')";

export const isOfKind = (kind: UserKind): string =>
  kind === "person" ? IS_PERSON : `client_id LIKE '${kind}:%'`;

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

// The text fields of a profile are also stored as one text without differences of
// case, such as "xcityzROMExjobzNURSE", so that a search parses no profile. Folded
// text has no small letters from a to z, so they can separate names from values.

/** Begins a field. */
export const FIELD = "x";
const VALUE = "z";

/** The prefix of the value of a field with this name, which occurs nowhere else. */
export const markerOf = (name: string): string =>
  FIELD + name.replace(/[qxz]/g, (char) => `q${char.toUpperCase()}`) + VALUE;

/** The text fields of a profile without differences of case; empty if there are none. */
export function foldedFieldsOf(profile: User["profile"] | undefined): string {
  const fields = profile?.fields;
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    return "";
  }
  return Object.entries(fields)
    .map(([name, value]) => (typeof value === "string" ? markerOf(name) + foldCase(value) : ""))
    .join("");
}

/** The same of a stored profile. One that cannot be read has no fields. */
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

/** The columns of a user that follow from the stored profile, which was checked. */
export function derivedOf(profile: string | null) {
  const parsed = profile === null ? null : (JSON.parse(profile) as User["profile"]);
  return { display_name_folded: foldedNameOf(parsed), fields_folded: foldedFieldsOf(parsed) };
}

/** How many users one user may block. */
export const MAX_BLOCKED = 1000;

/**
 * The largest page of users, in characters. A thousand profiles that fill a header
 * each would block the event loop for too long.
 */
export const MAX_USER_PAGE = 4 * 1024 * 1024;

/** How much of the blocked users is read, in characters of their profiles. */
export const MAX_BLOCKED_SIZE = 1024 * 1024;

export const BY_NAME = "display_name_folded, id";

export const stateJson = (state: Record<string, unknown> | undefined): string | null =>
  state && Object.keys(state).length > 0 ? JSON.stringify(state) : null;

export const tooManyBlocked = () =>
  new StoreError("quota", `A user may block ${MAX_BLOCKED} users.`, "blocks");
