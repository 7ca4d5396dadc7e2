import { randomUUID } from "node:crypto";
import type { UserName } from "../../../schemas/users.js";
import type { ModerationState, UserChanges, UserStore, Visitor } from "../../contract/store.js";
import { enteredUser, moderatedUser, updatedUser } from "../../log/changes.js";
import { kioskCreated, noted } from "../../rules/acts.js";
import { absent } from "../../rules/preconditions.js";
import { foldedNameOf, IS_KNOWN, toUser, USER_COLUMNS, type UserRow } from "../../rules/rows.js";
import {
  foldedFieldsOf,
  INACTIVE_AFTER_MS,
  isInactive,
  kindOf,
  MAX_BLOCKED,
  stateJson,
  tooManyBlocked,
} from "../../rules/user-rows.js";
import { quitChat } from "../chat/chat-erasing.js";
import { type Bound, domain, type DomainLog, type Sql } from "../domain.js";
import { removeTraces } from "../user-traces.js";
import { cachedUsers, findUser, userReads } from "./user-reads.js";

/** Creates a user, unless there is one with this name. */
const creating = (name: "token_id" | "client_id") =>
  `INSERT INTO users (world_id, id, ${name}, profile, traits, last_seen, last_login,
     pretalx_id, display_name_folded, fields_folded, created)
   SELECT id, $2, $3, $4, $5, CAST($6 AS BIGINT), CAST($7 AS BIGINT), $8, $9, $10,
     CAST($6 AS BIGINT)
   FROM worlds WHERE id = $1
   ON CONFLICT (world_id, foyer_digest(${name})) WHERE ${name} IS NOT NULL DO NOTHING`;

const CREATE_BY_TOKEN = creating("token_id");
const CREATE_BY_CLIENT = creating("client_id");

/** Updates the login times of a user who looks the same to others, so most logins are one statement. */
const entering = (name: "token_id" | "client_id") =>
  `UPDATE users SET last_seen = $4, last_login = coalesce($5, last_login)
   WHERE world_id = $1 AND foyer_digest(${name}) = foyer_digest($2) AND ${name} = $2
     AND traits = $3 AND moderation_state <> 'banned'
     AND (CAST($5 AS BIGINT) IS NULL OR last_login >= $5 - ${INACTIVE_AFTER_MS})
   RETURNING ${USER_COLUMNS}`;

const ENTER_BY_TOKEN = entering("token_id");
const ENTER_BY_CLIENT = entering("client_id");

const REFRESH = `UPDATE users SET traits = $3, last_seen = $4, last_login = $5
  WHERE world_id = $1 AND id = $2`;

const GET = `SELECT ${USER_COLUMNS} FROM users WHERE world_id = $1 AND id = $2 AND ${IS_KNOWN}`;

const UPDATE = `UPDATE users SET
    profile = coalesce($3, profile),
    display_name_folded = CASE WHEN $3 IS NULL THEN display_name_folded ELSE $4 END,
    fields_folded = CASE WHEN $3 IS NULL THEN fields_folded ELSE $5 END,
    client_state = CASE WHEN $6 THEN $7 ELSE client_state END,
    pretalx_id = CASE WHEN $8 THEN $9 ELSE pretalx_id END
  WHERE world_id = $1 AND id = $2 AND ${IS_KNOWN} RETURNING ${USER_COLUMNS}`;

const MODERATE = `UPDATE users SET moderation_state = $3
  WHERE world_id = $1 AND id = $2 RETURNING ${USER_COLUMNS}`;

const isKnown = (id: string) =>
  `EXISTS (SELECT 1 FROM users WHERE world_id = $1 AND id = ${id} AND ${IS_KNOWN})`;

const FIND_BLOCK = `SELECT ${isKnown("$2")} AND ${isKnown("$3")} AS known,
  EXISTS (SELECT 1 FROM blocks WHERE world_id = $1 AND user_id = $2 AND blocked_id = $3) AS blocked,
  (SELECT count(*) FROM blocks WHERE world_id = $1 AND user_id = $2) AS count`;

interface FoundBlock {
  known: boolean | number;
  blocked: boolean | number;
  count: number;
}

const UNBLOCK = "DELETE FROM blocks WHERE world_id = $1 AND user_id = $2 AND blocked_id = $3";

const ERASE = `UPDATE users SET token_id = NULL, client_id = NULL, profile = NULL, traits = NULL,
    moderation_state = '', client_state = NULL, pretalx_id = NULL, last_login = NULL,
    display_name_folded = '', fields_folded = ''
  WHERE world_id = $1 AND id = $2`;

/** What {@link quitChat} changes. */
const CHAT_TABLES = ["chat_channels", "chat_members", "chat_readers", "chat_notifications"];

/**
 * Creates a user.
 * @param visitor without traits for a person who has not come yet.
 * @returns undefined if there is one with this name, or no world.
 */
async function createUser(
  sql: Sql,
  world: string,
  { tokenId, clientId, traits, profile, login, pretalxId }: Partial<Visitor>,
): Promise<UserRow | undefined> {
  const now = Date.now();
  const row: UserRow = {
    id: randomUUID(),
    token_id: tokenId ?? null,
    client_id: tokenId === undefined ? clientId! : null,
    profile: profile ? JSON.stringify(profile) : null,
    traits: traits ? JSON.stringify([...traits]) : null,
    last_seen: now,
    moderation_state: "",
    client_state: null,
    pretalx_id: pretalxId ?? null,
    last_login: login ? now : null,
  };
  const created = await sql.run(tokenId === undefined ? CREATE_BY_CLIENT : CREATE_BY_TOKEN, [
    world,
    row.id,
    tokenId ?? clientId,
    row.profile,
    row.traits,
    now,
    row.last_login,
    row.pretalx_id,
    foldedNameOf(profile),
    foldedFieldsOf(profile),
  ]);
  return created > 0 ? row : undefined;
}

/**
 * Creates or refreshes a user, unless they are banned. A part of a write.
 * @throws {StoreError} `absent` on `world`.
 */
export async function enterUser(
  sql: Sql,
  log: DomainLog,
  world: string,
  visitor: Visitor,
): Promise<UserRow> {
  const { tokenId, clientId, login } = visitor;
  const now = Date.now();
  const text = tokenId === undefined ? ENTER_BY_CLIENT : ENTER_BY_TOKEN;
  const traits = JSON.stringify([...visitor.traits]);
  const known = await sql.one<UserRow>(text, [
    world,
    tokenId ?? clientId,
    traits,
    now,
    login ? now : null,
  ]);
  if (known) return known;
  const row = await createUser(sql, world, visitor);
  if (!row) {
    const old = await findUser(sql, world, visitor);
    if (!old) throw absent("world");
    return old.moderation_state === "banned" ? old : refreshUser(sql, log, world, old, visitor);
  }
  const entry = enteredUser(row.id, true);
  // A host made the screen; people make themselves by their first login.
  if (kindOf(row) === "kiosk") {
    log.append(world, entry);
    log.append(world, noted(kioskCreated(row.id)));
  } else log.appendOf(world, row.id, entry);
  return row;
}

async function refreshUser(
  sql: Sql,
  log: DomainLog,
  world: string,
  old: UserRow,
  { login, profile, pretalxId, ...visitor }: Visitor,
): Promise<UserRow> {
  const { id } = old;
  const now = Date.now();
  const traits = JSON.stringify([...visitor.traits]);
  const last_login = login ? now : old.last_login;
  // A moderator decided about the person before, who comes for the first time.
  const isFirst = old.traits === null && (profile ?? pretalxId) !== undefined;
  const row = isFirst ? await change(sql, world, id, { profile, pretalx_id: pretalxId }) : old;
  await sql.run(REFRESH, [world, id, traits, now, last_login]);
  const hasOthers = traits !== old.traits;
  if (hasOthers || (login && isInactive(old.last_login, now))) {
    log.appendOf(world, id, enteredUser(id, false, hasOthers));
  }
  return { ...row, traits, last_seen: now, last_login };
}

/** @throws {StoreError} `absent`. */
async function change(
  sql: Sql,
  world: string,
  id: string,
  { profile, client_state, pretalx_id }: UserChanges,
): Promise<UserRow> {
  const row = await sql.one<UserRow>(UPDATE, [
    world,
    id,
    profile ? JSON.stringify(profile) : null,
    foldedNameOf(profile),
    foldedFieldsOf(profile),
    client_state !== undefined,
    stateJson(client_state),
    pretalx_id !== undefined,
    pretalx_id ?? null,
  ]);
  if (!row) throw absent("user");
  return row;
}

/** The writes of users. They return rows, as records cannot come from another thread. */
function userWrites(sql: Sql, log: DomainLog) {
  async function moderate(world: string, id: string, state: ModerationState): Promise<UserRow> {
    const before = await sql.one<UserRow>(GET, [world, id]);
    if (!before) throw absent("user");
    const staysBanned = before.moderation_state === "banned" && state === "silenced";
    const row = staysBanned ? before : (await sql.one<UserRow>(MODERATE, [world, id, state]))!;
    log.append(world, moderatedUser(before, row));
    return row;
  }

  return {
    enter: (world: string, visitor: Visitor): Promise<UserRow> =>
      enterUser(sql, log, world, visitor),

    async update(world: string, id: string, changes: UserChanges): Promise<UserRow> {
      const row = await change(sql, world, id, changes);
      log.append(world, updatedUser(id, changes));
      return row;
    },

    moderate,

    async moderateNamed(world: string, tokenId: string, state: ModerationState): Promise<UserRow> {
      const known = await findUser(sql, world, { tokenId });
      if (known) return moderate(world, known.id, state);
      const created = await createUser(sql, world, { tokenId });
      if (!created) throw absent("world");
      log.append(world, enteredUser(created.id, true));
      return moderate(world, created.id, state);
    },

    async block(world: string, id: string, other: string): Promise<void> {
      const users = [world, id, other];
      const { known, blocked, count } = (await sql.one<FoundBlock>(FIND_BLOCK, users))!;
      if (!known) throw absent("user");
      if (!blocked) {
        if (count >= MAX_BLOCKED) throw tooManyBlocked();
        await sql.insert("blocks", [{ world_id: world, user_id: id, blocked_id: other }]);
      }
      log.append(world, { type: "user.blocked", user: id });
    },

    async unblock(world: string, id: string, other: string): Promise<void> {
      const users = [world, id, other];
      const { known } = (await sql.one<FoundBlock>(FIND_BLOCK, users))!;
      if (!known) throw absent("user");
      await sql.run(UNBLOCK, users);
      log.append(world, { type: "user.unblocked", user: id });
    },

    async erase(world: string, { user_id, token_id }: UserName): Promise<string> {
      const found = await (token_id === undefined
        ? sql.one<UserRow>(GET, [world, user_id])
        : findUser(sql, world, { tokenId: token_id }));
      if (!found) throw absent("user");
      const { id } = found;
      const speakers = await removeTraces(sql, log, world, id);
      await sql.run(ERASE, [world, id]);
      log.erased("users");
      await quitChat(sql, log, world, id);
      log.erased(...CHAT_TABLES);
      log.append(world, { type: "user.erased", user: id });
      for (const entry of speakers) log.append(world, entry);
      log.erasedData(world);
      return id;
    },
  };
}

export const users = domain({
  reads: (sql) => ({ ...userReads(sql), ...cachedUsers(sql) }),
  writes: userWrites,
  parameters: {
    enter: 2,
    update: 3,
    moderate: 3,
    moderateNamed: 3,
    block: 3,
    unblock: 3,
    erase: 2,
  },
});

/** The users of a store: rows become frozen records, which cannot come from another thread. */
export function userStore({ written, ...bound }: Bound<typeof users>): UserStore {
  return {
    ...bound,
    async search(...args) {
      const { count, rows } = await bound.search(...args);
      return { count, users: rows.map(toUser) };
    },
    enter: async (...args) => written(args[0], await bound.enter(...args)),
    update: async (...args) => written(args[0], await bound.update(...args)),
    moderate: async (...args) => written(args[0], await bound.moderate(...args)),
    moderateNamed: async (...args) => written(args[0], await bound.moderateNamed(...args)),
  };
}
