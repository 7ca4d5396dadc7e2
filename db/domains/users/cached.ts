import type { UserRecord, UserStore } from "../../contract/store.js";
import { sameValues, toUser, type UserRow } from "../../rules/rows.js";
import type { Reading } from "../sql.js";
import { findUser, getUsers } from "./reads.js";

/** The bound for the names of users, in characters. */
const MAX_NAMES = 4 * 1024 * 1024;

/** A user as it is cached. */
interface Kept {
  row: UserRow;
  user: UserRecord;
}

/** The reads of users by their ids and names, which are cached: every request looks up its caller. */
export function cachedUsers(sql: Reading) {
  const users = sql.cached<Kept>("users");
  /** Ids of users by their names. The user tells whether the name is still theirs. */
  const ids = sql.cached<string>("users", MAX_NAMES);

  /** The user in a row: the same object as before if the row is the same. */
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
      // The row and its JSON take about the same memory.
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
    /** The user in a row that was just written, which need not have appended an entry. */
    written: (world: string, row: UserRow): UserRecord => {
      users.forget(userKeyOf(world, row.id));
      return toUser(row);
    },
  };
}

/** The key of a user in a cache, and the scope of what makes it stale. */
export const userKeyOf = (world: string, id: string): string => `${world} ${id}`;

/** The size of a user, in characters. */
const sizeOf = ({ profile, traits, client_state }: UserRow): number =>
  (profile?.length ?? 0) + (traits?.length ?? 0) + (client_state?.length ?? 0);
