import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "@redis/client";
import t, { type Test } from "tap";
import { ValkeyBus } from "../../../db/bus/valkey/valkey-bus.js";
import { elapsedMs, until } from "../../support/helper.js";
import { NIGHT } from "../../support/night.js";
import { startProxy } from "../../support/servers/proxy.js";
import { startValkey } from "../../support/servers/valkey.js";
import { NO_SERVERS } from "../../support/shared.js";
import { busContract, type Group } from "../db/bus-contract.js";
import { type Forked, forkNode, type WorkerNode } from "../db/bus-fork.js";
import { BusNode } from "../db/bus-node.js";
import { expectAllReceived, logContract, startLogs, texts } from "../db/log-contract.js";

// The bus of several nodes. Each test has its own Valkey, because tests stop and pause it.

/** The time within which other processes must consider a silent process ended, in milliseconds. */
const ENDING = 7000;

const options = { skip: NO_SERVERS };

/** Opens a bus in this process, with a listener named `a`. */
async function open(t: Test, url: string, namespace: string): Promise<BusNode> {
  const node = await BusNode.open((onFault) => ValkeyBus.open({ url, namespace, onFault }));
  t.teardown(() => node.close());
  node.subscribe("a");
  return node;
}

const numbered = (name: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}.${from + i}`);

/** Returns the messages that a node has received from another. */
const of = (node: BusNode, name: string): string[] =>
  node.received("a").filter((text) => text.startsWith(`${name}.`));

const has = (node: BusNode, signal: string): boolean => node.signals().includes(signal);

/** Returns whether the latest signal about a process is that it began. */
const isBack = (node: BusNode, name: string): boolean =>
  node.signals().findLast((signal) => signal.endsWith(name)) === `began ${name}`;

/** Opens several buses that share a Valkey. */
async function openAll(t: Test, count: number) {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const nodes: BusNode[] = [];
  for (let i = 0; i < count; i++) nodes.push(await open(t, valkey.url, namespace));
  return { valkey, namespace, nodes };
}

/** Connects directly to a Valkey, like an operator. */
async function clientOf(t: Test, url: string) {
  const client = createClient({ url });
  await client.connect();
  t.teardown(() => client.destroy());
  return client;
}

/** Waits until each node reaches all others, and until all joins are known. */
async function converged(nodes: readonly BusNode[]): Promise<void> {
  await until(() => nodes.every((node) => node.state().connected));
  for (const node of nodes) {
    const mark = randomUUID();
    node.mark(mark);
    await until(() => nodes.every((other) => other.marks()!.includes(mark)));
  }
}

/** Waits until every message published so far has arrived. */
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

/** Forks processes that share a Valkey. */
async function forkNodes(t: Test, url: string, count: number): Promise<Forked<WorkerNode>[]> {
  const namespace = randomUUID();
  const forked = Array.from({ length: count }, () => forkNode(t));
  await Promise.all(forked.map(({ node }) => node.begin({ url, namespace })));
  return forked;
}

void t.test("the contract", options, async (t) => {
  const { url } = await startValkey(t);
  const nodes = [1, 2, 3].map(() => forkNode(t).node);
  const client = await clientOf(t, url);
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

void t.test("two that share a Valkey hear nothing of each other", options, async (t) => {
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
  }
  const identities = new Set<string>();
  for (const [{ node }, other] of groups as [Forked<WorkerNode>, Forked<WorkerNode>][]) {
    const { identity } = await node.state();
    t.equal((await other.node.state()).identity, identity);
    identities.add(identity);
  }
  t.equal(identities.size, 2);
});

void t.test("the end of a process comes after its messages", options, async (t) => {
  const { url } = await startValkey(t);
  const namespace = randomUUID();
  const one = await open(t, url, namespace);
  for (const signal of ["SIGKILL", undefined] as const) {
    const { child, node: dying } = forkNode(t);
    await dying.begin({ url, namespace });
    const name = await dying.name();
    await until(() => has(one, `began ${name}`));
    await dying.publish(...numbered(name, 0, 500));
    await until(() => of(one, name).length > 0);
    if (signal) child.kill(signal);
    else await dying.close();
    const took = await elapsedMs(() => until(() => has(one, `ended ${name}`)));
    if (NIGHT) t.ok(took < (signal ? ENDING : 2000), `after ${took} ms`);
    const received = one.received("a");
    t.equal(received.indexOf(name), received.length - 1, "last");
    t.strictSame(of(one, name), numbered(name, 0, of(one, name).length));
    if (!signal) t.equal(of(one, name).length, 500);
  }
});

void t.test("a process that was suspended comes back", options, async (t) => {
  const { url } = await startValkey(t);
  const namespace = randomUUID();
  const one = await open(t, url, namespace);
  const { child, node: other } = forkNode(t);
  await other.begin({ url, namespace });
  await other.subscribe("a");
  const name = await other.name();
  child.kill("SIGSTOP");
  await until(() => has(one, `ended ${name}`));
  one.publish("meanwhile.0");
  child.kill("SIGCONT");
  await until(() => isBack(one, name));
  one.publish("after.0");
  await other.publish("other.0");
  await until(async () => (await other.received("a")).includes("after.0"));
  await until(() => of(one, "other").length === 1);
});

void t.test("a Valkey that cannot be used is named", options, async (t) => {
  const valkey = await startValkey(t);
  const { port } = await startProxy(t, valkey.port);
  const client = createClient({ url: valkey.url });
  await client.connect();
  await client.configSet("requirepass", "right");
  client.destroy();
  const cases: [name: string, url: string, message: RegExp][] = [
    ["wrong password", `redis://:geheim@127.0.0.1:${port}`, /WRONGPASS/],
    ["no server there", "redis://:geheim@127.0.0.1:1/2", /ECONNREFUSED/],
  ];
  await Promise.all(
    cases.map(async ([name, url, message]) => {
      const opening = ValkeyBus.open({
        url,
        namespace: randomUUID(),
        onFault: (error) => t.fail(String(error)),
      });
      const took = await elapsedMs(() =>
        t.rejects(opening, { problem: "unusable", message }, name),
      );
      if (NIGHT) t.ok(took < ENDING);
      const error: unknown = await opening.catch((error: unknown) => error);
      const text = (error as Error).message;
      t.match(text, /^VALKEY_URL: redis:\/\/127\.0\.0\.1:\d+ cannot be reached: \S.*$/);
      t.notMatch(text, /geheim/);
    }),
  );
});

void t.test("a connection is reset, or swallows everything", options, async (t) => {
  const valkey = await startValkey(t);
  const proxy = await startProxy(t, valkey.port);
  const namespace = randomUUID();
  const one = await open(t, `redis://127.0.0.1:${proxy.port}`, namespace);
  const two = await open(t, valkey.url, namespace);
  const three = await open(t, valkey.url, namespace);
  const all = [one, two, three];

  await t.test("for a moment", async (t) => {
    proxy.cut();
    await until(() => !one.state().connected);
    one.publish("one.0");
    two.publish("two.0");
    proxy.heal();
    await converged(all);
    one.publish("one.1");
    two.publish("two.1");
    await converged(all);
    t.strictSame(of(two, "one"), ["one.1"]);
    t.strictSame(of(one, "two"), ["two.1"]);
    t.strictSame(of(three, "two"), ["two.0", "two.1"]);
    for (const node of all) {
      t.strictSame(
        node.signals().filter((signal) => signal.startsWith("ended")),
        [],
      );
    }
  });

  await t.test("for long", async (t) => {
    proxy.hang();
    const late = await elapsedMs(() => until(() => !one.state().connected));
    if (NIGHT) t.ok(late < ENDING, `after ${late} ms`);
    await until(() => has(two, `ended ${one.name()}`));
    await until(() => has(one, `ended ${two.name()}`));
    two.publish("two.2");
    proxy.heal();
    await until(() => two.signals().includes(`began ${one.name()}`));
    await converged(all);
    two.publish("two.3");
    await converged(all);
    t.strictSame(of(one, "two"), ["two.1", "two.3"]);
    t.strictSame(of(three, "two"), numbered("two", 0, 4));
  });
});

void t.test("what no server has sent harms nothing", options, async (t) => {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const one = await open(t, valkey.url, namespace);
  const client = await clientOf(t, valkey.url);
  const all = `foyer:${namespace}:all`;
  const good = { type: "snapshot", world: "demo", data: { topic: "text", text: "good" } };
  const texts = [
    "",
    "hello",
    "{}",
    "stranger messages",
    "stranger messages x",
    "stranger messages 5",
    "stranger messages {}",
    "stranger messages [",
    "stranger messages null",
    "stranger unknown []",
    "stranger alive",
    "stranger messages [null]",
    "stranger messages [[]]",
    `${"s".repeat(101)} messages []`,
    `${one.name()} messages ${JSON.stringify([good])}`,
    // A message that does not belong to this channel.
    `stranger messages ${JSON.stringify([good])}`,
  ];
  for (const text of texts) await client.publish(all, text);
  const other = JSON.stringify([{ ...good, world: "other" }]);
  const demo = `foyer:${namespace}:world:demo`;
  await client.publish(demo, `stranger messages ${other}`);
  const unlike = [
    { type: "snapshot", world: "demo" },
    { world: "demo", type: "x" },
  ];
  const hints = { type: "hints", world: "demo", hints: [{}] };
  for (const each of [...unlike, hints]) {
    await client.publish(demo, `stranger messages ${JSON.stringify([each])}`);
  }
  await client.publish(demo, `stranger messages ${JSON.stringify([good])}`);
  await client.publish(all, "unheard bye ");
  await client.publish(all, "stranger bye ");
  await until(() => has(one, "ended stranger"));
  t.strictSame(one.received("a"), ["good", "stranger"]);
  const two = await open(t, valkey.url, namespace);
  await converged([one, two]);
  two.publish("two.0");
  await until(() => of(one, "two").length === 1);
  t.strictSame(one.faults(), []);
});

void t.test("a Valkey that refuses a channel is lost, and says why", options, async (t) => {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const client = await clientOf(t, valkey.url);
  const rights = ["on", ">geheim", "~*", "+@all"];
  const may = async (...channels: string[]) => {
    await client.aclSetUser("node", [...rights, "resetchannels", ...channels]);
  };
  await may(`&foyer:${namespace}:all`, `&foyer:${namespace}:world:a`);
  const lines: string[] = [];
  const bus = await ValkeyBus.open({
    url: `redis://node:geheim@127.0.0.1:${valkey.port}`,
    namespace,
    onFault: (error) => t.fail(String(error)),
    log: (line) => lines.push(line),
  });
  t.teardown(() => bus.close());
  bus.join("a");
  bus.join("b");
  await until(() => lines.length === 1);
  t.match(lines, [/^Valkey is lost: NOPERM/]);
  t.notOk(bus.connected);
  await may(`&foyer:${namespace}:*`);
  await until(() => lines.length === 2);
  t.ok(bus.connected);
});

void t.test("Valkey restarts under load", options, async (t) => {
  const { valkey, namespace, nodes } = await openAll(t, 2);
  const { identity } = nodes[0]!.state();
  t.equal(nodes[1]!.state().identity, identity);
  let sent = 0;
  const load = setInterval(() => {
    for (const [n, node] of nodes.entries()) node.publish(`${n}.${sent}`);
    sent++;
  }, 1);
  t.teardown(() => clearInterval(load));
  await until(() => sent > 50);
  await valkey.stop();
  await until(() => nodes.every((node) => !node.state().connected));
  await until(() => sent > 200);
  await valkey.restart();
  await until(() => nodes.every((node) => node.state().connected));
  await converged(nodes);
  const from = sent;
  await until(() => sent > from + 100);
  clearInterval(load);
  await converged(nodes);
  for (const node of nodes) {
    for (const n of ["0", "1"]) {
      const numbers = of(node, n).map((text) => Number(text.split(".")[1]));
      const sorted = [...new Set(numbers)].sort((a, b) => a - b);
      t.strictSame(numbers, sorted, "each once, in order");
      const late = numbers.filter((number) => number >= from);
      t.equal(late.length, sent - from, "none is lost after the reconnect");
    }
    t.equal(node.state().identity, identity, "it is put back");
  }
  const later = await open(t, valkey.url, namespace);
  t.equal(later.state().identity, identity, "for all that come later");
});

void t.test("data that are lost are put back", options, async (t) => {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const one = await open(t, valkey.url, namespace);
  const client = await clientOf(t, valkey.url);
  await client.flushAll();
  await until(async () => (await client.keys("*")).length > 0);
  const two = await open(t, valkey.url, namespace);
  t.equal(two.state().identity, one.state().identity);
  const keys = await client.keys("*");
  t.ok(keys.every((key) => key.startsWith(`foyer:${namespace}:`)));
  const other = await open(t, valkey.url, randomUUID());
  t.not(other.state().identity, one.state().identity);
});

void t.test("what Valkey does not take is dropped", options, async (t) => {
  const { valkey, nodes } = await openAll(t, 2);
  const [one, two] = nodes as [BusNode, BusNode];
  valkey.pause();
  const large = "x".repeat(1024 * 1024);
  for (let i = 0; i < 32; i++) {
    one.send({ type: "snapshot", data: large });
    await delay(1);
  }
  valkey.resume();
  await converged([one, two]);
  one.publish("after.0");
  await until(() => of(two, "after").length === 1);
  const came = two.received("a").filter((text) => text.length > 1000);
  // None arrive if the silence was long enough for a reconnect.
  t.ok(came.length <= 8, `${came.length} messages came`);
});

void t.test("subscriptions follow what is joined", options, async (t) => {
  const { valkey, namespace, nodes } = await openAll(t, 2);
  const [one, two] = nodes as [BusNode, BusNode];
  const prefix = `foyer:${namespace}:world:`;
  /** Lists the worlds that any process is subscribed to at Valkey. */
  const subscribed = async (): Promise<string[]> => {
    const client = createClient({ url: valkey.url });
    await client.connect();
    const channels = await client.pubSubChannels(`${prefix}*`);
    client.destroy();
    return channels.map((name) => name.slice(prefix.length)).sort();
  };
  for (const world of ["", "kept", "left", "left while away"]) one.join(world);
  one.join("kept");
  await converged([one, two]);
  t.strictSame(await subscribed(), ["", "demo", "kept", "left", "left while away"]);
  for (const world of ["kept", "left"]) one.leave(world);
  await until(async () => !(await subscribed()).includes("left"));

  await valkey.stop();
  await until(() => !one.state().connected && !two.state().connected);
  one.leave("left while away");
  one.join("joined while away");
  one.join("left again");
  one.leave("left again");
  await valkey.restart();
  await converged([one, two]);
  const worlds = ["", "demo", "joined while away", "kept"];
  t.strictSame(await subscribed(), worlds);
  for (const world of [...worlds, "left", "left while away", "left again"]) {
    two.publishIn(world, `of ${world}`);
  }
  await converged([one, two]);
  t.strictSame(
    one.received("a"),
    worlds.map((world) => `of ${world}`),
  );
});

void t.test("through Valkey", options, async (t) => {
  const { url } = await startValkey(t);
  await logContract(t, { url, namespace: randomUUID() });
});

void t.test("through a Valkey that goes, falls silent and comes", options, async (t) => {
  const valkey = await startValkey(t);
  const proxy = await startProxy(t, valkey.port);
  const url = `redis://127.0.0.1:${proxy.port}`;
  const nodes = await startLogs(t, 2, { url, namespace: randomUUID() });
  for (const node of nodes) await node.follow("demo");
  let count = 0;
  const all = async () => {
    await Promise.all(nodes.map((node) => node.write("demo", texts(10))));
    await expectAllReceived(t, nodes, (count += 20));
  };
  await all();
  proxy.hang();
  await all();
  proxy.cut();
  await all();
  proxy.heal();
  await all();
  await valkey.stop();
  await all();
  await valkey.restart();
  await all();
});
