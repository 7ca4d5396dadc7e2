import { randomUUID } from "node:crypto";
import {
  type RoomPage,
  type Store,
  StoreError,
  type Versioned,
} from "../store.js";
import { changeReads, lastChange } from "./changes.js";
import { countReads } from "./count-reads.js";
import {
  LOCK_TIMEOUT,
  openForReading,
  openForWriting,
  storeErrorOf,
} from "./database.js";
import { fileReads, userReads } from "./user-reads.js";
import { marksIn } from "./erasures.js";
import { ReadCache } from "./read-cache.js";
import { roomLists } from "./room-lists.js";
import { roomReads } from "./room-reads.js";
import { readRoom, readWorld } from "./rows.js";
import { copyReads } from "./world-copies.js";
import { worldReads } from "./world-reads.js";
import { Writer } from "./writer.js";

/** How often the changes of other origins are looked for, in milliseconds. */
const POLL_INTERVAL = 250;

export interface SqliteOptions {
  /** Is told in one line of an upgrade that was made. */
  log?: (line: string) => void;
  /** How long a write waits for the lock of another process, in milliseconds. */
  lockTimeout?: number;
  /**
   * Names the processes that share their events: a store tells nobody of what
   * they write. By default this process shares with none.
   */
  origin?: string;
  /** Is told of worlds in which processes of another origin changed something. */
  onTouched?: (worlds: string[]) => void;
}

/**
 * Opens the store in a folder, and creates or upgrades it first. Reads run on the
 * event loop, as they take microseconds; writes run in a thread, as they wait for
 * the disk.
 * @throws {StoreError} `unusable`, with one line for the operator.
 */
export function openSqliteStore(
  dataDir: string,
  {
    log,
    lockTimeout = LOCK_TIMEOUT,
    origin = randomUUID(),
    onTouched,
  }: SqliteOptions = {},
): Store {
  // It stays open until the reader is there: the last connection to close would
  // delete the write-ahead log, which a read-only connection cannot create.
  const migrated = openForWriting(dataDir, log);
  const db = openForReading(dataDir);
  const cache = new ReadCache(db);
  const known = lastChange(db);
  const writer = new Writer({
    dataDir,
    origin,
    known,
    lockTimeout,
    onWritten: () => cache.refresh(),
    onTouched: (worlds) => onTouched?.(worlds),
  });
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
  const stopWatching = onTouched && watch(onTouched);

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
      list: (...args) =>
        new Promise<Versioned<RoomPage>>((resolve) =>
          resolve(read(() => lists.list(...args))),
        ).catch(explain),
      create: async (...args) =>
        readRoom(await writer.run("createRoom", ...args)),
      update: async (...args) =>
        rooms.written(args[0], await writer.run("updateRoom", ...args)),
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
    async close() {
      closed = true;
      stopWatching?.();
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
      return explain(error);
    }
  }

  /** @returns a function that ends the watch. */
  function watch(tell: (worlds: string[]) => void): () => void {
    const changes = changeReads(db, origin, known);
    let state: number | undefined;
    const timer = setInterval(() => {
      try {
        if (cache.state === state) return;
        ({ state } = cache);
        const worlds = changes();
        if (worlds.length > 0) tell(worlds);
      } catch {
        // What keeps the database from being read may pass; requests report it.
      }
    }, POLL_INTERVAL).unref();
    return () => clearInterval(timer);
  }
}

function explain(error: unknown): never {
  throw storeErrorOf(error) ?? error;
}
