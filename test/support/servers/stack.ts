import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { shortFolder } from "../testdir.js";
import { Buckets } from "./buckets.js";
import { type PostgresServer, startPostgres } from "./postgres.js";
import { type Proxy, startProxy, through } from "./proxy.js";
import { startS3 } from "./s3.js";
import type { Addresses } from "./shared.js";
import { startValkey, type ValkeyServer } from "./valkey.js";

/** PostgreSQL, Valkey and S3 for a test run. Each data folder has its share of them (see shared.ts). */
interface Stack {
  /** Addresses and credentials, as environment variables for test processes. */
  readonly env: Record<string, string>;
  close(): Promise<void>;
}

/** Starts the servers. @throws {Error} with one line that says what to install, if a server is missing. */
export async function startStack(): Promise<Stack> {
  const ends: (() => unknown)[] = [];
  const folder = mkdtempSync(join(tmpdir(), "foyer-stack-"));
  const close = async () => {
    for (const end of ends.reverse()) await end();
    rmSync(folder, { recursive: true, force: true });
  };
  const owner = ownerIn(folder, (end) => void ends.push(end));
  try {
    const [postgres, valkey, s3] = await Promise.all([
      startPostgres(),
      startValkey(owner),
      startS3(owner),
    ]);
    ends.push(() => postgres.close());
    const addresses: Addresses = {
      STACK_POSTGRES: postgres.url(),
      STACK_VALKEY: valkey.url,
      STACK_S3: s3.endpoint,
    };
    const { AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "" } = s3.variables;
    const keys = { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY };
    return { env: { ...addresses, ...keys }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Stands in for the test that a server's start function expects. `testdir` of a test empties its
 * folder on each call, so several servers cannot share one test, and a test runner is not a test at
 * all.
 * @param folder the parent of a folder for each server.
 * @param teardown receives the function that ends each server.
 */
const ownerIn = (folder: string, teardown: Test["teardown"]): Test =>
  ({
    teardown,
    testdirName: "server",
    testdir: () => mkdtempSync(join(folder, "server-")),
  }) as unknown as Test;

/** PostgreSQL, Valkey and S3 for a single test, which may kill them or cut off nodes. */
export interface OwnServers {
  readonly folder: string;
  readonly postgres: PostgresServer;
  readonly valkey: ValkeyServer;
  /**
   * The proxy through which all nodes reach the bucket. They share it because the address is part
   * of the bucket's identity.
   */
  readonly bucketLink: Proxy;
  /** The environment variables of a node. */
  readonly env: Record<string, string>;
  /** Returns the keys of all files in the bucket. */
  objects(): Promise<string[]>;
  createBucket(name: string): Promise<void>;
}

/** The proxies between a node and its servers, which a test may break. */
export interface Links {
  postgres: Proxy;
  valkey: Proxy;
}

/** Starts the three servers. They end with the test. */
export async function startOwn(t: Test): Promise<OwnServers> {
  const folder = shortFolder(t);
  const owner = ownerIn(folder, (end) => t.teardown(end));
  const [postgres, valkey, s3] = await Promise.all([
    // Committed data must survive the death of the server's processes.
    startPostgres({ settings: { synchronous_commit: "on" } }),
    startValkey(owner),
    startS3(owner),
  ]);
  t.teardown(() => postgres.close());
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = s3.variables;
  Object.assign(process.env, { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY });
  const bucketLink = await startProxy(t, Number(new URL(s3.endpoint).port));
  const buckets = new Buckets(s3.endpoint, s3.variables);
  return {
    folder,
    postgres,
    valkey,
    bucketLink,
    env: {
      DATABASE_URL: await postgres.createDatabase("foyer"),
      VALKEY_URL: valkey.url,
      ...s3.variables,
      S3_ENDPOINT: `http://127.0.0.1:${bucketLink.port}`,
    },
    objects: () => buckets.keys(s3.bucket),
    createBucket: (name) => buckets.create(name),
  };
}

let count = 0;

/** Creates what another node needs for itself: a data folder, proxies, and the variables that select them. */
export async function ownOfNode(t: Test, { folder, postgres, valkey, env }: OwnServers) {
  const dataDir = join(folder, `node-${++count}`);
  const links: Links = {
    postgres: await startProxy(t, postgres.port),
    valkey: await startProxy(t, valkey.port),
  };
  const variables = {
    ...env,
    DATA_DIR: dataDir,
    DATABASE_URL: through(env.DATABASE_URL!, links.postgres),
    VALKEY_URL: through(env.VALKEY_URL!, links.valkey),
  };
  return { dataDir, links, variables };
}
