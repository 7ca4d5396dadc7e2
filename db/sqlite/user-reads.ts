import { type PageSelection, StoreError, type UserPage } from "../store.js";
import type { Connection } from "./database.js";
import { rangeOf, toUser, USER_COLUMNS, type UserRow } from "./rows.js";

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
