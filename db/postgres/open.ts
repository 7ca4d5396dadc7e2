import type pg from "pg";
import type { DatabaseOptions } from "../choice.js";
import { ClusterEvents } from "../bus/cluster.js";
import type { Events } from "../events.js";
import { LocalEvents, type OnFault } from "../bus/local.js";
import type { EngineOptions, Engines } from "../open.js";
import { openFiles } from "../open-files.js";
import { publishing } from "../publishing/index.js";
import { StoreError } from "../store.js";
import { ValkeyEvents } from "../valkey/events.js";
import { clientOf, configOf, end, open } from "./client.js";
import { connect } from "./connect.js";
import { Database, refusal } from "./database.js";
import { postgresStore } from "./index.js";
import { sharedEvents } from "./membership.js";
import { hasTablesOf, LATEST, upgrade, versionOf } from "./upgrade.js";

/** What selects the engines of a process that uses PostgreSQL. */
type SharedOptions = EngineOptions & {
  database: DatabaseOptions;
  onFault: OnFault;
};

/** The events of a process, and what the others have in common who get them. */
interface Telling {
  events: Events;
  identity: string;
  /** Whether they reach the others now. */
  isHeard: () => boolean;
  /** Does something unless the events of others arrive that they have published by now. */
  unlessHeard: (act: () => void) => void;
}

/**
 * Opens engines that several machines share. A process that serves takes part as a node.
 * @throws {StoreError} `unusable`, with one line for the operator.
 */
export async function openShared(options: SharedOptions): Promise<Engines> {
  const { database, dataDir, bucket, log, warn } = options;
  const { create = true, upgrade = true, serves = true } = options;
  const opened: { close(): Promise<void> }[] = [];
  const close = async () => {
    for (const engine of opened.splice(0).reverse()) await engine.close();
  };
  try {
    const db = await Database.open(
      database,
      { create, upgrade, log },
      serves ? warn : undefined,
    );
    opened.push(db);
    const telling = await openEvents(db, options);
    const { events, identity } = telling;
    // Before the store closes, as what is under way publishes.
    opened.unshift(events);
    const files = await openFiles(dataDir, bucket);
    opened.push(files);
    forgetting(db, events);
    const touch = (world: string) =>
      events.tell({ type: "world.touched", world });
    db.tell({
      told: () => (serves && telling.isHeard() ? identity : ""),
      onTold: (world) => telling.unlessHeard(() => touch(world)),
      onTouched: touch,
      onMissed: () => events.tell({ type: "events.missed" }),
    });
    if (serves) {
      const common = { events: identity, files: await files.identify() };
      await db.join(common, database.url);
    }
    return {
      store: publishing(postgresStore(db), events),
      files,
      events,
      health: () => ({
        database: { ...db.connections, isUp: db.isUp },
        isValkeyUp:
          events instanceof ValkeyEvents ? events.connected : undefined,
      }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A command beside the servers needs no events: notifications tell those of its writes. */
async function openEvents(
  db: Database,
  { valkeyUrl, serves = true, worker, warn, onFault }: SharedOptions,
): Promise<Telling> {
  if (valkeyUrl !== undefined && serves) {
    const namespace = db.id;
    const events = await ValkeyEvents.open({
      ...{ url: valkeyUrl, namespace, onFault },
      ...(warn && { log: warn }),
    });
    const identity = sharedEvents(events.identity);
    return {
      events,
      identity,
      isHeard: () => events.connected,
      unlessHeard: (act) => events.unlessHeard(act),
    };
  }
  const events = worker
    ? new ClusterEvents(process, onFault, worker.process)
    : new LocalEvents(onFault);
  const identity = worker?.group ?? events.process;
  return { events, identity, isHeard: () => true, unlessHeard: () => {} };
}

/** An event may come before the notification of the same write. */
export function forgetting(db: Database, events: Events): void {
  events.subscribe((event) => {
    if (event.type === "events.missed") db.caches.forgetAll();
    else if (/^world\./.test(event.type) && "world" in event) {
      db.caches.forget(event.world!, { isStale: true, isIndexStale: true });
    } else if (/^rooms?\./.test(event.type) && "world" in event) {
      db.caches.forget(event.world!, { areRoomsStale: true });
    }
  });
}

/** Whether Foyer has stored something in a database. */
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
 * Which version the tables have, and which one this Foyer works with.
 * @throws {StoreError} `unusable` if there are none.
 */
export const versionsIn = (database: DatabaseOptions) =>
  using(database, async (client) => {
    const present = await versionOf(client);
    if (present === 0) {
      throw new StoreError("unusable", "Foyer has stored nothing there yet");
    }
    return { present, latest: LATEST };
  });

/**
 * Upgrades the tables, if they are older.
 * @throws {StoreError} `unusable` if there are none, or nodes still serve.
 */
export const upgradeTables = (
  database: DatabaseOptions,
  log: (line: string) => void,
) =>
  using(database, (client) =>
    upgrade(client, { create: false, upgrade: true, log }),
  );

/** Uses a connection for long work. */
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
