import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import {
  type Node,
  SECONDS,
  SHORT,
  type Site,
  startNode,
  startSite,
  within,
} from "./kit.js";
import { pathOf, upload } from "../system/requests.js";

/** Waits until each object has a record, and each record an object. */
async function expectMatch(
  t: Parameters<typeof startSite>[0],
  node: Node,
  site: Site,
): Promise<void> {
  let keys: string[] = [];
  let recorded: string[] = [];
  const isSo = async () => {
    const { body } = await node.api("GET", "files/?page_size=500");
    const { results } = body as { results: { url: string }[] };
    recorded = results.map(({ url }) => new URL(url, node.address).pathname);
    keys = await site.objects();
    return keys.length === recorded.length;
  };
  await within(15 * SECONDS, "what has no record goes", isSo).catch(
    (error: unknown) => t.fail(error as Error),
  );
  const names = (paths: string[]) =>
    paths.map((path) => path.split("/").at(-1)).sort();
  t.same(names(keys), names(recorded));
}

void t.test("nodes are killed while files come in", async (t) => {
  const site = await startSite(t);
  const stays = await startNode(t, site);
  for (let round = 0; round < (SHORT ? 2 : 5); round++) {
    const doomed = await startNode(t, site);
    let taken = 0;
    const senders = Array.from({ length: 6 }, async () => {
      for (;;) {
        const answer = await upload(doomed).catch(() => undefined);
        if (!answer) return;
        if (answer.status === 201) taken++;
      }
    });
    await within(60 * SECONDS, "uploads", () => taken > 20);
    await delay(Math.random() * 50);
    doomed.signal("SIGKILL");
    await Promise.all(senders);
  }
  await startNode(t, site);
  await expectMatch(t, stays, site);
});

void t.test("the database goes while files come in", async (t) => {
  const site = await startSite(t);
  const node = await startNode(t, site);
  const paths: string[] = [];
  const statuses = new Set<number>();
  let isOver = false;
  const senders = Array.from({ length: 6 }, async () => {
    while (!isOver) {
      const answer = await upload(node);
      if (answer.status === 201) paths.push(pathOf(answer));
      statuses.add(answer.status);
    }
  });
  await within(60 * SECONDS, "uploads", () => paths.length > 20);
  await site.postgres.kill();
  await within(60 * SECONDS, "a refusal", () => statuses.has(503));
  await site.postgres.start();
  const before = paths.length;
  await within(60 * SECONDS, "more", () => paths.length > before + 20);
  isOver = true;
  await Promise.all(senders);
  t.same([...statuses].sort(), [201, 503]);
  await startNode(t, site);
  await expectMatch(t, node, site);
  for (const path of paths) {
    const status = await node.status(path);
    if (status !== 200) t.fail(`${path} is lost: ${status}`);
  }
});
