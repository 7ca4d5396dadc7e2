import type {
  UserPage,
  UserRecord,
  UserSelection,
  Visitor,
} from "../../contract/store.js";
import { IS_PERSON } from "../../rules/user-kinds.js";
import type { Connection } from "../engine/connection.js";
import { type ReadCache, textSizeOf } from "../engine/read-cache.js";
import { pageTooLarge } from "../../rules/preconditions.js";
import { following, rangeOf, USER_ORDERS } from "../../rules/pages.js";
import {
  IS_KNOWN,
  LISTED_COLUMNS,
  type ListedUserRow,
  toListed,
  toUser,
  USER_COLUMNS,
  type UserRow,
} from "../../rules/rows.js";
import {
  BY_NAME,
  MAX_BLOCKED_SIZE,
  MAX_USER_PAGE,
} from "../../rules/user-rows.js";

/** The bound for users by their names, in characters. */
const MAX_NAMED = 4 * 1024 * 1024;

/** The reads of users. */
export function userReads(db: Connection, cache: ReadCache) {
  const count = db
    .prepare<[string], number>(
      `SELECT count(*) FROM users WHERE world_id = ? AND ${IS_KNOWN} AND ${IS_PERSON}`,
    )
    .pluck();
  const page = (order: string, where: string) =>
    db.prepare<[object], ListedUserRow>(
      `SELECT ${LISTED_COLUMNS} FROM users
       WHERE world_id = @world AND ${IS_KNOWN} AND ${IS_PERSON} AND ${where}
       ORDER BY ${order} LIMIT @limit OFFSET @offset`,
    );
  const pages = Object.fromEntries(
    Object.entries(USER_ORDERS).map(([ordering, order]) => [
      ordering,
      {
        numbered: page(order, "TRUE"),
        after: page(
          order,
          following(order, (i) => `@key${i}`),
        ),
      },
    ]),
  );
  const select = db.prepare<string[], UserRow>(
    `SELECT ${USER_COLUMNS} FROM users WHERE id = ? AND world_id = ?`,
  );
  const selectByPretalx = db.prepare<[string, string], UserRow>(
    `SELECT ${USER_COLUMNS} FROM users
     WHERE world_id = ? AND pretalx_id IN (SELECT value FROM json_each(?))`,
  );
  // Only ids are sorted: profiles may be large.
  const selectBlocked = db
    .prepare<[string, string], string>(
      `SELECT users.id FROM blocks CROSS JOIN users ON users.id = blocks.blocked_id
       WHERE blocks.world_id = ? AND blocks.user_id = ?
       ORDER BY ${BY_NAME}`,
    )
    .pluck();
  const find = userFinder(db);
  // Every call over HTTP looks up its caller, whom the world need not know.
  const named = cache.reads<{ user: UserRecord | undefined }>(MAX_NAMED);
  const users = cache.rows<UserRow, { worldId: string; user: UserRecord }>(
    select,
    "users",
  );

  function get(worldId: string, id: string): UserRecord | undefined {
    const found = users.read(worldId, id, [id, worldId], (row) => ({
      worldId,
      user: toUser(row),
    }));
    return found?.worldId === worldId ? found.user : undefined;
  }

  return {
    get,

    find(worldId: string, name: UserNames): UserRecord | undefined {
      const { tokenId, clientId } = name;
      if (tokenId === undefined && clientId === undefined) return undefined;
      // A world id has no NUL, and neither have the names of a user.
      const key =
        tokenId === undefined
          ? `${worldId}\0c${clientId}`
          : `${worldId}\0t${tokenId}`;
      return named.read(key, () => {
        const row = find(worldId, name);
        return { value: { user: row && toUser(row) }, size: textSizeOf(row) };
      }).user;
    },

    getMany: (worldId: string, ids: readonly string[]): UserRecord[] =>
      [...new Set(ids)].flatMap((id) => get(worldId, id) ?? []),

    byPretalx: (worldId: string, ids: readonly string[]): UserRecord[] =>
      selectByPretalx.all(worldId, JSON.stringify(ids)).map(toUser),

    blocked(worldId: string, id: string): UserRecord[] {
      const blocked: UserRecord[] = [];
      let size = 0;
      for (const other of selectBlocked.all(worldId, id)) {
        const row = select.get(other, worldId)!;
        size += row.profile?.length ?? 0;
        if (size > MAX_BLOCKED_SIZE) break;
        blocked.push(toUser(row));
      }
      return blocked;
    },

    list(worldId: string, selection: UserSelection): UserPage {
      const all = count.get(worldId)!;
      const { ordering = "created", after } = selection;
      const [key0, key1] = after ?? [];
      const statement = pages[ordering]![after ? "after" : "numbered"];
      const rows = statement.iterate({
        ...{ world: worldId, ...rangeOf(selection, all) },
        ...(after && { key0, key1 }),
      });
      return { count: all, users: bounded(rows).map(toListed) };
    },

    /** Caches a user that was just written. */
    written(worldId: string, row: UserRow): UserRecord {
      const user = toUser(row);
      users.keep(row.id, row, { worldId, user });
      return user;
    },
  };
}

/** The names of a user; with both, the `uid` counts. */
type UserNames = Pick<Visitor, "tokenId" | "clientId">;

/** Finds a user of a world by its name. */
export function userFinder(db: Connection) {
  const by = (known: "token_id" | "client_id") =>
    db.prepare<[string, string | undefined], UserRow>(
      `SELECT ${USER_COLUMNS} FROM users WHERE world_id = ? AND ${known} = ?`,
    );
  const byToken = by("token_id");
  const byClient = by("client_id");
  return (
    worldId: string,
    { tokenId, clientId }: UserNames,
  ): UserRow | undefined =>
    tokenId === undefined
      ? byClient.get(worldId, clientId)
      : byToken.get(worldId, tokenId);
}

/**
 * Reads rows up to a size. A single row is never refused, because no page is smaller.
 * @throws {StoreError} `large`.
 */
export function bounded<T extends UserRow>(rows: Iterable<T>): T[] {
  const read: T[] = [];
  let size = 0;
  for (const row of rows) {
    size += (row.traits?.length ?? 0) + (row.profile?.length ?? 0);
    if (size > MAX_USER_PAGE && read.length > 0) {
      throw pageTooLarge();
    }
    read.push(row);
  }
  return read;
}
