import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import type { Client } from "../../conformance/client.js";
import { keyOf, tokenOf } from "../support/helper.js";
import { NIGHT } from "../support/night.js";
import { demo, type Server, type ServerNode, startServer } from "../support/server.js";
import type { Links, OwnServers } from "../support/servers/stack.js";
import { type Answer, request } from "../system/requests.js";
export { NIGHT } from "../support/night.js";

// Nodes that share a PostgreSQL, a Valkey and a bucket, and requests to them.

export const WORLD = "sample";

/** One second, in milliseconds. */
export const SECONDS = 1000;

/** A node, with helpers for requests. */
export interface Node extends ServerNode {
  readonly links: Links;
  /** Sends a request to the world's API as an administrator. */
  api(method: string, path: string, body?: unknown): Promise<TimedAnswer>;
  /** Returns the status of a GET request to any path. */
  status(path: string): Promise<number>;
  /**
   * Connects and logs in.
   * @param baseUrl the address of a proxy; defaults to the node.
   */
  logIn(credentials: object, baseUrl?: string): Promise<Client>;
}

/** A response and its latency, in milliseconds. */
type TimedAnswer = Answer & { took: number };

/** A test's servers, and the nodes that share them. */
export interface Site extends OwnServers {
  readonly nodes: readonly Node[];
  /**
   * Starts another node.
   * @param env overrides for its environment.
   */
  startNode(env?: Record<string, string>): Promise<Node>;
}

/**
 * Starts servers and nodes with a world.
 * @param env overrides for the environment of all nodes.
 */
export async function startSite(
  t: Test,
  processes: number,
  env: Record<string, string> = {},
): Promise<Site> {
  const server = await startServer(t, {
    engine: "own",
    processes,
    // An upload goes to the world whose domain is the request's host.
    worlds: [demo({ id: WORLD, domain: "127.0.0.1" })],
    env: {
      LIVE_MESSAGES_PER_SECOND: "1000",
      UPLOADS_PER_MINUTE: "100000",
      LOG_LEVEL: "info",
      ...env,
    },
  });
  return {
    ...server.own,
    nodes: server.processes.map((node) => nodeOf(server, node)),
    startNode: async (env) => nodeOf(server, await server.startNode(env)),
  };
}

const nodeOf = (server: Server, node: ServerNode): Node => ({
  ...node,
  links: node.links!,
  async api(method, path, body) {
    const started = performance.now();
    const token = tokenOf(keyOf(WORLD), { traits: ["admin", "api"] });
    const to = { address: node.address, token };
    const answer = await request(to, `${WORLD}/${path}`, method, body);
    return { ...answer, took: performance.now() - started };
  },
  status: async (path) => {
    const response = await fetch(`${node.address}${path}`);
    await response.arrayBuffer();
    return response.status;
  },
  async logIn(credentials, baseUrl = node.address) {
    const client = await server.connect(WORLD, {}, baseUrl);
    const answer = await client.login(credentials);
    if (answer[0] !== "authenticated") throw new Error(JSON.stringify(answer));
    return client;
  },
});

/**
 * Creates a room with a chat.
 * @returns the id of the room, which is also that of its channel.
 */
export async function createRoom(node: Node, name = "Hall"): Promise<string> {
  const module_config = [{ type: "chat.native" }];
  const { status, body } = await node.api("POST", "rooms/", { name, module_config });
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  return (body as { id: string }).id;
}

/** The maximum time to wait for any condition, in milliseconds, even on a busy machine. */
const WAIT_LIMIT_MS = 180_000;

/**
 * Waits until a condition holds.
 * @param limit the guaranteed time, in milliseconds; enforced only in the nightly run.
 * @param since the start of the wait, as returned by `performance.now()`; defaults to now.
 * @returns how long it took, in milliseconds.
 * @throws {Error} naming the condition, if it never held or only after the limit.
 */
export async function within(
  limit: number,
  what: string,
  condition: () => boolean | Promise<boolean>,
  since = performance.now(),
): Promise<number> {
  const most = NIGHT ? limit : WAIT_LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() - since > most) throw new Error(`${what}: not within ${most} ms`);
    await delay(20);
  }
  return performance.now() - since;
}

/** Returns whether a node's process is still running. */
export function isRunning({ pid }: Node): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
