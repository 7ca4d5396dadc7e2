import { fileIdOf } from "../../../schemas/plain/file-types.js";
import { type FileDigest, StoreError } from "../../contract/store.js";
import type { Connection } from "../engine/connection.js";
import { fileFinder } from "./file-reads.js";
import type { WriteLog } from "../log/log-writes.js";
import { absent } from "../../rules/preconditions.js";
import { userFinder } from "../users/user-reads.js";
import type { SentVisitor, userWrites } from "../users/user-writes.js";

/** The writes of file records. Each runs inside a transaction of its caller. */
export function fileWrites(
  db: Connection,
  log: WriteLog,
  users: ReturnType<typeof userWrites>,
) {
  const addBytes = db
    .prepare<[number, string], number>(
      "UPDATE worlds SET file_bytes = file_bytes + ? WHERE id = ? RETURNING file_bytes",
    )
    .pluck();
  const insertFile = db.prepare<unknown[]>(
    "INSERT INTO files (key, world_id, user_id, size, sha256, created) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const findFile = fileFinder(db);
  const findUser = userFinder(db);
  const removeFile = db.prepare<[string]>("DELETE FROM files WHERE key = ?");

  return {
    addFile(
      worldId: string,
      visitor: SentVisitor,
      { key, size, sha256 }: FileDigest,
      quota: number,
    ): void {
      if (findUser(worldId, visitor)?.moderation_state) {
        throw new StoreError("denied", "The user is banned or silenced.");
      }
      const now = Date.now();
      const total = addBytes.get(size, worldId);
      if (total === undefined) throw absent("world");
      if (total > quota) {
        throw new StoreError("quota", "The files of this world are too large.");
      }
      const user = users.enterUser(worldId, visitor, now);
      insertFile.run(key, worldId, user.id, size, sha256, now);
      const change = { type: "file.added", file: fileIdOf(key) } as const;
      log.appendOf(worldId, user.id, change);
    },

    deleteFile(worldId: string, id: string): string {
      const file = findFile(worldId, id);
      if (!file) throw absent("file");
      removeFile.run(file.key);
      addBytes.get(-file.size, worldId);
      log.append(worldId, { type: "file.deleted", file: id });
      return file.key;
    },
  };
}
