import { foldCase } from "../../schemas/plain/folding.js";
import { nameShapeOf } from "../../schemas/plain/look-alikes.js";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import type { User } from "../../schemas/users.js";
import type { World, WorldConfig } from "../../schemas/worlds.js";
import type { UserListing, UserRecord, Versioned } from "../contract/store.js";
import { frozen, versioned } from "./versions.js";

export interface WorldRow {
  id: string;
  title: string;
  config: string;
  permission_config: string;
  domain: string;
  revision: number;
}

/** A {@link UserRow} in a list. */
export interface ListedUserRow extends UserRow {
  created: number;
}

type PlainFields = Omit<UserRecord, "profile" | "traits" | "client_state" | "deleted" | "stored">;

export interface UserRow extends PlainFields {
  profile: string | null;
  /** Null for a tombstone. */
  traits: string | null;
  /** Null for an empty object. */
  client_state: string | null;
}

export const WORLD_COLUMNS = "id, title, config, permission_config, domain, revision";

export const USER_COLUMNS =
  "id, token_id, client_id, profile, traits, last_seen, moderation_state, moderated_until, client_state, pretalx_id, last_login";

/** The columns of a {@link ListedUserRow}. Lists omit the client state. */
export const LISTED_COLUMNS = `${USER_COLUMNS.replace("client_state", "NULL AS client_state")}, created`;

/** The condition for users that are not tombstones. SQLite uses the partial indexes only with this exact wording. */
export const IS_KNOWN = "(token_id IS NOT NULL OR client_id IS NOT NULL)";

/** Returns the world in a row, with its version. */
export const readWorld = (row: WorldRow): Versioned<World> =>
  versioned(
    () => toWorld(row),
    () => worldJson(row),
    row.revision,
  );

// A record may hold a megabyte of JSON with hundreds of thousands of values. Parsing it takes a
// hundred times as long as copying it, and twenty times the memory. Large values are therefore
// parsed only when used, and are sent as stored.

/**
 * The JSON of a record is parsed eagerly up to this size, in characters. A page may contain a
 * thousand records of this size, each with many values.
 */
const SMALL = 1024;

/** Placeholder for a value computed by {@link recordOf}. */
export const later = undefined as never;

/**
 * Builds a record from plain values and lazily computed values. For a small record, all values are
 * computed eagerly: objects with their own getters share no hidden class, which makes V8 ten times
 * slower at reading even their plain values.
 * @param plain the plain values, with {@link later} in place of each lazy value.
 * @param others a function for each lazy value.
 * @param size the total size of the lazy values' sources, in characters.
 * @param stored the JSON of some of the lazy values, exposed as a non-enumerable property.
 */
export function recordOf<
  P extends object,
  L extends Record<string, () => unknown>,
  S extends object = never,
>(
  plain: P,
  others: L,
  size: number,
  stored?: S,
): P & { readonly [K in keyof L]: ReturnType<L[K]> } & { readonly stored: S } {
  for (const [key, make] of Object.entries(others)) {
    if (size <= SMALL) (plain as Record<string, unknown>)[key] = make();
    else defineLazily(plain, key, make);
  }
  if (stored) Object.defineProperty(plain, "stored", { value: stored });
  return Object.freeze(plain) as ReturnType<typeof recordOf<P, L, S>>;
}

function defineLazily(record: object, key: string, make: () => unknown): void {
  let made: { value: unknown } | undefined;
  Object.defineProperty(record, key, {
    enumerable: true,
    get: () => (made ??= { value: make() }).value,
  });
}

/** Returns the total size of strings, in characters. */
export const sizeOf = (...texts: (string | null)[]): number =>
  texts.reduce((size, text) => size + (text?.length ?? 0), 0);

export const toWorld = (row: WorldRow): World =>
  recordOf(
    {
      id: row.id,
      title: row.title,
      config: later,
      permission_config: later,
      domain: row.domain,
    },
    {
      config: () => parse<WorldConfig>(row.config),
      permission_config: () => parse<PermissionConfig>(row.permission_config),
    },
    sizeOf(row.config, row.permission_config),
  );

/** Parses JSON into a frozen value. */
export const parse = <T>(json: string): T => frozen(JSON.parse(json) as T);

const worldJson = (row: WorldRow) =>
  `{"id":${JSON.stringify(row.id)},"title":${JSON.stringify(row.title)},"config":${row.config},"permission_config":${row.permission_config},"domain":${JSON.stringify(row.domain)}}`;

export const toUser = (row: UserRow): UserRecord =>
  recordOf(
    {
      id: row.id,
      token_id: row.token_id,
      client_id: row.client_id,
      profile: later,
      traits: later,
      last_seen: row.last_seen,
      moderation_state: row.moderation_state,
      moderated_until: row.moderated_until,
      client_state: later,
      pretalx_id: row.pretalx_id,
      last_login: row.last_login,
      deleted: row.token_id === null && row.client_id === null,
    },
    {
      ...listedIn(row),
      client_state: () => parse<Record<string, unknown>>(row.client_state ?? "{}"),
    },
    sizeOf(row.profile, row.traits, row.client_state),
    storedOf(row),
  );

const listedIn = (row: UserRow) => ({
  profile: () => parse<User["profile"]>(row.profile ?? "null"),
  traits: () => parse<string[]>(row.traits ?? "[]"),
});

const storedOf = ({ profile, client_state }: UserRow) => ({
  profile,
  client_state: client_state ?? "{}",
});

export const toListed = (row: ListedUserRow): UserListing =>
  recordOf(
    {
      id: row.id,
      token_id: row.token_id,
      client_id: row.client_id,
      profile: later,
      traits: later,
      last_seen: row.last_seen,
      moderation_state: row.moderation_state,
      moderated_until: row.moderated_until,
      pretalx_id: row.pretalx_id,
      last_login: row.last_login,
      created: row.created,
    },
    listedIn(row),
    sizeOf(row.profile, row.traits),
    storedOf(row),
  );

/** Returns the case-folded display name in a profile, or an empty string if the profile has no name. */
export function foldedNameOf(profile: User["profile"] | undefined): string {
  const name = profile?.display_name;
  return typeof name === "string" ? foldCase(name) : "";
}

/** Returns the shape of the display name in a profile, or an empty string if the profile has no name. */
export function shapeIn(profile: User["profile"] | undefined): string {
  const name = profile?.display_name;
  return typeof name === "string" ? nameShapeOf(name) : "";
}

export function sameValues<T extends object>(old: T, row: T): boolean {
  return (Object.keys(row) as (keyof T)[]).every((k) => row[k] === old[k]);
}
