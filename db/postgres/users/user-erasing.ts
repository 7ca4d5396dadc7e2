import type { UserName } from "../../../schemas/users.js";
import { absent } from "../../rules/preconditions.js";
import { removeTraces } from "../../shared/user-traces.js";
import { IS_KNOWN } from "../../rules/rows.js";
import { quitChat } from "../chat/chat-remains.js";
import type { Log } from "../log/log.js";
import type { Sql } from "../../shared/sql.js";

const FIND_BY_ID = `SELECT id FROM users WHERE world_id = $1 AND id = $2 AND ${IS_KNOWN}`;
const FIND_BY_TOKEN = `SELECT id FROM users
  WHERE world_id = $1 AND foyer_digest(token_id) = foyer_digest($2) AND token_id = $2`;

const ERASE = `UPDATE users SET token_id = NULL, client_id = NULL, profile = NULL, traits = NULL,
    moderation_state = '', client_state = NULL, pretalx_id = NULL, last_login = NULL,
    display_name_folded = '', fields_folded = ''
  WHERE world_id = $1 AND id = $2`;

/** What {@link quitChat} changes. */
const CHAT_TABLES = [
  "chat_channels",
  "chat_members",
  "chat_readers",
  "chat_notifications",
];

/**
 * Erases a user but for its tombstone.
 * @returns the id of the user.
 * @throws {StoreError} `absent`.
 */
export async function eraseUser(
  sql: Sql,
  log: Log,
  worldId: string,
  { user_id, token_id }: UserName,
): Promise<string> {
  const id = await (token_id === undefined
    ? sql.value<string>(FIND_BY_ID, [worldId, user_id])
    : sql.value<string>(FIND_BY_TOKEN, [worldId, token_id]));
  if (id === undefined) throw absent("user");
  const speakers = await removeTraces(sql, worldId, id, (table) =>
    log.erased(table),
  );
  await sql.run(ERASE, [worldId, id]);
  log.erased("users");
  await quitChat(sql, worldId, id);
  log.erased(...CHAT_TABLES);
  log.append({ type: "user.erased", user: id });
  for (const entry of speakers) log.append(entry);
  log.erasedData();
  return id;
}
