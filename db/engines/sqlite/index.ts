import type { Database as Connection } from "better-sqlite3";
import { CachedReads, type Freshness } from "../../cache.js";
import { type Author, SERVER } from "../../contract/author.js";
import type { AnyEvent } from "../../contract/events.js";
import { type Store, StoreError } from "../../contract/store.js";
import { worldCopies } from "../../copies/world-copies.js";
import { chatStore } from "../../domains/chat/chat.js";
import type { CachedKind, Reading } from "../../domains/domain.js";
import { programStore } from "../../domains/program/program.js";
import { roomStore } from "../../domains/rooms/rooms.js";
import { userStore } from "../../domains/users/users.js";
import { worldStore } from "../../domains/worlds/worlds.js";
import {
  countsIn,
  ErasureJob,
  type MaintenanceLog,
  oldestErasure,
} from "../../erasure/erasure-job.js";
import type { OnAppended } from "../../log/entries.js";
import { type Clock, detach, nextTurn, processClock } from "../../runtime.js";
import { memorySource, unnamedSource } from "./copies/sqlite-dump.js";
import { OwnSearcher, Searcher } from "./engine/searcher.js";
import {
  bytesOf,
  LOCK_TIMEOUT_MS,
  openForReading,
  openForWriting,
  type OpeningOptions,
  storeErrorOf,
} from "./engine/sqlite-database.js";
import { boundDomains, ReadTurns, sqlOn } from "./engine/sqlite-sql.js";
import type { StartRunner } from "./engine/write-runner.js";
import { Writer } from "./engine/writer.js";
import { ThreadedEraser } from "./erasure/threaded-eraser.js";
import { logReads } from "./log/log-reads.js";

export interface SqliteOptions extends OpeningOptions {
  clock?: Clock;
  /** Starts the runner that executes writes. A simulation passes its own function. */
  runner?: StartRunner;
  /** The author of writes that name no author; the server by default. */
  author?: Author;
  /** Whether to record audit entries; true by default. */
  audits?: boolean;
  /** Receives each transaction's entries. The promises for the transaction's writes wait for the returned promise. */
  onAppended?: OnAppended;
  /** Whether writes, too, run on the event loop until {@link SqliteStore.serve} is called; false by default. */
  startsHere?: boolean;
  /** Time without writes after which the thread ends, in milliseconds. */
  idle?: number;
  /** Receives lines about failing erasures, and about long-running work on the database files. */
  maintenance?: MaintenanceLog;
  /** Time after which a failing erasure is logged, in milliseconds; a minute by default. */
  overdueAfter?: number;
}

export interface SqliteStore extends Store {
  /** Runs all subsequent writes in a separate thread, unless the database is in memory. */
  serve(): void;
  /** Makes the next read see everything committed so far. If the event erases a user, cached users are evicted. */
  refresh(event: AnyEvent): void;
}

/**
 * Opens the store in a folder, after creating or upgrading the database if necessary. Reads take
 * microseconds and run on the event loop. Writes wait for the disk and run in a separate thread,
 * which ends after a period without writes.
 * @param place the folder, or a connection to an in-memory database, which the caller closes.
 * Writes to an in-memory database also run on the event loop.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export function openSqliteStore(
  place: string | Connection,
  options: SqliteOptions = {},
): SqliteStore {
  try {
    return storeIn(place, options);
  } catch (error) {
    // Even opening a database may read a damaged page.
    return explain(error);
  }
}

function storeIn(
  place: string | Connection,
  {
    clock = processClock,
    runner,
    lockTimeout = LOCK_TIMEOUT_MS,
    author = SERVER,
    audits = true,
    onAppended = () => undefined,
    startsHere = false,
    idle,
    maintenance,
    overdueAfter,
    ...opening
  }: SqliteOptions,
): SqliteStore {
  const memory = typeof place === "string" ? undefined : place;
  const dataDir = typeof place === "string" ? place : "";
  // This connection stays open until the reader is open: the last connection to close deletes the
  // write-ahead log, and a read-only connection cannot create the log.
  const migrated = memory ? undefined : openForWriting(dataDir, opening);
  const db = memory ?? openForReading(dataDir);
  const turns = new ReadTurns(db);
  const writer = new Writer({
    clock,
    dataDir,
    author,
    audits,
    lockTimeout,
    startsHere: startsHere || (memory !== undefined && !runner),
    ...(memory && { memory }),
    ...(runner && { runner }),
    ...(idle !== undefined && { idle }),
    onWritten: () => turns.refresh(),
    onAppended(hints) {
      for (const { entry } of hints) forget(entry);
      return onAppended(hints);
    },
    onErased: () => erasing?.soon(),
  });
  const searcher = memory ? new OwnSearcher(memory) : new Searcher(dataDir);
  migrated?.close();
  let closed = false;
  const sql = sqlOn(db, read);
  const seen = () => turns.seen;
  const freshness: Freshness = {
    state: () => read(seen),
    isCurrent: () => true,
    follow: () => undefined,
    forget: () => undefined,
  };
  const ofUsers: { clear(): void }[] = [];
  const reading: Reading = {
    ...sql,
    snapshot: (all) => all(sql),
    cached<V>(kind: CachedKind, size?: number) {
      const made = new CachedReads<V>(freshness, size);
      if (kind === "users") ofUsers.push(made);
      return made;
    },
    search: (...args) => searcher.run(...args),
  };
  const { copies, ...domains } = boundDomains(reading, writer);
  const log = logReads(db, sql);
  // An in-memory database has no files from which erased bytes must be removed.
  const erasing = memory
    ? undefined
    : new ErasureJob(
        new ThreadedEraser({ dataDir, waiting: writer.waiting }, () => oldestErasure(sql)),
        { log: maintenance, overdueAfter },
      );

  return {
    ...domains,
    worlds: {
      ...worldStore(domains.worlds),
      ...worldCopies({
        source: async () => (memory ? memorySource(memory) : unnamedSource(dataDir)),
        store: copies,
      }),
    },
    rooms: roomStore(domains.rooms),
    users: userStore(domains.users),
    chat: chatStore(domains.chat),
    program: programStore(domains.program),
    log: {
      heads: (worlds) => readAnew(() => log.heads(worlds)),
      since: (...args) => readAnew(() => log.since(...args)),
      floor: (world) => readAnew(() => log.floor(world)),
      state: () => read(seen),
      prune: (world, before, audited = 0) =>
        writer.run("pruneLog", undefined, world, before, audited),
    },
    counts: () => countsIn(sql, () => bytesOf(db)),
    refresh(event) {
      turns.refresh();
      forget(event);
    },
    serve() {
      if (!memory) detach(writer.serve());
    },
    async close() {
      closed = true;
      if (!memory) db.close();
      await Promise.all([writer.close(), searcher.close()]);
      await erasing?.close();
    },
  };

  function forget(event: AnyEvent): void {
    // Nothing about an erased user may stay in memory, not even names.
    if (event.type === "user.erased") for (const cached of ofUsers) cached.clear();
  }

  function read<T>(run: () => T): T {
    if (closed) throw new StoreError("unusable", "The store is closed.");
    try {
      turns.enter();
      return run();
    } catch (error) {
      return explain(error);
    }
  }

  /** Reads the latest committed state. Waits for a new turn, because all reads in one turn share a state. */
  async function readAnew<T>(run: () => T | Promise<T>): Promise<T> {
    await nextTurn(clock);
    return read(run);
  }
}

function explain(error: unknown): never {
  throw storeErrorOf(error) ?? error;
}
