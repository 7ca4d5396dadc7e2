import type { Test } from "tap";
import { LocalBus } from "../../../db/bus/bus.js";
import { type Store, StoreError } from "../../../db/contract/store.js";
import { Database } from "../../../db/engines/postgres/engine/postgres-database.js";
import { postgresStore } from "../../../db/engines/postgres/index.js";
import { INDEX } from "../../../db/log/entries.js";
import { LogEvents } from "../../../db/log/log-events.js";
import { until, worldOf } from "../../support/helper.js";
import type { Databases } from "../../support/servers/postgres.js";
import { startProxy, through } from "../../support/servers/proxy.js";

/** A node: its database, its cache, and the logs that it follows. */
export interface Node extends Store {
  db: Database;
  events: LogEvents;
}

/** The name of each server's template database, which has no worlds. */
const templates = new WeakMap<Databases, Promise<string>>();

/** Creates a database without worlds from a template: creating its tables takes longer than most tests. */
export async function emptyDatabase(server: Databases): Promise<string> {
  let template = templates.get(server);
  if (!template) templates.set(server, (template = templateOn(server)));
  return server.createDatabase(undefined, await template);
}

async function templateOn(server: Databases): Promise<string> {
  const url = await server.createDatabase();
  const db = await Database.open({ url, pool: 1 }, { create: true });
  await db.close();
  return nameIn(url);
}

/**
 * Opens a database as a node does, but without a bus to other nodes.
 * @param reads returns what the node follows the logs through; defaults to the store.
 */
export async function openNode(
  t: Test,
  url: string,
  pool = 4,
  reads?: (store: Store) => Store["log"],
): Promise<Node> {
  const db = await Database.open({ url, pool }, { create: true });
  const store = postgresStore(db);
  const onFault = (error: unknown) => void t.fail(String(error));
  const bus = new LocalBus(onFault);
  const log = reads?.(store) ?? store.log;
  const events = new LogEvents({ bus, log, onFault });
  db.follow(events);
  t.teardown(async () => {
    await store.close();
    await events.close();
  });
  return { ...store, db, events };
}

/** Opens a node on a new database with the world `demo`. */
export async function openAlone(t: Test, server: Databases): Promise<Node & { url: string }> {
  const url = await emptyDatabase(server);
  const node = await openNode(t, url);
  await node.worlds.create(worldOf("demo"));
  return { ...node, url };
}

/**
 * Opens two nodes on a new database with the world `demo`.
 * @param reads returns what the second node follows the logs through; defaults to the store.
 */
export async function openPair(t: Test, server: Databases, reads?: (store: Store) => Store["log"]) {
  const url = await emptyDatabase(server);
  const writer = await openNode(t, url);
  await writer.worlds.create(worldOf("demo"));
  return { url, writer, reader: await openNode(t, url, 4, reads) };
}

/** Opens a node on a new database with the world `demo`, behind a proxy that can break its connections. */
export async function openBehindProxy(t: Test, server: Databases) {
  const url = await emptyDatabase(server);
  const proxy = await startProxy(t, server.port);
  const node = await openNode(t, through(url, proxy));
  await node.worlds.create(worldOf("demo"));
  return { url, proxy, node };
}

/** Returns the name of the database in a URL. */
export const nameIn = (url: string): string => new URL(url).pathname.slice(1);

/** Follows a world, which makes the node cache its values. */
export async function follow({ worlds, events }: Node, world = "demo"): Promise<void> {
  await worlds.get(world);
  await until(() => events.isCurrent(world) && events.isCurrent(INDEX));
}

/** Resolves to the problem with which a promise rejects; undefined if it fulfills. */
export const problemOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof StoreError) return error.problem;
      throw error;
    },
  );
