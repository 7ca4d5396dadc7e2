import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "@redis/client";
import { ValkeyBus } from "../../db/bus/valkey/bus.js";
import { chatEntry } from "../../db/log/entries.js";
import { ownerIn } from "../../test/servers/owner.js";
import { startValkey } from "../../test/servers/valkey.js";
import { newFolder } from "../servers.js";

// `npm run bench bytes` counts the bytes that Valkey sends for the hints of short messages to
// ten nodes with one of ten worlds each, and to ten nodes with all worlds. It takes a few
// seconds.

const NODES = 10;

/** How many messages each world has. */
const MESSAGES = 200;

const ends: (() => unknown)[] = [];
const { url } = await startValkey(
  ownerIn(newFolder(), (end) => void ends.push(end)),
);
const client = createClient({ url });
await client.connect();

/** How many bytes Valkey has sent so far. */
async function sent(): Promise<number> {
  const stats = await client.info("stats");
  return Number(/^total_net_output_bytes:(\d+)/m.exec(stats)![1]);
}

const worlds = Array.from({ length: NODES }, () => randomUUID());
const channels = worlds.map(() => randomUUID());

/** The hint of a message. */
function hintOf(n: number, id: number) {
  const sender = randomUUID();
  const event = {
    ...{ id, channel: channels[n]!, sender, timestamp: Date.now() },
    type: "channel.message" as const,
    content: JSON.stringify({ type: "text", body: "Hello, how are you?" }),
    ...{ edited: null, replaces: null, reactions: {} },
  };
  const before = { previous: id - 1, previousMessage: id - 1 };
  const delivery = { event, ...before, notified: [], appeared: [] };
  const by = { kind: "user", user: sender, connection: randomUUID() } as const;
  return {
    entry: chatEntry(worlds[n]!, 2 ** 46 + id, delivery, by),
    previous: 2 ** 46 + id - 1,
  };
}

/** @returns how many bytes Valkey sends to nodes that have joined some worlds each. */
async function measure(isJoined: (node: number, world: number) => boolean) {
  let received = 0;
  let expected = 0;
  const nodes: ValkeyBus[] = [];
  const namespace = randomUUID();
  for (let n = 0; n < NODES; n++) {
    const onFault = (fault: unknown) => {
      throw fault as Error;
    };
    const node = await ValkeyBus.open({ url, namespace, onFault });
    node.subscribe(({ type }) => void (received += Number(type === "hints")));
    nodes.push(node);
    for (const [w, world] of worlds.entries()) {
      if (!isJoined(n, w)) continue;
      node.join(world);
      expected += MESSAGES;
    }
  }
  await delay(500);
  const before = await sent();
  for (let id = 1; id <= MESSAGES; id++) {
    for (const [n, node] of nodes.entries()) {
      const world = worlds[n]!;
      node.publish({ type: "hints", world, hints: [hintOf(n, id)] });
    }
    await new Promise(setImmediate);
  }
  const patience = performance.now() + 10_000;
  while (received < expected && performance.now() < patience) await delay(10);
  const bytes = (await sent()) - before;
  for (const node of nodes) await node.close();
  if (received < expected) throw new Error(`${received} of ${expected} came`);
  return bytes;
}

const own = await measure((node, world) => node === world);
const all = await measure(() => true);
console.table({
  "each node has one world": { bytes: own, share: own / all },
  "each node has all worlds": { bytes: all, share: 1 },
});
console.log(
  `${Math.round(own / NODES / MESSAGES)} bytes for a message and node`,
);
client.destroy();
for (const end of ends.reverse()) await end();
process.exit();
