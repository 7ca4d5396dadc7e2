import { createHash, randomUUID } from "node:crypto";
import { resolve } from "node:path";
import pg from "pg";
import type { BucketOptions, EngineChoice } from "../../../db/choice.js";
import { Buckets } from "./buckets.js";

// The servers that test/support/servers/with.ts has started. Each data folder of a test stands
// for a database, with a namespace in Valkey, and a bucket of their own.

/** The addresses of the servers in the environment. */
export interface Addresses {
  /** Of the database `postgres`. */
  STACK_POSTGRES: string;
  STACK_VALKEY: string;
  STACK_S3: string;
}

const { STACK_POSTGRES, STACK_VALKEY, STACK_S3 } = process.env as unknown as Addresses;

// It does not keep the process, nor does it hold many of the connections of the server.
const admin = new pg.Pool({
  connectionString: STACK_POSTGRES,
  max: 2,
  idleTimeoutMillis: 1000,
  allowExitOnIdle: true,
});
admin.on("error", () => {});

const buckets = new Buckets(STACK_S3, process.env);

/** The name of what belongs to a folder. */
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

/** The folders that stand for something, and when that is there. */
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

/** Creates the database and the bucket of a folder, if this process has not yet. */
function prepare(dataDir: string, template = "template0"): Promise<void> {
  const path = resolve(dataDir);
  let done = made.get(path);
  if (!done) made.set(path, (done = make(path, template)));
  return done;
}

/** The engines of a folder. */
export async function enginesOf(dataDir: string): Promise<Required<EngineChoice>> {
  await prepare(dataDir);
  return {
    database: { url: addressOf(nameOf(dataDir)), pool: 10 },
    valkeyUrl: STACK_VALKEY,
    bucket: bucketOf(dataDir),
  };
}

/** The variables of a process that has these engines. */
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
 * Makes the database of a folder a copy of another's, which no process has open.
 * @throws {Error} if the folder has a database.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  if (made.has(resolve(to))) throw new Error(`${to} has a database.`);
  await prepare(to, nameOf(from));
  // It names what belongs to one installation in Valkey.
  const client = new pg.Client(addressOf(nameOf(to)));
  await client.connect();
  await client.query("UPDATE cluster SET value = gen_random_uuid() WHERE name = 'id'");
  await client.end();
}

/** Drops what belongs to a folder, and what belongs to folders in it. The objects stay until the server ends. */
export async function forget(folder: string): Promise<void> {
  const root = resolve(folder);
  for (const [path, done] of made) {
    if (path !== root && !path.startsWith(`${root}/`)) continue;
    made.delete(path);
    await done;
    await admin.query(`DROP DATABASE IF EXISTS "${nameOf(path)}" WITH (FORCE)`);
  }
}

/** The keys of what is not done in the bucket of a folder: notes, and uploads in parts. */
export async function unfinishedOf(dataDir: string): Promise<string[]> {
  await prepare(dataDir);
  return buckets.unfinished(nameOf(dataDir));
}

/** The keys of all files in the bucket of a folder. */
export async function objectsOf(dataDir: string): Promise<string[]> {
  await prepare(dataDir);
  return buckets.keys(nameOf(dataDir));
}
