import { isFiltered, toRoomPage } from "../../rules/room-lists.js";
import {
  type RoomPage,
  type RoomSelection,
  type RoomStore,
  StoreError,
  type Versioned,
} from "../../contract/store.js";
import type { Database } from "../engine/database.js";
import {
  keyOf,
  queryOf,
  readPage,
  readView,
  type RoomQuery,
  type RoomRows,
  type View,
} from "./room-reads.js";

/** How often a list is read again because its world has changed meanwhile. */
const MAX_ATTEMPTS = 5;

/** The largest page that is cached, in characters. */
const MAX_CACHED = 1024 * 1024;

/** The memory of a view group, in characters. */
const GROUP_SIZE = 200;

/** The lists of rooms, which are cached. Lists that have to look at every room take turns. */
export function roomLists(db: Database): RoomStore["list"] {
  const { sql, caches, searches } = db;
  const views = caches.rooms.reads<View | undefined>();
  const pages = caches.rooms.reads<Versioned<RoomPage>>();

  const viewOf = (world: string) =>
    views.read(world, world, async () => {
      const value = await readView(sql, world);
      const size = GROUP_SIZE * (value?.groups.length ?? 0);
      return { value, size };
    });

  /** Reads a page of the moment of its view. */
  async function read(
    query: RoomQuery,
    selection: RoomSelection,
  ): Promise<RoomRows> {
    let found = await readPage(sql, query);
    for (let i = 1; !found; i++) {
      if (i === MAX_ATTEMPTS) {
        throw new StoreError("busy", "The world changes all the time.");
      }
      // The cached view may be older than the rooms.
      const view = await readView(sql, query.world);
      if (!view) return { count: 0, rows: [] };
      found = await readPage(sql, queryOf(query.world, view, selection));
    }
    return found;
  }

  /** Several statements read all rooms, and so at one moment. */
  const search = (
    world: string,
    selection: RoomSelection,
  ): Promise<RoomRows> => {
    const run = () =>
      db.snapshot(async (sql) => {
        const view = await readView(sql, world);
        const found =
          view && (await readPage(sql, queryOf(world, view, selection)));
        return found ?? { count: 0, rows: [] };
      });
    return searches.run("rooms", world, run, selection.signal);
  };

  return async (world, selection) => {
    const view = views.find(world, world) ?? (await viewOf(world));
    if (!view) return toRoomPage(0, []);
    const query = queryOf(world, view, selection);
    const key = keyOf(query);
    const known = pages.find(world, key);
    if (known) return known;
    const isSearch = isFiltered(query);
    return pages.read(
      world,
      key,
      async () => {
        const found = isSearch
          ? await search(world, selection)
          : await read(query, selection);
        const size = sizeOf(found);
        return {
          value: toRoomPage(found.count, found.rows),
          size: size > MAX_CACHED ? Infinity : 2 * size,
        };
      },
      // Another's search may be aborted.
      !isSearch,
    );
  };
}

const sizeOf = ({ rows }: RoomRows): number =>
  rows.reduce(
    (size, { description, module_config, permission_config }) =>
      size +
      description.length +
      module_config.length +
      permission_config.length,
    0,
  );
