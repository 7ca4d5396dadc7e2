import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";
import t from "tap";
import { startValkey } from "../servers/valkey.js";
import { converged, open } from "./valkey-nodes.js";

const NODES = 10;

/** How many messages are published in each world. */
const MESSAGES = 200;

void t.test("a process gets the bytes of its world", async (t) => {
  const { url } = await startValkey(t);
  const client = createClient({ url });
  await client.connect();
  t.teardown(() => client.destroy());
  /** How many bytes Valkey has sent to all. */
  const sent = async (): Promise<number> => {
    const stats = await client.info("stats");
    return Number(/^total_net_output_bytes:(\d+)/m.exec(stats)![1]);
  };
  /** @returns how many bytes arrive at nodes that have joined some worlds each. */
  async function measure(
    worldsOf: (node: number) => number[],
  ): Promise<number> {
    const namespace = randomUUID();
    const nodes = [];
    for (let n = 0; n < NODES; n++) {
      const node = await open(t, url, namespace);
      for (const world of worldsOf(n)) node.join(`w${world}`);
      nodes.push(node);
    }
    await converged(nodes);
    const before = await sent();
    for (let i = 0; i < MESSAGES; i++) {
      for (const [n, node] of nodes.entries()) {
        node.publishIn(`w${n}`, "x".repeat(300));
      }
      await new Promise(setImmediate);
    }
    await converged(nodes);
    const bytes = (await sent()) - before;
    for (const [n, node] of nodes.entries()) {
      t.equal(node.received("a").length, worldsOf(n).length * MESSAGES);
    }
    await Promise.all(nodes.map((node) => node.close()));
    return bytes;
  }
  const all = Array.from({ length: NODES }, (_, i) => i);
  const whole = await measure(() => all);
  const own = await measure((node) => [node]);
  t.comment(
    `${own} bytes, instead of ${whole} if all hear all: ${own / whole}`,
  );
  t.ok(own / whole < 0.12, `${own / whole}`);
});
