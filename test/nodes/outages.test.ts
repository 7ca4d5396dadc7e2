import { chownSync, mkdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { createRoom, isRunning, NIGHT, type Node, SECONDS, startSite, within } from "./kit.js";
import { mountDisk, noMount } from "../support/small-disk.js";
import { Talk } from "./talk.js";

/** Duration of the database outage, in milliseconds. */
const AWAY = (!NIGHT ? 2 : 5) * SECONDS;

let count = 0;

/** Creates a room with a unique name. */
const createNext = (node: Node) => node.api("POST", "rooms/", { name: `Written ${++count}` });

/** Expects a node to reject requests as unavailable, but to stay alive. */
async function expectUnavailable(t: Test, node: Node): Promise<void> {
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
    if (NIGHT) t.ok(took < 2 * SECONDS, `after ${Math.round(took)} ms`);
  }
  t.equal(await node.status("/readyz"), 503, "no balancer should ask it");
  t.equal(await node.status("/healthz"), 200, "it lives");
}

/** Waits until a node serves reads and writes again. */
async function expectBack(t: Test, node: Node): Promise<void> {
  const took = await within(15 * SECONDS, "it is back", async () => {
    return (await createNext(node)).status === 201;
  });
  t.comment(`back after ${Math.round(took)} ms`);
  t.equal((await node.api("GET", "rooms/")).status, 200);
  t.equal(await node.status("/readyz"), 200);
  t.ok(isRunning(node), "it has never ended");
}

void t.test("the database restarts", async (t) => {
  const site = await startSite(t, 2);
  const { nodes } = site;
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
      const { status, body } = await createNext(nodes[0]!);
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

/** The number of messages sent while nodes are cut off, at 20 per second. */
const MESSAGES = !NIGHT ? 100 : 600;

/**
 * Keeps sending requests, with short pauses.
 * @returns a function that stops, and counts all requests and the failed ones.
 */
function keepAsking(nodes: readonly Node[]): () => Promise<{ asked: number; failed: string[] }> {
  const failed: string[] = [];
  let asked = 0;
  let isOver = false;
  const asking = nodes.map(async (node) => {
    for (let i = 0; !isOver; i++) {
      const requests: [method: string, path: string, body?: object, status?: number][] = [
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
  const site = await startSite(t, 2);
  const { nodes } = site;
  const talk = await Talk.start(t, nodes, !NIGHT ? 50 : 200);
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
      // The other node receives messages late, but completely.
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
    talk.speakers.every(({ connections, unsure }) => connections === 1 && unsure.size === 0),
    "no connection ended, and every chat.send succeeded",
  );
});

// A database that accepts no writes: read-only, or full.

/** Writes enough to allocate new pages. */
const write = (node: Node) =>
  node.api("POST", "rooms/", {
    name: "Large",
    module_config: [{ type: "x", config: { text: noise() } }],
  });

/** Returns text that PostgreSQL cannot compress. */
const noise = (): string => Array.from({ length: 5000 }, () => Math.random().toString(36)).join("");

async function expectRefused(t: Test, node: Node): Promise<void> {
  const { status, retryAfter } = await write(node);
  t.equal(status, 503);
  t.match(retryAfter, /^\d+$/);
  t.equal(await node.status("/healthz"), 200);
  t.ok(isRunning(node));
}

const works = (node: Node) => async () => (await write(node)).status === 201;

void t.test("a database that is read-only", async (t) => {
  const site = await startSite(t, 1);
  const node = site.nodes[0]!;
  const room = await createRoom(node);
  const set = async (value: string) => {
    await site.postgres.run(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
    await site.postgres.run("SELECT pg_reload_conf()");
  };
  await set("on");
  await within(5 * SECONDS, "it takes no writes", async () => {
    return (await write(node)).status !== 201;
  });
  await expectRefused(t, node);
  const { status } = await node.api("GET", `rooms/${room}/`);
  t.equal(status, 200, "it is read as before");
  await set("off");
  await within(10 * SECONDS, "it takes writes", works(node));
  t.equal(await node.status("/readyz"), 200);
});

void t.test("a database whose disk is full", { skip: noMount() }, async (t) => {
  const site = await startSite(t, 1);
  const disk = join(site.postgres.folder, "disk");
  mkdirSync(disk);
  mountDisk(t, disk, 64);
  const { uid, gid } = statSync(site.postgres.folder);
  chownSync(disk, uid, gid);
  await site.postgres.run(`CREATE TABLESPACE small LOCATION '${disk}'`);
  // PostgreSQL cannot move a database while a node is connected to it.
  site.nodes[0]!.signal("SIGKILL");
  await site.nodes[0]!.finished;
  await site.postgres.run("ALTER DATABASE foyer SET TABLESPACE small");
  const node = await site.startNode();
  const room = await createRoom(node);
  const filler = join(disk, "filler");
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(filler, Buffer.alloc(bavail * bsize - 1024 * 1024));
  await within(30 * SECONDS, "it is full", async () => {
    return (await write(node)).status !== 201;
  });
  await expectRefused(t, node);
  const { status } = await node.api("GET", `rooms/${room}/`);
  t.equal(status, 200, "it is read as before");
  rmSync(filler);
  await within(10 * SECONDS, "it takes writes", works(node));
  t.equal(await node.status("/readyz"), 200);
});
