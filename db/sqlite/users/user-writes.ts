import { kindOf } from "../../rules/user-kinds.js";
import { randomUUID } from "node:crypto";
import type { UserName } from "../../../schemas/users.js";
import {
  type ModerationState,
  type UserChanges,
  type Visitor,
} from "../../contract/store.js";
import { isInactive } from "../../contract/inactive.js";
import type { Sql } from "../../shared/sql.js";
import { removeTraces } from "../../shared/user-traces.js";
import { channelRemoval } from "../chat/chat-remains.js";
import type { Connection } from "../engine/connection.js";
import type { WriteLog } from "../log/log-writes.js";
import { absent } from "../../rules/preconditions.js";
import {
  foldedNameOf,
  IS_KNOWN,
  USER_COLUMNS,
  type UserRow,
} from "../../rules/rows.js";
import { enteredUser, moderatedUser, updatedUser } from "../../log/changes.js";
import { kioskCreated, noted } from "../../rules/acts.js";
import { foldedFieldsOf } from "../../rules/user-fields.js";
import {
  MAX_BLOCKED,
  stateJson,
  tooManyBlocked,
} from "../../rules/user-rows.js";
import { userFinder } from "./user-reads.js";

/** A visitor as it travels to the writer thread. */
export type SentVisitor = Omit<Visitor, "traits"> & { traits: string[] };

/** What changes when a user comes back. */
type Refreshed = "traits" | "last_seen" | "last_login";

/** The writes of users. Each runs inside a transaction of its caller. */
export function userWrites(db: Connection, sql: Sql, log: WriteLog) {
  const create = db.prepare<unknown[], UserRow>(
    `INSERT INTO users (id, world_id, token_id, client_id, profile, traits, last_seen, last_login,
       pretalx_id, display_name_folded, fields_folded, created)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${USER_COLUMNS}`,
  );
  const findWorld = db.prepare<[string]>("SELECT 1 FROM worlds WHERE id = ?");
  const findNamed = userFinder(db);
  const findId = db
    .prepare<UserName & { world_id: string }, string>(
      `SELECT id FROM users WHERE world_id = @world_id
         AND (token_id = @token_id OR (id = @user_id AND ${IS_KNOWN}))`,
    )
    .pluck();
  const isKnown = db.prepare<[string, string]>(
    `SELECT 1 FROM users WHERE id = ? AND world_id = ? AND ${IS_KNOWN}`,
  );
  const update = (set: string) =>
    db.prepare<unknown[], UserRow>(
      `UPDATE users SET ${set} WHERE id = ? AND world_id = ? AND ${IS_KNOWN}
       RETURNING ${USER_COLUMNS}`,
    );
  const refresh = db.prepare<Pick<UserRow, "id" | Refreshed>>(
    "UPDATE users SET traits = @traits, last_seen = @last_seen, last_login = @last_login WHERE id = @id",
  );
  const setProfile = update(
    "profile = ?, display_name_folded = ?, fields_folded = ?",
  );
  const setClientState = update("client_state = ?");
  const setPretalxId = update("pretalx_id = ?");
  const moderate = update(
    `moderation_state = CASE WHEN moderation_state = 'banned' AND ? = 'silenced'
       THEN 'banned' ELSE ? END`,
  );
  const select = db.prepare<[string, string], UserRow>(
    `SELECT ${USER_COLUMNS} FROM users WHERE id = ? AND world_id = ? AND ${IS_KNOWN}`,
  );
  const block = db.prepare<[string, string, string]>(
    "INSERT INTO blocks (world_id, user_id, blocked_id) VALUES (?, ?, ?)",
  );
  const isBlocked = db.prepare<[string, string, string]>(
    "SELECT 1 FROM blocks WHERE world_id = ? AND user_id = ? AND blocked_id = ?",
  );
  const countBlocked = db
    .prepare<[string, string], number>(
      "SELECT count(*) FROM blocks WHERE world_id = ? AND user_id = ?",
    )
    .pluck();
  const unblock = db.prepare<[string, string, string]>(
    "DELETE FROM blocks WHERE world_id = ? AND user_id = ? AND blocked_id = ?",
  );
  const erase = db.prepare<[string]>(
    `UPDATE users SET token_id = NULL, client_id = NULL, profile = NULL, traits = NULL,
       moderation_state = '', client_state = NULL, pretalx_id = NULL, last_login = NULL,
       display_name_folded = '', fields_folded = '' WHERE id = ?`,
  );
  const removeChannels = channelRemoval(db, log);

  /** @throws {StoreError} `absent` unless all are users of the world who are not erased. */
  function expectKnown(worldId: string, ...ids: string[]): void {
    if (!ids.every((id) => isKnown.get(id, worldId))) throw absent("user");
  }

  /**
   * Creates a user.
   * @param visitor.traits none for a person who has not come yet.
   * @throws {StoreError} `absent` if the world does not exist.
   */
  function createUser(
    worldId: string,
    id: string,
    {
      tokenId,
      clientId,
      traits,
      profile,
      login,
      pretalxId,
    }: Partial<SentVisitor>,
    now: number,
  ): UserRow {
    if (!findWorld.get(worldId)) throw absent("world");
    return create.get(
      id,
      worldId,
      tokenId ?? null,
      tokenId === undefined ? clientId : null,
      profile ? JSON.stringify(profile) : null,
      traits ? JSON.stringify(traits) : null,
      now,
      login ? now : null,
      pretalxId ?? null,
      foldedNameOf(profile),
      foldedFieldsOf(profile),
      now,
    )!;
  }

  function moderateUser(
    worldId: string,
    id: string,
    state: ModerationState,
  ): UserRow {
    const before = select.get(id, worldId);
    const row = moderate.get(state, state, id, worldId);
    if (!before || !row) throw absent("user");
    log.append(worldId, moderatedUser(before, row));
    return row;
  }

  return {
    /**
     * Creates or refreshes a user.
     * @param now in milliseconds since 1970.
     */
    enterUser(
      worldId: string,
      visitor: SentVisitor,
      now = Date.now(),
    ): UserRow {
      const { clientId, login, profile, pretalxId } = visitor;
      const traits = JSON.stringify(visitor.traits);
      const old = findNamed(worldId, visitor);
      if (old?.moderation_state === "banned") return old;
      if (old) {
        const last_login = login ? now : old.last_login;
        const { id } = old;
        refresh.run({ id, traits, last_seen: now, last_login });
        // A moderator decided about the person before, who comes for the first time.
        const isFirst = old.traits === null;
        if (isFirst && profile) {
          setProfile.get(
            JSON.stringify(profile),
            foldedNameOf(profile),
            foldedFieldsOf(profile),
            id,
            worldId,
          );
        }
        if (isFirst && pretalxId) setPretalxId.get(pretalxId, id, worldId);
        const isBack = login && isInactive(old.last_login, now);
        const hasOthers = traits !== old.traits;
        if (hasOthers || isBack) {
          log.appendOf(worldId, id, enteredUser(id, false, hasOthers));
        }
        return isFirst
          ? select.get(id, worldId)!
          : { ...old, traits, last_seen: now, last_login };
      }
      const id = randomUUID();
      const row = createUser(worldId, id, visitor, now);
      const entry = enteredUser(id, true);
      // A host made the screen; people make themselves by their first login.
      if (kindOf({ client_id: clientId }) === "kiosk") {
        log.append(worldId, entry);
        log.append(worldId, noted(kioskCreated(id)));
      } else log.appendOf(worldId, id, entry);
      return row;
    },

    updateUser(
      worldId: string,
      id: string,
      { profile, client_state, pretalx_id }: UserChanges,
    ): UserRow {
      expectKnown(worldId, id);
      if (profile) {
        setProfile.get(
          JSON.stringify(profile),
          foldedNameOf(profile),
          foldedFieldsOf(profile),
          id,
          worldId,
        );
      }
      if (client_state) {
        setClientState.get(stateJson(client_state), id, worldId);
      }
      if (pretalx_id !== undefined) setPretalxId.get(pretalx_id, id, worldId);
      log.append(worldId, updatedUser(id, { profile, pretalx_id }));
      return select.get(id, worldId)!;
    },

    moderateUser,

    moderateNamed(
      worldId: string,
      tokenId: string,
      state: ModerationState,
    ): UserRow {
      const known = findNamed(worldId, { tokenId });
      if (known) return moderateUser(worldId, known.id, state);
      const id = randomUUID();
      createUser(worldId, id, { tokenId }, Date.now());
      log.append(worldId, enteredUser(id, true));
      return moderateUser(worldId, id, state);
    },

    blockUser(worldId: string, id: string, other: string): void {
      expectKnown(worldId, id, other);
      if (!isBlocked.get(worldId, id, other)) {
        if (countBlocked.get(worldId, id)! >= MAX_BLOCKED) {
          throw tooManyBlocked();
        }
        block.run(worldId, id, other);
      }
      log.append(worldId, { type: "user.blocked", user: id });
    },

    unblockUser(worldId: string, id: string, other: string): void {
      expectKnown(worldId, id, other);
      unblock.run(worldId, id, other);
      log.append(worldId, { type: "user.unblocked", user: id });
    },

    async eraseUser(
      worldId: string,
      { user_id, token_id }: UserName,
    ): Promise<string> {
      const id = findId.get({
        world_id: worldId,
        user_id,
        token_id,
      });
      if (id === undefined) throw absent("user");
      const speakers = await removeTraces(
        sql,
        worldId,
        id,
        (table, isPersonal) => {
          if (isPersonal) log.erased(table);
        },
      );
      erase.run(id);
      log.erased("users");
      removeChannels.ofUser(worldId, id);
      log.erasedData(worldId);
      log.append(worldId, { type: "user.erased", user: id });
      for (const entry of speakers) log.append(worldId, entry);
      return id;
    },
  };
}
