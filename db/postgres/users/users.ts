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
  moderateUser,
  unblockUser,
  updateUser,
} from "./user-writes.js";

/** Users in PostgreSQL. */
export const userStore = (db: Database): UserStore => ({
  enter: async (worldId, visitor, by) =>
    toUser(
      await db.write(
        worldId,
        (sql, log) => enterUser(sql, log, worldId, visitor),
        by,
      ),
    ),
  get: async (worldId, id) => (await getUsers(db.sql, worldId, [id]))[0],
  find: (worldId, name) => findUser(db.sql, worldId, name),
  getMany: (worldId, ids) => getUsers(db.sql, worldId, ids),
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
});
