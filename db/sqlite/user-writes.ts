import { randomUUID } from "node:crypto";
import type { UserName } from "../../schemas/users.js";
import type { Visitor } from "../store.js";
import type { Connection } from "./database.js";
import { absent } from "./preconditions.js";
import { USER_COLUMNS, type UserRow } from "./rows.js";

/** A visitor as it travels to the writer thread. */
export type SentVisitor = Omit<Visitor, "traits"> & { traits: string[] };

/** The writes of users. Each runs inside a transaction of its caller. */
export function userWrites(db: Connection) {
  const upsert = (known: "token_id" | "client_id") =>
    db.prepare<unknown[], UserRow>(
      `INSERT INTO users (id, world_id, ${known}, profile, traits, last_seen) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (world_id, ${known}) WHERE ${known} IS NOT NULL DO UPDATE SET
         traits = excluded.traits, last_seen = excluded.last_seen
       RETURNING ${USER_COLUMNS}`,
    );
  const upsertByToken = upsert("token_id");
  const upsertByClient = upsert("client_id");
  const findWorld = db.prepare<[string]>("SELECT 1 FROM worlds WHERE id = ?");
  const find = db
    .prepare<UserName & { world_id: string }, string>(
      `SELECT id FROM users WHERE world_id = @world_id
         AND (token_id = @token_id OR (id = @user_id AND coalesce(token_id, client_id) IS NOT NULL))`,
    )
    .pluck();
  const erase = db.prepare<[string]>(
    "UPDATE users SET token_id = NULL, client_id = NULL, profile = NULL, traits = NULL WHERE id = ?",
  );
  const disown = db.prepare<[string]>(
    "UPDATE files SET user_id = NULL WHERE user_id = ?",
  );

  return {
    /**
     * Creates or refreshes a user.
     * @param now in milliseconds since 1970.
     */
    enterUser(
      worldId: string,
      { tokenId, clientId, traits, profile }: SentVisitor,
      now = Date.now(),
    ): UserRow {
      if (!findWorld.get(worldId)) throw absent("world");
      const statement = tokenId === undefined ? upsertByClient : upsertByToken;
      return statement.get(
        randomUUID(),
        worldId,
        tokenId ?? clientId,
        profile ? JSON.stringify(profile) : null,
        JSON.stringify(traits),
        now,
      )!;
    },

    eraseUser(worldId: string, { user_id, token_id }: UserName): void {
      const id = find.get({
        world_id: worldId,
        user_id,
        token_id,
      });
      if (id === undefined) throw absent("user");
      erase.run(id);
      disown.run(id);
    },
  };
}
