import { kindOf } from "../../rules/user-kinds.js";
import { randomUUID } from "node:crypto";
import { INACTIVE } from "../../contract/inactive.js";
import { enteredUser, moderatedUser, updatedUser } from "../../log/changes.js";
import { absent } from "../../rules/preconditions.js";
import {
  foldedNameOf,
  IS_KNOWN,
  USER_COLUMNS,
  type UserRow,
} from "../../rules/rows.js";
import type {
  ModerationState,
  UserChanges,
  Visitor,
} from "../../contract/store.js";
import { kioskCreated, noted } from "../../rules/acts.js";
import { foldedFieldsOf } from "../../rules/user-fields.js";
import {
  MAX_BLOCKED,
  stateJson,
  tooManyBlocked,
} from "../../rules/user-rows.js";
import type { Log } from "../log/log.js";
import type { Sql } from "../../shared/sql.js";

/** Sets a column when a person comes for the first time about whom a moderator decided before. */
const atFirst = (column: string) =>
  `${column} = CASE WHEN users.traits IS NULL THEN excluded.${column} ELSE users.${column} END`;

/** Writes nothing for a user who is banned, and so finds that one as it was. */
const entering = (name: "token_id" | "client_id") =>
  `WITH before AS (
     SELECT traits, last_login FROM users WHERE world_id = $1
       AND foyer_digest(${name}) = foyer_digest($3) AND ${name} = $3),
   entered AS (
     INSERT INTO users (world_id, id, ${name}, profile, traits, last_seen, last_login,
       pretalx_id, display_name_folded, fields_folded, created)
     SELECT id, $2, $3, $4, $5, $6::bigint, $7::bigint, $8, $9, $10, $6::bigint FROM worlds WHERE id = $1
     ON CONFLICT (world_id, foyer_digest(${name})) WHERE ${name} IS NOT NULL DO UPDATE SET
       traits = excluded.traits, last_seen = excluded.last_seen,
       last_login = coalesce(excluded.last_login, users.last_login),
       ${["profile", "pretalx_id", "display_name_folded", "fields_folded"].map(atFirst).join()}
       WHERE users.moderation_state <> 'banned'
     RETURNING ${USER_COLUMNS})
   SELECT entered.*, traits IS DISTINCT FROM (SELECT traits FROM before)
     OR ($7::bigint IS NOT NULL AND NOT EXISTS (
       SELECT FROM before WHERE last_login >= $7::bigint - ${INACTIVE})) AS changed,
     (SELECT traits FROM before) AS traits_before, EXISTS (SELECT FROM before) AS known FROM entered
   UNION ALL
   SELECT ${USER_COLUMNS}, FALSE, NULL, TRUE FROM users WHERE world_id = $1 AND moderation_state = 'banned'
     AND foyer_digest(${name}) = foyer_digest($3) AND ${name} = $3`;

interface Entered {
  changed: boolean;
  known: boolean;
  traits_before: string | null;
}

const ENTER_BY_TOKEN = entering("token_id");
const ENTER_BY_CLIENT = entering("client_id");

/**
 * Creates or refreshes a user, inside a write of its world.
 * @throws {StoreError} `absent` on `world`.
 */
export async function enterUser(
  sql: Sql,
  log: Log,
  worldId: string,
  { tokenId, clientId, traits, profile, login, pretalxId }: Visitor,
): Promise<UserRow> {
  const now = Date.now();
  const found = await sql.one<UserRow & Entered>(
    tokenId === undefined ? ENTER_BY_CLIENT : ENTER_BY_TOKEN,
    [
      worldId,
      randomUUID(),
      tokenId ?? clientId,
      profile ? JSON.stringify(profile) : null,
      JSON.stringify([...traits]),
      now,
      login ? now : null,
      pretalxId ?? null,
      foldedNameOf(profile),
      foldedFieldsOf(profile),
    ],
  );
  if (!found) throw absent("world");
  const { changed, known, traits_before, ...row } = found;
  const hasOthers = row.traits !== traits_before;
  if (changed) {
    const entry = enteredUser(row.id, !known, hasOthers);
    // A host made the screen; people make themselves by their first login.
    const isScreen = kindOf({ client_id: clientId }) === "kiosk";
    if (!known && isScreen) {
      log.append(entry);
      log.append(noted(kioskCreated(row.id)));
    } else log.appendOf(row.id, entry);
  }
  return row;
}

const UPDATE = `UPDATE users SET
    profile = coalesce($3, profile),
    display_name_folded = CASE WHEN $3 IS NULL THEN display_name_folded ELSE $4 END,
    fields_folded = CASE WHEN $3 IS NULL THEN fields_folded ELSE $9 END,
    client_state = CASE WHEN $5 THEN $6 ELSE client_state END,
    pretalx_id = CASE WHEN $7 THEN $8 ELSE pretalx_id END
  WHERE world_id = $1 AND id = $2 AND ${IS_KNOWN} RETURNING ${USER_COLUMNS}`;

/** @throws {StoreError} `absent`. */
export async function updateUser(
  sql: Sql,
  log: Log,
  worldId: string,
  id: string,
  { profile, client_state, pretalx_id }: UserChanges,
): Promise<UserRow> {
  const row = await sql.one<UserRow>(UPDATE, [
    worldId,
    id,
    profile ? JSON.stringify(profile) : null,
    foldedNameOf(profile),
    client_state !== undefined,
    stateJson(client_state),
    pretalx_id !== undefined,
    pretalx_id ?? null,
    foldedFieldsOf(profile),
  ]);
  if (!row) throw absent("user");
  log.append(updatedUser(id, { profile, pretalx_id }));
  return row;
}

const MODERATE = `UPDATE users SET moderation_state =
    CASE WHEN moderation_state = 'banned' AND $3 = 'silenced' THEN 'banned' ELSE $3 END
  WHERE world_id = $1 AND id = $2 AND ${IS_KNOWN} RETURNING ${USER_COLUMNS},
    (SELECT moderation_state FROM users AS before WHERE world_id = $1 AND id = $2) AS was`;

/** @throws {StoreError} `absent`. */
export async function moderateUser(
  sql: Sql,
  log: Log,
  worldId: string,
  id: string,
  state: ModerationState,
): Promise<UserRow> {
  const found = await sql.one<UserRow & { was: string }>(MODERATE, [
    worldId,
    id,
    state,
  ]);
  if (!found) throw absent("user");
  const { was, ...row } = found;
  log.append(moderatedUser({ id, moderation_state: was }, row));
  return row;
}

const FIND_BY_TOKEN = `SELECT id FROM users WHERE world_id = $1
  AND foyer_digest(token_id) = foyer_digest($2) AND token_id = $2`;

const CREATE_NAMED = `INSERT INTO users (world_id, id, token_id, last_seen, created)
  SELECT id, $2, $3, $4::bigint, $4::bigint FROM worlds WHERE id = $1`;

/**
 * Decides about the person whose tokens have a `uid`, and creates the user if need be.
 * @throws {StoreError} `absent` on `world`.
 */
export async function moderateNamed(
  sql: Sql,
  log: Log,
  worldId: string,
  tokenId: string,
  state: ModerationState,
): Promise<UserRow> {
  const known = await sql.value<string>(FIND_BY_TOKEN, [worldId, tokenId]);
  if (known !== undefined && known !== null) {
    return moderateUser(sql, log, worldId, known, state);
  }
  const id = randomUUID();
  const created = await sql.run(CREATE_NAMED, [
    worldId,
    id,
    tokenId,
    Date.now(),
  ]);
  if (created === 0) throw absent("world");
  log.append(enteredUser(id, true));
  return moderateUser(sql, log, worldId, id, state);
}

const isKnown = (id: string) =>
  `EXISTS (SELECT FROM users WHERE world_id = $1 AND id = ${id} AND ${IS_KNOWN})`;

const BOTH_ARE_KNOWN = `${isKnown("$2")} AND ${isKnown("$3")} AS known`;

const FIND_BLOCK = `SELECT ${BOTH_ARE_KNOWN},
  EXISTS (SELECT FROM blocks WHERE world_id = $1 AND user_id = $2 AND blocked_id = $3) AS blocked,
  (SELECT count(*) FROM blocks WHERE world_id = $1 AND user_id = $2) AS count`;

interface FoundBlock {
  known: boolean;
  blocked: boolean;
  count: number;
}

/** @throws {StoreError} `absent`, or `quota` on `blocks`. */
export async function blockUser(
  sql: Sql,
  log: Log,
  ...users: [worldId: string, id: string, other: string]
): Promise<void> {
  const { known, blocked, count } = (await sql.one<FoundBlock>(
    FIND_BLOCK,
    users,
  ))!;
  if (!known) throw absent("user");
  log.append({ type: "user.blocked", user: users[1] });
  if (blocked) return;
  if (count >= MAX_BLOCKED) throw tooManyBlocked();
  await sql.run(
    "INSERT INTO blocks (world_id, user_id, blocked_id) VALUES ($1, $2, $3)",
    users,
  );
}

const UNBLOCK = `WITH ended AS (
    DELETE FROM blocks WHERE world_id = $1 AND user_id = $2 AND blocked_id = $3 RETURNING 1)
  SELECT ${BOTH_ARE_KNOWN}`;

/** @throws {StoreError} `absent`. */
export async function unblockUser(
  sql: Sql,
  log: Log,
  ...users: [worldId: string, id: string, other: string]
): Promise<void> {
  const known = await sql.value<boolean>(UNBLOCK, users);
  if (!known) throw absent("user");
  log.append({ type: "user.unblocked", user: users[1] });
}
