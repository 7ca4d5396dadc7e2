import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { GUEST, PDF } from "../files.js";
import { ask } from "../system/chatter.js";
import {
  type Answer,
  createRoom,
  isRunning,
  type Node,
  SECONDS,
  type Site,
  startNode,
  startSite,
  within,
} from "./kit.js";
import { personAt } from "./talk.js";

// While the bucket is away.

/** Uploads a file. @returns the answer; its body is `{ url }`. */
async function upload(node: Node): Promise<Omit<Answer, "took">> {
  const form = new FormData();
  form.append("file", new Blob([PDF]), "a.pdf");
  const response = await fetch(`${node.address}/storage/upload/`, {
    method: "POST",
    headers: { authorization: GUEST },
    body: form,
  });
  const text = await response.text();
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    body: text === "" ? undefined : (JSON.parse(text) as unknown),
  };
}

/** Loads a file. */
async function load(node: Node, url: string) {
  const { pathname } = new URL(url, node.address);
  const response = await fetch(`${node.address}${pathname}`);
  const text = await response.text();
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    text,
  };
}

const urlOf = ({ body }: Pick<Answer, "body">) => (body as { url: string }).url;

void t.test("the bucket is away", async (t) => {
  const site = await startSite(t);
  const node = await startNode(t, site);
  const other = await startNode(t, site);
  const room = await createRoom(node);
  const kept = await upload(node);
  t.equal(kept.status, 201);
  const there = await load(other, urlOf(kept));
  t.match(there, { status: 200, text: PDF }, "another node has it");
  t.equal((await site.objects()).length, 1);

  for (const break_ of ["cut", "hang"] as const) {
    await t.test(break_, async (t) => {
      site.bucketLink[break_]();
      const [uploaded, loaded] = await Promise.all([
        upload(node),
        load(other, urlOf(kept)),
      ]);
      for (const { status, retryAfter } of [uploaded, loaded]) {
        t.equal(status, 503);
        t.match(retryAfter, /^\d+$/);
      }
      t.equal((await node.api("GET", "rooms/")).status, 200);
      t.equal((await node.api("POST", "rooms/", { name: "B" })).status, 201);
      t.equal(await node.status("/readyz"), 200, "the API goes on");
      const ann = await personAt(t, node, "ann");
      await ask(ann, "chat.join", { channel: room });
      await ask(ann, "chat.send", {
        channel: room,
        event_type: "channel.message",
        content: { type: "text", body: "Hello" },
      });
      site.bucketLink.heal();
      await within(15 * SECONDS, "files are there again", async () => {
        return (await load(other, urlOf(kept))).status === 200;
      });
      await within(15 * SECONDS, "uploads work again", async () => {
        return (await upload(node)).status === 201;
      });
    });
  }
  t.ok([node, other].every(isRunning));
});

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
  for (let round = 0; round < 3; round++) {
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
  const urls: string[] = [];
  const statuses = new Set<number>();
  let isOver = false;
  const senders = Array.from({ length: 6 }, async () => {
    while (!isOver) {
      const answer = await upload(node);
      if (answer.status === 201) urls.push(urlOf(answer));
      statuses.add(answer.status);
    }
  });
  await within(60 * SECONDS, "uploads", () => urls.length > 20);
  await site.postgres.kill();
  await delay(500);
  await site.postgres.start();
  const before = urls.length;
  await within(60 * SECONDS, "more", () => urls.length > before + 20);
  isOver = true;
  await Promise.all(senders);
  t.same([...statuses].sort(), [201, 503]);
  await startNode(t, site);
  await expectMatch(t, node, site);
  for (const url of urls) {
    const { status } = await load(node, url);
    if (status !== 200) t.fail(`${url} is lost: ${status}`);
  }
});
