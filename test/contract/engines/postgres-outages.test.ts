import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { Client } from "../../../conformance/client.js";
import type { AnyEvent } from "../../../db/contract/events.js";
import { Database } from "../../../db/engines/postgres/engine/postgres-database.js";
import { openEngines } from "../../../db/open.js";
import { elapsedMs, until, worldOf } from "../../support/helper.js";
import { NIGHT } from "../../support/night.js";
import { startServer } from "../../support/server.js";
import { sharedDatabases, startPostgres } from "../../support/servers/postgres.js";
import { startProxy, through } from "../../support/servers/proxy.js";
import { NO_SERVERS } from "../../support/shared.js";
import { testdir } from "../../support/testdir.js";
import { selection } from "../db/store-contract/setup.js";
import {
  emptyDatabase,
  follow,
  type Node,
  openBehindProxy,
  openNode,
  problemOf,
} from "./postgres-kit.js";

// What survives lost connections and PostgreSQL servers, and what does not.

const server = sharedDatabases();
const options = { skip: NO_SERVERS };

const title = async ({ worlds }: Node) =>
  (await worlds.get("demo").catch(() => undefined))?.value.title;

void t.test("a commit whose answer is lost", options, async (t) => {
  const { url, proxy, node: cut } = await openBehindProxy(t, server);
  const other = await openNode(t, url);
  for (const node of [cut, other]) await follow(node);
  const write = cut.db.write("demo", async (sql, log) => {
    await sql.run("UPDATE worlds SET title = 'new' WHERE id = 'demo'");
    log.append({ type: "world.updated" });
    proxy.deafen();
  });
  t.equal(await problemOf(write), "doubtful");
  await until(async () => (await title(other)) === "new");
  proxy.heal();
  await until(async () => (await title(cut)) === "new");
});

void t.test("only the connection of a commit is lost", options, async (t) => {
  const { proxy, node } = await openBehindProxy(t, server);
  await follow(node);
  const heard: AnyEvent[] = [];
  node.events.subscribe((event) => heard.push(event));
  proxy.loseAnswer("COMMIT\0");
  t.equal(await problemOf(node.worlds.configure("demo", { title: "new" })), "doubtful");
  await until(async () => (await title(node)) === "new");
  t.ok(node.db.isUp, "all others go on");
  await until(() => heard.length > 0);
  t.match(heard, [{ type: "world.updated", world: "demo", by: { kind: "server" } }]);
  t.equal(heard.length, 1, "its entry comes once");
});

void t.test("the log says when PostgreSQL goes and comes", options, async (t) => {
  const url = await emptyDatabase(server);
  const proxy = await startProxy(t, server.port);
  const lines: string[] = [];
  const at = { url: through(url, proxy), pool: 2 };
  const db = await Database.open(at, { create: true }, (line) => lines.push(line));
  t.teardown(() => db.close());
  await db.sql.value("SELECT 1");
  t.strictSame(db.connections, { idle: 1, used: 0, waiting: 0 });
  t.strictSame(lines, [], "nothing is lost");
  proxy.cut();
  await until(() => !db.isUp);
  const reads = Array.from({ length: 20 }, () => problemOf(db.sql.value("SELECT 1")));
  t.strictSame(new Set(await Promise.all(reads)), new Set(["unusable"]));
  proxy.heal();
  await until(() => db.isUp);
  t.match(lines, [/^PostgreSQL is lost: [^\n]+$/, "PostgreSQL is back"]);
  t.equal(lines.length, 2);
});

void t.test("an erasure whose commit is lost", options, async (t) => {
  const { proxy, node } = await openBehindProxy(t, server);
  await follow(node);
  proxy.loseAnswer("COMMIT\0");
  const erasure = node.db.write("demo", async (_, log) => log.erased("users"));
  t.equal(await problemOf(erasure), "doubtful");
  // A retried erasure would find nothing left, so this commit must trigger the vacuum.
  const vacuumed = "SELECT vacuum_count > 0 FROM pg_stat_user_tables WHERE relname = 'users'";
  await until(async () => (await node.db.sql.value<boolean>(vacuumed))!);
});

void t.test("a write that is lost before its commit", options, async (t) => {
  const { url, proxy, node: cut } = await openBehindProxy(t, server);
  const other = await openNode(t, url);
  const lost = cut.db.write("demo", async (sql) => {
    await sql.run("UPDATE worlds SET title = 'lost' WHERE id = 'demo'");
    proxy.hang();
    await sql.run("SELECT 1");
  });
  t.equal(await problemOf(lost), "unusable");
  // PostgreSQL does not know that the client is gone, but releases the world's lock anyway.
  const took = await elapsedMs(() => other.worlds.configure("demo", { config: { free: true } }));
  if (NIGHT) t.ok(took < 8000, `after ${took} ms`);
  t.not(await title(other), "lost");
});

const read = ({ db }: Node) => db.sql.value("SELECT title FROM worlds");
const snapshot = ({ db }: Node) => db.snapshot((sql) => sql.value("SELECT title FROM worlds"));
const write = ({ worlds }: Node) => worlds.configure("demo", { title: "new" });

/**
 * For each case: the last message that a pooled connection sends, the operation that uses the
 * connection, the expected problem, and a message that must precede the last one.
 */
const USES: Record<
  string,
  [last: string, use: (node: Node) => Promise<unknown>, problem: RegExp, after?: string]
> = {
  "while it opens": ["user\0", read, /unusable|busy/],
  "before it is prepared": ["SET jit", read, /unusable|busy/],
  "in a read": ["SELECT title", read, /unusable/],
  "at the start of a snapshot": ["BEGIN", snapshot, /unusable/],
  "in a snapshot": ["SELECT title", snapshot, /unusable/],
  "before a write": ["BEGIN", write, /unusable/],
  "in a write": ["UPDATE worlds", write, /unusable/],
  // Requires an earlier UPDATE, since background reads commit, too.
  "at a commit": ["COMMIT\0", write, /doubtful/, "UPDATE worlds"],
};

void t.test("a connection of the pool falls silent", options, async (t) => {
  await Promise.all(
    Object.entries(USES).map(async ([name, [last, use, problem, after]]) => {
      const { proxy, node } = await openBehindProxy(t, server);
      // Only new connections send these messages.
      if (/opens|prepared/.test(name)) {
        proxy.reset();
        await until(() => !node.db.isUp);
        await until(() => node.db.isUp);
      }
      proxy.swallow(last, after);
      // More operations than pooled connections, since the node may have opened some itself.
      const began = performance.now();
      const problems = await Promise.all(Array.from({ length: 6 }, () => problemOf(use(node))));
      t.match(problems.join(), problem, name);
      if (NIGHT) t.ok(performance.now() - began < 40_000, `${name}: in time`);
      t.ok(node.db.isUp, `${name}: only one connection is lost`);
      t.equal(await problemOf(use(node)), undefined, `${name}: goes on`);
    }),
  );
});

/** The last message that the heartbeat connection sends. */
const STEPS: Record<string, string> = {
  "while it opens": "user\0",
  "before it is prepared": "SET jit",
  "before it has joined": "pg_try_advisory_lock",
  "before it has compared": "log_heads AS h",
};

void t.test("the connection with the heartbeat falls silent", options, async (t) => {
  await Promise.all(
    Object.entries(STEPS).map(async ([name, last]) => {
      const { url, proxy, node } = await openBehindProxy(t, server);
      await node.db.join({ events: "alone:a", files: "folder:a" }, url);
      proxy.swallow(last);
      proxy.reset();
      await until(() => !node.db.isUp);
      await until(() => node.db.isUp);
      t.equal(await problemOf(write(node)), undefined, name);
    }),
  );
});

void t.test("a server that stops to answer", options, async (t) => {
  const own = await startPostgres();
  t.teardown(() => own.close());
  const { worlds, rooms, db } = await openNode(t, own.url());
  await worlds.create(worldOf("demo"));
  const { id } = (await rooms.create("demo", { name: "x" })).value;
  const uses = {
    room: () => rooms.get("demo", id),
    list: () => rooms.list("demo", selection()),
    world: () => worlds.get("demo"),
    write: () => rooms.update("demo", id, { name: "y" }),
  };
  for (const use of Object.values(uses)) await use();
  own.pause();
  try {
    // A write in flight may have been committed; one that has not started has not.
    const waiting = problemOf(uses.write());
    const noticed = await elapsedMs(() => until(() => !db.isUp));
    if (NIGHT) t.ok(noticed < 2000, `it is noticed after ${noticed} ms`);
    t.match(await waiting, /unusable|doubtful/);
    for (const [name, use] of Object.entries(uses)) {
      let problem: string | undefined;
      void problemOf(use()).then((found) => (problem = found));
      // Far fewer turns of the event loop than a timeout would take.
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      t.equal(problem, "unusable", `${name}: without waiting`);
    }
  } finally {
    own.resume();
  }
  await until(async () => (await problemOf(uses.room())) === undefined);
  for (const [name, use] of Object.entries(uses)) {
    t.equal(await problemOf(use()), undefined, `${name} works again`);
  }
});

void t.test("a crash under load loses nothing acknowledged", options, async (t) => {
  const durable = await startPostgres({ fsync: true });
  t.teardown(() => durable.close());
  const { worlds, rooms, db } = await openNode(t, durable.url());
  await worlds.create(worldOf("demo"));
  const acknowledged = new Set<string>();
  const doubtful = new Set<string>();
  const problems = new Set<string>();
  let isOver = false;
  let count = 0;
  const writers = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const name = `${++count}`;
      const problem = await problemOf(rooms.create("demo", { name }));
      if (problem === undefined) acknowledged.add(name);
      else problems.add(problem);
      if (problem === "doubtful") doubtful.add(name);
      // Refused writes return immediately, so avoid a busy loop.
      if (problem) await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
  const more = async () => {
    const before = acknowledged.size;
    await until(() => acknowledged.size > before + 50);
  };
  for (const kill of [() => durable.kill(), () => durable.stop("immediate")]) {
    await more();
    await kill();
    await until(() => !db.isUp);
    await durable.start();
  }
  await more();
  isOver = true;
  await Promise.all(writers);
  const names = new Set(await db.sql.column<string>("SELECT name FROM rooms"));
  const lost = [...acknowledged].filter((name) => !names.has(name));
  t.strictSame(lost, [], `of ${acknowledged.size}`);
  const unknown = [...names].filter((name) => !acknowledged.has(name) && !doubtful.has(name));
  t.strictSame(unknown, [], "what was refused is not there");
  const allowed = ["busy", "doubtful", "unusable"];
  t.strictSame(
    [...problems].filter((problem) => !allowed.includes(problem)),
    [],
  );
});

void t.test("a standby that lagged takes over: the last events are gone", options, async (t) => {
  const postgres = await startPostgres({
    // This server recovers only once, below.
    settings: { synchronous_commit: "on", restore_command: "false" },
  });
  t.teardown(() => postgres.close());
  const data = join(postgres.folder, "data");
  const copy = join(postgres.folder, "copy");
  const dataDir = testdir(t);
  const engines = await openEngines({ dataDir, database: { url: postgres.url(), pool: 4 } });
  await engines.store.worlds.create(worldOf("demo"));
  const node = await startServer(t, { dataDir, engines, mayLogErrors: true });
  const { store, live: layer } = node.app;
  const module_config = [{ type: "chat.native", config: {} }];
  const channel = (await store.rooms.create("demo", { name: "Hall", module_config })).value.id;
  const person = async (uid: string): Promise<Client> => {
    const client = await node.person(uid);
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
  await until(async () => (await problemOf(store.log.heads(["demo"]))) === undefined);
  const [ada, ben] = [await person("ada"), await person("ben")];
  const carl = await person("carl");
  let last = 0;
  for (let i = 0; i < 40; i++) last = await say(ada, `lost ${i}`);
  await heard(ben, "lost 39");
  await until(() => layer.chat.channels.feed.cursorOf("demo", channel) === last);
  const { log } = store;
  const history = () => log.history!();
  t.strictSame(await history(), { name: "00000001", isKept: false });
  await postgres.stop("immediate");
  execFileSync("rm", ["-r", data]);
  execFileSync("mv", [copy, data]);
  // Ends recovery like a standby that is promoted.
  writeFileSync(join(data, "recovery.signal"), "");
  const calls = t.capture(log, "heads", log.heads.bind(log));
  await postgres.start();
  await until(() => layer.store.worlds.get("demo").then(Boolean, () => false));
  // Subscribing compares the head of the channel with the last delivery.
  carl.sendFrame("chat.subscribe", 1, { channel });

  for (const client of [ben, carl]) {
    await client.next("connection.reload");
    t.equal((await client.closed).code, 1000, "people log in again");
  }
  const again = [await person("ada"), await person("ben")] as const;
  await ada.closed;
  await again[1].do("chat.subscribe", { channel });
  t.ok((await say(again[0], "new")) > last, "no id is given twice");
  await heard(again[1], "new");
  const asked = calls().length;
  t.ok(asked < 200, `the store is asked ${asked} times`);

  t.strictSame(await history(), { name: "00000002", isKept: false });
  await postgres.run("ALTER SYSTEM SET synchronous_standby_names = 'another'");
  await postgres.run("SELECT pg_reload_conf()");
  await until(async () => (await history())!.isKept);
});
