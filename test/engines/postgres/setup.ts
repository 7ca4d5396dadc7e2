import pg from "pg";
import type { Test } from "tap";
import { LocalBus } from "../../../db/bus/local.js";
import { INDEX } from "../../../db/log/entries.js";
import { LogEvents } from "../../../db/log/log-events.js";
import { Database } from "../../../db/postgres/engine/database.js";
import { postgresStore } from "../../../db/postgres/index.js";
import { migrations } from "../../../db/postgres/migrations/index.js";
import { sqlOn } from "../../../db/postgres/engine/sql.js";
import { type Store, StoreError } from "../../../db/contract/store.js";
import { until } from "../../helper.js";
import type { PostgresServer } from "../../servers/postgres.js";

/** What is special about PostgreSQL, as tests on a server. */
export type Part = (t: Test, server: PostgresServer) => Promise<void>;

/** A node: its database, what it caches, and what it follows. */
export interface Node extends Store {
  db: Database;
  events: LogEvents;
}

/** The database without worlds of a server, of which others are copies. */
const templates = new WeakMap<PostgresServer, Promise<string>>();

/** Makes a database without worlds. To make its tables takes longer than most tests do. */
export async function emptyDatabase(server: PostgresServer): Promise<string> {
  let template = templates.get(server);
  if (!template) templates.set(server, (template = templateOn(server)));
  return server.createDatabase(undefined, await template);
}

async function templateOn(server: PostgresServer): Promise<string> {
  const url = await server.createDatabase();
  const db = await Database.open({ url, pool: 1 }, { create: true });
  await db.close();
  return new URL(url).pathname.slice(1);
}

/**
 * Opens a database as a node does. No bus connects it with others.
 * @param reads what it follows the logs by, instead of the store.
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

/** Keeps values of a world cached from now on: it is followed. */
export async function follow(
  { worlds, events }: Node,
  world = "demo",
): Promise<void> {
  await worlds.get(world);
  await until(() => events.isCurrent(world) && events.isCurrent(INDEX));
}

/** A database with the tables of an older version. */
export async function olderDatabase(server: PostgresServer, version: number) {
  const url = await server.createDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(
      `CREATE TABLE cluster (name TEXT COLLATE "C" NOT NULL PRIMARY KEY, value TEXT NOT NULL);
       INSERT INTO cluster VALUES ('id', 'old'), ('version', '${version}')`,
    );
    const sql = sqlOn((query) => client.query(query));
    for (const migration of migrations.slice(0, version)) {
      await client.query(migration.tables);
      await migration.fill?.(sql);
    }
  } finally {
    await client.end();
  }
  const name = new URL(url).pathname.slice(1);
  return { url, run: (statements: string) => server.run(statements, name) };
}

/** The problem with which something fails; undefined if it succeeds. */
export const problemOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof StoreError) return error.problem;
      throw error;
    },
  );
