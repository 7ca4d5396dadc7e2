import pg from "pg";
import type { PoolHealth } from "../../../contract/engines.js";
import { StoreError } from "../../../contract/store.js";
import { cut, END_TIMEOUT_MS, explain, withQueryTimeout, notConnected } from "./pg-client.js";

/** Timeout for acquiring a connection. */
const ACQUIRE_TIMEOUT_MS = 2000;

/** PostgreSQL's time limits for a statement, and for each wait for a lock. */
const STATEMENT_TIMEOUT_MS = 30_000;
const LOCK_TIMEOUT = 8000;

/**
 * Time that the network may add to PostgreSQL's limits. PostgreSQL enforces its limits itself, so a
 * connection that has returned no result by then is dead.
 */
const MARGIN_MS = 2000;

/** Timeouts for results, in milliseconds. When a timeout expires, the connection is dropped. */
export const DEADLINES = {
  statement: STATEMENT_TIMEOUT_MS + MARGIN_MS,
  /** Timeout for a statement that only waits for locks. */
  locks: (count: number) => count * LOCK_TIMEOUT + MARGIN_MS,
  /** Timeout for a commit, which waits for the disk and for standbys. PostgreSQL has no limit for commits. */
  commit: 15_000,
};

/** Timeout for a statement that cannot run inside a transaction. */
const ALONE_TIMEOUT_MS = 3_600_000;

// A node that is stopped or cut off during a transaction must not hold a world's lock for long.
// Numbers without a unit are in milliseconds, or in seconds for the TCP settings.
const SETTINGS = Object.entries({
  // JIT compilation takes longer than running any of these statements.
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

/** Applies Foyer's limits to a connection. */
export const prepare = (client: pg.ClientBase): Promise<unknown> =>
  client.query(withQueryTimeout(SETTINGS, MARGIN_MS));

/** A process's connections for statements, excluding the connection for the heartbeat. */
export class Pool {
  readonly #config: pg.ClientConfig;
  readonly #size: number;
  readonly #isUp: () => boolean;
  readonly #clients = new Set<pg.Client>();
  #pool: pg.Pool;

  /**
   * @param size the maximum number of connections.
   * @param isUp whether the database is reachable. If not, every call fails immediately.
   */
  constructor(config: pg.ClientConfig, size: number, isUp: () => boolean) {
    this.#config = config;
    this.#size = size;
    this.#isUp = isUp;
    this.#pool = this.#open();
  }

  /** Runs one statement. @throws {StoreError} and any pg error that indicates a bug in Foyer. */
  query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    return this.with((client) => client.query(query));
  }

  /**
   * Runs a function on one connection. After a `StoreError`, which is an expected failure, the
   * transaction is rolled back and the connection is kept. After any other failure, the connection
   * is closed.
   * @throws {StoreError} and any error that `run` throws.
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

  /** Runs a statement that cannot run inside a transaction and may take up to an hour. */
  alone(statement: string): Promise<void> {
    return this.with(async (client) => {
      await client.query(`SET statement_timeout = ${ALONE_TIMEOUT_MS}`);
      await client.query(withQueryTimeout(statement, ALONE_TIMEOUT_MS + MARGIN_MS));
      await prepare(client);
    });
  }

  get health(): PoolHealth {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    const used = totalCount - idleCount;
    return { idle: idleCount, used, waiting: waitingCount };
  }

  /** Drops all connections immediately, because callers would otherwise wait for their results until a timeout. */
  drop(): void {
    const pool = this.#pool;
    this.#pool = this.#open();
    this.#cutAll();
    this.#clients.clear();
    void pool.end().catch(() => {});
  }

  /** Closes all connections. @param isUp whether the database is reachable. */
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
    // The pool removes a broken idle connection by itself.
    pool.on("error", () => {});
    pool.on("connect", (client) => {
      // A connection that breaks between two statements of a transaction must not end the process.
      client.on("error", () => {});
      this.#clients.add(client);
      client.once("end", () => this.#clients.delete(client));
    });
    return pool;
  }
}

/** Prepares a pool's new connections. pg awaits `onConnect`, although pg's types declare a `void` result. */
const onConnect = (prepare: (client: pg.ClientBase) => Promise<unknown>) => ({
  onConnect: prepare as unknown as (client: pg.ClientBase) => void,
});
