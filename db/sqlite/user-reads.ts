import { fileIdOf, mimeTypeOf } from "../../schemas/plain/file-types.js";
import {
  type FilePage,
  type PageSelection,
  StoreError,
  type FileRecord,
  type UserPage,
} from "../store.js";
import type { Connection } from "./database.js";
import { toUser, USER_COLUMNS, type UserRow } from "./rows.js";

/**
 * The largest page of users, in characters. A thousand profiles that fill a header
 * each would block the event loop for too long.
 */
const MAX_USER_PAGE = 4 * 1024 * 1024;

/** Exactly the condition of the partial index. SQLite uses the index for no other wording. */
const IS_KNOWN = "(token_id IS NOT NULL OR client_id IS NOT NULL)";

/** The reads of users. */
export function userReads(db: Connection) {
  const count = db
    .prepare<[string], number>(
      `SELECT count(*) FROM users WHERE world_id = ? AND ${IS_KNOWN}`,
    )
    .pluck();
  const select = db.prepare<[string, number, number], UserRow>(
    `SELECT ${USER_COLUMNS} FROM users
     WHERE world_id = ? AND ${IS_KNOWN}
     ORDER BY last_seen DESC, id LIMIT ? OFFSET ?`,
  );
  return {
    list(worldId: string, selection: PageSelection): UserPage {
      const all = count.get(worldId)!;
      const { limit, offset } = rangeOf(selection, all);
      const rows = select.iterate(worldId, limit, offset);
      return { count: all, users: bounded(rows).map(toUser) };
    },
  };
}

/** The rows of a page. SQLite takes no offset beyond 64 bits, and a client may ask for any page. */
const rangeOf = ({ page, pageSize }: PageSelection, count: number) => ({
  limit: pageSize,
  offset: Math.min((page - 1) * pageSize, count),
});

/** Reads rows up to a size. A single row is never refused, because no page is smaller. */
function bounded(rows: Iterable<UserRow>): UserRow[] {
  const read: UserRow[] = [];
  let size = 0;
  for (const row of rows) {
    size += row.traits.length + (row.profile?.length ?? 0);
    if (size > MAX_USER_PAGE && read.length > 0) {
      throw new StoreError("large", "The page is too large.");
    }
    read.push(row);
  }
  return read;
}

interface FileRow {
  key: string;
  size: number;
  sha256: string;
  user_id: string | null;
  created: number;
}

const FILE_COLUMNS = "key, size, sha256, user_id, created";

/** The reads of file records. */
export function fileReads(db: Connection) {
  const exists = db.prepare("SELECT 1 FROM files WHERE key = ?");
  const count = db
    .prepare<[string], number>("SELECT count(*) FROM files WHERE world_id = ?")
    .pluck();
  const select = db.prepare<[string, number, number], FileRow>(
    `SELECT ${FILE_COLUMNS} FROM files WHERE world_id = ?
     ORDER BY created DESC, rowid DESC LIMIT ? OFFSET ?`,
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

const toFile = ({
  key,
  size,
  sha256,
  user_id,
  created,
}: FileRow): FileRecord => ({
  id: fileIdOf(key),
  key,
  size,
  sha256,
  type: mimeTypeOf(key),
  userId: user_id,
  uploadedAt: created,
});

/** Finds a file of a world by its id, which is the beginning of its key, which has an index. */
export function fileFinder(db: Connection) {
  const select = db.prepare<[string, string, string], FileRow>(
    `SELECT ${FILE_COLUMNS} FROM files WHERE key >= ? AND key < ? AND world_id = ?`,
  );
  return (worldId: string, id: string): FileRow | undefined => {
    const start = `pub/${worldId}/${id}`;
    // In ASCII, the slash follows the dot. An `id` with a dot in it would match too much.
    const row = select.get(`${start}.`, `${start}/`, worldId);
    return row && fileIdOf(row.key) === id ? row : undefined;
  };
}
