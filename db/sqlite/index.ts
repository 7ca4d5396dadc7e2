import {
  type RoomPage,
  type RoomSelection,
  type Store,
  StoreError,
} from "../store.js";
import { countReads } from "./count-reads.js";
import { openForReading, openForWriting, storeErrorOf } from "./database.js";
import { fileReads, userReads } from "./user-reads.js";
import { marksIn } from "./erasures.js";
import { roomReads } from "./room-reads.js";
import { toRoom, toWorld, versioned } from "./rows.js";
import { Snapshot } from "./snapshot.js";
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
  const snapshot = new Snapshot(db);
  const writer = new Writer(dataDir, () => snapshot.lookAgain());
  const worlds = worldReads(db, snapshot);
  const rooms = roomReads(db, snapshot);
  const copies = copyReads(db);
  const users = userReads(db);
  const files = fileReads(db);
  const counts = countReads(db);
  const listRooms = (
    worldId: string,
    selection: RoomSelection,
  ): RoomPage | undefined => {
    const world = worlds.get(worldId);
    return world ? rooms.list(world, selection) : { count: 0, rooms: [] };
  };
  const readRooms = db.transaction((...args: Parameters<typeof listRooms>) => {
    snapshot.lookAgain();
    return listRooms(...args)!;
  });
  migrated.close();
  let closed = false;
  if (marksIn(dataDir).length > 0) writer.begin();

  return {
    worlds: {
      get: async (id) => read(() => worlds.get(id)),
      at: async (host) => read(() => worlds.at(host)),
      list: async () => read(() => worlds.list()),
      issuing: async (issuer, audience) =>
        read(() => worlds.issuing(issuer, audience)),
      create: async (world) =>
        versioned(await writer.run("createWorld", world), toWorld),
      update: async (...args) =>
        versioned(await writer.run("updateWorld", ...args), toWorld),
      delete: (id) => writer.run("deleteWorld", id),
      export: async (id) => read(() => copies.exportWorld(id)),
      import: async (copy, { dryRun = false } = {}) =>
        versioned(await writer.run("importWorld", copy, dryRun), toWorld),
    },
    rooms: {
      get: async (worldId, id) => read(() => rooms.get(worldId, id)),
      list: async (...args) =>
        read(() => listRooms(...args) ?? readRooms(...args)),
      create: async (...args) =>
        versioned(await writer.run("createRoom", ...args), toRoom),
      update: async (...args) =>
        rooms.changed(args[0], await writer.run("updateRoom", ...args)),
      delete: (...args) => writer.run("deleteRoom", ...args),
    },
    users: {
      list: async (...args) => read(() => users.list(...args)),
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
      get: async (...args) => read(() => files.get(...args)),
      list: async (...args) => read(() => files.list(...args)),
      keys: async (worldId) => read(() => files.keys(worldId)),
      delete: (...args) => writer.run("deleteFile", ...args),
      size: async (worldId) => read(() => files.size(worldId)),
    },
    counts: async () => read(counts),
    lookOnce: () => snapshot.lookOnce(),
    lookAgain: () => snapshot.lookAgain(),
    async close() {
      closed = true;
      db.close();
      await writer.close();
    },
  };

  function read<T>(run: () => T): T {
    if (closed) throw new StoreError("unusable", "The store is closed.");
    try {
      return run();
    } catch (error) {
      throw storeErrorOf(error) ?? error;
    }
  }
}
