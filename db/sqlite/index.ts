import { setImmediate } from "node:timers/promises";
import type { OnAppended } from "../log/entries.js";
import { type Author, SERVER } from "../contract/author.js";
import {
  type RoomPage,
  type RowsAtOnce,
  type Store,
  StoreError,
  type Versioned,
  type Visitor,
} from "../contract/store.js";
import { chatReads, chatStore } from "./chat/chat.js";
import { countReads } from "./inspection/count-reads.js";
import {
  LOCK_TIMEOUT,
  openForReading,
  openForWriting,
  type OpeningOptions,
  storeErrorOf,
} from "./engine/database.js";
import { programStore } from "../shared/program/index.js";
import { boundDomains, sqlOn } from "./engine/sql.js";
import { Maintenance } from "./erasure/maintenance.js";
import { logReads } from "./log/log-reads.js";
import { ReadCache } from "./engine/read-cache.js";
import type { Sql } from "../shared/sql.js";
import { roomListCache } from "./rooms/room-list-cache.js";
import { roomReads } from "./rooms/room-reads.js";
import {
  readWholeRoom,
  readWorld,
  toUser,
  wholeRoomIn,
} from "../rules/rows.js";
import { detach } from "../detach.js";
import type { MaintenanceLog } from "../overdue.js";
import { Searcher } from "./engine/searcher.js";
import { userReads } from "./users/user-reads.js";
import type { SentVisitor } from "./users/user-writes.js";
import { worldCopies } from "../copies/world-copies.js";
import { unnamedSource } from "./copies/dump.js";
import { worldReads } from "./worlds/world-reads.js";
import { Writer } from "./engine/writer.js";

export interface SqliteOptions extends OpeningOptions {
  /** The author of writes that name none; the server by default. */
  author?: Author;
  /** Whether the audit is kept; true by default. */
  audits?: boolean;
  /**
   * Gets the entries of each transaction, before the promises of its writes resolve. They
   * also wait for its promise.
   */
  onAppended?: OnAppended;
  /** Whether writes run on the event loop, too, until {@link SqliteStore.serve}; false by default. */
  startsHere?: boolean;
  /** After how long without a write the thread ends, in milliseconds. */
  idle?: number;
  /** Gets lines about erasures that fail, and about long work on the files. */
  maintenance?: MaintenanceLog;
  /** After how long a failing erasure is logged, in milliseconds; a minute by default. */
  overdueAfter?: number;
}

/** A store in a folder. */
export interface SqliteStore extends Store {
  /** From now on, writes run in a thread. */
  serve(): void;
  /** Makes the next read see everything that is committed by now. */
  refresh(): void;
}

/**
 * Opens the store in a folder, and creates or upgrades it first. Reads take
 * microseconds and run on the event loop. Writes wait for the disk and run in a
 * thread, which ends when there are none for a while.
 * @throws {StoreError} `unusable`, with one line for the operator.
 */
export function openSqliteStore(
  dataDir: string,
  options: SqliteOptions = {},
): SqliteStore {
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
    author = SERVER,
    audits = true,
    onAppended = () => undefined,
    startsHere = false,
    idle,
    maintenance: maintenanceLog,
    overdueAfter,
    ...opening
  }: SqliteOptions,
): SqliteStore {
  // It stays open until the reader is open. The last connection that closes deletes
  // the write-ahead log, and a read-only connection cannot create it.
  const migrated = openForWriting(dataDir, opening);
  const db = openForReading(dataDir);
  const cache = new ReadCache(db);
  const writer = new Writer({
    dataDir,
    author,
    audits,
    lockTimeout,
    startsHere,
    ...(idle !== undefined && { idle }),
    onWritten: () => cache.refresh(),
    onAppended,
    onErased: () => maintenance.start(),
  });
  const worlds = worldReads(db, cache);
  const rooms = roomReads(db, cache);
  const searcher = new Searcher(dataDir);
  const lists = roomListCache(cache, worlds, rooms, searcher);
  const users = userReads(db, cache);
  const chat = chatReads(db);
  const log = logReads(db);
  const rowsAtOnce: RowsAtOnce = {
    world: worlds.get,
    room: rooms.get,
    user: (worldId, tokenId) => users.find(worldId, { tokenId }),
  };
  migrated.close();
  let closed = false;
  const sql = sqlOn(db, read);
  const reading = { ...sql, snapshot: <T>(all: (of: Sql) => T) => all(sql) };
  const domains = boundDomains(reading, writer);
  const maintenance = new Maintenance({
    dataDir,
    waiting: writer.waiting,
    hasRemains: () => !closed && read(() => chat.hasRemains()),
    ...(maintenanceLog && { log: maintenanceLog }),
    ...(overdueAfter !== undefined && { overdueAfter }),
  });
  // A killed process may have left work.
  maintenance.start();
  const counts = countReads(db, () => maintenance.age());

  return {
    worlds: {
      get: async (id) => read(() => worlds.get(id)),
      at: async (host) => read(() => worlds.at(host)),
      list: async (selection) => read(() => worlds.list(selection)),
      issuing: async (issuer, audience) =>
        read(() => worlds.issuing(issuer, audience)),
      create: async (world, by) =>
        readWorld(await writer.run("createWorld", by, world)),
      update: async (id, changes, versions, by) =>
        readWorld(await writer.run("updateWorld", by, id, changes, versions)),
      configure: async (id, changes, versions, by) =>
        readWorld(
          await writer.run("configureWorld", by, id, changes, versions),
        ),
      delete: (id, noted, by) => writer.run("deleteWorld", by, id, noted),
      ...worldCopies({
        source: () => unnamedSource(dataDir),
        create: (id, lines, dryRun, by) =>
          writer.run("importWorld", by, id, lines, dryRun),
      }),
    },
    rooms: {
      get: async (worldId, id) => read(() => rooms.get(worldId, id)),
      list: (...args) =>
        new Promise<Versioned<RoomPage>>((resolve) =>
          resolve(read(() => lists.list(...args))),
        ).catch(explain),
      all: async (...args) => read(() => rooms.all(...args)),
      create: async (worldId, draft, by) =>
        readWholeRoom(
          wholeRoomIn(await writer.run("createRoom", by, worldId, draft)),
        ),
      open: async (worldId, draft, by) =>
        readWholeRoom(
          wholeRoomIn(await writer.run("openRoom", by, worldId, draft)),
        ),
      update: async (worldId, id, changes, versions, by) =>
        rooms.written(
          worldId,
          await writer.run("updateRoom", by, worldId, id, changes, versions),
        ),
      schedule: async (worldId, id, data, by) =>
        rooms.written(
          worldId,
          await writer.run("scheduleRoom", by, worldId, id, data),
        ),
      reorder: (worldId, ids, by) =>
        writer.run("reorderRooms", by, worldId, ids),
      delete: (worldId, id, versions, by) =>
        writer.run("deleteRoom", by, worldId, id, versions),
    },
    users: {
      enter: async (worldId, visitor, by) =>
        users.written(
          worldId,
          await writer.run("enterUser", by, worldId, sent(visitor)),
        ),
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
      update: async (worldId, id, changes, by) =>
        users.written(
          worldId,
          await writer.run("updateUser", by, worldId, id, changes),
        ),
      moderateNamed: async (worldId, tokenId, state, by) =>
        users.written(
          worldId,
          await writer.run("moderateNamed", by, worldId, tokenId, state),
        ),
      moderate: async (worldId, id, state, by) =>
        users.written(
          worldId,
          await writer.run("moderateUser", by, worldId, id, state),
        ),
      block: (worldId, id, other, by) =>
        writer.run("blockUser", by, worldId, id, other),
      unblock: (worldId, id, other, by) =>
        writer.run("unblockUser", by, worldId, id, other),
      blocked: async (...args) => read(() => users.blocked(...args)),
      erase: (worldId, name, by) => writer.run("eraseUser", by, worldId, name),
    },
    chat: chatStore(chat, writer, read),
    ...domains,
    program: programStore(domains.program),
    log: {
      heads: (worlds) => readAnew(() => log.heads(worlds)),
      since: (...args) => readAnew(() => log.since(...args)),
      floor: (world) => readAnew(() => log.floor(world)),
      state: () => read(() => cache.state),
      prune: (world, before, audited = 0) =>
        writer.run("pruneLog", undefined, world, before, audited),
    },
    atOnce: (look) => read(() => look(rowsAtOnce)),
    counts: async () => read(counts),
    refresh: () => cache.refresh(),
    serve() {
      detach(writer.serve());
    },
    async close() {
      closed = true;
      db.close();
      await Promise.all([writer.close(), searcher.close()]);
      await maintenance.close();
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

  /** Reads the latest committed state, while the reads of one turn share a state. */
  async function readAnew<T>(run: () => T): Promise<T> {
    await setImmediate();
    return read(run);
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
