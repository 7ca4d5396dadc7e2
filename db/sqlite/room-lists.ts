import type { RoomPage, RoomSelection, Versioned } from "../store.js";
import { versionedPage } from "../versions.js";
import type { ReadCache } from "./read-cache.js";
import { isFiltered, type roomReads } from "./room-reads.js";
import { Searcher } from "./searcher.js";
import type { worldReads } from "./world-reads.js";

const NONE = versionedPage({ count: 0, rooms: [] });

/** The lists of rooms, cached until the next write of any process. */
export function roomLists(
  dataDir: string,
  cache: ReadCache,
  worlds: ReturnType<typeof worldReads>,
  rooms: ReturnType<typeof roomReads>,
) {
  const pages = cache.reads<Versioned<RoomPage>>();
  const searcher = new Searcher(dataDir);

  return {
    /**
     * A page of the rooms of a world. A list that has to look at every room, such
     * as a search, runs in a thread, because other requests could not wait for it.
     * @throws {StoreError} `large`, or `busy` when too many searches wait.
     */
    async list(
      worldId: string,
      selection: RoomSelection,
    ): Promise<Versioned<RoomPage>> {
      const world = worlds.get(worldId);
      if (!world) return NONE;
      const query = rooms.query(world.value, selection);
      const known = pages.find(query.key);
      if (known) return known;
      const { state } = cache;
      const { page, size } = isFiltered(query.filter)
        ? await searcher.list(worldId, selection)
        : rooms.readPage(query);
      const made = versionedPage(page);
      // The thread read at an unknown moment, so the page is kept only if nothing changed.
      if (cache.state === state) pages.keep(query.key, made, size);
      return made;
    },

    close: () => searcher.close(),
  };
}
