import pg from "pg";
import type { PoolHealth } from "../../../contract/engines.js";
import { StoreError } from "../../../contract/store.js";
import { cut, END_TIMEOUT_MS, explain, limited, notConnected } from "./pg-client.js";

/** How long a request waits for a connection. */
const ACQUIRE_TIMEOUT_MS = 2000;

/** How long PostgreSQL may work on a statement, and wait for a lock in it. */
const STATEMENT_TIMEOUT_MS = 30_000;
const LOCK_TIMEOUT = 8000;

/**
 * The time that the limits of PostgreSQL leave for the network. PostgreSQL keeps its
 * own limits, so an answer that is later than that never comes: the connection is dead.
 */
const MARGIN_MS = 2000;

/** How long answers may take, in milliseconds. Then the connection is given up. */
export const DEADLINES = {
  statement: STATEMENT_TIMEOUT_MS + MARGIN_MS,
  /** Of a statement that only waits for locks. */
  locks: (count: number) => count * LOCK_TIMEOUT + MARGIN_MS,
  /** PostgreSQL has no limit for a commit, which waits for the disk and for standbys. */
  commit: 15_000,
};

/** How long a statement may take that no transaction may contain. */
const ALONE_TIMEOUT_MS = 3_600_000;

// A node that was stopped or cut off in a transaction must not keep the lock of a world for
// long. Numbers without a unit are milliseconds, or seconds where TCP counts.
const SETTINGS = Object.entries({
  // To compile a statement takes longer than to run any of these.
  jit: "off",
  statement_timeout: STATEMENT_TIMEOUT_MS,
  lock_timeout: LOCK_TIMEOUT,
  idle_in_transaction_session_timeout: "5s",
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "2",
  tcp_keepalives_count: "3",
})
  .map(([name, value]) => `SET ${name} = '${value}'`)
  .join("; ");

/** Gives a connection the limits of Foyer. */
export const prepare = (client: pg.ClientBase): Promise<unknown> =>
  client.query(limited(SETTINGS, MARGIN_MS));

/** The connections of a process for its statements, and not the one with the heartbeat. */
export class Pool {
  readonly #config: pg.ClientConfig;
  readonly #size: number;
  readonly #isUp: () => boolean;
  readonly #clients = new Set<pg.Client>();
  #pool: pg.Pool;

  /**
   * @param size the most connections.
   * @param isUp whether the database can be reached. While it cannot, all fails at once.
   */
  constructor(config: pg.ClientConfig, size: number, isUp: () => boolean) {
    this.#config = config;
    this.#size = size;
    this.#isUp = isUp;
    this.#pool = this.#open();
  }

  /** Runs one statement. @throws {StoreError} and errors of pg that show a bug of Foyer. */
  query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    return this.with((client) => client.query(query));
  }

  /**
   * Runs something on one connection. After a failure, the connection is closed, unless it is
   * an expected answer: then only what it had begun is undone.
   * @throws {StoreError} and the errors of `run`.
   */
  async with<T>(run: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    this.#expectUp();
    let client: pg.PoolClient | undefined;
    try {
      client = await this.#pool.connect().catch((error: unknown) => {
        throw notConnected(error);
      });
      const result = await run(client);
      client.release();
      return result;
    } catch (error) {
      const isUsable =
        error instanceof StoreError &&
        (await client?.query("ROLLBACK").then(
          () => true,
          () => false,
        ));
      client?.release(!isUsable);
      return explain(error);
    }
  }

  /** Runs a statement that no transaction may contain, and that may take an hour. */
  alone(statement: string): Promise<void> {
    return this.with(async (client) => {
      await client.query(`SET statement_timeout = ${ALONE_TIMEOUT_MS}`);
      await client.query(limited(statement, ALONE_TIMEOUT_MS + MARGIN_MS));
      await prepare(client);
    });
  }

  get health(): PoolHealth {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    const used = totalCount - idleCount;
    return { idle: idleCount, used, waiting: waitingCount };
  }

  /** Gives up all connections at once, as their callers would wait long for an answer. */
  drop(): void {
    const pool = this.#pool;
    this.#pool = this.#open();
    this.#cutAll();
    this.#clients.clear();
    void pool.end().catch(() => {});
  }

  /** Closes all connections. @param isUp whether the database answers. */
  async close(isUp: boolean): Promise<void> {
    if (!isUp) this.#cutAll();
    const timer = setTimeout(() => this.#cutAll(), END_TIMEOUT_MS);
    await this.#pool.end();
    clearTimeout(timer);
  }

  #expectUp(): void {
    if (!this.#isUp()) {
      throw new StoreError("unusable", "The database cannot be reached.");
    }
  }

  #cutAll(): void {
    this.#clients.forEach(cut);
  }

  #open(): pg.Pool {
    const pool = new pg.Pool({
      ...this.#config,
      max: this.#size,
      connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
      query_timeout: DEADLINES.statement,
      idleTimeoutMillis: 60_000,
      allowExitOnIdle: true,
      ...onConnect(prepare),
    });
    // An idle connection that breaks leaves the pool without help.
    pool.on("error", () => {});
    pool.on("connect", (client) => {
      // Nor may one that breaks between two statements of a transaction end the process.
      client.on("error", () => {});
      this.#clients.add(client);
      client.once("end", () => this.#clients.delete(client));
    });
    return pool;
  }
}

/** Prepares the new connections of a pool, which waits for that. Its types do not say that it does. */
const onConnect = (prepare: (client: pg.ClientBase) => Promise<unknown>) => ({
  onConnect: prepare as unknown as (client: pg.ClientBase) => void,
});
