import { createHash, randomUUID } from "node:crypto";
import { resolve } from "node:path";
import pg from "pg";
import type { BucketOptions, EngineChoice } from "../../../db/choice.js";
import { Buckets } from "./buckets.js";

// The servers started by test/support/servers/with.ts. Each data folder of a test maps to its own
// database, Valkey namespace and bucket.

/** The servers' addresses, as environment variables. */
export interface Addresses {
  /** The address of the database `postgres`. */
  STACK_POSTGRES: string;
  STACK_VALKEY: string;
  STACK_S3: string;
}

const { STACK_POSTGRES, STACK_VALKEY, STACK_S3 } = process.env as unknown as Addresses;

// Neither keeps the process alive nor holds many of the server's connections.
const admin = new pg.Pool({
  connectionString: STACK_POSTGRES,
  max: 2,
  idleTimeoutMillis: 1000,
  allowExitOnIdle: true,
});
admin.on("error", () => {});

const buckets = new Buckets(STACK_S3, process.env);

/** Derives the name of a folder's database and bucket. */
function nameOf(dataDir: string): string {
  const hash = createHash("sha256").update(resolve(dataDir)).digest("hex");
  return `foyer-${hash.slice(0, 24)}`;
}

const addressOf = (database: string): string => {
  const url = new URL(STACK_POSTGRES);
  url.pathname = `/${database}`;
  return url.href;
};

const bucketOf = (dataDir: string): BucketOptions => ({
  bucket: nameOf(dataDir),
  endpoint: STACK_S3,
  region: "us-east-1",
  forcePathStyle: true,
  redirect: false,
});

/** The folders with resources on the servers, and promises that resolve once these exist. */
const made = new Map<string, Promise<void>>();

async function make(dataDir: string, template: string): Promise<void> {
  const name = nameOf(dataDir);
  const create = `CREATE DATABASE "${name}" TEMPLATE "${template}"`;
  await Promise.all([
    buckets.create(name),
    admin.query(create).catch((error: unknown) => {
      const isThere = (error as { code?: string }).code === "42P04";
      if (!isThere) throw error;
    }),
  ]);
}

/** Creates a folder's database and bucket, unless this process already has. */
function prepare(dataDir: string, template = "template0"): Promise<void> {
  const path = resolve(dataDir);
  let done = made.get(path);
  if (!done) made.set(path, (done = make(path, template)));
  return done;
}

/** Returns the engines of a folder. */
export async function enginesOf(dataDir: string): Promise<Required<EngineChoice>> {
  await prepare(dataDir);
  return {
    database: { url: addressOf(nameOf(dataDir)), pool: 10 },
    valkeyUrl: STACK_VALKEY,
    bucket: bucketOf(dataDir),
  };
}

/** Returns the environment variables that select a folder's engines. */
export async function variablesOf(dataDir: string): Promise<Record<string, string>> {
  const { database, valkeyUrl, bucket } = await enginesOf(dataDir);
  return {
    DATABASE_URL: database.url,
    VALKEY_URL: valkeyUrl,
    S3_BUCKET: bucket.bucket,
    S3_ENDPOINT: STACK_S3,
    S3_FORCE_PATH_STYLE: "on",
    AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID!,
    AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY!,
  };
}

/** Creates a bucket that belongs to no folder. */
export async function newBucket(): Promise<BucketOptions> {
  const bucket = bucketOf(randomUUID());
  await buckets.create(bucket.bucket);
  return bucket;
}

/**
 * Makes a folder's database a copy of another folder's, which no process may have open.
 * @throws {Error} if the folder already has a database.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  if (made.has(resolve(to))) throw new Error(`${to} has a database.`);
  await prepare(to, nameOf(from));
  // Each installation needs its own id, which names its keys in Valkey.
  const client = new pg.Client(addressOf(nameOf(to)));
  await client.connect();
  await client.query("UPDATE cluster SET value = gen_random_uuid() WHERE name = 'id'");
  await client.end();
}

/** Drops the databases of a folder and of all folders inside it. The objects stay until the server ends. */
export async function forget(folder: string): Promise<void> {
  const root = resolve(folder);
  for (const [path, done] of made) {
    if (path !== root && !path.startsWith(`${root}/`)) continue;
    made.delete(path);
    await done;
    await admin.query(`DROP DATABASE IF EXISTS "${nameOf(path)}" WITH (FORCE)`);
  }
}

/** Returns the keys of unfinished work in a folder's bucket: notes, and multipart uploads. */
export async function unfinishedOf(dataDir: string): Promise<string[]> {
  await prepare(dataDir);
  return buckets.unfinished(nameOf(dataDir));
}

/** Returns the keys of all files in a folder's bucket. */
export async function objectsOf(dataDir: string): Promise<string[]> {
  await prepare(dataDir);
  return buckets.keys(nameOf(dataDir));
}
