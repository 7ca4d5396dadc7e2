import type { AnyEvent } from "../../../db/contract/events.js";
import { INDEX } from "../../../db/log/entries.js";
import { Database } from "../../../db/postgres/engine/database.js";
import { until, worldOf } from "../../helper.js";
import { PATIENCE } from "../../patience.js";
import { startPostgres } from "../../servers/postgres.js";
import { startProxy, through } from "../../servers/proxy.js";
import {
  emptyDatabase,
  follow,
  type Node,
  openNode,
  type Part,
  problemOf,
} from "./setup.js";

/** What is lost with connections and servers, and what is not. */
export const outages: Part = async (t, server) => {
  await t.test("a commit whose answer is lost", async (t) => {
    const url = await emptyDatabase(server);
    const proxy = await startProxy(t, server.port);
    const cut = await openNode(t, through(url, proxy));
    const other = await openNode(t, url);
    await cut.worlds.create(worldOf("demo"));
    for (const node of [cut, other]) await follow(node);
    const write = cut.db.write("demo", async (sql, log) => {
      await sql.run("UPDATE worlds SET title = 'new' WHERE id = 'demo'");
      log.append({ type: "world.updated" });
      proxy.deafen();
    });
    t.equal(await problemOf(write), "doubtful");
    const title = async ({ worlds }: Node) =>
      (await worlds.get("demo").catch(() => undefined))?.value.title;
    await until(async () => (await title(other)) === "new");
    proxy.heal();
    await until(async () => (await title(cut)) === "new");
  });

  await t.test("only the connection of a commit is lost", async (t) => {
    const url = await emptyDatabase(server);
    const proxy = await startProxy(t, server.port);
    const node = await openNode(t, through(url, proxy));
    const { db, worlds, events } = node;
    await worlds.create(worldOf("demo"));
    const title = async () => (await worlds.get("demo"))?.value.title;
    await follow(node);
    const heard: AnyEvent[] = [];
    events.subscribe((event) => heard.push(event));
    proxy.loseAnswer("COMMIT\0");
    const write = worlds.configure("demo", { title: "new" });
    t.equal(await problemOf(write), "doubtful");
    await until(async () => (await title()) === "new");
    t.ok(db.isUp, "all others go on");
    await until(() => heard.length > 0);
    const by = { kind: "server" };
    t.match(heard, [{ type: "world.updated", world: "demo", by }]);
    t.equal(heard.length, 1, "its entry comes once");
  });

  await t.test("the log says when PostgreSQL goes and comes", async (t) => {
    const url = await emptyDatabase(server);
    const proxy = await startProxy(t, server.port);
    const lines: string[] = [];
    const db = await Database.open(
      { url: through(url, proxy), pool: 2 },
      { create: true },
      (line) => lines.push(line),
    );
    t.teardown(() => db.close());
    await db.sql.value("SELECT 1");
    t.strictSame(db.connections, { idle: 1, used: 0, waiting: 0 });
    t.strictSame(lines, [], "nothing is lost");
    proxy.cut();
    await until(() => !db.isUp);
    const reads = Array.from({ length: 20 }, () =>
      problemOf(db.sql.value("SELECT 1")),
    );
    t.strictSame(new Set(await Promise.all(reads)), new Set(["unusable"]));
    proxy.heal();
    await until(() => db.isUp);
    t.match(lines, [/^PostgreSQL is lost: [^\n]+$/, "PostgreSQL is back"]);
    t.equal(lines.length, 2);
  });

  await t.test("an erasure whose commit is lost", async (t) => {
    const url = await emptyDatabase(server);
    const proxy = await startProxy(t, server.port);
    const { db, events } = await openNode(t, through(url, proxy));
    await until(() => events.isCurrent(INDEX));
    proxy.loseAnswer("COMMIT\0");
    const erasure = db.write("demo", async (_, log) => log.erased("users"));
    t.equal(await problemOf(erasure), "doubtful");
    // A second erasure finds nothing, so this is the only time.
    await until(
      async () =>
        db.sql.value<boolean>(
          "SELECT vacuum_count > 0 FROM pg_stat_user_tables WHERE relname = 'users'",
        ) as Promise<boolean>,
    );
  });

  await t.test("a write that is lost before its commit", async (t) => {
    const url = await emptyDatabase(server);
    const proxy = await startProxy(t, server.port);
    const cut = await openNode(t, through(url, proxy));
    const other = await openNode(t, url);
    await cut.worlds.create(worldOf("demo"));
    const lost = cut.db.write("demo", async (sql) => {
      await sql.run("UPDATE worlds SET title = 'lost' WHERE id = 'demo'");
      proxy.hang();
      await sql.run("SELECT 1");
    });
    t.equal(await problemOf(lost), "unusable");
    // The server does not know that the client is gone, and must not wait for long.
    const waited = performance.now();
    await other.worlds.configure("demo", { config: { free: true } });
    t.ok(
      performance.now() - waited < 8000 * PATIENCE,
      "the lock of the world is free",
    );
    t.not((await other.worlds.get("demo"))?.value.title, "lost");
  });

  await t.test("a crash under load loses nothing acknowledged", async (t) => {
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
        // A refusal takes no time.
        if (problem) await new Promise((resolve) => setTimeout(resolve, 10));
      }
    });
    for (const kill of [
      () => durable.kill(),
      () => durable.stop("immediate"),
    ]) {
      const before = acknowledged.size;
      await until(() => acknowledged.size > before + 50);
      await kill();
      await until(() => !db.isUp);
      await durable.start();
    }
    const before = acknowledged.size;
    await until(() => acknowledged.size > before + 50);
    isOver = true;
    await Promise.all(writers);
    const names = new Set(
      await db.sql.column<string>("SELECT name FROM rooms"),
    );
    const lost = [...acknowledged].filter((name) => !names.has(name));
    t.strictSame(lost, [], `of ${acknowledged.size}`);
    const unknown = [...names].filter(
      (name) => !acknowledged.has(name) && !doubtful.has(name),
    );
    t.strictSame(unknown, [], "what was refused is not there");
    const allowed = ["busy", "doubtful", "unusable"];
    t.ok(
      [...problems].every((problem) => allowed.includes(problem)),
      [...problems].join(),
    );
  });
};
