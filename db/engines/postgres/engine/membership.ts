import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Client } from "pg";
import { StoreError } from "../../../contract/store.js";
import { detach } from "../../../runtime.js";
import { clientOf, cut, end, open } from "./pg-client.js";
import { NODES } from "./postgres-sql.js";
import { expectVersion, read, write } from "./postgres-upgrade.js";

/** The settings that all nodes on one database must share. */
export interface ServerMembership {
  /** Identifies the bus that carries the nodes' events. */
  events: string;
  /** Identifies the store that holds the bytes of the nodes' files. */
  files: string;
}

/**
 * How long a joining node waits for PostgreSQL to release a killed node's lock, and how often the
 * joining node retries.
 */
const JOIN_TIMEOUT_MS = 3000;
const JOIN_RETRY_MS = 200;

/**
 * Joins as a serving node for as long as the connection lasts. PostgreSQL releases the node's lock
 * even if this process crashes. The first node to join decides the shared settings. Joining also
 * verifies the schema version, which cannot change while a node serves, because an upgrade needs
 * the lock exclusively.
 * @throws {StoreError} `unusable` if the serving nodes have different settings.
 */
export async function join(client: Client, membership: ServerMembership): Promise<void> {
  const deadline = performance.now() + JOIN_TIMEOUT_MS;
  for (;;) {
    if (await isFirst(client)) {
      await expectVersion(client);
      await write(client, "events", membership.events);
      await write(client, "files", membership.files);
      // Acquire the shared lock before releasing the exclusive lock, so that no other process can
      // acquire the exclusive lock in between.
      await client.query(`SELECT pg_advisory_lock_shared(${NODES})`);
      await client.query(`SELECT pg_advisory_unlock(${NODES})`);
      return;
    }
    await client.query(`SELECT pg_advisory_lock_shared(${NODES})`);
    await expectVersion(client);
    const fault = await difference(client, membership);
    if (fault === undefined) return;
    await client.query(`SELECT pg_advisory_unlock_shared(${NODES})`);
    if (performance.now() > deadline) throw new StoreError("unusable", fault);
    await sleep(JOIN_RETRY_MS);
  }
}

async function isFirst(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ free: boolean }>(
    `SELECT pg_try_advisory_lock(${NODES}) AS free`,
  );
  return rows[0]!.free;
}

/** Explains why a node may not serve along with the current nodes. Returns undefined if the node may serve. */
async function difference(
  client: Client,
  { events, files }: ServerMembership,
): Promise<string | undefined> {
  const others = { events: await read(client, "events"), files: await read(client, "files") };
  if (others.events !== events) {
    const isAlone = !isShared(others.events ?? "");
    if (isAlone && !isShared(events)) {
      return "another server uses it already; several need VALKEY_URL";
    }
    if (isAlone) return "a server without VALKEY_URL uses it; stop that first";
    return isShared(events)
      ? "the other nodes use another Valkey; VALKEY_URL has to be the same"
      : "the other nodes use Valkey; VALKEY_URL has to be set";
  }
  return others.files === files
    ? undefined
    : "the other nodes store files elsewhere; all nodes need the same S3_BUCKET, or a folder that they share as DATA_DIR/media";
}

const SHARED = "valkey:";

/** Returns the value of {@link ServerMembership.events} for a Valkey server. */
export const sharedEvents = (identity: string): string => SHARED + identity;

const isShared = (events: string) => events.startsWith(SHARED);

/** The interval between heartbeats to the database. */
const HEARTBEAT_MS = 500;

/** Number of missed heartbeats after which the connection counts as lost. */
const MAX_MISSED_HEARTBEATS = 2;

/** Timeout for opening and preparing a new connection. */
const OPEN_TIMEOUT_MS = 6000;

/** Delay before the next connection attempt. */
const RECONNECT_PAUSE_MS = 300;

interface LinkEvents {
  /**
   * Prepares each new connection. If `prepare` fails, the connection is dropped; a link that was
   * already up then reconnects.
   */
  prepare: (client: pg.Client) => Promise<void>;
  up: () => void;
  down: (cause: unknown) => void;
}

/** A connection whose heartbeat detects whether the database is reachable. */
export class MonitoredConnection {
  readonly #config: pg.ClientConfig;
  readonly #events: LinkEvents;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Number of intervals since the pending heartbeat was sent; undefined if no heartbeat is in flight. */
  #missed: number | undefined;
  #closed = false;

  constructor(config: pg.ClientConfig, events: LinkEvents) {
    this.#config = config;
    this.#events = events;
  }

  get isUp(): boolean {
    return this.#client !== undefined;
  }

  /** Runs a function on the connection. @throws an error if the connection is lost. */
  async with<T>(use: (client: pg.Client) => Promise<T>): Promise<T> {
    if (!this.#client) throw new Error("Connection ended.");
    return use(this.#client);
  }

  /** Connects. @throws any error from pg or from {@link LinkEvents.prepare}. */
  async open(): Promise<void> {
    const client = clientOf(this.#config);
    const lost = (error?: Error) => this.#lose(client, error);
    client.on("error", lost).on("end", lost);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      cut(client);
    }, OPEN_TIMEOUT_MS);
    try {
      await open(client);
      await this.#events.prepare(client);
      if (this.#closed) throw new Error("Connection ended: the link is closed.");
    } catch (error) {
      cut(client);
      throw isLate ? new Error("timeout expired") : error;
    } finally {
      clearTimeout(timer);
    }
    this.#missed = undefined;
    this.#client = client;
    this.#timer = setInterval(() => this.#heartbeat(client), HEARTBEAT_MS).unref();
    this.#events.up();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    if (client) await end(client);
  }

  /** Counts intervals rather than elapsed time, because this process itself may have been busy or suspended. */
  #heartbeat(client: pg.Client): void {
    if (this.#missed !== undefined) {
      if (++this.#missed >= MAX_MISSED_HEARTBEATS) {
        this.#lose(client, new Error("The database does not answer."));
      }
      return;
    }
    this.#missed = 0;
    client.query("SELECT 1").then(
      () => {
        if (client === this.#client) this.#missed = undefined;
      },
      (error: unknown) => this.#lose(client, error),
    );
  }

  #lose(client: pg.Client, cause: unknown): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    clearInterval(this.#timer);
    cut(client);
    this.#events.down(cause);
    detach(this.#reconnect());
  }

  async #reconnect(): Promise<void> {
    while (!this.#closed && !this.isUp) {
      await sleep(RECONNECT_PAUSE_MS, undefined, { ref: false });
      await this.open().catch(() => {});
    }
  }
}
