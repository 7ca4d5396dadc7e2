import { randomUUID } from "node:crypto";
import {
  type RoomPage,
  type Store,
  StoreError,
  type Versioned,
  type Visitor,
} from "../store.js";
import { announcementReads } from "./announcements.js";
import { chatReads } from "./chat-reads.js";
import { chatStore } from "./chat.js";
import { changeReads, lastChange } from "./changes.js";
import { countReads } from "./count-reads.js";
import {
  LOCK_TIMEOUT,
  openForReading,
  openForWriting,
  type OpeningOptions,
  storeErrorOf,
} from "./database.js";
import { marksIn } from "./erasure-marks.js";
import { fileReads } from "./file-reads.js";
import { pollReads } from "./poll-reads.js";
import { pollStore } from "./polls.js";
import { questionReads } from "./question-reads.js";
import { questionStore } from "./questions.js";
import { ReadCache } from "./read-cache.js";
import { roomListCache } from "./room-list-cache.js";
import { roomReads } from "./room-reads.js";
import { readWholeRoom, readWorld, toUser } from "../rows.js";
import { Searcher } from "./searcher.js";
import { userReads } from "./user-reads.js";
import type { SentVisitor } from "./user-writes.js";
import { copyReads } from "./world-export-import.js";
import { worldReads } from "./world-reads.js";
import { Writer } from "./writer.js";

/** How often the store looks for changes of other origins, in milliseconds. */
const POLL_INTERVAL = 250;

export interface SqliteOptions extends OpeningOptions {
  /**
   * Names a group of processes that share events. `onTouched` does not report what
   * they write. By default this process is a group of its own.
   */
  origin?: string;
  /** Gets the worlds in which processes of another origin changed something. */
  onTouched?: (worlds: string[]) => void;
}

/**
 * Opens the store in a folder, and creates or upgrades it first. Reads take
 * microseconds and run on the event loop. Writes wait for the disk and run in a
 * thread.
 * @throws {StoreError} `unusable`, with one line for the operator.
 */
export function openSqliteStore(
  dataDir: string,
  options: SqliteOptions = {},
): Store {
  try {
    return storeIn(dataDir, options);
  } catch (error) {
    // Any page of the database may be damaged.
    return explain(error);
  }
}

function storeIn(
  dataDir: string,
  {
    lockTimeout = LOCK_TIMEOUT,
    origin = randomUUID(),
    onTouched,
    ...opening
  }: SqliteOptions,
): Store {
  // It stays open until the reader is open. The last connection that closes deletes
  // the write-ahead log, and a read-only connection cannot create it.
  const migrated = openForWriting(dataDir, opening);
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
  const searcher = new Searcher(dataDir);
  const lists = roomListCache(cache, worlds, rooms, searcher);
  const copies = copyReads(db);
  const users = userReads(db, cache);
  const files = fileReads(db);
  const announcements = announcementReads(db);
  const chat = chatReads(db);
  const questions = questionReads(db);
  const polls = pollReads(db);
  const counts = countReads(db);
  migrated.close();
  let closed = false;
  if (marksIn(dataDir).length > 0 || chat.hasRemains()) writer.begin();
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
      update: async (id, changes, versions) =>
        readWorld(await writer.run("updateWorld", id, changes, versions)),
      configure: async (id, changes, versions) =>
        readWorld(await writer.run("configureWorld", id, changes, versions)),
      delete: (id, noted) =>
        erasing(() => writer.run("deleteWorld", id, noted)),
      export: async (id, { history = false, votes = true } = {}) =>
        read(() => copies.exportWorld(id, history, votes)),
      import: async (copy, { dryRun = false } = {}) =>
        readWorld(await writer.run("importWorld", copy, dryRun)),
    },
    rooms: {
      get: async (worldId, id) => read(() => rooms.get(worldId, id)),
      list: (...args) =>
        new Promise<Versioned<RoomPage>>((resolve) =>
          resolve(read(() => lists.list(...args))),
        ).catch(explain),
      all: async (...args) => read(() => rooms.all(...args)),
      create: async (worldId, draft) =>
        readWholeRoom(await writer.run("createRoom", worldId, draft)),
      open: async (worldId, draft) =>
        readWholeRoom(await writer.run("openRoom", worldId, draft)),
      update: async (worldId, id, changes, versions) =>
        rooms.written(
          worldId,
          await writer.run("updateRoom", worldId, id, changes, versions),
        ),
      schedule: async (worldId, id, data) =>
        rooms.written(
          worldId,
          await writer.run("scheduleRoom", worldId, id, data),
        ),
      reorder: (worldId, ids) => writer.run("reorderRooms", worldId, ids),
      delete: (worldId, id, versions) =>
        writer.run("deleteRoom", worldId, id, versions),
    },
    users: {
      enter: async (worldId, visitor) =>
        toUser(await writer.run("enterUser", worldId, sent(visitor))),
      get: async (...args) => read(() => users.get(...args)),
      find: async (...args) => read(() => users.find(...args)),
      getMany: async (...args) => read(() => users.getMany(...args)),
      byPretalx: async (...args) => read(() => users.byPretalx(...args)),
      async search(worldId, search, signal) {
        const { count, rows } = await searcher.run(
          "users",
          [worldId, search],
          signal,
        );
        return { count, users: rows.map(toUser) };
      },
      list: async (...args) => read(() => users.list(...args)),
      update: async (worldId, id, changes) =>
        users.written(
          worldId,
          await writer.run("updateUser", worldId, id, changes),
        ),
      moderate: async (worldId, id, state) =>
        users.written(
          worldId,
          await writer.run("moderateUser", worldId, id, state),
        ),
      block: (worldId, id, other) =>
        writer.run("blockUser", worldId, id, other),
      unblock: (worldId, id, other) =>
        writer.run("unblockUser", worldId, id, other),
      blocked: async (...args) => read(() => users.blocked(...args)),
      erase: (worldId, name) =>
        erasing(() => writer.run("eraseUser", worldId, name)),
    },
    chat: chatStore(chat, writer, read, erasing),
    questions: questionStore(questions, writer, read, erasing),
    polls: pollStore(polls, writer, read),
    announcements: {
      list: async (worldId) => read(() => announcements.list(worldId)),
      create: (worldId, draft) =>
        writer.run("createAnnouncement", worldId, draft),
      update: (worldId, id, changes) =>
        writer.run("updateAnnouncement", worldId, id, changes),
    },
    files: {
      add: (worldId, visitor, ...args) =>
        writer.run("addFile", worldId, sent(visitor), ...args),
      has: async (key) => read(() => files.has(key)),
      get: async (...args) => read(() => files.get(...args)),
      list: async (...args) => read(() => files.list(...args)),
      keys: async (worldId) => read(() => files.keys(worldId)),
      delete: (...args) => erasing(() => writer.run("deleteFile", ...args)),
      size: async (worldId) => read(() => files.size(worldId)),
    },
    counts: async () => read(counts),
    async close() {
      closed = true;
      stopWatching?.();
      db.close();
      await Promise.all([writer.close(), searcher.close()]);
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

  /** A search may read for so long that the log could not be emptied of what is erased. */
  async function erasing<T>(write: () => Promise<T>): Promise<T> {
    const resume = searcher.pause();
    try {
      return await write();
    } finally {
      resume();
    }
  }

  /** @returns a function that ends the watch. */
  function watch(onChanges: (worlds: string[]) => void): () => void {
    const changes = changeReads(db, origin, known);
    let state: number | undefined;
    const timer = setInterval(() => {
      try {
        if (cache.state === state) return;
        ({ state } = cache);
        const worlds = changes();
        if (worlds.length > 0) onChanges(worlds);
      } catch {
        // The fault may be temporary, and requests report it.
      }
    }, POLL_INTERVAL).unref();
    return () => clearInterval(timer);
  }
}

/** A visitor as it travels to the writer thread. */
const sent = ({ traits, ...visitor }: Visitor): SentVisitor => ({
  traits: [...traits],
  ...visitor,
});

function explain(error: unknown): never {
  throw storeErrorOf(error) ?? error;
}
