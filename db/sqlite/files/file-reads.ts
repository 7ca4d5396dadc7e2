import { fileIdOf } from "../../../schemas/plain/file-types.js";
import {
  FILE_COLUMNS,
  type FileRow,
  keyRange,
  toFile,
} from "../../rules/file-rows.js";
import type {
  FilePage,
  FileRecord,
  PageSelection,
} from "../../contract/store.js";
import type { Connection } from "../engine/connection.js";
import { rangeOf } from "../../rules/rows.js";

/** The reads of file records. */
export function fileReads(db: Connection) {
  const exists = db.prepare("SELECT 1 FROM files WHERE key = ?");
  const count = db
    .prepare<[string], number>("SELECT count(*) FROM files WHERE world_id = ?")
    .pluck();
  const select = db.prepare<[string, number, number], FileRow>(
    `SELECT ${FILE_COLUMNS} FROM files WHERE world_id = ?
     ORDER BY created DESC, number DESC LIMIT ? OFFSET ?`,
  );
  const selectKeys = db
    .prepare<[string], string>("SELECT key FROM files WHERE world_id = ?")
    .pluck();
  const size = db
    .prepare<[string], number>("SELECT file_bytes FROM worlds WHERE id = ?")
    .pluck();
  const find = fileFinder(db);
  return {
    has: (key: string): boolean => exists.get(key) !== undefined,
    get(worldId: string, id: string): FileRecord | undefined {
      const row = find(worldId, id);
      return row && toFile(row);
    },
    list(worldId: string, selection: PageSelection): FilePage {
      const all = count.get(worldId)!;
      const { limit, offset } = rangeOf(selection, all);
      return {
        count: all,
        files: select.all(worldId, limit, offset).map(toFile),
      };
    },
    keys: (worldId: string): string[] => selectKeys.all(worldId),
    size: (worldId: string): number => size.get(worldId) ?? 0,
  };
}

/** Finds a file of a world by its id, which is the beginning of its key, which has an index. */
export function fileFinder(db: Connection) {
  const select = db.prepare<[string, string, string], FileRow>(
    `SELECT ${FILE_COLUMNS} FROM files WHERE key >= ? AND key < ? AND world_id = ?`,
  );
  return (worldId: string, id: string): FileRow | undefined => {
    const row = select.get(...keyRange(worldId, id), worldId);
    return row && fileIdOf(row.key) === id ? row : undefined;
  };
}
