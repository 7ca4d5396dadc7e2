import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";
import t from "tap";
import { ValkeyEvents } from "../../db/valkey/events.js";
import { timed, until } from "../helper.js";
import { startProxy } from "../servers/proxy.js";
import { foreignEvents, hostileEvents } from "../db/hostile-events.js";
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
      await until(() => has(node, "missed"));
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

void t.test("what no server has sent harms nobody", async (t) => {
  const valkey = await startValkey(t);
  const namespace = randomUUID();
  const one = await open(t, valkey.url, namespace);
  const client = createClient({ url: valkey.url });
  await client.connect();
  t.teardown(() => client.destroy());
  const texts = [
    "",
    "hello",
    "{}",
    "stranger events",
    "stranger events x []",
    "stranger unknown 1 []",
    "stranger events 1 5",
    "stranger events 2 {}",
    "stranger events 3 [",
    "stranger events 4 null",
    `${one.name()} events 99 [{}]`,
    "stranger events 99999999999999999999 []",
    ...[...Object.values(hostileEvents), ...foreignEvents].map(
      (event, i) => `stranger events ${i + 5} ${JSON.stringify([event])}`,
    ),
    "stranger bye 0 ",
  ];
  for (const text of texts)
    await client.publish(`foyer:${namespace}:events`, text);
  await until(() => has(one, "ended stranger"));
  // Each may have been any event.
  await until(() => has(one, "missed"));
  t.strictSame(one.received("a"), ["stranger"]);
  const two = await open(t, valkey.url, namespace);
  await converged([one, two]);
  two.publish("two.0");
  await until(() => of(one, "two").length === 1);
  t.strictSame(one.faults(), []);
});

void t.test("the log says when Valkey goes and comes", async (t) => {
  const valkey = await startValkey(t);
  const lines: string[] = [];
  const events = await ValkeyEvents.open({
    url: valkey.url,
    namespace: randomUUID(),
    onFault: (error) => t.fail(String(error)),
    log: (line) => lines.push(line),
  });
  t.teardown(() => events.close());
  await valkey.stop();
  await until(() => lines.length === 1);
  await valkey.restart();
  await until(() => lines.length === 2);
  t.match(lines, [/^Valkey is lost: \S/, /^Valkey is back: /]);
});
