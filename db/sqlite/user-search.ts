import type { UserSearch } from "../store.js";
import type { Connection } from "./database.js";
import {
  foldCase,
  IS_KNOWN,
  rangeOf,
  USER_COLUMNS,
  type UserRow,
} from "./rows.js";
import { BY_NAME } from "./user-reads.js";

/** Found users as they are read. */
export interface UserRows {
  /** The number of users on all pages. */
  count: number;
  rows: UserRow[];
}

/**
 * Searches the users of a world. It looks at all of them, so it runs in the thread
 * for searches.
 */
export function userSearch(db: Connection) {
  db.function("fold_case", { deterministic: true }, (text) =>
    foldCase(String(text)),
  );
  const prepared = new Map<string, ReturnType<Connection["prepare"]>>();

  /** There are a few dozen forms of searches. Each statement is prepared on first use. */
  function prepare(sql: string) {
    let statement = prepared.get(sql);
    if (!statement) prepared.set(sql, (statement = db.prepare(sql)));
    return statement as ReturnType<typeof db.prepare<object, unknown>>;
  }

  return (worldId: string, search: UserSearch): UserRows => {
    const { term = "", fields = [], traits } = search;
    const filter = {
      world: worldId,
      term: foldCase(term),
      fields: JSON.stringify(fields),
      traits: JSON.stringify(traits ?? []),
    };
    const from = fromUsers(search);
    const counted = prepare(`SELECT count(*) AS count ${from}`).get(filter);
    const { count } = counted as { count: number };
    const rows = prepare(
      `SELECT ${USER_COLUMNS} ${from} ORDER BY ${BY_NAME} LIMIT @limit OFFSET @offset`,
    ).all({ ...filter, ...rangeOf(search, count) }) as UserRow[];
    return { count, rows };
  };
}

// A plain search by name finds everything in the index of names.
const fromUsers = ({
  term = "",
  fields = [],
  traits,
  banned = false,
  named = false,
}: UserSearch) =>
  `FROM users INDEXED BY users_by_name WHERE world_id = @world AND ${IS_KNOWN}
   ${banned ? "" : "AND moderation_state != 'banned'"}
   ${named ? "AND display_name_folded != ''" : ""}
   ${term === "" ? "" : `AND (instr(display_name_folded, @term) ${fields.length === 0 ? "" : IN_FIELDS})`}
   ${traits ? `AND ${HAS_TRAIT}` : ""}`;

const IN_FIELDS = `OR EXISTS (SELECT 1 FROM json_each(profile, '$.fields')
     WHERE key IN (SELECT value FROM json_each(@fields)) AND type = 'text'
       AND instr(fold_case(value), @term))`;

const HAS_TRAIT = `EXISTS (SELECT 1 FROM json_each(traits)
     WHERE value IN (SELECT value FROM json_each(@traits)))`;
