import pg from "pg";
import { lockOfWorld } from "../../../db/postgres/engine/locks.js";
import { keyOf, until, worldOf } from "../../helper.js";
import { emptyDatabase, openNode, type Part, problemOf } from "./setup.js";

/** Writes that gather, and writes that meet. */
export const lanes: Part = async (t, server) => {
  await t.test("a write that fails takes nothing with it", async (t) => {
    const { db, worlds, rooms } = await openNode(
      t,
      await emptyDatabase(server),
    );
    await worlds.create(worldOf("demo"));
    const insert = (name: string) => rooms.create("demo", { name });
    const settled = await Promise.allSettled([
      insert("first"),
      insert("second"),
      db.write("demo", async (sql, log) => {
        await sql.run("UPDATE worlds SET title = 'half' WHERE id = 'demo'");
        log.append({ type: "world.updated" });
        throw new Error("of its own");
      }),
      db.write("demo", async (sql) => {
        await sql.run("UPDATE worlds SET title = 'half' WHERE id = 'demo'");
        await sql.run("SELECT 1 / (SELECT 0)");
      }),
      insert("third"),
      rooms.update("demo", "absent", { name: "x" }),
      insert("fourth"),
    ]);
    t.match(
      settled.map((one) =>
        one.status === "fulfilled" ? "done" : (one.reason as Error).message,
      ),
      [
        "done",
        "done",
        "of its own",
        /division by zero/,
        "done",
        "There is no such room.",
        "done",
      ],
    );
    const stored = await worlds.get("demo");
    t.equal(stored?.value.title, worldOf("demo").title);
    t.strictSame(await db.sql.column("SELECT name FROM rooms ORDER BY name"), [
      "first",
      "fourth",
      "second",
      "third",
    ]);
  });

  await t.test(
    "writes run again only if one fails after a change",
    async (t) => {
      const { db, worlds } = await openNode(t, await emptyDatabase(server));
      await worlds.create(worldOf("demo"));
      const runsBeside = async (statement: string) => {
        let runs = 0;
        const settled = await Promise.allSettled([
          db.write("demo", async () => {}),
          db.write("demo", async () => runs++),
          db.write("demo", async (sql) => {
            await sql.run(statement);
            throw new Error("refused");
          }),
        ]);
        t.strictSame(
          settled.map(({ status }) => status),
          ["fulfilled", "fulfilled", "rejected"],
        );
        return runs;
      };
      t.equal(await runsBeside("SELECT 1"), 1);
      t.equal(await runsBeside("SELECT 1 / (SELECT 0)"), 2);
      t.equal(await runsBeside("UPDATE worlds SET title = 'x'"), 2);
      t.equal((await worlds.get("demo"))?.value.title, worldOf("demo").title);
    },
  );

  await t.test("worlds that several nodes create at once", async (t) => {
    const url = await emptyDatabase(server);
    const nodes = await Promise.all(
      Array.from({ length: 4 }, () => openNode(t, url)),
    );
    for (const [name, worldFor] of Object.entries({
      id: (i: number) => worldOf("same", { domain: `${i}.example.org` }),
      domain: (i: number) => worldOf(`w${i}`, { domain: "one.example.net" }),
    })) {
      const problems = await Promise.all(
        nodes.map(({ worlds }, i) => problemOf(worlds.create(worldFor(i)))),
      );
      t.strictSame(
        problems.sort(),
        ["taken", "taken", "taken", undefined],
        name,
      );
    }
    // A domain is also claimed by a change.
    const moved = await Promise.all(
      nodes.map(async ({ worlds }, i) => {
        await worlds.create(worldOf(`moving-${i}`));
        return problemOf(
          worlds.update(`moving-${i}`, { domain: "aim.example.net" }),
        );
      }),
    );
    t.equal(moved.filter((problem) => problem === undefined).length, 1);
  });

  await t.test("a config of a megabyte", async (t) => {
    const { worlds } = await openNode(t, await emptyDatabase(server));
    const large = {
      JWT_secrets: [keyOf("demo")],
      text: "🎪".repeat(250_000),
    };
    await worlds.create(worldOf("demo"));
    const made = await worlds.update("demo", { config: large });
    t.strictSame((await worlds.get("demo"))?.value.config, large);
    t.equal((await worlds.get("demo"))?.version, made.version);
    const issuing = await worlds.issuing(
      large.JWT_secrets[0]!.issuer,
      large.JWT_secrets[0]!.audience,
    );
    t.equal(issuing.length, 1);
  });

  /** Keeps writes of some worlds waiting. @returns what lets them go on. */
  const lock = async (url: string, worlds: readonly string[]) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(["BEGIN", ...worlds.map(lockOfWorld)].join("; "));
    return () => client.end();
  };

  await t.test("writes that wait leave connections to reads", async (t) => {
    const url = await emptyDatabase(server);
    const { db, worlds } = await openNode(t, url);
    const ids = Array.from({ length: 6 }, (_, i) => `w${i}`);
    for (const id of ids) await worlds.create(worldOf(id));
    const free = await lock(url, ids);
    const writes = ids.map((id) => worlds.configure(id, { title: "new" }));
    await until(async () => {
      const waiting = await server.run(
        "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
      );
      return waiting.length >= 2;
    });
    const count = () => db.sql.value<number>("SELECT count(*) FROM worlds");
    const counted = await Promise.all(Array.from({ length: 8 }, count));
    t.strictSame(counted, Array(8).fill(6));
    await free();
    t.equal((await Promise.all(writes)).length, 6);
  });

  await t.test("no more writes wait than a lane has room for", async (t) => {
    const url = await emptyDatabase(server);
    const { db, worlds } = await openNode(t, url);
    await worlds.create(worldOf("demo"));
    const free = await lock(url, ["demo"]);
    const write = () => problemOf(db.write("demo", async () => {}));
    const writes = Array.from({ length: 21_000 }, write);
    t.equal(await writes.at(-1), "busy", "without waiting");
    await free();
    const problems = new Set(await Promise.all(writes.slice(0, 20_000)));
    t.strictSame([...problems], [undefined]);
  });
};
