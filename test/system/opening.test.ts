import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import t from "tap";
import { addFunctions } from "../../db/sqlite/engine/upgrade.js";
import {
  copiesIn,
  latest,
  later,
  look,
  open,
  versionOne,
} from "../db/old-database.js";
import { foyerProcess, startFoyer, worldOf } from "../helper.js";
import { openStore } from "../database.js";
import { testdir } from "../testdir.js";

// Several processes open one database at once.

void t.test("processes that open a new folder at the same time", async (t) => {
  // Each waits to be told where, so that all begin at once.
  const parent = testdir(t, {
    "open.mjs": `
      import { openSqliteStore } from ${JSON.stringify(new URL("../../db/sqlite/index.js", import.meta.url))};
      process.on("message", async ({ dataDir, world }) => {
        try {
          const store = openSqliteStore(dataDir);
          await store.worlds.create(world);
          await store.close();
          process.send("done");
        } catch (error) {
          process.send(error.message);
        }
      });
      process.send("ready");
    `,
  });
  const processes = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const child = fork(join(parent, "open.mjs"), { execArgv: [] });
      t.teardown(() => child.kill("SIGKILL"));
      await once(child, "message");
      return child;
    }),
  );
  for (let round = 0; round < 4; round++) {
    const dataDir = join(parent, `round-${round}`);
    const answers = await Promise.all(
      processes.map(async (child, i) => {
        child.send({ dataDir, world: worldOf(`world-${i}`) });
        return ((await once(child, "message")) as [string])[0];
      }),
    );
    t.strictSame(answers, ["done", "done", "done", "done"]);
    const store = openStore(t, dataDir);
    t.equal((await store.worlds.list({ limit: 100 })).length, 4);
    await store.close();
  }
});

void t.test("processes that start at once", async (t) => {
  const dataDir = versionOne(t);
  const [server, another, ...upgrades] = await Promise.all([
    startFoyer(t, dataDir, [], { LOG_LEVEL: "info" }),
    startFoyer(t, dataDir, [], { LOG_LEVEL: "info" }),
    foyerProcess(t, dataDir, ["upgrade"]),
    foyerProcess(t, dataDir, ["upgrade"]),
  ]);
  for (const { code, stderr } of upgrades) t.equal(code, 0, stderr);
  const running = [server, another];
  for (const { address } of running) {
    t.equal((await fetch(`${address}/healthz`)).status, 200);
  }
  for (const one of running) one.signal("SIGTERM");
  const ended = await Promise.all(running.map(({ finished }) => finished));
  t.same(
    ended.map(({ code }) => code),
    [0, 0],
  );
  const said = [...upgrades, ...ended]
    .map(({ stdout, stderr }) => stdout + stderr)
    .join("");
  t.equal(said.split("The database was upgraded").length, 2, "one of them");
  t.equal(copiesIn(dataDir).length, 1);
  t.match(look(dataDir), { version: latest, worlds: ["old"] });
});

void t.test("who starts during an upgrade waits for it", async (t) => {
  const dataDir = versionOne(t);
  const other = open(dataDir);
  other.pragma("locking_mode = EXCLUSIVE");
  other.exec("BEGIN EXCLUSIVE");
  const waiting = foyerProcess(t, dataDir, ["world", "list"]);
  // Longer than a write would wait for its lock.
  const patience = new Promise((resolve) => setTimeout(resolve, 2500));
  const first = await Promise.race([waiting, patience]);
  t.equal(first, undefined, "it still waits");
  addFunctions(other);
  for (const migration of later) other.exec(migration);
  other.pragma(`user_version = ${latest}`);
  other.exec("COMMIT");
  other.close();
  const { code, stderr } = await waiting;
  t.same([code, stderr], [0, ""]);
  t.same(copiesIn(dataDir), []);
});
