import type { UserSearch } from "../../contract/store.js";
import { foldCase } from "../../../schemas/plain/folding.js";
import { IS_KNOWN, USER_COLUMNS } from "../../rules/rows.js";
import { BY_NAME, FIELD, isOfKind, markerOf } from "../../rules/user-rows.js";
import { rangeOf, type Sql } from "../domain.js";
import { type FoundRows, pageStatement, readPage } from "./user-reads.js";

/**
 * Differences between the engines' searches. The `column` argument is a column name; all other
 * arguments are parameter placeholders, except `trait`.
 */
interface SearchDialect {
  readonly users: string;
  readonly hasTerm: (column: string, term: string) => string;
  readonly isInFields: (markers: string, term: string) => string;
  readonly hasTrait: (traits: string) => string;
  /** Returns a trait in the form that {@link hasTrait} compares. */
  readonly traitOf: (trait: string) => string;
}

const DIALECTS: Readonly<Record<Sql["engine"], SearchDialect>> = {
  sqlite: {
    users: "users INDEXED BY users_by_name",
    hasTerm: (column, term) => `instr(${column}, ${term}) > 0`,
    // Foyer defines the SQL function `is_in_field`: see `searchesOn` in the engine.
    isInFields: (markers, term) =>
      `EXISTS (SELECT 1 FROM json_each(${markers}) WHERE is_in_field(fields_folded, value, ${term}))`,
    hasTrait: (traits) => `EXISTS (SELECT 1 FROM json_each(traits) AS own
      WHERE own.value IN (SELECT value FROM json_each(${traits})))`,
    traitOf: (trait) => trait,
  },
  postgres: {
    users: "users",
    hasTerm: (column, term) => `strpos(${column}, ${term}) > 0`,
    isInFields: (markers, term) => `EXISTS (SELECT FROM unnest(${markers}::text[]) AS marker
      WHERE strpos(split_part(split_part(fields_folded, marker, 2), '${FIELD}', 1), ${term}) > 0)`,
    // Compares the raw text of JSON elements, because `jsonb` cannot represent every string.
    hasTrait: (traits) => `EXISTS (SELECT FROM json_array_elements(traits::json) AS own
      WHERE own::text = ANY (${traits}::text[]))`,
    traitOf: (trait) => JSON.stringify(trait),
  },
};

/**
 * Searches a world's users by scanning all of them. The statement contains only the conditions that
 * the search needs, so there are only a few dozen distinct statements.
 * @throws {StoreError} as `UserStore.search` does.
 */
export function searchUsers(sql: Sql, world: string, search: UserSearch): Promise<FoundRows> {
  const { users, hasTerm, isInFields, hasTrait, traitOf } = DIALECTS[sql.engine];
  const { term = "", fields = [], traits, banned, named, kind = "person" } = search;
  const { limit, offset } = rangeOf(search, Number.MAX_SAFE_INTEGER);
  const params: unknown[] = [world, limit, offset];
  const place = (value: unknown) => `$${params.push(value)}`;
  const conditions = ["world_id = $1", IS_KNOWN, isOfKind(kind)];
  if (!banned) conditions.push("moderation_state NOT IN ('banned', 'waiting')");
  if (named) conditions.push("display_name_folded <> ''");
  if (term !== "") {
    const folded = place(foldCase(term));
    const isInName = hasTerm("display_name_folded", folded);
    // Start with a cheap check, because most users' fields do not contain the term.
    const isInAny = () =>
      `${hasTerm("fields_folded", folded)} AND ${isInFields(place(fields.map(markerOf)), folded)}`;
    conditions.push(fields.length === 0 ? isInName : `(${isInName} OR ${isInAny()})`);
  }
  if (traits) conditions.push(hasTrait(place(traits.map(traitOf))));
  const statement = pageStatement(
    `found AS MATERIALIZED (
       SELECT id, display_name_folded FROM ${users} WHERE ${conditions.join(" AND ")}),
     page AS (
       SELECT ${USER_COLUMNS}, display_name_folded FROM users WHERE world_id = $1
         AND id IN (SELECT id FROM found ORDER BY ${BY_NAME} LIMIT $2 OFFSET $3))`,
    "SELECT count(*) FROM found",
    BY_NAME,
  );
  return readPage(sql, statement, params);
}
