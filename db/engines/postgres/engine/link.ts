import type pg from "pg";
import { setTimeout as sleep } from "node:timers/promises";
import { detach } from "../../../detach.js";
import { clientOf, cut, end, open } from "./client.js";

/** The interval of heartbeats through the database, in both directions, in milliseconds. */
const BEAT = 500;

/** After how many beats without an answer the connection counts as lost. */
const MAX_SILENT = 2;

/** How long a new connection may take until it is prepared, in milliseconds. */
const OPEN_TIMEOUT = 6000;

/** The pause before the next attempt to connect, in milliseconds. */
const PAUSE = 300;

/** The events of a {@link Link}. */
interface LinkEvents {
  /** Prepares each new connection. If it throws, the link stays down and tries again. */
  prepare: (client: pg.Client) => Promise<void>;
  /** The connection is there. */
  up: () => void;
  /** The connection is lost. */
  down: (cause: unknown) => void;
}

/** A connection whose heartbeat shows whether the database can be reached. */
export class Link {
  readonly #config: pg.ClientConfig;
  readonly #events: LinkEvents;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** How many beats the present heartbeat waits; undefined if none does. */
  #silent: number | undefined;
  #closed = false;

  constructor(config: pg.ClientConfig, events: LinkEvents) {
    this.#config = config;
    this.#events = events;
  }

  /** Whether the database can be reached. */
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
    }, OPEN_TIMEOUT);
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
    this.#silent = undefined;
    this.#client = client;
    this.#timer = setInterval(() => this.#beat(client), BEAT).unref();
    this.#events.up();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    if (client) await end(client);
  }

  /** Counts beats and not time, as this process may have been busy or stopped itself. */
  #beat(client: pg.Client): void {
    if (this.#silent !== undefined) {
      if (++this.#silent >= MAX_SILENT) {
        this.#lose(client, new Error("The database does not answer."));
      }
      return;
    }
    this.#silent = 0;
    client.query("SELECT 1").then(
      () => {
        if (client === this.#client) this.#silent = undefined;
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
      await sleep(PAUSE, undefined, { ref: false });
      await this.open().catch(() => {});
    }
  }
}
