import type { User } from "../../schemas/users.js";
import { foldCase, IS_KNOWN, rangeOf, toUser, USER_COLUMNS } from "../rows.js";
import { StoreError, type FoundUsers, type UserSearch } from "../store.js";
import { BY_NAME } from "../user-rows.js";
import type { Database } from "./database.js";
import type { Sql } from "./sql.js";
import { pageStatement, readPage } from "./user-reads.js";

/** How many users are looked at between two turns of the event loop. */
const SLICE = 1000;

/** How large their profiles may be together, in bytes, but for the last one. */
const SLICE_SIZE = 256 * 1024;

// Elements of JSON are compared as they were written, as `jsonb` does not take every text.
const SELECTED = `world_id = $1 AND ${IS_KNOWN}
  AND ($2 OR moderation_state <> 'banned')
  AND (NOT $3 OR display_name_folded <> '')
  AND ($4::text[] IS NULL OR EXISTS (
    SELECT FROM json_array_elements(traits::json) AS element WHERE element::text = ANY($4)))`;

const SEARCH = pageStatement(
  `found AS MATERIALIZED (
     SELECT id, display_name_folded FROM users WHERE ${SELECTED}
       AND (strpos(display_name_folded, $5) > 0 OR id = ANY($6::text[]))),
   page AS (
     SELECT ${USER_COLUMNS}, display_name_folded FROM users WHERE world_id = $1
       AND id IN (SELECT id FROM found ORDER BY ${BY_NAME} LIMIT $7 OFFSET $8))`,
  "SELECT count(*) FROM found",
  BY_NAME,
);

const SCAN = `SELECT id, profile FROM (
    SELECT id, profile, sum(octet_length(profile)) OVER (ORDER BY id) - octet_length(profile) AS before
    FROM (SELECT id, profile FROM users WHERE ${SELECTED}
        AND strpos(display_name_folded, $5) = 0 AND strpos(profile, '"fields"') > 0
        AND id > $6 ORDER BY id LIMIT ${SLICE}) AS slice) AS sized
  WHERE before < ${SLICE_SIZE} ORDER BY id`;

/**
 * Searches the users of a world. It looks at all of them.
 * @throws {StoreError} as `UserStore.search` does.
 */
export async function searchUsers(
  db: Database,
  worldId: string,
  search: UserSearch,
  signal?: AbortSignal,
): Promise<FoundUsers> {
  const { term = "", fields = [], traits, banned, named } = search;
  const folded = foldCase(term);
  const filter = [
    worldId,
    banned ?? false,
    named ?? false,
    traits?.map((trait) => JSON.stringify(trait)) ?? null,
    folded,
  ];
  const { limit, offset } = rangeOf(search, Number.MAX_SAFE_INTEGER);
  const read = async (sql: Sql, others: string[]) => {
    const params = [...filter, others, limit, offset];
    const { count, rows } = await readPage(sql, SEARCH, params);
    return { count, users: rows.map(toUser) };
  };
  if (folded === "" || fields.length === 0) return read(db.sql, []);
  return db.snapshot(async (sql) =>
    read(sql, await idsByFields(sql, filter, fields, folded, signal)),
  );
}

/**
 * The ids of those in whose fields the term is, and not in their names. Only
 * JavaScript folds case as JavaScript does, so this reads their profiles.
 */
async function idsByFields(
  sql: Sql,
  filter: readonly unknown[],
  fields: readonly string[],
  term: string,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const ids: string[] = [];
  for (let last: string | undefined = ""; last !== undefined;) {
    const rows: { id: string; profile: string }[] = await sql.all(SCAN, [
      ...filter,
      last,
    ]);
    for (const { id, profile } of rows) {
      if (hasInFields(profile, fields, term)) ids.push(id);
    }
    if (signal?.aborted) {
      throw new StoreError("busy", "Nobody waits for this search.");
    }
    last = rows.at(-1)?.id;
  }
  return ids;
}

function hasInFields(
  profile: string,
  names: readonly string[],
  term: string,
): boolean {
  const { fields } = JSON.parse(profile) as NonNullable<User["profile"]>;
  if (typeof fields !== "object" || fields === null) return false;
  return Object.entries(fields).some(
    ([name, value]) =>
      names.includes(name) &&
      typeof value === "string" &&
      foldCase(value).includes(term),
  );
}
