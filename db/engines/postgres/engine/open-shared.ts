import type pg from "pg";
import { openFiles } from "../../../blobs/folder/local-files.js";
import { type Bus, LocalBus, type OnFault } from "../../../bus/bus.js";
import { ClusterBus } from "../../../bus/cluster.js";
import { ValkeyBus } from "../../../bus/valkey/valkey-bus.js";
import type { DatabaseOptions } from "../../../choice.js";
import type { EngineOptions, Engines } from "../../../contract/engines.js";
import { StoreError } from "../../../contract/store.js";
import { LogEvents } from "../../../log/log-events.js";
import { latestVersion } from "../../../schema/migrations.js";
import { postgresStore } from "../index.js";
import { sharedEvents } from "./membership.js";
import { clientOf, configOf, end, open, refusal } from "./pg-client.js";
import { Database } from "./postgres-database.js";
import { connect, hasTablesOf, upgrade, versionOf } from "./postgres-upgrade.js";

type SharedOptions = EngineOptions & {
  database: DatabaseOptions;
  onFault: OnFault;
};

/** A bus and the bus's identity. The identity is undefined if the process does not join as a node. */
interface Carrier {
  bus: Bus;
  identity?: string;
}

/**
 * Opens engines that several machines share. A server joins as a node.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export const openShared = (options: SharedOptions): Promise<Engines> =>
  openOn(options, (db) => openBus(db, options));

/** Like {@link openShared}, but with a given bus and without checking that all nodes share this bus. */
export const openSharedWith = (bus: Bus, options: SharedOptions): Promise<Engines> =>
  openOn(options, async () => ({ bus }));

async function openOn(
  options: SharedOptions,
  openCarrier: (db: Database) => Promise<Carrier>,
): Promise<Engines> {
  const { database, dataDir, bucket, log, warn, onFault } = options;
  const { create = true, upgrade = true, serves = true } = options;
  const { audits, maintenance } = options;
  const opened: { close(): Promise<void> }[] = [];
  const close = async () => {
    for (const engine of opened.splice(0).reverse()) await engine.close();
  };
  try {
    const db = await Database.open(
      database,
      {
        create,
        upgrade,
        log,
        audits,
        maintenance,
        author: { kind: serves ? "server" : "command" },
      },
      serves ? warn : undefined,
    );
    const store = postgresStore(db);
    opened.push(store);
    const { bus, identity } = await openCarrier(db);
    const events = new LogEvents({
      bus,
      log: store.log,
      onFault,
      // Do not warn while the connection is lost, because the loss has already been logged.
      onUnread: (error) => {
        if (db.isUp) warn?.(`The log cannot be read: ${messageOf(error)}`);
      },
    });
    // Close the events after the store, because writes in flight still publish their hints.
    opened.unshift(events);
    // Commands are short-lived and do not need a cache.
    if (serves) db.follow(events);
    const files = await openFiles(dataDir, bucket);
    opened.push(files);
    if (serves && identity !== undefined) {
      const common = { events: identity, files: await files.identify() };
      await db.join(common, database.url);
    }
    return {
      store,
      files,
      events,
      health: () => ({
        database: { ...db.connections, isUp: db.isUp },
        isValkeyUp: bus instanceof ValkeyBus ? bus.connected : undefined,
      }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const messageOf = (error: unknown) => (error as Error).message;

/** Opens a process's bus. A command that runs alongside the servers does not need a shared bus. */
async function openBus(
  db: Database,
  { valkeyUrl, serves = true, worker, warn, onFault }: SharedOptions,
): Promise<Carrier> {
  if (valkeyUrl !== undefined && serves) {
    const bus = await ValkeyBus.open({
      url: valkeyUrl,
      namespace: db.id,
      onFault,
      ...(warn && { log: warn }),
    });
    return { bus, identity: sharedEvents(bus.identity) };
  }
  const bus = worker ? new ClusterBus(process, onFault, worker.process) : new LocalBus(onFault);
  return { bus, identity: worker?.group ?? bus.process };
}

/** Whether a database contains Foyer's tables. */
export async function hasTables({ url }: DatabaseOptions): Promise<boolean> {
  try {
    const client = clientOf({ ...configOf(url), query_timeout: 10_000 });
    try {
      await open(client);
      return await hasTablesOf(client);
    } finally {
      await end(client);
    }
  } catch (error) {
    throw refusal(url, error);
  }
}

/**
 * Returns a database's schema version, and the latest version, which this version of Foyer
 * requires.
 * @throws {StoreError} `unusable` if the database contains none of Foyer's tables.
 */
export const versionsIn = (database: DatabaseOptions) =>
  using(database, async (client) => {
    const present = await versionOf(client);
    if (present === 0) {
      throw new StoreError("unusable", "Foyer has stored nothing there yet");
    }
    return { present, latest: latestVersion() };
  });

/**
 * Upgrades the tables if an earlier version of Foyer created them.
 * @throws {StoreError} `unusable` if there are no tables, or nodes are still serving.
 */
export const upgradeTables = (database: DatabaseOptions, log: (line: string) => void) =>
  using(database, (client) => upgrade(client, { create: false, upgrade: true, log }));

async function using<T>(
  { url }: DatabaseOptions,
  run: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await connect(url);
  try {
    return await run(client);
  } catch (error) {
    throw refusal(url, error);
  } finally {
    await end(client);
  }
}
