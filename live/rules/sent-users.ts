import type { UserRecord, UserStore } from "../../db/contract/store.js";
import type { PublicUser } from "../../schemas/live/index.js";
import { truncate } from "../../schemas/plain/texts.js";
import type { World } from "../../schemas/worlds.js";
import { encoded, type Json } from "./encoding.js";
import { publicUser } from "./shapes.js";

// Users in the public form that pushes and responses contain.

/** Access to user records. */
export interface UserReads {
  readonly store: { readonly users: UserStore };
}

/** Maximum total size of the users in a push, in bytes of JSON. */
const MAX_PUSHED_CHARACTERS = 32 * 1024;

/** Maximum length of the display name in a shortened profile, in characters. */
const SHORT_NAME = 100;

/** Number of users per read. */
const USERS_PER_READ = 200;

/** How long a user's public form is cached, in milliseconds: its `inactive` field depends on the time. */
const PUBLIC_FORM_AGE_MS = 60_000;

/** Reads users by id. Tombstones are included; unknown ids are left out. */
export async function readUsers(
  { store }: UserReads,
  world: string,
  ids: readonly string[],
): Promise<Map<string, UserRecord>> {
  const found = new Map<string, UserRecord>();
  for (let i = 0; i < ids.length; i += USERS_PER_READ) {
    const slice = ids.slice(i, i + USERS_PER_READ);
    for (const user of await store.users.getMany(world, slice)) {
      found.set(user.id, user);
    }
  }
  return found;
}

interface Known {
  readonly world: World;
  /** The time at which the form was encoded, in milliseconds since 1970. */
  readonly at: number;
  readonly json: Json<PublicUser>;
  /** Size of the JSON, in bytes. */
  readonly size: number;
}

/**
 * Cached forms, by whether the reader manages users. User records are frozen, and a record stays
 * the same object until the user changes.
 */
const known = {
  others: new WeakMap<UserRecord, Known>(),
  admins: new WeakMap<UserRecord, Known>(),
};

function knownUser(user: UserRecord, world: World, now: number, admin: boolean): Known {
  const map = admin ? known.admins : known.others;
  let entry = map.get(user);
  if (entry?.world !== world || Math.abs(now - entry.at) > PUBLIC_FORM_AGE_MS) {
    const json = encoded<PublicUser>(publicUser(user, world, now, admin));
    const size = Buffer.byteLength(json.text);
    entry = { world, at: now, json, size };
    map.set(user, entry);
  }
  return entry;
}

/**
 * Returns a user as other users see them, encoded once for all readers.
 * @param now in milliseconds since 1970.
 */
export const sharedUser = (
  user: UserRecord,
  world: World,
  now: number,
  admin: boolean,
): Json<PublicUser> => knownUser(user, world, now, admin).json;

/** Selects the users that fit into one push. The first user is always selected. */
export function fitting(users: Iterable<UserRecord>, world: World, now: number): UserRecord[] {
  const shown: UserRecord[] = [];
  let left = MAX_PUSHED_CHARACTERS;
  for (const user of users) {
    const { size } = knownUser(user, world, now, false);
    if (size > left && shown.length > 0) continue;
    left -= size;
    shown.push(user);
  }
  return shown;
}

/** Returns a user with a profile that contains only the name. */
export function briefUser(
  user: UserRecord,
  world: World,
  now: number,
  admin: boolean,
): Json<PublicUser> {
  const name = user.profile?.display_name;
  const profile = typeof name === "string" ? { display_name: truncate(name, SHORT_NAME) } : {};
  return encoded<PublicUser>({ ...publicUser(user, world, now, admin), profile });
}

/** The placeholder for a user without a record, such as after an import. */
export const absentUser = (id: string): PublicUser => ({
  id,
  profile: {},
  pretalx_id: null,
  deleted: true,
  badges: [],
  inactive: true,
});
