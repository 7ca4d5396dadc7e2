import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import { loadConfig } from "../../config.js";
import { openEngines } from "../../db/open.js";
import {
  foyer,
  keyOf,
  type ServerProcess,
  startFoyer,
  tokenOf,
  worldOf,
} from "../helper.js";
import { PATIENCE } from "../patience.js";
import { ownerIn } from "../servers/owner.js";
import { Buckets } from "../servers/buckets.js";
import { startPostgres, type PostgresServer } from "../servers/postgres.js";
import { startProxy, through, type Proxy } from "../servers/proxy.js";
import { startS3 } from "../servers/s3.js";
import { startValkey, type ValkeyServer } from "../servers/valkey.js";
import { shortFolder } from "../system/person.js";
import { type Answer, request } from "../system/requests.js";

export { SHORT } from "../suites.js";

// Nodes on one PostgreSQL, one Valkey and one bucket, and what happens to them.

/** The world of these tests. */
export const WORLD = "sample";

/** Long for the machine of a test, and short for people. */
export const SECONDS = 1000;

/** The servers that nodes share. */
export interface Site {
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

/** A node, and the ways to its servers if a test may break them. */
export interface Node extends ServerProcess {
  readonly dataDir: string;
  readonly env: Record<string, string>;
  readonly links: Links;
  /** Sends a request to the API of the world as an administrator. */
  api(method: string, path: string, body?: unknown): Promise<TimedAnswer>;
  /** The status of any address. */
  status(path: string): Promise<number>;
}

export interface Links {
  postgres: Proxy;
  valkey: Proxy;
}

/** An answer, and how long it took, in milliseconds. */
type TimedAnswer = Answer & { took: number };

/** Starts the three servers, with a world in the database. */
export async function startSite(t: Test): Promise<Site> {
  const folder = shortFolder(t);
  const owner = ownerIn(folder, (end) => t.teardown(end));
  const [postgres, valkey, s3] = await Promise.all([
    // What is committed has to survive the end of its processes.
    startPostgres({ settings: { synchronous_commit: "on" } }),
    startValkey(owner),
    startS3(owner),
  ]);
  t.teardown(() => postgres.close());
  const bucketLink = await startProxy(t, Number(new URL(s3.endpoint).port));
  const buckets = new Buckets(s3.endpoint, s3.variables);
  const site: Site = {
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
  await createWorld(site);
  return site;
}

async function createWorld({ folder, env }: Site): Promise<void> {
  const dataDir = join(folder, "first");
  const { database } = loadConfig(env).engines;
  const engines = await openEngines({
    dataDir,
    database: database!,
    serves: false,
  });
  // Uploads belong to the world of the host that they are sent to.
  await engines.store.worlds.create(worldOf(WORLD, { domain: "127.0.0.1" }));
  await engines.close();
}

let count = 0;

/**
 * Starts a node.
 * @param env what differs from the variables of the others.
 */
export async function startNode(
  t: Test,
  { folder, postgres, valkey, env: common }: Site,
  env: Record<string, string> = {},
): Promise<Node> {
  const dataDir = join(folder, `node-${++count}`);
  const links = {
    postgres: await startProxy(t, postgres.port),
    valkey: await startProxy(t, valkey.port),
  };
  const all = {
    ...common,
    DATABASE_URL: through(common.DATABASE_URL!, links.postgres),
    VALKEY_URL: through(common.VALKEY_URL!, links.valkey),
    // The rates are high enough for these tests.
    LIVE_MESSAGES_PER_SECOND: "1000",
    LIVE_COMMANDS_PER_SECOND: "10000",
    UPLOADS_PER_MINUTE: "100000",
    LOG_LEVEL: "info",
    ...env,
  };
  const server = await startFoyer(t, dataDir, [], all);
  // A test kills by signals; a code means that the process failed.
  void server.finished.then(({ code, stderr }) => {
    if (code) t.fail(`a node ended with ${code}: ${stderr}`);
  });
  return {
    ...server,
    dataDir,
    env: all,
    links,
    async api(method, path, body) {
      const started = performance.now();
      const token = tokenOf(keyOf(WORLD), { traits: ["admin", "api"] });
      const to = { address: server.address, token };
      const answer = await request(to, `${WORLD}/${path}`, method, body);
      return { ...answer, took: performance.now() - started };
    },
    status: async (path) => {
      const response = await fetch(`${server.address}${path}`);
      await response.arrayBuffer();
      return response.status;
    },
  };
}

/** Creates a room with a chat. @returns the id of the room and of its channel. */
export async function createRoom(node: Node, name = "Hall"): Promise<string> {
  const module_config = [{ type: "chat.native" }];
  const { status, body } = await node.api("POST", "rooms/", {
    name,
    module_config,
  });
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  return (body as { id: string }).id;
}

/**
 * Waits until something is so.
 * @param limit in milliseconds, on a machine that has nothing else to do.
 * @param since when that began, as `performance.now()` gave it; by default now.
 * @returns how long it took, in milliseconds.
 * @throws {Error} that says what never was.
 */
export async function within(
  limit: number,
  what: string,
  condition: () => boolean | Promise<boolean>,
  since = performance.now(),
): Promise<number> {
  while (!(await condition())) {
    if (performance.now() - since > limit * PATIENCE) {
      throw new Error(`${what}: not within ${limit * PATIENCE} ms`);
    }
    await delay(20);
  }
  return performance.now() - since;
}

/** Whether a process of a node is still there. */
export function isRunning({ pid }: Node): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Runs a command of an operator on the database of a site. */
export const command = (
  { folder, env }: Site,
  ...args: string[]
): ReturnType<typeof foyer> => foyer(join(folder, "first"), args, env);
