import { randomUUID } from "node:crypto";
import t from "tap";
import { logContract, haveAll, startLogs, texts } from "../db/log-contract.js";
import { startProxy } from "../servers/proxy.js";
import { startValkey } from "../servers/valkey.js";

void t.test("through Valkey", async (t) => {
  const { url } = await startValkey(t);
  await logContract(t, { url, namespace: randomUUID() });
});

void t.test("through a Valkey that goes, falls silent and comes", async (t) => {
  const valkey = await startValkey(t);
  const proxy = await startProxy(t, valkey.port);
  const url = `redis://127.0.0.1:${proxy.port}`;
  const nodes = await startLogs(t, 2, { url, namespace: randomUUID() });
  for (const node of nodes) await node.follow("demo");
  let count = 0;
  const all = async () => {
    await Promise.all(nodes.map((node) => node.write("demo", texts(10))));
    await haveAll(t, nodes, (count += 20));
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
