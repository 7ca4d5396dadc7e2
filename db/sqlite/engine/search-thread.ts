import { parentPort, workerData } from "node:worker_threads";
import { toFault } from "./write-calls.js";
import { openForReading, storeErrorOf } from "./database.js";
import { ReadCache } from "./read-cache.js";
import { roomReads } from "../rooms/room-reads.js";
import type { Search, Searches, SearchResult } from "./searcher.js";
import { userSearch } from "../users/user-search.js";
import { worldReads } from "../worlds/world-reads.js";

// The thread that reads lists which have to look at every room or user. It computes the rights of
// the caller itself, so that rights and rooms belong to one state.

const port = parentPort!;
const { dataDir } = workerData as { dataDir: string };
const db = openForReading(dataDir);
const cache = new ReadCache(db);
const worlds = worldReads(db, cache);
const rooms = roomReads(db, cache);
const searches: Searches = {
  rooms(worldId, selection) {
    const world = worlds.get(worldId);
    if (!world) return { count: 0, rows: [], size: 0 };
    return rooms.readPage(rooms.query(world.value, selection));
  },
  users: userSearch(db),
};

port.on("message", (search: Search) => {
  port.postMessage(runSearch(search));
  // The next search must see the writes in the meantime.
  cache.refresh();
});

function runSearch({ what, args }: Search): SearchResult {
  try {
    cache.enter();
    return (searches[what] as (...args: unknown[]) => SearchResult)(...args);
  } catch (error) {
    const { problem, message } = storeErrorOf(error) ?? toFault(error);
    return { problem, message };
  }
}
