import { randomUUID } from "node:crypto";
import type { UserName } from "../../schemas/users.js";
import { StoreError, type FileDigest, type Visitor } from "../store.js";
import type { Connection } from "./database.js";
import { absent } from "./guards.js";
import { fileFinder } from "./user-reads.js";
import { USER_COLUMNS, type UserRow } from "./rows.js";

/** A visitor as it travels to the writer thread. */
export type SentVisitor = Omit<Visitor, "traits"> & { traits: string[] };

/** The writes of users and of their files. Each runs inside a transaction of its caller. */
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
  const addBytes = db
    .prepare<[number, string], number>(
      "UPDATE worlds SET file_bytes = file_bytes + ? WHERE id = ? RETURNING file_bytes",
    )
    .pluck();
  const insertFile = db.prepare<unknown[]>(
    "INSERT INTO files (key, world_id, user_id, size, sha256, created) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const findFile = fileFinder(db);
  const removeFile = db.prepare<[string]>("DELETE FROM files WHERE key = ?");

  /** Creates or refreshes a user of a world that exists. */
  function enter(
    worldId: string,
    { tokenId, clientId, traits, profile }: SentVisitor,
    now: number,
  ): UserRow {
    const statement = tokenId === undefined ? upsertByClient : upsertByToken;
    return statement.get(
      randomUUID(),
      worldId,
      tokenId ?? clientId,
      profile ? JSON.stringify(profile) : null,
      JSON.stringify(traits),
      now,
    )!;
  }

  return {
    enterUser(worldId: string, visitor: SentVisitor): UserRow {
      if (!findWorld.get(worldId)) throw absent("world");
      return enter(worldId, visitor, Date.now());
    },

    addFile(
      worldId: string,
      visitor: SentVisitor,
      { key, size, sha256 }: FileDigest,
      quota: number,
    ): void {
      const now = Date.now();
      const total = addBytes.get(size, worldId);
      if (total === undefined) throw absent("world");
      if (total > quota) {
        throw new StoreError("quota", "The files of this world are too large.");
      }
      const user = enter(worldId, visitor, now);
      insertFile.run(key, worldId, user.id, size, sha256, now);
    },

    deleteFile(worldId: string, id: string): string {
      const file = findFile(worldId, id);
      if (!file) throw absent("file");
      removeFile.run(file.key);
      addBytes.get(-file.size, worldId);
      return file.key;
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
