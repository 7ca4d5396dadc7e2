import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";
import t from "tap";
import { ValkeyBus } from "../../db/bus/valkey/bus.js";
import { timed, until } from "../helper.js";
import { startProxy } from "../servers/proxy.js";
import { startValkey } from "../servers/valkey.js";
import { converged, ENDING, has, numbered, of, open } from "./valkey-nodes.js";

void t.test("a connection is reset, or swallows everything", async (t) => {
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
    const late = await timed(() => until(() => !one.state().connected));
    t.ok(late < ENDING, `after ${late} ms`);
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

void t.test("what no server has sent harms nothing", async (t) => {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const one = await open(t, valkey.url, namespace);
  const client = createClient({ url: valkey.url });
  await client.connect();
  t.teardown(() => client.destroy());
  const all = `foyer:${namespace}:all`;
  const good = { type: "live", topic: "text", world: "demo", data: "good" };
  const texts = [
    ...["", "hello", "{}", "stranger messages", "stranger messages x"],
    ...["stranger messages 5", "stranger messages {}", "stranger messages ["],
    ...["stranger messages null", "stranger unknown []", "stranger alive"],
    ...["stranger messages [null]", "stranger messages [[]]"],
    `${"s".repeat(101)} messages []`,
    `${one.name()} messages ${JSON.stringify([good])}`,
    // It does not belong to this channel.
    `stranger messages ${JSON.stringify([good])}`,
  ];
  for (const text of texts) await client.publish(all, text);
  const other = JSON.stringify([{ ...good, world: "other" }]);
  const demo = `foyer:${namespace}:world:demo`;
  await client.publish(demo, `stranger messages ${other}`);
  const unlike = [
    { ...good, topic: 1 },
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

void t.test("the log says when Valkey goes and comes", async (t) => {
  const valkey = await startValkey(t);
  const lines: string[] = [];
  const bus = await ValkeyBus.open({
    url: valkey.url,
    namespace: randomUUID(),
    onFault: (error) => t.fail(String(error)),
    log: (line) => lines.push(line),
  });
  t.teardown(() => bus.close());
  await valkey.stop();
  await until(() => lines.length === 1);
  await valkey.restart();
  await until(() => lines.length === 2);
  t.match(lines, [/^Valkey is lost: \S/, /^Valkey is back: /]);
});

void t.test(
  "a Valkey that refuses a channel is lost, and says why",
  async (t) => {
    const valkey = await startValkey(t);
    const namespace = randomUUID();
    const client = createClient({ url: valkey.url });
    await client.connect();
    t.teardown(() => client.destroy());
    const rights = ["on", ">geheim", "~*", "+@all"];
    const may = async (...channels: string[]) => {
      await client.aclSetUser("node", [
        ...rights,
        "resetchannels",
        ...channels,
      ]);
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
  },
);
