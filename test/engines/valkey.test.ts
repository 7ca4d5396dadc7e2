import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";
import t, { type Test } from "tap";
import { until } from "../helper.js";
import { startValkey } from "../servers/valkey.js";
import { busContract, type Group } from "../db/bus-contract.js";
import { forkNode, type Forked, type WorkerNode } from "../db/bus-fork.js";

/** Waits until everything that was published before has come. */
async function settle(nodes: readonly WorkerNode[]): Promise<void> {
  const marks: string[] = [];
  for (const node of nodes) {
    const mark = randomUUID();
    if (await node.mark(mark)) marks.push(mark);
  }
  for (const node of nodes) {
    await until(async () => {
      const came = await node.marks();
      return !came || marks.every((mark) => came.includes(mark));
    });
  }
}

/** Starts processes that share a Valkey. */
async function forkNodes(
  t: Test,
  url: string,
  count: number,
): Promise<Forked<WorkerNode>[]> {
  const namespace = randomUUID();
  const forked = Array.from({ length: count }, () => forkNode(t));
  await Promise.all(forked.map(({ node }) => node.begin({ url, namespace })));
  return forked;
}

void t.test("the contract", async (t) => {
  const { url } = await startValkey(t);
  const nodes = [1, 2, 3].map(() => forkNode(t).node);
  const client = createClient({ url });
  await client.connect();
  t.teardown(() => client.destroy());
  await busContract(t, async (): Promise<Group> => {
    const namespace = randomUUID();
    await Promise.all(nodes.map((node) => node.begin({ url, namespace })));
    const inject = (message: unknown) => {
      const { world } = (message ?? {}) as { world?: unknown };
      const of = typeof world === "string" ? `world:${world}` : "all";
      const text = `stranger messages [${JSON.stringify(message)}]`;
      return client.publish(`foyer:${namespace}:${of}`, text);
    };
    return { nodes, settle: () => settle(nodes), inject };
  });
});

void t.test("two that share a Valkey hear nothing of each other", async (t) => {
  const { url } = await startValkey(t);
  const groups = [await forkNodes(t, url, 2), await forkNodes(t, url, 2)];
  for (const [at, group] of groups.entries()) {
    for (const { node } of group) await node.subscribe("a");
    await group[0]!.node.publish(`of ${at}`);
  }
  for (const [at, group] of groups.entries()) {
    await settle(group.map(({ node }) => node));
    for (const { node } of group) {
      t.strictSame(await node.received("a"), [`of ${at}`]);
    }
    t.equal((await group[0]!.node.count("key", 60_000)).count, 1);
    t.equal((await group[1]!.node.count("key", 60_000)).count, 2);
  }
  const identities = new Set<string>();
  for (const [{ node }, other] of groups as [
    Forked<WorkerNode>,
    Forked<WorkerNode>,
  ][]) {
    const { identity } = await node.state();
    t.equal((await other.node.state()).identity, identity);
    identities.add(identity);
  }
  t.equal(identities.size, 2);
});
