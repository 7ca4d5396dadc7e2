import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "@redis/client";
import t from "tap";
import { timed, until } from "../helper.js";
import { startValkey } from "../servers/valkey.js";
import { converged, ENDING, has, isBack, of, open } from "./valkey-nodes.js";

void t.test("Valkey restarts under load", async (t) => {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const nodes = [
    await open(t, valkey.url, namespace),
    await open(t, valkey.url, namespace),
  ];
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

void t.test("data that are lost are put back", async (t) => {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const one = await open(t, valkey.url, namespace);
  const client = createClient({ url: valkey.url });
  await client.connect();
  t.teardown(() => client.destroy());
  await client.flushAll();
  await until(async () => (await client.keys("*")).length > 0);
  const two = await open(t, valkey.url, namespace);
  t.equal(two.state().identity, one.state().identity);
  const keys = await client.keys("*");
  t.ok(keys.every((key) => key.startsWith(`foyer:${namespace}:`)));
  const other = await open(t, valkey.url, randomUUID());
  t.not(other.state().identity, one.state().identity);
});

void t.test("Valkey does not answer for a while", async (t) => {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const one = await open(t, valkey.url, namespace);
  const two = await open(t, valkey.url, namespace);
  t.equal((await one.count("key", 60_000)).count, 1);
  t.equal((await two.count("key", 60_000)).count, 2);
  const { count, ttl } = await one.count("key", 60_000);
  t.equal(count, 3);
  t.ok(ttl > 30_000 && ttl <= 60_000);

  valkey.pause();
  let counted = 0;
  const took = await timed(async () => {
    ({ count: counted } = await one.count("key", 60_000));
  });
  t.equal(counted, 3, "the ones of this process");
  t.ok(took < 1000, `after ${took} ms`);
  t.strictSame(one.publish("one.0"), [{ a: 1 }], "here it comes at once");
  const late = await timed(() => until(() => !one.state().connected));
  t.ok(late < ENDING, `after ${late} ms`);
  await until(() => has(one, `ended ${two.name()}`));
  await until(() => has(two, `ended ${one.name()}`));

  valkey.resume();
  await until(() => isBack(one, two.name()));
  await until(() => isBack(two, one.name()));
  await converged([one, two]);
  await until(async () => (await one.count("key", 60_000)).count > 4);
});

void t.test("what Valkey does not take is dropped", async (t) => {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const one = await open(t, valkey.url, namespace);
  const two = await open(t, valkey.url, namespace);
  valkey.pause();
  const large = "x".repeat(1024 * 1024);
  for (let i = 0; i < 32; i++) {
    one.send({ type: "live", topic: "t", data: large });
    await delay(1);
  }
  valkey.resume();
  await converged([one, two]);
  one.publish("after.0");
  await until(() => of(two, "after").length === 1);
  const came = two.received("a").filter((text) => text.length > 1000);
  // None, if the silence was so long that the connection was made again.
  t.ok(came.length <= 8, `${came.length} messages came`);
});

void t.test("subscriptions follow what is joined", async (t) => {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const one = await open(t, valkey.url, namespace);
  const two = await open(t, valkey.url, namespace);
  const prefix = `foyer:${namespace}:world:`;
  /** The worlds of which Valkey sends something to a process. */
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
  t.strictSame(await subscribed(), [
    "",
    "demo",
    "kept",
    "left",
    "left while away",
  ]);
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
