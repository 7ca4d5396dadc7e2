import type { Statement } from "better-sqlite3";
import type { UserSearch } from "../../contract/store.js";
import type { Connection } from "../engine/connection.js";
import {
  foldCase,
  IS_KNOWN,
  USER_COLUMNS,
  type UserRow,
} from "../../rules/rows.js";
import { isInField, markerOf } from "../../rules/user-fields.js";
import { isOfKind } from "../../rules/user-kinds.js";
import { BY_NAME } from "../../rules/user-rows.js";
import { bounded } from "./user-reads.js";

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
  db.function("is_in_field", { deterministic: true }, (folded, marker, term) =>
    Number(isInField(folded as string, marker as string, term as string)),
  );
  const selectPage = db.prepare<[string], UserRow>(
    `SELECT ${USER_COLUMNS} FROM users
     WHERE rowid IN (SELECT value FROM json_each(?)) ORDER BY ${BY_NAME}`,
  );
  type Filter = Record<"world" | "term" | "fields" | "traits", string>;
  const prepared = new Map<string, Statement<[Filter], number>>();

  /** There are a few dozen forms of searches. Each statement is prepared on first use. */
  function selecting(search: UserSearch): Statement<[Filter], number> {
    const sql = `SELECT rowid ${fromUsers(search)} ORDER BY ${BY_NAME}`;
    let statement = prepared.get(sql);
    if (!statement) {
      statement = db.prepare<[Filter], number>(sql).pluck();
      prepared.set(sql, statement);
    }
    return statement;
  }

  return (worldId: string, search: UserSearch): UserRows => {
    const { term = "", fields = [], traits = [], page, pageSize } = search;
    // One pass gives the count and the page. Numbers are small, and rows are not.
    const found = selecting(search).all({
      world: worldId,
      term: foldCase(term),
      fields: JSON.stringify(fields.map(markerOf)),
      traits: JSON.stringify(traits),
    });
    const shown = found.slice((page - 1) * pageSize, page * pageSize);
    return {
      count: found.length,
      rows: bounded(selectPage.iterate(JSON.stringify(shown))),
    };
  };
}

// A plain search by name finds everything in the index of names.
const fromUsers = ({
  term = "",
  fields = [],
  traits,
  banned = false,
  named = false,
  kind = "person",
}: UserSearch) =>
  `FROM users INDEXED BY users_by_name WHERE world_id = @world AND ${IS_KNOWN}
   AND ${isOfKind(kind)}
   ${banned ? "" : "AND moderation_state != 'banned'"}
   ${named ? "AND display_name_folded != ''" : ""}
   ${term === "" ? "" : `AND (instr(display_name_folded, @term) ${fields.length === 0 ? "" : IN_FIELDS})`}
   ${traits ? `AND ${HAS_TRAIT}` : ""}`;

// SQLite itself looks for the term. It checks the fields only of users who have it somewhere.
const IN_FIELDS = `OR instr(fields_folded, @term) AND EXISTS (
     SELECT 1 FROM json_each(@fields) WHERE is_in_field(fields_folded, value, @term))`;

const HAS_TRAIT = `EXISTS (SELECT 1 FROM json_each(traits)
     WHERE value IN (SELECT value FROM json_each(@traits)))`;
