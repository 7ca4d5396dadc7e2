import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import type { Client } from "../../conformance/client.js";
import { keyOf, tokenOf } from "../support/helper.js";
import { NIGHT } from "../support/night.js";
import { demo, type Server, type ServerNode, startServer } from "../support/server.js";
import type { Links, OwnServers } from "../support/servers/stack.js";
import { type Answer, request } from "../system/requests.js";
export { NIGHT } from "../support/night.js";

// Nodes on one PostgreSQL, one Valkey and one bucket, and what happens to them.

/** The world of these tests. */
export const WORLD = "sample";

/** Long for the machine of a test, and short for people. */
export const SECONDS = 1000;

/** A node, and requests to it. */
export interface Node extends ServerNode {
  readonly links: Links;
  /** Sends a request to the API of the world as an administrator. */
  api(method: string, path: string, body?: unknown): Promise<TimedAnswer>;
  /** The status of any address. */
  status(path: string): Promise<number>;
  /** Connects and logs in. @param baseUrl of a proxy; by default, of the node itself. */
  logIn(credentials: object, baseUrl?: string): Promise<Client>;
}

/** An answer, and how long it took, in milliseconds. */
type TimedAnswer = Answer & { took: number };

/** Servers of one test, and nodes that share them. */
export interface Site extends OwnServers {
  readonly nodes: readonly Node[];
  /** Starts one more node. @param env how it differs from the others. */
  startNode(env?: Record<string, string>): Promise<Node>;
}

/** Starts servers and nodes, with a world. */
export async function startSite(t: Test, processes: number): Promise<Site> {
  const server = await startServer(t, {
    engine: "own",
    processes,
    // Uploads belong to the world of the host that they are sent to.
    worlds: [demo({ id: WORLD, domain: "127.0.0.1" })],
    env: { LIVE_MESSAGES_PER_SECOND: "1000", UPLOADS_PER_MINUTE: "100000", LOG_LEVEL: "info" },
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

/** Creates a room with a chat. @returns the id of the room and of its channel. */
export async function createRoom(node: Node, name = "Hall"): Promise<string> {
  const module_config = [{ type: "chat.native" }];
  const { status, body } = await node.api("POST", "rooms/", { name, module_config });
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  return (body as { id: string }).id;
}

/** How long a test waits for anything at most, in milliseconds, however busy the machine is. */
const WAIT_LIMIT_MS = 180_000;

/**
 * Waits until something is so.
 * @param limit the promise in milliseconds, which only the nightly run holds it to.
 * @param since when that began, as `performance.now()` gave it; by default now.
 * @returns how long it took, in milliseconds.
 * @throws {Error} that says what never was, or was late.
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

/** Whether a process of a node is still there. */
export function isRunning({ pid }: Node): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
