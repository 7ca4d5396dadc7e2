import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../../config.js";
import { startTestServer } from "../../../testing.js";
import { WebSocket } from "ws";
import { keyOf, tokenOf, until } from "../../helper.js";
import { Client, soon } from "../../live/client.js";
import { Conversation, liveContractOf } from "../../live/contract.js";
import { startPostgres } from "../../servers/postgres.js";
import { testdir } from "../../testdir.js";
import type { Part } from "./setup.js";

/** A standby that lagged takes over: the last events are gone. */
export const failover: Part = async (t) => {
  const postgres = await startPostgres({
    // It takes part in no other recovery than the one below.
    settings: { synchronous_commit: "on", restore_command: "false" },
  });
  t.teardown(() => postgres.close());
  const data = join(postgres.folder, "data");
  const copy = join(postgres.folder, "copy");
  const { live } = loadConfig({});
  const server = await startTestServer({
    config: {
      dataDir: testdir(t),
      engines: { database: { url: postgres.url(), pool: 4 } },
      live: { ...live, messagesPerSecond: 1000 },
    },
  });
  t.teardown(() => server.close());
  await server.createWorld({
    id: "demo",
    config: { JWT_secrets: [keyOf("demo")] },
  });
  const { store, live: layer } = server.app;
  const { value } = await store.rooms.create("demo", {
    name: "Hall",
    module_config: [{ type: "chat.native", config: {} }],
  });
  const channel = value.id;
  const contract = liveContractOf(server.app);
  const clients: Client[] = [];
  t.teardown(() => clients.forEach(({ ws }) => ws.terminate()));
  const person = async (uid: string): Promise<Client> => {
    const url = `${server.baseUrl.replace("http", "ws")}/ws/world/demo/`;
    const ws = new WebSocket(url);
    const client = new Client(ws, new Conversation(contract), (fault) =>
      t.fail(fault),
    );
    clients.push(client);
    await new Promise((resolve, reject) => {
      ws.once("open", resolve).once("error", reject);
    });
    const profile = { display_name: uid };
    await client.login({ token: tokenOf(keyOf("demo"), { uid, profile }) });
    await client.do("chat.join", { channel });
    return client;
  };
  const say = async (client: Client, body: string): Promise<number> => {
    const content = { type: "text", body };
    const said = { channel, event_type: "channel.message", content };
    return (await client.do("chat.send", said)).event.event_id as number;
  };
  const heard = (client: Client, body: string) =>
    client.next("chat.event", ({ content }) => content.body === body);

  await say(await person("ada"), "kept");
  await postgres.stop();
  execFileSync("cp", ["-a", data, copy]);
  await postgres.start();
  await until(() =>
    store.log.heads(["demo"]).then(
      () => true,
      () => false,
    ),
  );
  const [ada, ben] = [await person("ada"), await person("ben")];
  const carl = await person("carl");
  let last = 0;
  for (let i = 0; i < 40; i++) last = await say(ada, `lost ${i}`);
  await heard(ben, "lost 39");
  await until(
    () => layer.chat.channels.feed.cursorOf("demo", channel) === last,
  );
  const { log } = store;
  const history = () => log.history!();
  const before = await history();
  await postgres.stop("immediate");
  execFileSync("rm", ["-r", data]);
  execFileSync("mv", [copy, data]);
  // It ends the recovery as a standby does that takes over.
  writeFileSync(join(data, "recovery.signal"), "");
  const calls = t.capture(log, "heads", log.heads.bind(log));
  await postgres.start();
  await until(() => layer.store.worlds.get("demo").then(Boolean, () => false));
  // It compares the end of the channel with the last delivery.
  carl.sendFrame("chat.subscribe", 1, { channel });

  for (const client of [ben, carl]) {
    await client.next("connection.reload");
    t.equal((await soon(client.closed)).code, 1000, "people log in again");
  }
  const again = [await person("ada"), await person("ben")] as const;
  await ada.closed;
  await again[1].do("chat.subscribe", { channel });
  t.ok((await say(again[0], "new")) > last, "no id is given twice");
  await heard(again[1], "new");
  const asked = calls().length;
  t.ok(asked < 200, `the store is asked ${asked} times`);

  t.strictSame(before, { name: "00000001", isKept: false });
  t.strictSame(await history(), { name: "00000002", isKept: false });
  await postgres.run("ALTER SYSTEM SET synchronous_standby_names = 'another'");
  await postgres.run("SELECT pg_reload_conf()");
  const keepsAll = () => history().then((now) => now!.isKept);
  await until(keepsAll);
};
