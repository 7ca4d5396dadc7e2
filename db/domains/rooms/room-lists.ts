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
import { foldCase } from "../../rules/rows.js";
import { versioned } from "../../rules/versions.js";
import { following, perEngine, rangeOf, type Reading, type Sql } from "../domain.js";

// Shared by the engines: lists of rooms.

/** The largest page, in bytes. A larger one would block the event loop for too long. */
const MAX_ROOM_PAGE = 4 * 1024 * 1024;

/** Each order has an index that gives the rooms in that order. */
const ROOM_ORDERS: Record<RoomOrdering, string> = {
  sorting_priority: "sorting_priority, name, id",
  "-sorting_priority": "sorting_priority DESC, name, id",
  name: "name, sorting_priority, id",
  "-name": "name DESC, sorting_priority, id",
};

interface RoomFilter {
  /** The type of a module; empty for any. */
  type: string;
  /** With case folded; empty for any. */
  search: string;
}

/** Whether a list has to look at every room. */
const isFiltered = ({ type, search }: RoomFilter): boolean => type !== "" || search !== "";

/** Rooms that the same people may see. */
interface ViewGroup {
  id: number;
  rooms: number;
  /** The `room.view` rule that these rooms share; empty if they leave it to their world. */
  permission_config: { "room.view"?: Rule };
}

interface ViewGroupRow {
  id: number;
  /** As JSON; empty if there is none. */
  rule: string;
  rooms: number;
}

const toViewGroup = ({ id, rule, rooms }: ViewGroupRow): ViewGroup => ({
  id,
  rooms,
  permission_config: rule === "" ? {} : { "room.view": JSON.parse(rule) as Rule },
});

/**
 * The rooms of a world that a caller may see.
 * @param groups all groups of the world.
 * @returns the ids of their groups.
 */
const seenRooms = (
  world: { permission_config: PermissionConfig },
  groups: readonly ViewGroup[],
  traits: RoomSelection["traits"],
): number[] => groups.filter((room) => may({ traits }, SEE, { world, room })).map(({ id }) => id);

/** @param count of the rooms on all pages. */
function toRoomPage(count: number, rows: readonly RoomRow[]): Versioned<RoomPage> {
  const records = rows.map(readRoom);
  const rooms = () => Object.freeze(records.map((it) => it.value));
  return versioned(
    () => Object.freeze({ count, rooms: rooms() }),
    () => `[${records.map(({ json }) => json).join()}]`,
    count,
  );
}

/** How often a list is read again because its world has changed meanwhile. */
const MAX_ATTEMPTS = 5;

/** The largest page that is cached, in characters. */
const MAX_CACHED = 1024 * 1024;

/** The memory of a view group, in characters. */
const GROUP_SIZE = 200;

/** The values that decide who sees the rooms of a world. */
interface View {
  revision: number;
  permission_config: PermissionConfig;
  groups: readonly ViewGroup[];
}

/** A page of rooms as one caller asks for it. */
interface RoomQuery extends RoomFilter {
  world: string;
  revision: number;
  /** The ids of the view groups that the caller may see. */
  groups: number[];
  ordering: RoomOrdering;
  limit: number;
  offset: number;
  /** Where the page begins instead. */
  after: RoomSelection["after"];
}

interface RoomRows {
  count: number;
  rows: RoomRow[];
}

/** One row for each group, or one without a group; the first has the rules of the world. */
const SELECT_VIEW = `SELECT worlds.revision, view_groups.id, rule, rooms,
    CASE WHEN row_number() OVER () = 1 THEN permission_config END AS rules
  FROM worlds LEFT JOIN view_groups ON view_groups.world_id = worlds.id
  WHERE worlds.id = $1`;

interface ViewRow {
  revision: number;
  id: number | null;
  /** As JSON; empty if there is none. */
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

/** The rooms of a query, as a part of statements. */
function fromRooms(sql: Pick<Sql, "engine">, { world, groups, type, search }: RoomQuery) {
  const params: unknown[] = [world, groups];
  // The index of an order includes the group and gives the page without sorting. The condition keeps
  // both engines from selecting the groups and then sorting them. PostgreSQL estimates that a third
  // of all rooms match, so it uses the index for late pages, too.
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

/** Selects columns of a page, in its order. Exported so that a test can see the plan. */
export function pageText(
  sql: Pick<Sql, "engine">,
  query: RoomQuery,
  columns: string,
): { text: string; params: unknown[] } {
  const { text, params } = fromRooms(sql, query);
  const order = ROOM_ORDERS[query.ordering];
  const { after } = query;
  const follows = after ? `AND ${following(order, (i) => `$${params.push(after[i])}`)}` : "";
  // The subselects hide the range from the planner of PostgreSQL.
  const limit = `LIMIT (SELECT CAST($${params.push(query.limit)} AS BIGINT))`;
  const offset = `OFFSET (SELECT CAST($${params.push(query.offset)} AS BIGINT))`;
  return {
    text: `SELECT ${columns} ${text} ${follows} ORDER BY ${order} ${limit} ${offset}`,
    params,
  };
}

/** A row with the values of its page. Of an empty page, it has only these. */
interface PageRow extends RoomRow {
  fits: boolean | number;
  world_revision: number;
  count: number;
}

/** The columns whose size bounds a page. */
const LARGE: readonly string[] = ["description", "module_config", "permission_config"];

const SHOWN = ROOM_NAMES.map((name) => {
  if (name === "domain") return "coalesce(page.domain, worlds.domain) AS domain";
  return LARGE.includes(name) ? `CASE WHEN fits THEN page.${name} END AS ${name}` : `page.${name}`;
}).join();

/**
 * Reads a page, if it is of the same moment as the query.
 * @returns undefined if the world has changed meanwhile.
 * @throws {StoreError} `large`.
 */
async function readPage(sql: Sql, query: RoomQuery): Promise<RoomRows | undefined> {
  // Of a page that is too large, the content is not even sent. A single room is never refused, as no
  // client could ask for less.
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
  // A row of an empty page has no id.
  return { count: first.count, rows: rows.filter(({ id }) => (id as string | null) !== null) };
}

/** Reads who sees the rooms. @returns undefined if there is no such world. */
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

/** Finds out which rooms of a world a caller may see. */
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

/** Reads a page of the moment of its view, which is read again while the world changes. */
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

/** A list that has to look at every room. */
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
    // Another's search may be aborted.
    return pages.read(world, keyOf(query), load, { isShared: !isSearch });
  };
}

/** The key of a page among the pages of all worlds. */
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
