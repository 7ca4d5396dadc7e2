import type { UserCopy } from "../../../schemas/world-document.js";
import { absent } from "../../rules/preconditions.js";
import {
  copiedUserValues,
  MAX_BLOCKED,
  tooManyBlocked,
} from "../../rules/user-rows.js";
import { taken } from "../../copies/world-copies.js";
import { finder, inserter } from "../engine/bulk.js";
import type { Sql } from "../../shared/sql.js";

const findIds = finder("users", "id");

const insert = inserter("users", {
  id: "text",
  token_id: "text",
  client_id: "text",
  profile: "text",
  traits: "text",
  last_seen: "bigint",
  moderation_state: "text",
  client_state: "text",
  pretalx_id: "text",
  last_login: "bigint",
  display_name_folded: "text",
  fields_folded: "text",
});

const insertBlocks = inserter("blocks", {
  user_id: "text",
  blocked_id: "text",
});

/**
 * Creates the users of a new world as they were copied.
 * @throws {StoreError} `taken` on `users`.
 */
export async function importUsers(
  sql: Sql,
  world: string,
  users: readonly UserCopy[],
): Promise<void> {
  const ids = await findIds(
    sql,
    users.map(({ id }) => id),
  );
  const names = new Set<string>();
  for (const { id, token_id, client_id } of users) {
    const name = token_id === null ? `guest ${client_id}` : `token ${token_id}`;
    if (ids.has(id) || names.has(name)) {
      throw taken("users", id, "a user, or its name,");
    }
    ids.add(id);
    names.add(name);
  }
  await insert(sql, world, mapped(users, copiedUserValues));
}

/** Makes rows one by one, so that not all of them are in memory. */
function* mapped<T, R>(entries: Iterable<T>, map: (entry: T) => R) {
  for (const entry of entries) yield map(entry);
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
      for (const other of new Set(blocked)) yield [id, other];
    }
  }
  await insertBlocks(sql, world, rows());
}
