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

/** The oldest PostgreSQL with the features that Foyer uses. */
const OLDEST_SERVER = 140_000;

export interface UpgradeOptions {
  /** Whether an empty database is filled; otherwise it must have been before. */
  create: boolean;
  /** Whether an older database is upgraded; true by default. Otherwise it is refused. */
  upgrade?: boolean;
  /** Gets one line about an upgrade. */
  log?: ((line: string) => void) | undefined;
}

/**
 * Creates or upgrades the tables. Of several nodes that start together, one does.
 * @returns the id of the installation, which all nodes have in common.
 * @throws {StoreError} `unusable`, with the end of a line for the operator.
 */
export async function upgrade(
  client: pg.Client,
  { create, upgrade: mayUpgrade = true, log }: UpgradeOptions,
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

/** The version of the tables; 0 if there are none. */
export async function versionOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ found: string | null }>(
    "SELECT to_regclass('cluster') AS found",
  );
  return rows[0]!.found === null ? 0 : Number(await read(client, "version"));
}

async function migrate(
  client: pg.Client,
  version: number,
  log: UpgradeOptions["log"],
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

/** A value that the nodes have agreed on, by its name. */
export async function read(client: pg.Client, name: string): Promise<string | undefined> {
  const { rows } = await client.query<{ value: string }>(
    "SELECT value FROM cluster WHERE name = $1",
    [name],
  );
  return rows[0]?.value;
}

/** Stores a value that the nodes agree on. */
export async function write(client: pg.Client, name: string, value: string): Promise<void> {
  await client.query(
    "INSERT INTO cluster (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    [name, value],
  );
}

/** @throws {StoreError} `unusable` if another Foyer has upgraded the tables meanwhile. */
export async function expectVersion(client: pg.Client): Promise<void> {
  const version = await versionOf(client);
  if (version !== latestVersion()) {
    throw new StoreError(
      "unusable",
      `the database has version ${version} now, and this Foyer works with ${latestVersion()}`,
    );
  }
}

/** How long a connection may take. */
const CONNECT_TIMEOUT_MS = 5000;

/** How long an answer may take: an index of a large table takes minutes. */
const EXCHANGE_TIMEOUT_MS = 3_600_000;

/**
 * A connection for long work. It is of no pool, and the server has no limits for it.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export async function connect(url: string): Promise<pg.Client> {
  const client = clientOf({
    ...configOf(url, CONNECT_TIMEOUT_MS),
    query_timeout: EXCHANGE_TIMEOUT_MS,
  });
  try {
    await open(client);
    // The server may have limits for all others.
    await client.query("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0");
    return client;
  } catch (error) {
    await end(client);
    throw refusal(url, error);
  }
}

/**
 * A connection to a database that has the tables of this Foyer.
 * @throws {StoreError} `unusable` with one line for the operator.
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
