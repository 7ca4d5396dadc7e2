import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Client } from "pg";
import { StoreError } from "../../../contract/store.js";
import { detach } from "../../../runtime.js";
import { clientOf, cut, end, open } from "./pg-client.js";
import { NODES } from "./postgres-sql.js";
import { expectVersion, read, write } from "./postgres-upgrade.js";

/** The settings that all nodes of one database must share. */
export interface Membership {
  /** Names what carries their events. */
  events: string;
  /** Names where the bytes of their files are. */
  files: string;
}

/** How long a node waits until the lock of a killed node is free, and how often it asks. */
const JOIN_TIMEOUT_MS = 3000;
const JOIN_RETRY_MS = 200;

/**
 * Takes part as a node that serves. It does so as long as the connection lasts: the lock
 * goes with it, however this process ends. Who comes first decides what all have in common.
 * This Foyer knows the tables then, and they stay: an upgrade needs the lock alone.
 * @throws {StoreError} `unusable` if others serve who have not the same in common.
 */
export async function join(client: Client, membership: Membership): Promise<void> {
  const deadline = performance.now() + JOIN_TIMEOUT_MS;
  for (;;) {
    if (await isFirst(client)) {
      await expectVersion(client);
      await write(client, "events", membership.events);
      await write(client, "files", membership.files);
      // This one keeps it while the other one is given up, so no other process comes in between.
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

/** Why a node may not serve together with those that do; undefined if it may. */
async function difference(
  client: Client,
  { events, files }: Membership,
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

/** What {@link Membership.events} says of a Valkey. */
export const sharedEvents = (identity: string): string => SHARED + identity;

const isShared = (events: string) => events.startsWith(SHARED);

/** The interval of heartbeats through the database, in both directions. */
const HEARTBEAT_MS = 500;

/** After how many heartbeats without an answer the connection counts as lost. */
const MAX_MISSED_HEARTBEATS = 2;

/** How long a new connection may take until it is prepared. */
const OPEN_TIMEOUT_MS = 6000;

/** The pause before the next attempt to connect. */
const RECONNECT_PAUSE_MS = 300;

interface LinkEvents {
  /** Prepares each new connection. If it throws, the link stays down and tries again. */
  prepare: (client: pg.Client) => Promise<void>;
  up: () => void;
  down: (cause: unknown) => void;
}

/** A connection whose heartbeat shows whether the database can be reached. */
export class Link {
  readonly #config: pg.ClientConfig;
  readonly #events: LinkEvents;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** For how many intervals the present heartbeat has had no answer; undefined if none does. */
  #missed: number | undefined;
  #closed = false;

  constructor(config: pg.ClientConfig, events: LinkEvents) {
    this.#config = config;
    this.#events = events;
  }

  get isUp(): boolean {
    return this.#client !== undefined;
  }

  /** Uses the connection. @throws an error if it is lost. */
  async with<T>(use: (client: pg.Client) => Promise<T>): Promise<T> {
    if (!this.#client) throw new Error("Connection ended.");
    return use(this.#client);
  }

  /** Connects. @throws the errors of pg or {@link LinkEvents.prepare}. */
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

  /** Counts heartbeats and not time, as this process may have been busy or stopped itself. */
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
