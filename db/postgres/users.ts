import { toUser } from "../rows.js";
import type { UserStore } from "../store.js";
import type { Database } from "./database.js";
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
  enter: async (worldId, visitor) =>
    toUser(await db.write(worldId, (sql) => enterUser(sql, worldId, visitor))),
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
  update: async (worldId, id, changes) =>
    toUser(
      await db.write(worldId, (sql) => updateUser(sql, worldId, id, changes)),
    ),
  moderate: async (worldId, id, state) =>
    toUser(
      await db.write(worldId, (sql, notes) =>
        moderateUser(sql, notes, worldId, id, state),
      ),
    ),
  block: (worldId, id, other) =>
    db.write(worldId, (sql) => blockUser(sql, worldId, id, other)),
  unblock: (worldId, id, other) =>
    db.write(worldId, (sql) => unblockUser(sql, worldId, id, other)),
  blocked: (worldId, id) => blockedUsers(db.sql, worldId, id),
  list: (worldId, selection) => listUsers(db.sql, worldId, selection),
  erase: (worldId, name) =>
    db.write(worldId, (sql, notes) => eraseUser(sql, notes, worldId, name)),
});
