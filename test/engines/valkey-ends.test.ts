import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";
import t from "tap";
import { ValkeyBus } from "../../db/bus/valkey/bus.js";
import { timed, until } from "../helper.js";
import { startProxy } from "../servers/proxy.js";
import { startValkey } from "../servers/valkey.js";
import { forkNode } from "../db/bus-fork.js";
import { ENDING, has, isBack, numbered, of, open } from "./valkey-nodes.js";

void t.test("the end of a process comes after its messages", async (t) => {
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
    const took = await timed(() => until(() => has(one, `ended ${name}`)));
    t.ok(took < (signal ? ENDING : 2000), `after ${took} ms`);
    const received = one.received("a");
    t.equal(received.indexOf(name), received.length - 1, "last");
    t.strictSame(of(one, name), numbered(name, 0, of(one, name).length));
    if (!signal) t.equal(of(one, name).length, 500);
  }
});

void t.test("a process that was suspended comes back", async (t) => {
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

void t.test("a Valkey that cannot be used is named", async (t) => {
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
      const took = await timed(() =>
        t.rejects(opening, { problem: "unusable", message }, name),
      );
      t.ok(took < ENDING);
      const error: unknown = await opening.catch((error: unknown) => error);
      const text = (error as Error).message;
      t.match(
        text,
        /^VALKEY_URL: redis:\/\/127\.0\.0\.1:\d+ cannot be reached: \S.*$/,
      );
      t.notMatch(text, /geheim/);
    }),
  );
});
