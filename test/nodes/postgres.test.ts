import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { PATIENCE } from "../patience.js";
import {
  isRunning,
  type Node,
  SECONDS,
  SHORT,
  startNode,
  startSite,
  within,
} from "./kit.js";
import { Talk } from "./talk.js";

/** How long the database is away, in milliseconds. */
const AWAY = (SHORT ? 2 : 5) * SECONDS;

/** How late an answer may be that must come within two seconds: the machine has other work. */
const AT_MOST = 2 * SECONDS * PATIENCE + 1000;

let count = 0;

/** Creates a room with a new name. */
const write = (node: Node) =>
  node.api("POST", "rooms/", { name: `Written ${++count}` });

/** Expects that a node says what it cannot do, and lives. */
export async function expectUnavailable(t: Test, node: Node): Promise<void> {
  const asked: [method: string, path: string, body?: object][] = [
    ["GET", "rooms/"],
    ["GET", "users/"],
    ["POST", "rooms/", { name: "Nowhere" }],
    ["PATCH", "", { title: "Nothing" }],
  ];
  for (const [method, path, body] of asked) {
    const { status, retryAfter, took } = await node.api(method, path, body);
    t.equal(status, 503, `${method} ${path}`);
    t.match(retryAfter, /^\d+$/, "it says when to try again");
    t.ok(took < AT_MOST, `within ${Math.round(took)} ms`);
  }
  t.equal(await node.status("/readyz"), 503, "no balancer should ask it");
  t.equal(await node.status("/healthz"), 200, "it lives");
}

/** Waits until a node reads and writes again. */
export async function expectBack(t: Test, node: Node): Promise<void> {
  const took = await within(15 * SECONDS, "it is back", async () => {
    return (await write(node)).status === 201;
  });
  t.comment(`back after ${Math.round(took)} ms`);
  t.equal((await node.api("GET", "rooms/")).status, 200);
  t.equal(await node.status("/readyz"), 200);
  t.ok(isRunning(node), "it has never ended");
}

void t.test("the database restarts", async (t) => {
  const site = await startSite(t);
  const nodes = [await startNode(t, site), await startNode(t, site)];
  const talk = await Talk.start(t, nodes, 20);
  const made = new Set<string>();
  const { postgres } = site;
  talk.begin();

  const ends: Record<string, () => Promise<void>> = {
    "in good order": () => postgres.stop("fast"),
    "at once": () => postgres.stop("immediate"),
    "by kill -9": () => postgres.kill(),
  };
  for (const [name, end] of Object.entries(ends)) {
    await t.test(name, async (t) => {
      await talk.goOn(20);
      const { status, body } = await write(nodes[0]!);
      t.equal(status, 201);
      made.add((body as { id: string }).id);
      await end();
      await Promise.all(nodes.map((node) => expectUnavailable(t, node)));
      await delay(AWAY);
      await postgres.start();
      for (const node of nodes) await expectBack(t, node);
      await talk.goOn(20);
    });
  }

  await talk.end();
  for (const id of made) {
    const { status } = await nodes[1]!.api("GET", `rooms/${id}/`);
    t.equal(status, 200, "what was acknowledged is there");
  }
});
