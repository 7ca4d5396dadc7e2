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

/** PostgreSQL, Valkey and S3 for a run of tests. Each data folder has a part of them (shared.ts). */
interface Stack {
  /** The addresses and credentials, as variables of processes that run tests. */
  readonly env: Record<string, string>;
  close(): Promise<void>;
}

/** Starts the servers. @throws {Error} one line that says what to install, if one is not there. */
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
 * Stands for a test where a server asks for one: `testdir` of a test empties its folder each
 * time, so servers of one test cannot share it, and a runner is no test.
 * @param folder gets a folder for each server.
 * @param teardown gets what ends each.
 */
const ownerIn = (folder: string, teardown: Test["teardown"]): Test =>
  ({
    teardown,
    testdirName: "server",
    testdir: () => mkdtempSync(join(folder, "server-")),
  }) as unknown as Test;

/** PostgreSQL, Valkey and S3 of one test, which may kill them or cut nodes off. */
export interface OwnServers {
  readonly folder: string;
  readonly postgres: PostgresServer;
  readonly valkey: ValkeyServer;
  /** The way of all nodes to the bucket: an address is a part of its identity. */
  readonly bucketLink: Proxy;
  /** The variables of a node. */
  readonly env: Record<string, string>;
  /** The keys of all files in the bucket. */
  objects(): Promise<string[]>;
  createBucket(name: string): Promise<void>;
}

/** The ways of one node to its servers, which a test may break. */
export interface Links {
  postgres: Proxy;
  valkey: Proxy;
}

/** Starts the three servers, which end with the test. */
export async function startOwn(t: Test): Promise<OwnServers> {
  const folder = shortFolder(t);
  const owner = ownerIn(folder, (end) => t.teardown(end));
  const [postgres, valkey, s3] = await Promise.all([
    // What is committed has to survive the end of its processes.
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

/** What one more node has of its own: a data folder, links, and the variables that select both. */
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
