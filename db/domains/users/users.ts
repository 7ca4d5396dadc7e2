import { randomUUID } from "node:crypto";
import type { UserName } from "../../../schemas/users.js";
import {
  isKeptOut,
  type Moderation,
  type UserUpdate,
  type UserStore,
  type Visitor,
} from "../../contract/store.js";
import { enteredUser, moderatedUser, updatedUser } from "../../log/changes.js";
import type { GivenEntry } from "../../log/draft.js";
import { kioskCreated, noted } from "../../rules/acts.js";
import { absent } from "../../rules/preconditions.js";
import {
  foldedNameOf,
  IS_KNOWN,
  shapeIn,
  toListed,
  toUser,
  USER_COLUMNS,
  type UserRow,
} from "../../rules/rows.js";
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
import { dropHeldOf } from "../chat/held.js";
import { type Bound, domain, type DomainLog, type Sql } from "../domain.js";
import { expectAdmitted, KEEP_OUT, networkHash, OVER, READMIT, READMIT_OF } from "./networks.js";
import { removeTraces } from "./user-erasure.js";
import { cachedUsers, findUser, userReads } from "./user-reads.js";

/** Builds a statement that creates a user, unless a user with the name already exists. */
const creating = (name: "token_id" | "client_id") =>
  `INSERT INTO users (world_id, id, ${name}, profile, traits, last_seen, last_login,
     pretalx_id, display_name_folded, fields_folded, created, name_shape, moderation_state,
     moderated_until, network)
   SELECT id, $2, $3, $4, $5, CAST($6 AS BIGINT), CAST($7 AS BIGINT), $8, $9, $10,
     CAST($6 AS BIGINT), $11, $12, CAST($13 AS BIGINT), $14
   FROM worlds WHERE id = $1
   ON CONFLICT (world_id, foyer_digest(${name})) WHERE ${name} IS NOT NULL DO NOTHING`;

const CREATE_BY_TOKEN = creating("token_id");
const CREATE_BY_CLIENT = creating("client_id");

/**
 * Builds a statement that only updates the login times. The statement matches a user whose entry
 * changes nothing that other users see, so that most logins need a single statement.
 */
const entering = (name: "token_id" | "client_id") =>
  `UPDATE users SET last_seen = $4, last_login = coalesce($5, last_login),
     network = coalesce($6, network)
   WHERE world_id = $1 AND foyer_digest(${name}) = foyer_digest($2) AND ${name} = $2
     AND traits = $3 AND moderation_state <> 'banned'
     AND (CAST($5 AS BIGINT) IS NULL OR last_login >= $5 - ${INACTIVE_AFTER_MS})
   RETURNING ${USER_COLUMNS}`;

const ENTER_BY_TOKEN = entering("token_id");
const ENTER_BY_CLIENT = entering("client_id");

const REFRESH = `UPDATE users SET traits = $3, last_seen = $4, last_login = $5,
    network = coalesce($6, network)
  WHERE world_id = $1 AND id = $2`;

const GET = `SELECT ${USER_COLUMNS} FROM users WHERE world_id = $1 AND id = $2 AND ${IS_KNOWN}`;

const UPDATE = `UPDATE users SET
    profile = coalesce($3, profile),
    display_name_folded = CASE WHEN $3 IS NULL THEN display_name_folded ELSE $4 END,
    fields_folded = CASE WHEN $3 IS NULL THEN fields_folded ELSE $5 END,
    name_shape = CASE WHEN $3 IS NULL THEN name_shape ELSE $10 END,
    client_state = CASE WHEN $6 THEN $7 ELSE client_state END,
    pretalx_id = CASE WHEN $8 THEN $9 ELSE pretalx_id END
  WHERE world_id = $1 AND id = $2 AND ${IS_KNOWN} RETURNING ${USER_COLUMNS}`;

const MODERATE = `UPDATE users SET moderation_state = $3, moderated_until = $4
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
    display_name_folded = '', fields_folded = '', name_shape = '', moderated_until = NULL,
    network = NULL
  WHERE world_id = $1 AND id = $2`;

/** The tables that {@link quitChat} changes. */
const CHAT_TABLES = ["chat_channels", "chat_members", "chat_readers", "chat_notifications"];

/**
 * Creates a user.
 * @param visitor without traits for a person who has never entered.
 * @param network the keyed hash of the person's network.
 * @returns undefined if the name already exists, or the world does not exist.
 */
async function createUser(
  sql: Sql,
  world: string,
  { tokenId, clientId, traits, profile, login, pretalxId, guest }: Partial<Visitor>,
  network: string | null = null,
): Promise<UserRow | undefined> {
  const now = Date.now();
  const row: UserRow = {
    id: randomUUID(),
    token_id: tokenId ?? null,
    client_id: tokenId === undefined ? clientId! : null,
    profile: profile ? JSON.stringify(profile) : null,
    traits: traits ? JSON.stringify([...traits]) : null,
    last_seen: now,
    moderation_state: guest?.waits ? "waiting" : guest?.quietUntil === undefined ? "" : "silenced",
    moderated_until: guest?.waits ? null : (guest?.quietUntil ?? null),
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
    shapeIn(profile),
    row.moderation_state,
    row.moderated_until,
    network,
  ]);
  return created > 0 ? row : undefined;
}

/**
 * Creates or refreshes a user as part of a write. Banned users are not refreshed.
 * @throws {StoreError} `absent` on `world`, or `denied` on `network` for a new guest from a network
 * that a ban keeps out.
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
  const network = await networkHash(sql, world, visitor.network);
  const known = await sql.one<UserRow>(text, [
    world,
    tokenId ?? clientId,
    traits,
    now,
    login ? now : null,
    network,
  ]);
  if (known) return waitingUser(sql, log, world, known, visitor);
  if (tokenId === undefined && network !== null && !(await findUser(sql, world, visitor))) {
    await expectAdmitted(sql, world, network, now);
  }
  const row = await createUser(sql, world, visitor, network);
  if (!row) {
    const old = await findUser(sql, world, visitor);
    if (!old) throw absent("world");
    if (old.moderation_state === "banned") return old;
    const row = await refreshUser(sql, log, world, old, visitor, network);
    return waitingUser(sql, log, world, row, visitor);
  }
  const entry = enteredUser(row.id, true, false, row.moderation_state === "waiting");
  // A host creates a kiosk, so the entry keeps the write's author. A person's first login creates
  // the person's own user.
  if (kindOf(row) === "kiosk") {
    log.append(world, entry);
    log.append(world, noted(kioskCreated(row.id)));
  } else log.appendOf(world, row.id, entry);
  return row;
}

/**
 * Updates the profile of a guest who waits for approval, so that moderators see the current name.
 */
async function waitingUser(
  sql: Sql,
  log: DomainLog,
  world: string,
  row: UserRow,
  { profile }: Visitor,
): Promise<UserRow> {
  if (row.moderation_state !== "waiting" || !profile) return row;
  if (JSON.stringify(profile) === row.profile) return row;
  const named = await change(sql, world, row.id, { profile });
  log.appendOf(world, row.id, { ...updatedUser(row.id, { profile }), waits: true } as GivenEntry);
  return named;
}

async function refreshUser(
  sql: Sql,
  log: DomainLog,
  world: string,
  old: UserRow,
  { login, profile, pretalxId, ...visitor }: Visitor,
  network: string | null,
): Promise<UserRow> {
  const { id } = old;
  const now = Date.now();
  const traits = JSON.stringify([...visitor.traits]);
  const last_login = login ? now : old.last_login;
  // A user without traits was created by a moderator, so this is the person's first visit.
  const isFirst = old.traits === null && (profile ?? pretalxId) !== undefined;
  const row = isFirst ? await change(sql, world, id, { profile, pretalx_id: pretalxId }) : old;
  await sql.run(REFRESH, [world, id, traits, now, last_login, network]);
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
  { profile, client_state, pretalx_id }: UserUpdate,
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
    shapeIn(profile),
  ]);
  if (!row) throw absent("user");
  return row;
}

/** Creates the user writes. They return rows, because records cannot be sent between threads. */
export function userWrites(sql: Sql, log: DomainLog) {
  const set = async (
    world: string,
    before: UserRow,
    state: Moderation["state"],
    until: number | undefined,
  ): Promise<UserRow> => {
    const row = (await sql.one<UserRow>(MODERATE, [world, before.id, state, until ?? null]))!;
    log.append(world, moderatedUser(before, row));
    if (isKeptOut(state)) await dropHeldOf(sql, log, world, before.id);
    return row;
  };

  async function moderate(
    world: string,
    id: string,
    decision: Moderation["state"] | Moderation,
  ): Promise<UserRow> {
    const { state, until, networkUntil }: Moderation =
      typeof decision === "string" ? { state: decision } : decision;
    const before = await sql.one<UserRow>(GET, [world, id]);
    if (!before) throw absent("user");
    if (isKeptOut(before.moderation_state) && state === "silenced") {
      log.append(world, moderatedUser(before, before));
      return before;
    }
    const row = await set(world, before, state, state === "silenced" ? until : undefined);
    if (state === "" && (await sql.run(READMIT_OF, [world, id])) > 0) log.erased("network_bans");
    if (state === "banned" && networkUntil !== undefined) {
      await sql.run(KEEP_OUT, [world, id, networkUntil]);
    }
    return row;
  }

  return {
    enter: (world: string, visitor: Visitor): Promise<UserRow> =>
      enterUser(sql, log, world, visitor),

    async update(world: string, id: string, changes: UserUpdate): Promise<UserRow> {
      const row = await change(sql, world, id, changes);
      log.append(world, updatedUser(id, changes));
      return row;
    },

    moderate,

    async answer(
      world: string,
      id: string,
      admits: boolean,
      quietUntil?: number,
    ): Promise<UserRow> {
      const before = await sql.one<UserRow>(GET, [world, id]);
      if (!before) throw absent("user");
      if (before.moderation_state !== "waiting") return before;
      if (!admits) return set(world, before, "banned", undefined);
      return set(world, before, quietUntil === undefined ? "" : "silenced", quietUntil);
    },

    async endModeration(world: string, now: number): Promise<void> {
      for (const user of await sql.all<UserRow>(OVER, [world, now])) {
        await set(world, user, "", undefined);
      }
      if ((await sql.run(READMIT, [world, now])) > 0) log.erased("network_bans");
    },

    async moderateNamed(
      world: string,
      tokenId: string,
      state: Moderation["state"] | Moderation,
    ): Promise<UserRow> {
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
      await dropHeldOf(sql, log, world, id);
      const others = await removeTraces(sql, log, world, id);
      await sql.run(ERASE, [world, id]);
      log.erased("users");
      await quitChat(sql, log, world, id);
      log.erased(...CHAT_TABLES);
      log.append(world, { type: "user.erased", user: id });
      for (const entry of others) log.append(world, entry);
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
    answer: 4,
    endModeration: 2,
    block: 3,
    unblock: 3,
    erase: 2,
  },
});

/**
 * Adapts the user domain to `UserStore`. Rows become frozen records here, because records cannot be
 * sent between threads.
 */
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
    answer: async (...args) => written(args[0], await bound.answer(...args)),
    async waiting(...args) {
      const { count, rows } = await bound.waiting(...args);
      return { count, guests: rows.map(toListed) };
    },
  };
}
