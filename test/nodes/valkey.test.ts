import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import {
  createRoom,
  SECONDS,
  SHORT,
  startNode,
  startSite,
  type Node,
} from "./kit.js";
import { Talk } from "./talk.js";

/** How many messages are sent while nodes are cut off: 20 in a second. */
const MESSAGES = SHORT ? 100 : 600;

/** Sends requests, with short pauses, until it is stopped. @returns a function that does, and counts those that failed. */
function keepAsking(
  nodes: Node[],
): () => Promise<{ asked: number; failed: string[] }> {
  const failed: string[] = [];
  let asked = 0;
  let isOver = false;
  const asking = nodes.map(async (node) => {
    for (let i = 0; !isOver; i++) {
      const requests: [
        method: string,
        path: string,
        body?: object,
        status?: number,
      ][] = [
        ["GET", "rooms/?page_size=5"],
        ["POST", "rooms/", { name: `Room ${i}` }, 201],
        ["GET", ""],
      ];
      const [method, path, body, expected = 200] = requests[i % 3]!;
      asked++;
      const { status } = await node.api(method, path, body);
      if (status !== expected) failed.push(`${method} ${path}: ${status}`);
      await delay(50);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(asking);
    return { asked, failed };
  };
}

void t.test("the event engine restarts, and is away", async (t) => {
  const site = await startSite(t);
  const nodes = [await startNode(t, site), await startNode(t, site)];
  const talk = await Talk.start(t, nodes, SHORT ? 50 : 200);
  const stopAsking = keepAsking(nodes);
  talk.begin();
  await talk.goOn(40);

  await t.test("a restart", async (t) => {
    await site.valkey.restart();
    await talk.goOn(40);
    t.comment(`caught up after ${await talk.caughtUp(5 * SECONDS)} ms`);
  });

  await t.test("one node is cut off", async (t) => {
    const { valkey } = nodes[1]!.links;
    valkey.hang();
    for (let sent = 0; sent < MESSAGES; sent += 20) {
      // Messages are late at the other node, and come.
      await talk.goOn(20);
      const took = await talk.caughtUp(5 * SECONDS);
      t.comment(`caught up after ${Math.round(took)} ms`);
    }
    valkey.heal();
    await talk.goOn(40);
    await talk.caughtUp(5 * SECONDS);
  });

  await t.test("it is gone for a time", async (t) => {
    await site.valkey.stop();
    const room = await createRoom(nodes[0]!, "Made meanwhile");
    const { status } = await nodes[1]!.api("GET", `rooms/${room}/`);
    t.equal(status, 200, "rooms are the same everywhere");
    await talk.goOn(MESSAGES / 2);
    await talk.caughtUp(5 * SECONDS);
    await site.valkey.restart();
    await talk.goOn(20);
    await talk.caughtUp(5 * SECONDS);
  });

  const { asked, failed } = await stopAsking();
  t.same(failed, [], `none of ${asked} requests failed`);
  await talk.end();
  t.ok(
    talk.speakers.every(
      ({ connections, unsure }) => connections === 1 && unsure.size === 0,
    ),
    "no connection ended, and every chat.send succeeded",
  );
});
