import { nameShapeOf } from "../../../schemas/plain/look-alikes.js";
import type {
  LookAlike,
  UserPage,
  UserRecord,
  UserSearch,
  UserSelection,
  UserStore,
  Visitor,
} from "../../contract/store.js";
import { pageTooLarge } from "../../rules/preconditions.js";
import {
  IS_KNOWN,
  LISTED_COLUMNS,
  type ListedUserRow,
  sameValues,
  toListed,
  toUser,
  USER_COLUMNS,
  type UserRow,
} from "../../rules/rows.js";
import { BY_NAME, IS_PERSON, MAX_BLOCKED_SIZE, MAX_USER_PAGE } from "../../rules/user-rows.js";
import { following, perEngine, rangeOf, type Reading, type Sql, USER_ORDERS } from "../domain.js";

export interface FoundRows<T = UserRow> {
  count: number;
  rows: T[];
}

/**
 * Builds a statement for {@link readPage}.
 * @param from common table expressions. The expression named `page` selects the users.
 * @param count an expression for the number of users on all pages.
 */
export const pageStatement = (from: string, count: string, order: string) =>
  `WITH ${from},
   sized AS (SELECT count(*) > 1 AND sum(coalesce(length(profile), 0)
       + coalesce(length(traits), 0)) > ${MAX_USER_PAGE} AS large FROM page)
   SELECT sized.large, (${count}) AS count, page.*
   FROM sized LEFT JOIN page ON NOT sized.large ORDER BY ${order}`;

/**
 * Reads a page of users. A page with one user is never rejected.
 * @param statement built by {@link pageStatement}.
 * @throws {StoreError} `large`.
 */
export async function readPage<T extends UserRow = UserRow>(
  sql: Sql,
  statement: string,
  params: readonly unknown[],
): Promise<FoundRows<T>> {
  const rows = await sql.all<T & { count: number; large: boolean | number }>(statement, params);
  const [{ count, large }] = rows as [(typeof rows)[0]];
  if (large) throw pageTooLarge();
  // An empty page is returned as a row of nulls.
  return { count, rows: rows.filter(({ id }) => (id as unknown) !== null) };
}

const GET = `SELECT ${USER_COLUMNS} FROM users WHERE world_id = $1 AND id = ANY ($2)`;

const getUsers = (sql: Sql, world: string, ids: readonly string[]): Promise<UserRow[]> =>
  sql.all<UserRow>(GET, [world, ids]);

const finding = (name: "token_id" | "client_id") =>
  `SELECT ${USER_COLUMNS} FROM users
   WHERE world_id = $1 AND foyer_digest(${name}) = foyer_digest($2) AND ${name} = $2`;

const FIND_BY_TOKEN = finding("token_id");
const FIND_BY_CLIENT = finding("client_id");

/** A user's names. If both are given, the `uid` wins. */
type UserNames = Pick<Visitor, "tokenId" | "clientId">;

export const findUser = (
  sql: Sql,
  world: string,
  { tokenId, clientId }: UserNames,
): Promise<UserRow | undefined> =>
  tokenId === undefined
    ? sql.one<UserRow>(FIND_BY_CLIENT, [world, clientId])
    : sql.one<UserRow>(FIND_BY_TOKEN, [world, tokenId]);

const FIND_BY_PRETALX = perEngine(
  {
    sqlite: "TRUE",
    postgres:
      "foyer_digest(pretalx_id) = ANY (ARRAY(SELECT foyer_digest(name) FROM unnest($2) AS name))",
  },
  (isIndexed) => `SELECT ${USER_COLUMNS} FROM users
    WHERE world_id = $1 AND pretalx_id = ANY ($2) AND pretalx_id IS NOT NULL AND ${isIndexed}`,
);

// The inner query reads only ids and sizes, because profiles may be large.
const BLOCKED = `SELECT ${USER_COLUMNS} FROM users
  WHERE world_id = $1 AND id IN (
    SELECT id FROM (
      SELECT id, sum(coalesce(length(profile), 0)) OVER (ORDER BY ${BY_NAME}) AS size
      FROM users WHERE world_id = $1 AND id IN (
        SELECT blocked_id FROM blocks WHERE world_id = $1 AND user_id = $2)) AS sized
    WHERE size <= ${MAX_BLOCKED_SIZE})
  ORDER BY ${BY_NAME}`;

const listing = (order: string, where: string) =>
  pageStatement(
    `page AS (
       SELECT ${LISTED_COLUMNS} FROM users
       WHERE world_id = $1 AND ${IS_KNOWN} AND ${IS_PERSON} AND ${where}
       ORDER BY ${order} LIMIT $2 OFFSET $3)`,
    `SELECT count(*) FROM users WHERE world_id = $1 AND ${IS_KNOWN} AND ${IS_PERSON}`,
    order,
  );

const IS_WAITING =
  "world_id = $1 AND moderation_state = 'waiting' AND last_seen >= $2 AND display_name_folded <> ''";

const WAITING = `SELECT ${LISTED_COLUMNS} FROM users WHERE ${IS_WAITING}
  ORDER BY created, id LIMIT $3`;

const COUNT_WAITING = `SELECT count(*) FROM users WHERE ${IS_WAITING}`;

const NEXT_END = `SELECT min(ends) FROM (
    SELECT min(moderated_until) AS ends FROM users
    WHERE world_id = $1 AND moderated_until IS NOT NULL
    UNION ALL SELECT min(ends) FROM network_bans WHERE world_id = $1) AS all_ends`;

const NETWORK_BAN = "SELECT max(ends) FROM network_bans WHERE world_id = $1 AND user_id = $2";

const LOOK_ALIKES = `SELECT id, token_id AS uid, traits FROM users
  WHERE world_id = $1 AND foyer_digest(name_shape) = foyer_digest($2) AND name_shape = $2
    AND name_shape <> '' AND ${IS_KNOWN} ORDER BY id`;

const INVITED = `SELECT uid, name, role FROM invitations
  WHERE world_id = $1 AND role = ANY ($2) AND revoked_at IS NULL AND name <> ''`;

/** Creates the user reads that are not cached. */
export const userReads = (sql: Reading) => ({
  search: (world: string, search: UserSearch, signal?: AbortSignal): Promise<FoundRows> =>
    sql.search("users", world, search, signal),

  byPretalx: async (world: string, ids: readonly string[]): Promise<UserRecord[]> =>
    (await sql.all<UserRow>(FIND_BY_PRETALX(sql), [world, ids])).map(toUser),

  blocked: async (world: string, id: string): Promise<UserRecord[]> =>
    (await sql.all<UserRow>(BLOCKED, [world, id])).map(toUser),

  waiting: (world: string, since: number, limit: number): Promise<FoundRows<ListedUserRow>> =>
    sql.snapshot(async (sql) => ({
      count: (await sql.value<number>(COUNT_WAITING, [world, since]))!,
      rows: await sql.all<ListedUserRow>(WAITING, [world, since, limit]),
    })),

  nextModerationEnd: async (world: string): Promise<number | undefined> =>
    (await sql.value<number | null>(NEXT_END, [world])) ?? undefined,

  networkBan: async (world: string, id: string): Promise<number | undefined> =>
    (await sql.value<number | null>(NETWORK_BAN, [world, id])) ?? undefined,

  lookAlikes: (world: string, shape: string, roles: readonly string[]): Promise<LookAlike[]> =>
    sql.snapshot(async (sql) => {
      const users = await sql.all<{ id: string; uid: string | null; traits: string | null }>(
        LOOK_ALIKES,
        [world, shape],
      );
      const invited = await sql.all<{ uid: string; name: string; role: string }>(INVITED, [
        world,
        roles,
      ]);
      return [
        ...users.map(({ traits, ...user }) => ({
          ...user,
          traits: JSON.parse(traits ?? "[]") as string[],
        })),
        ...invited
          .filter(({ name }) => nameShapeOf(name) === shape)
          .map(({ uid, role }) => ({ id: undefined, uid, traits: [role] })),
      ];
    }),

  async list(world: string, selection: UserSelection): Promise<UserPage> {
    const { limit, offset } = rangeOf(selection, Number.MAX_SAFE_INTEGER);
    const { ordering = "created", after } = selection;
    const order = USER_ORDERS[ordering];
    const where = after ? following(order, (i) => `$${4 + i}`) : "TRUE";
    const { count, rows } = await readPage<ListedUserRow>(sql, listing(order, where), [
      world,
      limit,
      offset,
      ...(after ?? []),
    ]);
    return { count, users: rows.map(toListed) };
  },
});

/** Maximum total size of cached user names, in characters. */
const MAX_NAMES = 4 * 1024 * 1024;

interface Kept {
  row: UserRow;
  user: UserRecord;
}

/** Creates the user reads by id and by name. These reads are cached, because every request looks up its caller. */
export function cachedUsers(sql: Reading) {
  const users = sql.cached<Kept>("users");
  /** User ids by name. The user's record shows whether the user still has the name. */
  const ids = sql.cached<string>("users", MAX_NAMES);

  /** Returns the cached entry for a row, keeping the previous object if the row is unchanged. */
  function keptOf(key: string, row: UserRow): Kept {
    const before = users.last(key);
    return before && sameValues(before.row, row) ? before : { row, user: toUser(row) };
  }

  async function getMany(world: string, wanted: readonly string[]): Promise<UserRecord[]> {
    const known: UserRecord[] = [];
    const others = new Map<string, ReturnType<typeof users.begin>>();
    for (const id of new Set(wanted)) {
      const key = userKeyOf(world, id);
      const kept = users.find(world, key, key);
      if (kept) known.push(kept.user);
      else others.set(id, users.begin(world, key));
    }
    if (others.size === 0) return known;
    for (const row of await getUsers(sql, world, [...others.keys()])) {
      const key = userKeyOf(world, row.id);
      const kept = keptOf(key, row);
      // The row and its JSON use about the same amount of memory.
      others.get(row.id)!(key, kept, 2 * sizeOf(row));
      known.push(kept.user);
    }
    return known;
  }

  const get = async (world: string, id: string) => (await getMany(world, [id]))[0];

  const find: UserStore["find"] = async (world, name) => {
    const { tokenId, clientId } = name;
    if (tokenId === undefined && clientId === undefined) return undefined;
    const key = userKeyOf(world, tokenId === undefined ? `c${clientId}` : `t${tokenId}`);
    const id = ids.find(world, key, key);
    const known = id === undefined ? undefined : await get(world, id);
    if (known && (tokenId === undefined || known.token_id === tokenId)) {
      if (tokenId !== undefined || known.client_id === clientId) return known;
    }
    const keep = ids.begin(world, key);
    const row = await findUser(sql, world, name);
    if (row) keep(key, row.id, key.length);
    return row && keptOf(userKeyOf(world, row.id), row).user;
  };

  return {
    get,
    getMany,
    find,
    /**
     * Returns the user in a row that was just written. Invalidates the cache, because the write may
     * not have appended an entry.
     */
    written: (world: string, row: UserRow): UserRecord => {
      users.forget(userKeyOf(world, row.id));
      return toUser(row);
    },
  };
}

/** Returns the cache key of a user, which is also the scope for invalidation. */
export const userKeyOf = (world: string, id: string): string => `${world} ${id}`;

/** Returns the size of a user, in characters. */
const sizeOf = ({ profile, traits, client_state }: UserRow): number =>
  (profile?.length ?? 0) + (traits?.length ?? 0) + (client_state?.length ?? 0);
