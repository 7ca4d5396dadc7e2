import type { UserCopy } from "../../../schemas/documents/world-document.js";
import { taken } from "../../copies/world-copies.js";
import { absent } from "../../rules/preconditions.js";
import {
  copiedUserRow,
  MAX_BLOCKED,
  tooManyBlocked,
} from "../../rules/user-rows.js";
import type { Sql } from "../sql.js";
import { insertAll, refuseTaken } from "./bulk.js";

const takenUser = (id: string) => taken("users", id, "a user, or its name,");

/**
 * Creates the users of a new world as they were copied.
 * @throws {StoreError} `taken` on `users`.
 */
export async function importUsers(
  sql: Sql,
  world: string,
  users: readonly UserCopy[],
): Promise<void> {
  const ids = users.map(({ id }) => id);
  await refuseTaken(sql, "users", ids, takenUser);
  const names = new Set<string>();
  for (const { id, token_id, client_id } of users) {
    const name = token_id === null ? `guest ${client_id}` : `token ${token_id}`;
    if (names.size === names.add(name).size) throw takenUser(id);
  }
  function* rows() {
    for (const user of users) yield copiedUserRow(user);
  }
  await insertAll(sql, "users", world, rows());
}

/**
 * Stores the blocks of the users of a new world.
 * @throws {StoreError} `absent` on `user`, or `quota` on `blocks`.
 */
export async function importBlocks(
  sql: Sql,
  world: string,
  users: readonly UserCopy[],
): Promise<void> {
  const ids = new Set(users.map(({ id }) => id));
  for (const { blocked = [] } of users) {
    if (!blocked.every((id) => ids.has(id))) throw absent("user");
    if (new Set(blocked).size > MAX_BLOCKED) throw tooManyBlocked();
  }
  function* rows() {
    for (const { id, blocked } of users) {
      for (const other of new Set(blocked)) {
        yield { user_id: id, blocked_id: other };
      }
    }
  }
  await insertAll(sql, "blocks", world, rows());
}
