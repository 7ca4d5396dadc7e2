import type { UserSearch } from "../../contract/store.js";
import { foldCase, IS_KNOWN, USER_COLUMNS } from "../../rules/rows.js";
import { BY_NAME, FIELD, isOfKind, markerOf } from "../../rules/user-rows.js";
import { rangeOf, type Sql } from "../domain.js";
import { type FoundRows, pageStatement, readPage } from "./user-reads.js";

/** What the engines say differently about a search. Its parts get the places of parameters. */
interface SearchDialect {
  readonly users: string;
  readonly hasTerm: (column: string, term: string) => string;
  readonly isInFields: (markers: string, term: string) => string;
  readonly hasTrait: (traits: string) => string;
  /** A trait as {@link hasTrait} compares it. */
  readonly traitOf: (trait: string) => string;
}

const DIALECTS: Readonly<Record<Sql["engine"], SearchDialect>> = {
  sqlite: {
    users: "users INDEXED BY users_by_name",
    hasTerm: (column, term) => `instr(${column}, ${term}) > 0`,
    // A function of Foyer: see `searchesOn` of the engine.
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
    // Elements of JSON are compared as they were written, as `jsonb` does not take every text.
    hasTrait: (traits) => `EXISTS (SELECT FROM json_array_elements(traits::json) AS own
      WHERE own::text = ANY (${traits}::text[]))`,
    traitOf: (trait) => JSON.stringify(trait),
  },
};

/**
 * Searches the users of a world. It looks at all of them. There are a few dozen statements, as
 * each has only the conditions of its search.
 * @throws {StoreError} as `UserStore.search` does.
 */
export function searchUsers(sql: Sql, world: string, search: UserSearch): Promise<FoundRows> {
  const { users, hasTerm, isInFields, hasTrait, traitOf } = DIALECTS[sql.engine];
  const { term = "", fields = [], traits, banned, named, kind = "person" } = search;
  const { limit, offset } = rangeOf(search, Number.MAX_SAFE_INTEGER);
  const params: unknown[] = [world, limit, offset];
  const place = (value: unknown) => `$${params.push(value)}`;
  const conditions = ["world_id = $1", IS_KNOWN, isOfKind(kind)];
  if (!banned) conditions.push("moderation_state <> 'banned'");
  if (named) conditions.push("display_name_folded <> ''");
  if (term !== "") {
    const folded = place(foldCase(term));
    const isInName = hasTerm("display_name_folded", folded);
    // Most users do not have the term in any field.
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
