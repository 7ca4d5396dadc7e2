import { type Store, StoreError } from "../store.js";
import { countReads } from "./count-reads.js";
import { openForReading, openForWriting, storeErrorOf } from "./database.js";
import { fileReads, userReads } from "./user-reads.js";
import { marksIn } from "./erasures.js";
import { ReadCache } from "./read-cache.js";
import { roomLists } from "./room-lists.js";
import { roomReads } from "./room-reads.js";
import { readRoom, readWorld } from "./rows.js";
import { copyReads } from "./world-copies.js";
import { worldReads } from "./world-reads.js";
import { Writer } from "./writer.js";

/**
 * Opens the store in a folder, and makes it or brings it up to date first.
 * Reads run here and now, as they take microseconds; writes in a thread of
 * their own, as they wait for the disk.
 * @param tell is told in one line of an upgrade that was made.
 * @throws {StoreError} `unusable`, with one line for the operator.
 */
export function openSqliteStore(
  dataDir: string,
  tell?: (line: string) => void,
): Store {
  // Migrates, and stays open until the reader is there: the last connection to
  // close would take away the write-ahead log that a read-only one needs.
  const migrated = openForWriting(dataDir, tell);
  const db = openForReading(dataDir);
  const cache = new ReadCache(db);
  const writer = new Writer(dataDir, () => cache.refresh());
  const worlds = worldReads(db, cache);
  const rooms = roomReads(db, cache);
  const lists = roomLists(dataDir, cache, worlds, rooms);
  const copies = copyReads(db);
  const users = userReads(db);
  const files = fileReads(db);
  const counts = countReads(db);
  migrated.close();
  let closed = false;
  if (marksIn(dataDir).length > 0) writer.begin();

  return {
    worlds: {
      get: async (id) => read(() => worlds.get(id)),
      at: async (host) => read(() => worlds.at(host)),
      list: async (selection) => read(() => worlds.list(selection)),
      issuing: async (issuer, audience) =>
        read(() => worlds.issuing(issuer, audience)),
      create: async (world) =>
        readWorld(await writer.run("createWorld", world)),
      update: async (...args) =>
        readWorld(await writer.run("updateWorld", ...args)),
      delete: (id) => writer.run("deleteWorld", id),
      export: async (id) => read(() => copies.exportWorld(id)),
      import: async (copy, { dryRun = false } = {}) =>
        readWorld(await writer.run("importWorld", copy, dryRun)),
    },
    rooms: {
      get: async (worldId, id) => read(() => rooms.get(worldId, id)),
      list: async (...args) => read(() => lists.list(...args)),
      create: async (...args) =>
        readRoom(await writer.run("createRoom", ...args)),
      update: async (...args) =>
        rooms.written(args[0], await writer.run("updateRoom", ...args)),
      delete: (...args) => writer.run("deleteRoom", ...args),
    },
    users: {
      list: async (worldId) => read(() => users.list(worldId)),
      erase: (...args) => writer.run("eraseUser", ...args),
    },
    files: {
      add: (worldId, { traits, ...uploader }, ...args) =>
        writer.run(
          "addFile",
          worldId,
          { ...uploader, traits: [...traits] },
          ...args,
        ),
      has: async (key) => read(() => files.has(key)),
      list: async (worldId) => read(() => files.list(worldId)),
      size: async (worldId) => read(() => files.size(worldId)),
    },
    counts: async () => read(counts),
    async close() {
      closed = true;
      db.close();
      await Promise.all([writer.close(), lists.close()]);
    },
  };

  function read<T>(run: () => T): T {
    if (closed) throw new StoreError("unusable", "The store is closed.");
    try {
      cache.enter();
      return run();
    } catch (error) {
      throw storeErrorOf(error) ?? error;
    }
  }
}
