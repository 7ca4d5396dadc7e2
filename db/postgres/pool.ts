import pg from "pg";
import { StoreError } from "../store.js";
import { explain } from "./errors.js";
import { cut } from "./link.js";

/** How long a request waits for a connection, in milliseconds. */
const TIMEOUT = 2000;

// In milliseconds or seconds, as PostgreSQL takes them. A node that was stopped or cut off
// in a transaction must not keep the lock of a world for long.
const SETTINGS = Object.entries({
  // To compile a statement takes longer than to run any of these.
  jit: "off",
  statement_timeout: "30s",
  lock_timeout: "8s",
  idle_in_transaction_session_timeout: "5s",
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "2",
  tcp_keepalives_count: "3",
})
  .map(([name, value]) => `SET ${name} = '${value}'`)
  .join("; ");

/** Gives a connection the limits of Foyer. */
export const prepare = (client: pg.ClientBase): Promise<unknown> =>
  client.query(SETTINGS);

/** The connections of a process for its statements, and not the one that listens. */
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

  /** Runs one statement. @throws {StoreError} and what pg throws for a bug of Foyer. */
  async query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    this.#expectUp();
    try {
      return await this.#pool.query(query);
    } catch (error) {
      return explain(error);
    }
  }

  /** Runs something on one connection. After a failure, the connection is closed. */
  async with<T>(run: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    this.#expectUp();
    let client: pg.PoolClient | undefined;
    try {
      client = await this.#pool.connect();
      const result = await run(client);
      client.release();
      return result;
    } catch (error) {
      client?.release(true);
      return explain(error);
    }
  }

  /** Runs a statement that no transaction may contain, however long it takes. */
  alone(statement: string): Promise<void> {
    return this.with(async (client) => {
      await client.query("SET statement_timeout = 0");
      await client.query(statement);
      await prepare(client);
    });
  }

  /** Gives up all connections at once: whoever waits for an answer would wait for long. */
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
    await this.#pool.end();
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
      connectionTimeoutMillis: TIMEOUT,
      idleTimeoutMillis: 60_000,
      allowExitOnIdle: true,
      ...onConnect(prepare),
    });
    // A connection that breaks while nobody uses it leaves the pool by itself.
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
