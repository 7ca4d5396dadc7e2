import type pg from "pg";
import type { DatabaseOptions } from "../../../choice.js";
import { type Author, SERVER } from "../../../contract/author.js";
import type { PoolHealth } from "../../../contract/engines.js";
import { StoreError } from "../../../contract/store.js";
import type { Sql } from "../../../domains/domain.js";
import { SearchQueue } from "../../../domains/searches.js";
import type { MaintenanceLog } from "../../../erasure/erasure-job.js";
import { INDEX, type Position } from "../../../log/entries.js";
import type { LogEvents } from "../../../log/log-events.js";
import { detach } from "../../../runtime.js";
import { type Log, Noted, raiseLost, type Writer } from "../log/postgres-log.js";
import { join, Link, type Membership } from "./membership.js";
import {
  clientOf,
  configOf,
  end,
  limited,
  lineOf,
  open,
  refusal,
  storeErrorOf,
} from "./pg-client.js";
import { DEADLINES, Pool, prepare } from "./pool.js";
import { Caches } from "./postgres-cache.js";
import { sqlOn } from "./postgres-sql.js";
import { upgrade, type UpgradeOptions } from "./postgres-upgrade.js";
import { type Job, Lanes, transact, type WriteOptions } from "./transaction.js";

/** How many searches of a process run at once. Each keeps a CPU of the database busy. */
const MAX_SEARCHES = 2;

/** How long a statement of an upgrade may take. */
const UPGRADE_TIMEOUT_MS = 3_600_000;

/** A write, which touches nothing but the database. */
export type Write<T> = (sql: Sql, log: Log) => Promise<T>;

interface OpenOptions extends UpgradeOptions {
  /** The author of writes without one; the server by default. */
  author?: Author;
  /** Whether the audit is kept; true by default. */
  audits?: boolean | undefined;
  /** Gets lines about erasures that fail. */
  maintenance?: MaintenanceLog | undefined;
}

/** A PostgreSQL database: its connections, its writes, and its caches. */
export class Database {
  /** The id of the installation, which all nodes have in common. */
  readonly id: string;
  readonly caches = new Caches();
  /** Called after each write of this process that has erased something. */
  onErased: () => void = () => {};
  /** The reads that look at every row of a world. */
  readonly searches = new SearchQueue(MAX_SEARCHES);
  /** Statements that each stand alone, and see all that is committed. */
  readonly sql: Sql;
  readonly #link: Link;
  readonly #pool: Pool;
  readonly #lanes: Lanes;
  readonly #writing: WriteOptions;
  #membership: Membership | undefined;
  #events: LogEvents | undefined;
  #closed = false;
  #wasLost = false;
  /** Writes and snapshots under way. */
  readonly #working = new Set<Promise<unknown>>();

  private constructor(
    id: string,
    readonly url: string,
    config: pg.ClientConfig,
    size: number,
    writing: WriteOptions,
    warn: (line: string) => void,
    readonly maintenanceLog: MaintenanceLog | undefined,
  ) {
    this.id = id;
    this.#writing = writing;
    // Writes wait for the locks of their worlds, and reads must not wait for connections then.
    this.#lanes = new Lanes(Math.ceil(size / 2), (world, batch) => this.#transact(world, batch));
    this.#pool = new Pool(config, size, () => this.isUp);
    this.#link = new Link(config, {
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
   * @param warn gets one line when the database is lost, and when it is back.
   * @throws {StoreError} `unusable`, with one line for the operator, without the password.
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
   * Takes part as a node that serves.
   * @throws {StoreError} `unusable` if it has not the same in common as the others.
   */
  async join(membership: Membership, url: string): Promise<void> {
    // The lock belongs to the connection of the link, and comes back with it.
    this.#membership = membership;
    try {
      await this.#link.with((client) => join(client, membership));
    } catch (error) {
      throw refusal(url, error);
    }
  }

  /**
   * Takes the follower of this database's logs, before it has other listeners. From then on,
   * it gets the entries written here, and reads of worlds, rooms and users are cached.
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
   * Several statements that see one moment.
   * @param deadline how long each may take, in milliseconds.
   */
  snapshot<T>(read: (sql: Sql) => Promise<T>, deadline = DEADLINES.statement): Promise<T> {
    return this.#work(() =>
      this.#pool.with(async (client) => {
        const within = (query: pg.QueryConfig): Promise<pg.QueryResult> =>
          client.query({ ...query, ...limited(query.text, deadline) });
        const begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
        await within({ text: begin });
        const result = await read(sqlOn(within));
        await within({ text: "COMMIT" });
        return result;
      }),
    );
  }

  /** Statements that are given up after some milliseconds, because their caller repeats them. */
  soon(deadline: number): Sql {
    return sqlOn((query) => this.#pool.query({ ...query, ...limited(query.text, deadline) }));
  }

  /**
   * Runs a write of a world. Writes of one world come one after another, on all nodes, so
   * this may read, decide, and write. Waiting writes gather in one transaction, and each
   * succeeds or fails alone.
   * @param by the author.
   * @throws {StoreError} the error of `run`, or a problem of the store.
   */
  write<T>(world: string, run: Write<T>, by?: Author): Promise<T> {
    return this.#enqueue(world, run, { by, all: false });
  }

  /** As {@link write}, one after another for all worlds: creates, imports or deletes a world, or changes its domain. */
  writeAll<T>(world: string, run: Write<T>, by?: Author): Promise<T> {
    return this.#enqueue(world, run, { by, all: true });
  }

  /** Removes the dead versions of rows of tables. */
  vacuum(tables: readonly string[]): Promise<void> {
    return this.#pool.alone(`VACUUM ${tables.join(", ")}`);
  }

  /** Rebuilds an index, so that it no longer holds values of dead rows. */
  reindex(index: string): Promise<void> {
    return this.#pool.alone(`REINDEX INDEX ${index}`);
  }

  /** Resolves when the writes and snapshots under way are over. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#working);
  }

  /** Finishes the work under way, and closes all connections. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.settled();
    this.caches.close();
    const { isUp } = this;
    await this.#link.close();
    await this.#pool.close(isUp);
  }

  #enqueue<T>(world: string, run: Write<T>, how: { by: Writer; all: boolean }): Promise<T> {
    return this.#work(
      () =>
        new Promise<T>((resolve, reject) => {
          const settle = resolve as (result: unknown) => void;
          this.#lanes.add(world, { run, ...how, resolve: settle, reject });
        }),
    );
  }

  async #transact(world: string, jobs: readonly Job[]): Promise<void> {
    const noted = new Noted();
    try {
      const { hints, settle } = await this.#pool.with((client) =>
        transact(client, world, jobs, this.#writing, noted),
      );
      if (noted.erased.size > 0) this.onErased();
      for (const { entry } of hints) this.caches.forget(entry);
      const applied = hints.length > 0 ? this.#events?.took(hints) : undefined;
      // The next writes of the world need not wait for it.
      if (applied) detach(applied.then(settle, settle));
      else settle();
    } catch (error) {
      const fault = storeErrorOf(error) ?? error;
      if (fault instanceof StoreError && fault.problem === "doubtful") {
        // A caller that repeats the erasure may find it done.
        if (noted.erased.size > 0) this.onErased();
        this.#doubts(world);
      }
      for (const { reject } of jobs) reject(fault);
    }
  }

  /** A write of this process in a world is in doubt. */
  #doubts(world: string): void {
    for (const one of [world, INDEX]) {
      this.caches.forgetWorld(one);
      this.#events?.look(one);
    }
  }

  /** The last entries that this process has seen. */
  #seen(): ReadonlyMap<string, Position> {
    return this.#events?.seen() ?? new Map<string, Position>();
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
