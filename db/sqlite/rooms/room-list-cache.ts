import { isFiltered, toRoomPage } from "../../rules/room-lists.js";
import type {
  RoomPage,
  RoomSelection,
  Versioned,
} from "../../contract/store.js";
import type { ReadCache } from "../engine/read-cache.js";
import type { roomReads } from "./room-reads.js";
import type { Searcher } from "../engine/searcher.js";
import type { worldReads } from "../worlds/world-reads.js";

/** The largest page that is cached, in bytes. */
const MAX_CACHED = 1024 * 1024;

/**
 * The lists of rooms, cached until the next write of any process. Other lists are read
 * here, or in a thread if they have to look at every room.
 */
export function roomListCache(
  cache: ReadCache,
  worlds: ReturnType<typeof worldReads>,
  rooms: ReturnType<typeof roomReads>,
  searcher: Searcher,
) {
  const pages = cache.reads<Versioned<RoomPage>>();

  return {
    /**
     * A page of the rooms of a world. A search runs in the thread, because other
     * requests could not wait for it.
     * @throws {StoreError} `large`, or `busy` when too many searches wait.
     */
    async list(
      worldId: string,
      selection: RoomSelection,
    ): Promise<Versioned<RoomPage>> {
      const world = worlds.get(worldId);
      if (!world) return toRoomPage(0, []);
      const query = rooms.query(world.value, selection);
      const known = pages.find(query.key);
      if (known) return known;
      const { state } = cache;
      const { signal, ...sent } = selection;
      const found = isFiltered(query.filter)
        ? await searcher.run("rooms", [worldId, sent], signal)
        : rooms.readPage(query);
      const made = toRoomPage(found.count, found.rows);
      // The thread read at an unknown moment, so the page is kept only if nothing changed.
      if (found.size <= MAX_CACHED && cache.state === state) {
        pages.keep(query.key, made, 2 * found.size);
      }
      return made;
    },
  };
}
