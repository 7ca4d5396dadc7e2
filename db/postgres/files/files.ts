import { fileIdOf } from "../../../schemas/plain/file-types.js";
import {
  FILE_COLUMNS,
  type FileRow,
  keyRange,
  toFile,
} from "../../rules/file-rows.js";
import { absent } from "../../rules/preconditions.js";
import { rangeOf } from "../../rules/rows.js";
import { type FileRecords, StoreError } from "../../contract/store.js";
import type { Database } from "../engine/database.js";
import type { Sql } from "../../shared/sql.js";
import { enterUser } from "../users/user-writes.js";

const FIND = `SELECT ${FILE_COLUMNS} FROM files WHERE world_id = $1 AND key >= $2 AND key < $3`;

const COUNT = "SELECT count(*) FROM files WHERE world_id = $1";

const SELECT_PAGE = `SELECT ${FILE_COLUMNS} FROM files WHERE world_id = $1
  ORDER BY created DESC, number DESC LIMIT $2::bigint OFFSET $3::bigint`;

const STATE_OF = {
  token: `SELECT moderation_state FROM users WHERE world_id = $1
    AND foyer_digest(token_id) = foyer_digest($2) AND token_id = $2`,
  client: `SELECT moderation_state FROM users WHERE world_id = $1
    AND foyer_digest(client_id) = foyer_digest($2) AND client_id = $2`,
};

const ADD_BYTES =
  "UPDATE worlds SET file_bytes = file_bytes + $2 WHERE id = $1 RETURNING file_bytes";

const INSERT = `INSERT INTO files (world_id, key, user_id, size, sha256, created)
  VALUES ($1, $2, $3, $4, $5, $6)`;

/** The records of files in a PostgreSQL database. */
export const fileRecords = (db: Database): FileRecords => ({
  add: (world, visitor, { key, size, sha256 }, quota) =>
    db.write(world, async (sql, log) => {
      const { tokenId, clientId } = visitor;
      const state = await sql.value<string>(
        tokenId === undefined ? STATE_OF.client : STATE_OF.token,
        [world, tokenId ?? clientId],
      );
      if (state) {
        throw new StoreError("denied", "The user is banned or silenced.");
      }
      const total = await sql.value<number>(ADD_BYTES, [world, size]);
      if (total === undefined) throw absent("world");
      if (total > quota) {
        throw new StoreError("quota", "The files of this world are too large.");
      }
      const user = await enterUser(sql, log, world, visitor);
      await sql.run(INSERT, [world, key, user.id, size, sha256, Date.now()]);
      log.appendOf(user.id, { type: "file.added", file: fileIdOf(key) });
    }),

  has: async (key) =>
    (await db.sql.one("SELECT 1 FROM files WHERE key = $1", [key])) !==
    undefined,

  async get(world, id) {
    const row = await find(db.sql, world, id);
    return row && toFile(row);
  },

  list: (world, selection) =>
    db.snapshot(async (sql) => {
      const count = (await sql.value<number>(COUNT, [world]))!;
      const { limit, offset } = rangeOf(selection, count);
      const rows = await sql.all<FileRow>(SELECT_PAGE, [world, limit, offset]);
      return { count, files: rows.map(toFile) };
    }),

  keys: (world) =>
    db.sql.column<string>("SELECT key FROM files WHERE world_id = $1", [world]),

  delete: (world, id, by) =>
    db.write(
      world,
      async (sql, log) => {
        const file = await find(sql, world, id);
        if (!file) throw absent("file");
        await sql.run("DELETE FROM files WHERE world_id = $1 AND key = $2", [
          world,
          file.key,
        ]);
        await sql.run(ADD_BYTES, [world, -file.size]);
        log.erased("files");
        log.append({ type: "file.deleted", file: id });
        return file.key;
      },
      by,
    ),

  size: async (world) =>
    (await db.sql.value<number>("SELECT file_bytes FROM worlds WHERE id = $1", [
      world,
    ])) ?? 0,
});

async function find(
  sql: Sql,
  world: string,
  id: string,
): Promise<FileRow | undefined> {
  const row = await sql.one<FileRow>(FIND, [world, ...keyRange(world, id)]);
  return row && fileIdOf(row.key) === id ? row : undefined;
}
