import type pg from "pg";
import type { DatabaseOptions } from "../../../choice.js";
import { type Author, SERVER } from "../../../contract/author.js";
import type { PoolHealth } from "../../../contract/engines.js";
import { StoreError } from "../../../contract/store.js";
import type { Sql } from "../../../domains/domain.js";
import { SearchQueue } from "../../../domains/searches.js";
import type { MaintenanceLog } from "../../../erasure/erasure-job.js";
import { INDEX, type LogPosition } from "../../../log/entries.js";
import type { LogEvents } from "../../../log/log-events.js";
import { detach } from "../../../runtime.js";
import { type Log, TransactionEffects, raiseLost, type EntryAuthor } from "../log/postgres-log.js";
import { join, MonitoredConnection, type ServerMembership } from "./membership.js";
import {
  clientOf,
  configOf,
  end,
  withQueryTimeout,
  lineOf,
  open,
  refusal,
  storeErrorOf,
} from "./pg-client.js";
import { DEADLINES, Pool, prepare } from "./pool.js";
import { Caches } from "./postgres-cache.js";
import { sqlOn } from "./postgres-sql.js";
import { upgrade, type SchemaUpgradeOptions } from "./postgres-upgrade.js";
import { type Job, WriteQueues, transact, type TransactionOptions } from "./transaction.js";

/** Maximum number of concurrent searches per process. Each search keeps one of the database's CPUs busy. */
const MAX_SEARCHES = 2;

/** Timeout for each statement in an upgrade. */
const UPGRADE_TIMEOUT_MS = 3_600_000;

/** A write, which must not have effects outside the database. */
export type Write<T> = (sql: Sql, log: Log) => Promise<T>;

interface OpenOptions extends SchemaUpgradeOptions {
  /** The default author of writes; the server if omitted. */
  author?: Author;
  /** Whether to record audit entries; true by default. */
  audits?: boolean | undefined;
  /** Receives messages about failed erasures. */
  maintenance?: MaintenanceLog | undefined;
}

/** A PostgreSQL database: its connections, its writes, and its caches. */
export class Database {
  /** The installation's id, which all nodes share. */
  readonly id: string;
  readonly caches = new Caches();
  /** Called after each write in this process that erased something. */
  onErased: () => void = () => {};
  /** The queue for reads that may scan all of a world's rows in a table. */
  readonly searches = new SearchQueue(MAX_SEARCHES);
  /** Runs independent statements. Each statement sees everything that has been committed. */
  readonly sql: Sql;
  readonly #link: MonitoredConnection;
  readonly #pool: Pool;
  readonly #lanes: WriteQueues;
  readonly #writing: TransactionOptions;
  #membership: ServerMembership | undefined;
  #events: LogEvents | undefined;
  #closed = false;
  #wasLost = false;
  /** Writes and snapshots in flight. */
  readonly #working = new Set<Promise<unknown>>();

  private constructor(
    id: string,
    readonly url: string,
    config: pg.ClientConfig,
    size: number,
    writing: TransactionOptions,
    warn: (line: string) => void,
    readonly maintenanceLog: MaintenanceLog | undefined,
  ) {
    this.id = id;
    this.#writing = writing;
    // A write holds a connection while it waits for its world's lock, so half of the pool is
    // reserved for reads.
    this.#lanes = new WriteQueues(Math.ceil(size / 2), (world, batch) =>
      this.#transact(world, batch),
    );
    this.#pool = new Pool(config, size, () => this.isUp);
    this.#link = new MonitoredConnection(config, {
      prepare: async (client) => {
        await prepare(client);
        if (this.#membership) await join(client, this.#membership);
        await raiseLost(client, this.#seen());
      },
      up: () => {
        if (this.#wasLost) warn("PostgreSQL is back");
        this.#wasLost = false;
      },
      down: (cause) => {
        this.#wasLost = true;
        warn(`PostgreSQL is lost: ${lineOf(cause)}`);
        this.caches.forgetAll();
        this.#pool.drop();
      },
    });
    this.sql = sqlOn((query) =>
      this.#closed ? Promise.reject(closed()) : this.#pool.query(query),
    );
  }

  /**
   * Connects, and creates or upgrades the tables.
   * @param warn called with one line when the connection to the database is lost, and when it is
   * restored.
   * @throws {StoreError} `unusable`, with a one-line message for the operator. The message omits
   * the password.
   */
  static async open(
    { url, pool }: DatabaseOptions,
    { author = SERVER, audits = true, maintenance, ...options }: OpenOptions,
    warn: (line: string) => void = () => {},
  ): Promise<Database> {
    try {
      const config = configOf(url);
      const client = clientOf({ ...config, query_timeout: UPGRADE_TIMEOUT_MS });
      let id: string;
      try {
        await open(client);
        id = await upgrade(client, options);
      } finally {
        await end(client);
      }
      const database = new Database(id, url, config, pool, { author, audits }, warn, maintenance);
      await database.#link.open();
      return database;
    } catch (error) {
      throw refusal(url, error);
    }
  }

  /**
   * Joins as a serving node.
   * @throws {StoreError} `unusable` if the other nodes have different settings.
   */
  async join(membership: ServerMembership, url: string): Promise<void> {
    // The lock belongs to the link's connection, and is reacquired when the link reconnects.
    this.#membership = membership;
    try {
      await this.#link.with((client) => join(client, membership));
    } catch (error) {
      throw refusal(url, error);
    }
  }

  /**
   * Attaches the follower of this database's logs; must be called before the follower has other
   * listeners. From then on, the follower receives the entries written here, and reads of worlds,
   * rooms and users are cached.
   */
  follow(events: LogEvents): void {
    this.#events = events;
    this.caches.follow(events);
  }

  get isUp(): boolean {
    return this.#link.isUp;
  }

  get connections(): PoolHealth {
    return this.#pool.health;
  }

  /**
   * Runs several statements on one snapshot.
   * @param deadline timeout for each statement, in milliseconds.
   */
  snapshot<T>(read: (sql: Sql) => Promise<T>, deadline = DEADLINES.statement): Promise<T> {
    return this.#work(() =>
      this.#pool.with(async (client) => {
        const within = (query: pg.QueryConfig): Promise<pg.QueryResult> =>
          client.query({ ...query, ...withQueryTimeout(query.text, deadline) });
        const begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
        await within({ text: begin });
        const result = await read(sqlOn(within));
        await within({ text: "COMMIT" });
        return result;
      }),
    );
  }

  /** Returns an {@link Sql} with a short timeout for callers that retry. @param deadline in milliseconds. */
  soon(deadline: number): Sql {
    return sqlOn((query) =>
      this.#pool.query({ ...query, ...withQueryTimeout(query.text, deadline) }),
    );
  }

  /**
   * Runs a write to a world. Writes to one world are serialized across all nodes, so a write may
   * read, decide, and write. Waiting writes are batched into one transaction, but each write
   * succeeds or fails independently.
   * @param by the author.
   * @throws {StoreError} any error that `run` throws, or a problem with the store.
   */
  write<T>(world: string, run: Write<T>, by?: Author): Promise<T> {
    return this.#enqueue(world, run, { by, all: false });
  }

  /**
   * Like {@link write}, but serialized across all worlds. Used to create, import or delete a world,
   * or to change a world's domain.
   */
  writeAll<T>(world: string, run: Write<T>, by?: Author): Promise<T> {
    return this.#enqueue(world, run, { by, all: true });
  }

  /** Removes dead row versions from tables. */
  vacuum(tables: readonly string[]): Promise<void> {
    return this.#pool.alone(`VACUUM ${tables.join(", ")}`);
  }

  /** Rebuilds an index, so that it no longer holds values from dead rows. */
  reindex(index: string): Promise<void> {
    return this.#pool.alone(`REINDEX INDEX ${index}`);
  }

  /** Resolves once the writes and snapshots in flight have settled. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#working);
  }

  /** Finishes the work in flight, then closes all connections. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.settled();
    this.caches.close();
    const { isUp } = this;
    await this.#link.close();
    await this.#pool.close(isUp);
  }

  #enqueue<T>(world: string, run: Write<T>, how: { by: EntryAuthor; all: boolean }): Promise<T> {
    return this.#work(
      () =>
        new Promise<T>((resolve, reject) => {
          const settle = resolve as (result: unknown) => void;
          this.#lanes.add(world, { run, ...how, resolve: settle, reject });
        }),
    );
  }

  async #transact(world: string, jobs: readonly Job[]): Promise<void> {
    const noted = new TransactionEffects();
    try {
      const { hints, settle } = await this.#pool.with((client) =>
        transact(client, world, jobs, this.#writing, noted),
      );
      if (noted.erased.size > 0) this.onErased();
      for (const { entry } of hints) this.caches.forget(entry);
      const applied = hints.length > 0 ? this.#events?.appended(hints) : undefined;
      // Do not wait, so that the next writes to the world can proceed.
      if (applied) detach(applied.then(settle, settle));
      else settle();
    } catch (error) {
      const fault = storeErrorOf(error) ?? error;
      if (fault instanceof StoreError && fault.problem === "doubtful") {
        // If the commit did succeed, a retry would find nothing left to erase and would not call
        // `onErased`.
        if (noted.erased.size > 0) this.onErased();
        this.#doubts(world);
      }
      for (const { reject } of jobs) reject(fault);
    }
  }

  /** Handles a write in this process that may or may not have been committed. */
  #doubts(world: string): void {
    for (const one of [world, INDEX]) {
      this.caches.forgetWorld(one);
      this.#events?.readNew(one);
    }
  }

  /** Returns the last entries that this process has seen, by world. */
  #seen(): ReadonlyMap<string, LogPosition> {
    return this.#events?.seen() ?? new Map<string, LogPosition>();
  }

  #work<T>(run: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closed());
    const work = run();
    this.#working.add(work);
    const done = () => void this.#working.delete(work);
    work.then(done, done);
    return work;
  }
}

const closed = () => new StoreError("unusable", "The store is closed.");
