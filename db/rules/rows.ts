import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import type { Room } from "../../schemas/rooms.js";
import type { User } from "../../schemas/users.js";
import type { World, WorldConfig } from "../../schemas/worlds.js";
import type {
  ListedUser,
  RoomExtras,
  RoomValue,
  UserRecord,
  Versioned,
} from "../contract/store.js";
import { frozen, versioned } from "./versions.js";

export interface WorldRow {
  id: string;
  title: string;
  config: string;
  permission_config: string;
  domain: string;
  revision: number;
}

export interface RoomRow {
  id: string;
  name: string;
  description: string;
  module_config: string;
  permission_config: string;
  sorting_priority: number;
  /** The room's own, or the world's. */
  domain: string;
  revision: number;
}

/** A room with the fields that lists of rooms omit. */
export interface WholeRoomRow extends RoomRow {
  /** JSON of the {@link RoomExtras} that are not at their default; null if all are. */
  extras: string | null;
}

/** A {@link UserRow} of a list. */
export interface ListedUserRow extends UserRow {
  created: number;
}

type PlainFields = Omit<
  UserRecord,
  "profile" | "traits" | "client_state" | "deleted" | "stored"
>;

export interface UserRow extends PlainFields {
  profile: string | null;
  /** Null for a tombstone. */
  traits: string | null;
  /** Null for an empty object. */
  client_state: string | null;
}

/** The columns of a {@link WorldRow}. */
export const WORLD_COLUMNS =
  "id, title, config, permission_config, domain, revision";

/** The columns of a {@link RoomRow}, of `rooms` joined with `worlds`. */
export const ROOM_COLUMNS =
  "rooms.id, rooms.name, rooms.description, rooms.module_config, rooms.permission_config, rooms.sorting_priority, coalesce(rooms.domain, worlds.domain) AS domain, rooms.revision";

/** The columns of a {@link WholeRoomRow}, from the same tables. */
export const WHOLE_ROOM_COLUMNS = `${ROOM_COLUMNS}, rooms.extras`;

/** The values of {@link WHOLE_ROOM_COLUMNS}. */
export type WholeRoomValues = [
  id: string,
  name: string,
  description: string,
  module_config: string,
  permission_config: string,
  sorting_priority: number,
  domain: string,
  revision: number,
  extras: string | null,
];

/** The room of which these are the columns. */
export const wholeRoomIn = (columns: WholeRoomValues): WholeRoomRow => ({
  id: columns[0],
  name: columns[1],
  description: columns[2],
  module_config: columns[3],
  permission_config: columns[4],
  sorting_priority: columns[5],
  domain: columns[6],
  revision: columns[7],
  extras: columns[8],
});

/** The columns of a room: see {@link wholeRoomIn}. */
export const wholeRoomValues = (row: WholeRoomRow): WholeRoomValues => [
  row.id,
  row.name,
  row.description,
  row.module_config,
  row.permission_config,
  row.sorting_priority,
  row.domain,
  row.revision,
  row.extras,
];

/** The columns of a {@link UserRow}. */
export const USER_COLUMNS =
  "id, token_id, client_id, profile, traits, last_seen, moderation_state, client_state, pretalx_id, last_login";

/** The columns of a {@link ListedUserRow}. Lists do not show the client state. */
export const LISTED_COLUMNS = `${USER_COLUMNS.replace("client_state", "NULL AS client_state")}, created`;

/** The condition for users that are no tombstones. SQLite uses the partial indexes for no other wording. */
export const IS_KNOWN = "(token_id IS NOT NULL OR client_id IS NOT NULL)";

/** The world in a row, with its version. */
export const readWorld = (row: WorldRow): Versioned<World> =>
  versioned(
    () => toWorld(row),
    () => worldJson(row),
    row.revision,
  );

/** The room in a row, with its version. */
export const readRoom = (row: RoomRow): Versioned<Room> =>
  versioned(
    () => toRoom(row),
    () => roomJson(row),
    row.revision,
  );

/** The room in a row with its extras. They are in the version by the revision. */
export const readWholeRoom = (row: WholeRoomRow): Versioned<RoomValue> =>
  versioned(
    () => toWholeRoom(row),
    () => roomJson(row),
    row.revision,
  );

// A record may hold a megabyte of JSON with hundreds of thousands of values.
// To parse it takes a hundred times as long as to copy it, and twenty times the
// memory. So large values are parsed when they are used, and sent as they are stored.

/**
 * The JSON of a record is parsed at once up to this size, in characters. A page may have
 * a thousand records of this size with as many values as fit in.
 */
const SMALL = 1024;

/** Keeps the place of a value that {@link recordOf} makes. */
const later = undefined as never;

/**
 * A record of some values, and of others that are made when they are first used. Of
 * a small record, all are made at once: objects with getters of their own share no
 * hidden class, and V8 then reads even their other values ten times as slowly.
 * @param plain with {@link later} for each of the others.
 * @param size the size of the others' sources, in characters.
 * @param stored the JSON of some of them, which becomes a value that is not enumerable.
 */
function recordOf<
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

const sizeOf = (...texts: (string | null)[]): number =>
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

export const toRoom = (row: RoomRow): Room =>
  recordOf(
    plainOf(row),
    storedIn(row),
    sizeOf(row.module_config, row.permission_config),
  );

const plainOf = (row: RoomRow) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  module_config: later,
  permission_config: later,
  sorting_priority: row.sorting_priority,
  domain: row.domain,
});

const storedIn = (row: RoomRow) => ({
  module_config: () => parse<Room["module_config"]>(row.module_config),
  permission_config: () => parse<PermissionConfig>(row.permission_config),
});

const parse = <T>(json: string): T => frozen(JSON.parse(json) as T);

const worldJson = (row: WorldRow) =>
  `{"id":${JSON.stringify(row.id)},"title":${JSON.stringify(row.title)},"config":${row.config},"permission_config":${row.permission_config},"domain":${JSON.stringify(row.domain)}}`;

const roomJson = (row: RoomRow) =>
  `{"id":${JSON.stringify(row.id)},"name":${JSON.stringify(row.name)},"description":${JSON.stringify(row.description)},"module_config":${row.module_config},"permission_config":${row.permission_config},"sorting_priority":${row.sorting_priority},"domain":${JSON.stringify(row.domain)}}`;

// `schedule_data` comes last: see `splitExtras`.
const DEFAULT_EXTRAS: Readonly<RoomExtras> = Object.freeze({
  picture: null,
  import_id: null,
  pretalx_id: 0,
  force_join: false,
  schedule_data: null,
});

/** The stored form of the extras: JSON of the ones that are not at their default. */
export function extrasJson(extras: Partial<RoomExtras>): string | null {
  const names = Object.keys(DEFAULT_EXTRAS) as (keyof RoomExtras)[];
  const own = names
    .map((name) => [name, extras[name] ?? DEFAULT_EXTRAS[name]] as const)
    .filter(([name, value]) => value !== DEFAULT_EXTRAS[name]);
  return own.length === 0 ? null : JSON.stringify(Object.fromEntries(own));
}

/** The extras that are not at their default. */
export const ownExtras = (stored: string | null): Partial<RoomExtras> =>
  stored === null ? {} : parse<Partial<RoomExtras>>(stored);

/** The name of the extra that may be large. */
const LARGE = '"schedule_data":';

/**
 * Takes stored extras apart: the small ones, and the large one, each as JSON. The large
 * one is the last. Marks within texts are escaped, so its name is found nowhere before it.
 */
function splitExtras(stored: string): { small: string; large: string } {
  const at = stored.indexOf(LARGE);
  if (at === -1) return { small: stored, large: "null" };
  return {
    small: `${stored.slice(0, at).replace(/,$/, "")}}`,
    large: stored.slice(at + LARGE.length, -1),
  };
}

function toWholeRoom(row: WholeRoomRow): RoomValue {
  const { module_config, permission_config } = row;
  const { small, large } = splitExtras(row.extras ?? "{}");
  const extras = () =>
    recordOf(
      { ...DEFAULT_EXTRAS, ...ownExtras(small), schedule_data: later },
      { schedule_data: () => parse<RoomExtras["schedule_data"]>(large) },
      large.length,
    );
  return recordOf(
    plainOf(row),
    { ...storedIn(row), extras },
    sizeOf(module_config, permission_config, small),
    { module_config, permission_config, schedule_data: large },
  );
}

/** The user in a row. */
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
      client_state: later,
      pretalx_id: row.pretalx_id,
      last_login: row.last_login,
      deleted: row.token_id === null && row.client_id === null,
    },
    {
      ...listedIn(row),
      client_state: () =>
        parse<Record<string, unknown>>(row.client_state ?? "{}"),
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

/** The user in a row, as lists show it. */
export const toListed = (row: ListedUserRow): ListedUser =>
  recordOf(
    {
      id: row.id,
      token_id: row.token_id,
      client_id: row.client_id,
      profile: later,
      traits: later,
      last_seen: row.last_seen,
      moderation_state: row.moderation_state,
      pretalx_id: row.pretalx_id,
      last_login: row.last_login,
      created: row.created,
    },
    listedIn(row),
    sizeOf(row.profile, row.traits),
    storedOf(row),
  );

/** The display name in the profile of a user without differences of case; empty if there is none. */
export function foldedNameOf(profile: User["profile"] | undefined): string {
  const name = profile?.display_name;
  return typeof name === "string" ? foldCase(name) : "";
}

/**
 * Removes differences of case from a text. One conversion is not enough: only upper
 * case unites σ and ς, and only lower case unites K and the Kelvin sign.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase();
}

/** Whether a row has the same values as before. */
export function sameValues<T extends object>(old: T, row: T): boolean {
  return (Object.keys(row) as (keyof T)[]).every((k) => row[k] === old[k]);
}
