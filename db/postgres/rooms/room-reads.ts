import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import type { RoomOrdering } from "../../../schemas/rooms.js";
import { following } from "../../rules/pages.js";
import { pageTooLarge } from "../../rules/preconditions.js";
import {
  isFiltered,
  MAX_ROOM_PAGE,
  ROOM_ORDERS,
  type RoomFilter,
  seenRooms,
  toViewGroup,
  type ViewGroup,
} from "../../rules/room-lists.js";
import { foldCase, type RoomRow } from "../../rules/rows.js";
import type { ListPlace, RoomSelection } from "../../contract/store.js";
import type { Sql } from "../../shared/sql.js";

/** The values that decide the visibility of the rooms of a world. */
export interface View {
  /** The revision of the world. */
  revision: number;
  /** The rules of the world. */
  permission_config: PermissionConfig;
  groups: readonly ViewGroup[];
}

/** A page of rooms as one caller asks for it. */
export interface RoomQuery extends RoomFilter {
  world: string;
  /** The revision of the world whose rules count. */
  revision: number;
  /** The ids of the view groups that the caller may see. */
  groups: number[];
  /** How many rooms these have. */
  visible: number;
  ordering: RoomOrdering;
  limit: number;
  offset: number;
  /** Where the page begins instead. */
  after: ListPlace | undefined;
}

/** A page as it is read. */
export interface RoomRows {
  /** The number of rooms on all pages. */
  count: number;
  rows: RoomRow[];
}

/** One row for each group, or one without a group; the first has the rules of the world. */
const SELECT_VIEW = `SELECT worlds.revision, view_groups.id, rule, rooms,
    CASE WHEN row_number() OVER () = 1 THEN permission_config END AS rules
  FROM worlds LEFT JOIN view_groups ON view_groups.world_id = worlds.id
  WHERE worlds.id = $1`;

const COUNT_VISIBLE =
  "(SELECT coalesce(sum(rooms), 0) FROM view_groups WHERE world_id = $1 AND id = ANY ($2::bigint[]))";

interface ViewRow {
  revision: number;
  id: number | null;
  /** As JSON; empty if there is none. */
  rule: string;
  rooms: number;
  rules: string | null;
}

/** The parameters that all statements here begin with. */
const parametersOf = ({
  world,
  groups,
  type,
  search,
}: RoomQuery): unknown[] => [
  world,
  groups,
  ...(type ? [type] : []),
  ...(search ? [search] : []),
];

// The index of an order includes the group and gives the page without sorting. Two things
// keep PostgreSQL from selecting all rooms and then sorting them. The addition makes the
// index of groups useless. And subselects hide the groups and the range from the planner,
// which expects few rooms in any groups, and so would take a page far back for the end.
const fromRooms = ({ type, search }: RoomQuery) =>
  `FROM rooms WHERE world_id = $1 AND view_group + 0 = ANY (ARRAY(SELECT unnest($2::bigint[])))
   ${type ? "AND EXISTS (SELECT 1 FROM room_modules WHERE world_id = $1 AND room_id = rooms.id AND foyer_digest(type) = foyer_digest($3) AND type = $3)" : ""}
   ${search ? `AND (strpos(name_folded, ${type ? "$4" : "$3"}) > 0 OR strpos(description_folded, ${type ? "$4" : "$3"}) > 0)` : ""}`;

/** Selects the ids of a page, in their order. Exported so that a test can see the plan. */
export function pageSql(query: RoomQuery): string {
  const given = parametersOf(query).length;
  const order = ROOM_ORDERS[query.ordering];
  const follows = following(order, (i) => `$${given + 3 + i}`);
  return `SELECT id ${fromRooms(query)} ${query.after ? `AND ${follows}` : ""} ORDER BY ${order}
    LIMIT (SELECT $${given + 1}::bigint) OFFSET (SELECT $${given + 2}::bigint)`;
}

// Of a page that is too large, the content is not even sent. The ids are an array, as
// PostgreSQL expects a page to be a tenth of all rooms, and would join it with all of them.
const rowsSql = (query: RoomQuery) => `
  WITH page AS MATERIALIZED (SELECT ARRAY(${pageSql(query)}) AS ids)
  SELECT id, name, sorting_priority, rooms.revision, fits, place,
    CASE WHEN fits THEN description END AS description,
    CASE WHEN fits THEN module_config END AS module_config,
    CASE WHEN fits THEN permission_config END AS permission_config,
    coalesce(domain, (SELECT domain FROM worlds WHERE id = $1)) AS domain,
    (SELECT revision FROM worlds WHERE id = $1) AS "worldRevision",
    ${isFiltered(query) ? "0" : COUNT_VISIBLE} AS count
  FROM (
    SELECT rooms.*, array_position((SELECT ids FROM page), id) AS place,
      count(*) OVER () = 1 OR sum(octet_length(description)
        + octet_length(module_config) + octet_length(permission_config)) OVER () <= ${MAX_ROOM_PAGE} AS fits
    FROM rooms WHERE world_id = $1 AND id = ANY ((SELECT ids FROM page)::text[])
  ) AS rooms ORDER BY place`;

/** A row with the values of its page. */
interface PageRow extends RoomRow {
  fits: boolean;
  worldRevision: number;
  count: number;
}

/** Reads the visibility of the rooms. @returns undefined if there is no such world. */
export async function readView(
  sql: Sql,
  world: string,
): Promise<View | undefined> {
  const rows = await sql.all<ViewRow>(SELECT_VIEW, [world]);
  const [first] = rows;
  if (!first) return undefined;
  const { revision } = first;
  return {
    revision,
    permission_config: JSON.parse(first.rules!) as PermissionConfig,
    groups: rows.flatMap(({ id, rule, rooms }) =>
      id === null ? [] : toViewGroup({ id, rule, rooms }),
    ),
  };
}

/** Finds out which rooms of a world a caller may see. */
export function queryOf(
  world: string,
  view: View,
  selection: RoomSelection,
): RoomQuery {
  const { traits, page, pageSize, ordering, after } = selection;
  const { type = "", search = "" } = selection;
  return {
    world,
    revision: view.revision,
    ...seenRooms(view, view.groups, traits),
    type,
    search: foldCase(search),
    ordering,
    limit: pageSize,
    offset: (page - 1) * pageSize,
    after,
  };
}

/** The key of a page among the pages of all worlds. */
export const keyOf = (query: RoomQuery): string => {
  const { world, groups, ordering, limit, offset, type, search } = query;
  const filter = isFiltered(query) ? JSON.stringify([type, search]) : "";
  const after = JSON.stringify(query.after);
  return `${world} ${ordering} ${limit} ${offset} ${groups.join()} ${filter} ${after}`;
};

/**
 * Reads a page, if it is of the same moment as the query.
 * @returns undefined if the world has changed meanwhile.
 * @throws {StoreError} `large`.
 */
export async function readPage(
  sql: Sql,
  query: RoomQuery,
): Promise<RoomRows | undefined> {
  const { visible, limit, offset, after } = query;
  const isSearch = isFiltered(query);
  const matching = isSearch ? await countMatching(sql, query) : visible;
  if (offset >= matching) return { count: matching, rows: [] };
  const rows = await sql.all<PageRow>(rowsSql(query), [
    ...parametersOf(query),
    limit,
    offset,
    ...(after ?? []),
  ]);
  const [first] = rows;
  // Nothing follows the last room, whatever the rules of the world are by now.
  if (!first && after) return { count: matching, rows: [] };
  if (first?.worldRevision !== query.revision) return undefined;
  if (!first.fits) throw pageTooLarge();
  return { count: isSearch ? matching : first.count, rows };
}

const countMatching = async (sql: Sql, query: RoomQuery): Promise<number> =>
  (await sql.value<number>(
    `SELECT count(*) ${fromRooms(query)}`,
    parametersOf(query),
  ))!;
