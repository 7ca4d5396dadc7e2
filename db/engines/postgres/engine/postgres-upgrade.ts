import { randomUUID } from "node:crypto";
import type pg from "pg";
import { addressOf } from "../../../choice.js";
import { StoreError } from "../../../contract/store.js";
import { baseline, beginIndex } from "../../../schema/baseline.js";
import {
  BASELINE,
  forPostgres,
  latestVersion,
  migrations,
  tooOld,
} from "../../../schema/migrations.js";
import { clientOf, configOf, end, explain, open, refusal } from "./pg-client.js";
import { LOCK_OF_UPGRADES, NODES } from "./postgres-sql.js";

/** The oldest PostgreSQL version that has the features Foyer uses. */
const OLDEST_SERVER = 140_000;

export interface SchemaUpgradeOptions {
  /** Whether to create the tables in an empty database. If false, the tables must already exist. */
  create: boolean;
  /**
   * Whether to upgrade a database with an outdated schema version; true by default. If false, an
   * outdated database is rejected.
   */
  upgrade?: boolean;
  /** Receives a one-line message after an upgrade. */
  log?: ((line: string) => void) | undefined;
}

/**
 * Creates or upgrades the tables. If several nodes start simultaneously, only one node does so.
 * @returns the installation's id, which all nodes share.
 * @throws {StoreError} `unusable`, with a message that the caller completes with the database's
 * address.
 */
export async function upgrade(
  client: pg.Client,
  { create, upgrade: mayUpgrade = true, log }: SchemaUpgradeOptions,
): Promise<string> {
  await refuseServer(client);
  await client.query(`BEGIN; ${LOCK_OF_UPGRADES}`);
  try {
    const version = await versionOf(client);
    const latest = latestVersion();
    if (version > latest) {
      throw new StoreError(
        "unusable",
        `it has version ${version}, and this Foyer only knows versions up to ${latest}; run a newer Foyer`,
      );
    }
    if (version > 0 && version < BASELINE) throw new StoreError("unusable", tooOld(version));
    if (version === 0 && !create) {
      throw new StoreError("unusable", "Foyer has stored nothing there yet");
    }
    if (version > 0 && version < latest && !mayUpgrade) {
      throw new StoreError(
        "unusable",
        `it has version ${version} instead of ${latest}; stop all nodes, and run foyer upgrade`,
      );
    }
    if (version < latest) await migrate(client, version, log);
    const id = await read(client, "id");
    await client.query("COMMIT");
    return id!;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

async function refuseServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: number; encoding: string }>(
    "SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding",
  );
  const { version, encoding } = rows[0]!;
  if (version < OLDEST_SERVER) {
    throw new StoreError("unusable", "Foyer needs PostgreSQL 14 or newer");
  }
  if (encoding !== "UTF8") {
    throw new StoreError("unusable", `its encoding is ${encoding}, and has to be UTF8`);
  }
}

export const hasTablesOf = async (client: pg.Client): Promise<boolean> =>
  (await versionOf(client)) > 0;

/** Returns the schema version, or 0 if there are no tables. */
export async function versionOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ found: string | null }>(
    "SELECT to_regclass('cluster') AS found",
  );
  return rows[0]!.found === null ? 0 : Number(await read(client, "version"));
}

async function migrate(
  client: pg.Client,
  version: number,
  log: SchemaUpgradeOptions["log"],
): Promise<void> {
  const { rows } = await client.query<{ free: boolean }>(
    `SELECT pg_try_advisory_xact_lock(${NODES}) AS free`,
  );
  if (!rows[0]!.free) {
    throw new StoreError(
      "unusable",
      `nodes still serve its version ${version}; stop them first, so that this Foyer can upgrade it`,
    );
  }
  if (version === 0) {
    await client.query(
      'CREATE TABLE cluster (name TEXT COLLATE "C" NOT NULL PRIMARY KEY, value TEXT NOT NULL)',
    );
    await write(client, "id", randomUUID());
    await client.query(forPostgres(baseline) + beginIndex());
  }
  const applied = Math.max(0, version - BASELINE);
  for (const migration of migrations.slice(applied)) await client.query(forPostgres(migration));
  await write(client, "version", String(latestVersion()));
  if (version > 0) {
    log?.(`upgraded the database from version ${version} to ${latestVersion()}`);
  }
}

/** Reads a value shared by the nodes, by name. */
export async function read(client: pg.Client, name: string): Promise<string | undefined> {
  const { rows } = await client.query<{ value: string }>(
    "SELECT value FROM cluster WHERE name = $1",
    [name],
  );
  return rows[0]?.value;
}

/** Stores a value shared by the nodes. */
export async function write(client: pg.Client, name: string, value: string): Promise<void> {
  await client.query(
    "INSERT INTO cluster (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    [name, value],
  );
}

/** @throws {StoreError} `unusable` if the tables do not have this Foyer's schema version. */
export async function expectVersion(client: pg.Client): Promise<void> {
  const version = await versionOf(client);
  if (version !== latestVersion()) {
    throw new StoreError(
      "unusable",
      `the database has version ${version} now, and this Foyer works with ${latestVersion()}`,
    );
  }
}

/** Timeout for opening a connection. */
const CONNECT_TIMEOUT_MS = 5000;

/** Timeout for a query. The timeout is long, because building an index on a large table takes minutes. */
const EXCHANGE_TIMEOUT_MS = 3_600_000;

/**
 * Opens a connection for long-running work, outside any pool and without the server's time limits.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export async function connect(url: string): Promise<pg.Client> {
  const client = clientOf({
    ...configOf(url, CONNECT_TIMEOUT_MS),
    query_timeout: EXCHANGE_TIMEOUT_MS,
  });
  try {
    await open(client);
    // The server's configuration may impose limits by default.
    await client.query("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0");
    return client;
  } catch (error) {
    await end(client);
    throw refusal(url, error);
  }
}

/**
 * Opens a connection to a database whose tables have this Foyer's schema version.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export async function connectToTables(url: string): Promise<pg.Client> {
  const client = await connect(url);
  try {
    if ((await versionOf(client)) === 0) {
      throw new StoreError("unusable", `there are no worlds in ${addressOf(url)}`);
    }
    await expectVersion(client);
    return client;
  } catch (error) {
    await end(client);
    return explain(error);
  }
}
