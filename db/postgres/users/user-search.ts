import { rangeOf } from "../../rules/pages.js";
import { foldCase, IS_KNOWN, toUser, USER_COLUMNS } from "../../rules/rows.js";
import type { FoundUsers, UserKind, UserSearch } from "../../contract/store.js";
import { FIELD, markerOf } from "../../rules/user-fields.js";
import { isOfKind } from "../../rules/user-kinds.js";
import { BY_NAME } from "../../rules/user-rows.js";
import type { Database } from "../engine/database.js";
import { pageStatement, readPage } from "./user-reads.js";

// Elements of JSON are compared as they were written, as `jsonb` does not take every text.
const selected = (kind: UserKind) => `world_id = $1 AND ${IS_KNOWN}
  AND ${isOfKind(kind)}
  AND ($2 OR moderation_state <> 'banned')
  AND (NOT $3 OR display_name_folded <> '')
  AND ($4::text[] IS NULL OR EXISTS (
    SELECT FROM json_array_elements(traits::json) AS element WHERE element::text = ANY($4)))`;

const searching = (kind: UserKind) =>
  pageStatement(
    `found AS MATERIALIZED (
     SELECT id, display_name_folded FROM users WHERE ${selected(kind)}
       AND (strpos(display_name_folded, $5) > 0
         OR cardinality($6::text[]) > 0 AND strpos(fields_folded, $5) > 0 AND EXISTS (
           SELECT FROM unnest($6::text[]) AS marker
           WHERE strpos(split_part(split_part(fields_folded, marker, 2), '${FIELD}', 1), $5) > 0))),
   page AS (
     SELECT ${USER_COLUMNS}, display_name_folded FROM users WHERE world_id = $1
       AND id IN (SELECT id FROM found ORDER BY ${BY_NAME} LIMIT $7 OFFSET $8))`,
    "SELECT count(*) FROM found",
    BY_NAME,
  );

const SEARCHES: Record<UserKind, string> = {
  person: searching("person"),
  kiosk: searching("kiosk"),
  anonymous: searching("anonymous"),
};

/**
 * Searches the users of a world. It looks at all of them.
 * @throws {StoreError} as `UserStore.search` does.
 */
export async function searchUsers(
  db: Database,
  worldId: string,
  search: UserSearch,
): Promise<FoundUsers> {
  const { term = "", fields = [], traits, banned, named } = search;
  const statement = SEARCHES[search.kind ?? "person"];
  const filter = [
    worldId,
    banned ?? false,
    named ?? false,
    traits?.map((trait) => JSON.stringify(trait)) ?? null,
    foldCase(term),
  ];
  const { limit, offset } = rangeOf(search, Number.MAX_SAFE_INTEGER);
  const params = [...filter, fields.map(markerOf), limit, offset];
  const { count, rows } = await readPage(db.sql, statement, params);
  return { count, users: rows.map(toUser) };
}
