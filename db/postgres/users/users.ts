import { toUser } from "../../rules/rows.js";
import type { UserStore } from "../../contract/store.js";
import type { Database } from "../engine/database.js";
import { eraseUser } from "./user-erasing.js";
import {
  blockedUsers,
  findUser,
  getUsers,
  listUsers,
  usersByPretalx,
} from "./user-reads.js";
import { searchUsers } from "./user-search.js";
import {
  blockUser,
  enterUser,
  moderateNamed,
  moderateUser,
  unblockUser,
  updateUser,
} from "./user-writes.js";

/** Users in PostgreSQL. */
export function userStore(db: Database): UserStore {
  const { users } = db.caches;

  async function getMany(worldId: string, ids: readonly string[]) {
    const { users: known, others } = users.known(worldId, ids);
    if (others.length === 0) return known;
    const begun = users.begin(worldId);
    const rows = await getUsers(db.sql, worldId, others);
    return [...known, ...users.keep(begun, rows)];
  }

  return {
    async enter(worldId, visitor, by) {
      const begun = users.begin(worldId);
      const { row, seq } = await db.write(
        worldId,
        async (sql, log) => ({
          row: await enterUser(sql, log, worldId, visitor),
          seq: log.last,
        }),
        by,
      );
      return users.keepWritten(begun, row, seq);
    },
    get: async (worldId, id) => (await getMany(worldId, [id]))[0],
    async find(worldId, name) {
      const known = users.named(worldId, name);
      if (known) return known;
      const begun = users.begin(worldId);
      const row = await findUser(db.sql, worldId, name);
      return row && users.keep(begun, [row])[0];
    },
    getMany,
    byPretalx: (worldId, ids) => usersByPretalx(db.sql, worldId, ids),
    search: (worldId, search, signal) =>
      db.searches.run(
        "users",
        worldId,
        () => searchUsers(db, worldId, search),
        signal,
      ),
    update: async (worldId, id, changes, by) =>
      toUser(
        await db.write(
          worldId,
          (sql, log) => updateUser(sql, log, worldId, id, changes),
          by,
        ),
      ),
    moderate: async (worldId, id, state, by) =>
      toUser(
        await db.write(
          worldId,
          (sql, log) => moderateUser(sql, log, worldId, id, state),
          by,
        ),
      ),
    moderateNamed: async (worldId, tokenId, state, by) =>
      toUser(
        await db.write(
          worldId,
          (sql, log) => moderateNamed(sql, log, worldId, tokenId, state),
          by,
        ),
      ),
    block: (worldId, id, other, by) =>
      db.write(
        worldId,
        (sql, log) => blockUser(sql, log, worldId, id, other),
        by,
      ),
    unblock: (worldId, id, other, by) =>
      db.write(
        worldId,
        (sql, log) => unblockUser(sql, log, worldId, id, other),
        by,
      ),
    blocked: (worldId, id) => blockedUsers(db.sql, worldId, id),
    list: (worldId, selection) => listUsers(db.sql, worldId, selection),
    erase: (worldId, name, by) =>
      db.write(worldId, (sql, log) => eraseUser(sql, log, worldId, name), by),
  };
}
