import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { keyOf, tokenOf } from "../helper.js";
import { ask as command } from "../system/chatter.js";
import {
  createRoom,
  isRunning,
  type Node,
  PATIENCE,
  SECONDS,
  type Site,
  startNode,
  startSite,
  within,
  WORLD,
} from "./kit.js";
import { personAt } from "./talk.js";

// No answer may be more than a second old, whatever a node is cut off from.

/** How old an answer may be, in milliseconds. */
const OLDEST = 1000;

/** For how long a node is asked after a key was revoked, in milliseconds. */
const WATCHED = 4 * SECONDS;

const extra = { ...keyOf("extra"), issuer: "extra", audience: WORLD };

/** Asks with the key that comes and goes. @returns the status. */
async function ask({ address }: Node): Promise<number> {
  const token = tokenOf(extra, { traits: ["admin", "api"] });
  const response = await fetch(`${address}/api/v1/worlds/${WORLD}/`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await response.arrayBuffer();
  return response.status;
}

async function keep(node: Node, ...JWT_secrets: object[]): Promise<void> {
  const { status } = await node.api("PATCH", "", { config: { JWT_secrets } });
  if (status !== 200) throw new Error(`PATCH: ${status}`);
}

/** Makes two nodes know the key, also those caches that are filled by use. */
async function knowKey(t: Test, one: Node, two: Node): Promise<void> {
  await keep(one, keyOf(WORLD), extra);
  for (const node of [one, two]) {
    await within(5 * SECONDS, "the key works", async () => {
      return (await ask(node)) === 200;
    });
  }
  t.equal(await ask(two), 200);
}

/**
 * Revokes the key at one node, and watches what the other one answers.
 * @returns the statuses of requests that began when the answer could no longer be old enough.
 */
async function revoke(t: Test, one: Node, two: Node): Promise<number[]> {
  await keep(one, keyOf(WORLD));
  const revoked = performance.now();
  const late: number[] = [];
  const answers: string[] = [];
  while (performance.now() - revoked < WATCHED) {
    const began = performance.now() - revoked;
    const status = await ask(two);
    const took = performance.now() - revoked - began;
    answers.push(`${Math.round(began)}: ${status} in ${Math.round(took)}`);
    if (began > OLDEST) late.push(status);
    if (took > 2 * SECONDS * PATIENCE + 1000)
      t.fail(`an answer took ${took} ms`);
    await delay(20);
  }
  t.notOk(late.includes(200), `no old answer: ${answers.join(", ")}`);
  t.ok(late.length > 0);
  return late;
}

async function start(t: Test): Promise<[Site, Node, Node]> {
  const site = await startSite(t);
  return [site, await startNode(t, site), await startNode(t, site)];
}

void t.test("a node that is well", async (t) => {
  const [, one, two] = await start(t);
  await knowKey(t, one, two);
  const late = await revoke(t, one, two);
  t.same([...new Set(late)], [401], "it knows");
});

void t.test("a node that is cut off from the database", async (t) => {
  const [, one, two] = await start(t);
  for (const break_ of ["hang", "cut"] as const) {
    await t.test(break_, async (t) => {
      const { postgres } = two.links;
      await knowKey(t, one, two);
      postgres[break_]();
      const late = await revoke(t, one, two);
      t.ok(late.includes(503), "it says that it cannot answer");
      const { status, retryAfter, took } = await two.api("GET", "rooms/");
      t.equal(status, 503);
      t.match(retryAfter, /^\d+$/);
      t.ok(took < 3 * SECONDS * PATIENCE, `within ${Math.round(took)} ms`);
      t.equal(await two.status("/readyz"), 503, "no balancer should ask it");
      t.equal(await two.status("/healthz"), 200, "it lives");
      t.equal((await one.api("GET", "rooms/")).status, 200, "others go on");
      postgres.heal();
      await within(15 * SECONDS, "it is back", async () => {
        return (await two.api("GET", "rooms/")).status === 200;
      });
      t.equal(await ask(two), 401, "the key is gone");
      t.equal(await two.status("/readyz"), 200);
      t.ok(isRunning(two));
    });
  }
});

void t.test("a node that is suspended", async (t) => {
  const [, one, two] = await start(t);
  await knowKey(t, one, two);
  two.signal("SIGSTOP");
  await keep(one, keyOf(WORLD));
  await delay(2 * SECONDS);
  two.signal("SIGCONT");
  t.not(await ask(two), 200, "what it knew is too old when it wakes up");
  await within(15 * SECONDS, "it is back", async () => {
    return (await two.api("GET", "rooms/")).status === 200;
  });
  t.equal(await ask(two), 401);
});

/** The processes of PostgreSQL that serve a connection that listens: each holds the lock of a node. */
async function listeners({ postgres }: Site): Promise<number[]> {
  const rows = await postgres.run(
    "SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted",
  );
  return (rows as { pid: number }[]).map(({ pid }) => pid);
}

void t.test("only the connection that listens hangs", async (t) => {
  const site = await startSite(t);
  const one = await startNode(t, site);
  const before = await listeners(site);
  const two = await startNode(t, site);
  const [pid, ...others] = (await listeners(site)).filter(
    (one) => !before.includes(one),
  );
  t.same(others, [], "one connection of a node listens");
  await knowKey(t, one, two);
  process.kill(pid!, "SIGSTOP");
  t.teardown(() => process.kill(pid!, "SIGCONT"));
  await revoke(t, one, two);
  await within(10 * SECONDS, "it goes on", async () => {
    return (await two.api("GET", "rooms/")).status === 200;
  });
  t.equal(await ask(two), 401);
});

void t.test("the connection that listens ends, again and again", async (t) => {
  const site = await startSite(t);
  const one = await startNode(t, site);
  const before = await listeners(site);
  const two = await startNode(t, site);
  const [pid] = (await listeners(site)).filter((one) => !before.includes(one));
  await knowKey(t, one, two);
  await site.postgres.run(`SELECT pg_terminate_backend(${pid})`);
  await revoke(t, one, two);
  await within(10 * SECONDS, "it goes on", async () => {
    return (await two.api("GET", "rooms/")).status === 200;
  });
  t.equal(await ask(two), 401);
});

for (const silence of ["hang", "deafen"] as const) {
  void t.test(
    `a rule and a ban while the link to Valkey is dead: ${silence}`,
    async (t) => {
      const [, one, two] = await start(t);
      const room = await createRoom(one, silence);
      const speaker = await personAt(t, one, "speaker", "admin");
      await command(speaker, "chat.join", { channel: room });
      const readers = [
        await personAt(t, two, "ann"),
        await personAt(t, two, "bob"),
      ];
      for (const reader of readers) {
        await command(reader, "chat.subscribe", { channel: room });
      }
      const [ann, bob] = readers as [(typeof readers)[0], (typeof readers)[0]];
      const content = { type: "text", body: "Hello" };
      const message = { channel: room, event_type: "channel.message", content };
      await command(speaker, "chat.send", message);
      await ann.pushed(
        "chat.event",
        ({ event_type }) => event_type === "channel.message",
      );

      two.links.valkey[silence]();
      const { status } = await one.api("PATCH", `rooms/${room}/`, {
        permission_config: { "room.view": ["admin"], "chat.read": ["admin"] },
      });
      t.equal(status, 200);
      await delay(2 * OLDEST * Math.min(PATIENCE, 2));
      const before = ann.all("chat.event").length;
      for (let i = 0; i < 6; i++) {
        await command(speaker, "chat.send", message);
        await delay(SECONDS / 3);
      }
      t.equal(
        ann.all("chat.event").length,
        before,
        "users get only what they may read",
      );
      t.equal(ann.closed, undefined, "although they are still there");
      await command(speaker, "user.ban", { id: bob.user });
      await within(
        6 * SECONDS * PATIENCE,
        "the banned one is out",
        () => bob.closed !== undefined,
      );
    },
  );
}
