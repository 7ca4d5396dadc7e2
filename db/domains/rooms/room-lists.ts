import { may, type PermissionConfig, type Rule, SEE } from "../../../schemas/plain/permissions.js";
import type { RoomOrdering } from "../../../schemas/rooms.js";
import {
  type RoomPage,
  type RoomSelection,
  type RoomStore,
  StoreError,
  type Versioned,
} from "../../contract/store.js";
import { pageTooLarge } from "../../rules/preconditions.js";
import { readRoom, ROOM_NAMES, type RoomRow } from "../../rules/room-rows.js";
import { foldCase } from "../../../schemas/plain/folding.js";
import { versioned } from "../../rules/versions.js";
import { following, perEngine, rangeOf, type Reading, type Sql } from "../domain.js";

// Lists of rooms. Both engines share this code.

/** Maximum size of a page, in bytes. A larger page would block the event loop for too long. */
const MAX_ROOM_PAGE = 4 * 1024 * 1024;

/** Sort orders. Each order has an index. */
const ROOM_ORDERS: Record<RoomOrdering, string> = {
  sorting_priority: "sorting_priority, name, id",
  "-sorting_priority": "sorting_priority DESC, name, id",
  name: "name, sorting_priority, id",
  "-name": "name DESC, sorting_priority, id",
};

interface RoomFilter {
  /** A module type; empty for any type. */
  type: string;
  /** A case-folded search term; empty if the list is not a search. */
  search: string;
}

/** Whether a list requires scanning every room. */
const isFiltered = ({ type, search }: RoomFilter): boolean => type !== "" || search !== "";

/** Rooms that are visible to the same people. */
interface ViewGroup {
  id: number;
  rooms: number;
  /** The `room.view` rule that these rooms share; empty if the world's rule applies to them. */
  permission_config: { "room.view"?: Rule };
}

interface ViewGroupRow {
  id: number;
  /** The rule as JSON; empty if the rooms have no rule of their own. */
  rule: string;
  rooms: number;
}

const toViewGroup = ({ id, rule, rooms }: ViewGroupRow): ViewGroup => ({
  id,
  rooms,
  permission_config: rule === "" ? {} : { "room.view": JSON.parse(rule) as Rule },
});

/**
 * Returns the ids of the view groups that a caller may see.
 * @param groups all groups in the world.
 */
const seenRooms = (
  world: { permission_config: PermissionConfig },
  groups: readonly ViewGroup[],
  traits: RoomSelection["traits"],
): number[] => groups.filter((room) => may({ traits }, SEE, { world, room })).map(({ id }) => id);

/**
 * Creates a page of rooms.
 * @param count the number of rooms on all pages.
 */
function toRoomPage(count: number, rows: readonly RoomRow[]): Versioned<RoomPage> {
  const records = rows.map(readRoom);
  const rooms = () => Object.freeze(records.map((it) => it.value));
  return versioned(
    () => Object.freeze({ count, rooms: rooms() }),
    () => `[${records.map(({ json }) => json).join()}]`,
    count,
  );
}

/** Maximum number of attempts to read a list while the world keeps changing. */
const MAX_ATTEMPTS = 5;

/** Maximum size of a cached page, in characters. */
const MAX_CACHED = 1024 * 1024;

/** The memory that a view group uses, in characters. */
const GROUP_SIZE = 200;

/** The values that decide who sees the rooms in a world. */
interface View {
  revision: number;
  permission_config: PermissionConfig;
  groups: readonly ViewGroup[];
}

/** A caller's request for a page of rooms. */
interface RoomQuery extends RoomFilter {
  world: string;
  revision: number;
  /** The ids of the view groups that the caller may see. */
  groups: number[];
  ordering: RoomOrdering;
  limit: number;
  offset: number;
  /** If set, the page begins after this position. */
  after: RoomSelection["after"];
}

interface RoomRows {
  count: number;
  rows: RoomRow[];
}

/** Selects a row per group, or a single row without a group. The first row also contains the world's rules. */
const SELECT_VIEW = `SELECT worlds.revision, view_groups.id, rule, rooms,
    CASE WHEN row_number() OVER () = 1 THEN permission_config END AS rules
  FROM worlds LEFT JOIN view_groups ON view_groups.world_id = worlds.id
  WHERE worlds.id = $1`;

interface ViewRow {
  revision: number;
  id: number | null;
  /** The rule as JSON; empty if the rooms have no rule of their own. */
  rule: string;
  rooms: number;
  rules: string | null;
}

const COUNT_VISIBLE =
  "SELECT coalesce(sum(rooms), 0) FROM view_groups WHERE world_id = $1 AND id = ANY ($2)";

const contains = perEngine(
  { sqlite: "instr", postgres: "strpos" },
  (position) => (column: string, term: string) => `${position}(${column}, ${term}) > 0`,
);

/** Returns the part of a statement that selects the rooms for a query. */
function fromRooms(sql: Pick<Sql, "engine">, { world, groups, type, search }: RoomQuery) {
  const params: unknown[] = [world, groups];
  // Each order's index includes the group, so it yields the page without sorting. The condition
  // keeps both engines from first selecting by group and then sorting. PostgreSQL estimates that
  // the condition matches a third of all rooms, and therefore uses the index even for late pages.
  let text =
    "FROM rooms WHERE world_id = $1 AND CASE WHEN view_group = ANY ($2) THEN 1 ELSE 0 END > 0";
  if (type) {
    text += ` AND EXISTS (SELECT 1 FROM room_modules AS m
      WHERE m.world_id = $1 AND m.room_id = rooms.id AND m.type = $${params.push(type)})`;
  }
  if (search) {
    const term = `$${params.push(search)}`;
    const has = contains(sql);
    text += ` AND (${has("name_folded", term)} OR ${has("description_folded", term)})`;
  }
  return { text, params };
}

/**
 * Builds the statement that selects a page, in order. Exported so that a test can inspect the query
 * plan.
 * @param columns the columns to select.
 */
export function pageText(
  sql: Pick<Sql, "engine">,
  query: RoomQuery,
  columns: string,
): { text: string; params: unknown[] } {
  const { text, params } = fromRooms(sql, query);
  const order = ROOM_ORDERS[query.ordering];
  const { after } = query;
  const follows = after ? `AND ${following(order, (i) => `$${params.push(after[i])}`)}` : "";
  // The subselects hide the range from PostgreSQL's planner.
  const limit = `LIMIT (SELECT CAST($${params.push(query.limit)} AS BIGINT))`;
  const offset = `OFFSET (SELECT CAST($${params.push(query.offset)} AS BIGINT))`;
  return {
    text: `SELECT ${columns} ${text} ${follows} ORDER BY ${order} ${limit} ${offset}`,
    params,
  };
}

/** A room, along with values that apply to the whole page. On an empty page, only these values are set. */
interface PageRow extends RoomRow {
  fits: boolean | number;
  world_revision: number;
  count: number;
}

/** The columns that count toward the maximum page size. */
const LARGE: readonly string[] = ["description", "module_config", "permission_config"];

const SHOWN = ROOM_NAMES.map((name) => {
  if (name === "domain") return "coalesce(page.domain, worlds.domain) AS domain";
  return LARGE.includes(name) ? `CASE WHEN fits THEN page.${name} END AS ${name}` : `page.${name}`;
}).join();

/**
 * Reads a page, provided the world is unchanged since the query was built.
 * @returns undefined if the world has changed.
 * @throws {StoreError} `large`.
 */
async function readPage(sql: Sql, query: RoomQuery): Promise<RoomRows | undefined> {
  // If a page is too large, the database does not even send its content. A page with a single room
  // is never rejected, because no client could request a smaller page.
  const size = LARGE.map((name) => `octet_length(${name})`).join(" + ");
  const { text, params } = pageText(sql, query, `${ROOM_NAMES.join()}, ${size} AS size`);
  const all = isFiltered(query) ? `SELECT count(*) ${fromRooms(sql, query).text}` : COUNT_VISIBLE;
  const order = ROOM_ORDERS[query.ordering].replace(/\b(name|id|sorting)/g, "page.$1");
  const rows = await sql.all<PageRow>(
    `WITH page AS MATERIALIZED (${text}),
       sized AS (SELECT count(*) < 2 OR sum(size) <= ${MAX_ROOM_PAGE} AS fits FROM page)
     SELECT ${SHOWN}, fits, worlds.revision AS world_revision, (${all}) AS count
     FROM worlds CROSS JOIN sized LEFT JOIN page ON TRUE
     WHERE worlds.id = $1 ORDER BY ${order}`,
    params,
  );
  const [first] = rows;
  if (first?.world_revision !== query.revision) return undefined;
  if (!first.fits) throw pageTooLarge();
  // An empty page is returned as a row without an id.
  return { count: first.count, rows: rows.filter(({ id }) => (id as string | null) !== null) };
}

/** Reads the values that decide who sees the rooms. @returns undefined if the world does not exist. */
async function readView(sql: Sql, world: string): Promise<View | undefined> {
  const rows = await sql.all<ViewRow>(SELECT_VIEW, [world]);
  const [first] = rows;
  return (
    first && {
      revision: first.revision,
      permission_config: JSON.parse(first.rules!) as PermissionConfig,
      groups: rows.flatMap(({ id, rule, rooms }) =>
        id === null ? [] : toViewGroup({ id, rule, rooms }),
      ),
    }
  );
}

/** Builds the query for the rooms in a world that a caller may see. */
function queryOf(world: string, view: View, selection: RoomSelection): RoomQuery {
  const { traits, ordering, after, type = "", search = "" } = selection;
  return {
    world,
    revision: view.revision,
    groups: seenRooms(view, view.groups, traits),
    type,
    search: foldCase(search),
    ordering,
    ...rangeOf(selection, Number.MAX_SAFE_INTEGER),
    after,
  };
}

/** Reads a page that is consistent with the caller's view. If the world changes, retries with a new view. */
async function read(
  sql: Sql,
  world: string,
  selection: RoomSelection,
  known?: View,
): Promise<RoomRows> {
  let view = known;
  for (let i = 0; i < MAX_ATTEMPTS; i++) {
    view ??= await readView(sql, world);
    if (!view) return { count: 0, rows: [] };
    const found = await readPage(sql, queryOf(world, view, selection));
    if (found) return found;
    view = undefined;
  }
  throw new StoreError("busy", "The world changes all the time.");
}

/** Reads a list that requires scanning every room. */
export const searchRooms = (
  sql: Sql,
  world: string,
  selection: Omit<RoomSelection, "signal">,
): Promise<RoomRows> => read(sql, world, selection);

export function roomLists(sql: Reading): RoomStore["list"] {
  const views = sql.cached<View | undefined>("rooms");
  const pages = sql.cached<Versioned<RoomPage>>("rooms");

  return async (world, selection) => {
    const view = await views.read(world, world, async () => {
      const value = await readView(sql, world);
      return { value, size: GROUP_SIZE * (value?.groups.length ?? 0) };
    });
    if (!view) return toRoomPage(0, []);
    const query = queryOf(world, view, selection);
    const isSearch = isFiltered(query);
    const load = async () => {
      const { signal, ...sent } = selection;
      const { count, rows } = isSearch
        ? await sql.search("rooms", world, sent, signal)
        : await read(sql, world, selection, view);
      const size = rows.reduce((sum, row) => sum + sizeOf(row), 0);
      return { value: toRoomPage(count, rows), size: size > MAX_CACHED ? Infinity : 2 * size };
    };
    // Callers do not share a search, because any caller may abort it.
    return pages.read(world, keyOf(query), load, { isShared: !isSearch });
  };
}

/** Returns a page's cache key, which is unique across all worlds. */
const keyOf = ({
  world,
  groups,
  ordering,
  limit,
  offset,
  type,
  search,
  after,
}: RoomQuery): string =>
  `${world} ${JSON.stringify([ordering, limit, offset, groups, type, search, after])}`;

const sizeOf = ({ description, module_config, permission_config }: RoomRow): number =>
  description.length + module_config.length + permission_config.length;
