import { statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t from "tap";
import { Cache } from "../../db/cache.js";
import { check } from "../../db/maintenance/check.js";
import { OverdueErasures } from "../../db/overdue.js";
import { heldIn, openStore } from "../database.js";
import { until, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";
import { marksIn } from "./expect-erased.js";

// What removes erased bytes from the files of SQLite, outside of every write.

const visitor = { tokenId: "ada", traits: new Set<string>() };

/** The lines that a log gets. */
function lines() {
  const got: string[] = [];
  const take = (level: string) => (line: string) => {
    got.push(`${level} ${line}`);
  };
  return { got, log: { info: take("info"), error: take("error") } };
}

/** Adds users of another world to a closed database. */
function addUsers(dataDir: string, count: number): void {
  const db = new Database(join(dataDir, "foyer.db"));
  db.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO users (id, world_id, token_id, traits, profile, last_seen)
     SELECT 'u' || i, 'other', 'u' || i, '[]', '{"display_name":"A name of some length"}', i FROM n`,
  ).run(count);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}

void t.test("an erased user costs the same beside many others", async (t) => {
  const written: number[] = [];
  for (const others of [100, 20_000]) {
    const dataDir = testdir(t);
    const first = openStore(t, dataDir);
    await first.worlds.create(worldOf("demo"));
    await first.worlds.create(worldOf("other"));
    const profile = { display_name: "Ada the erased" };
    const { id } = await first.users.enter("demo", { ...visitor, profile });
    await first.close();
    addUsers(dataDir, others);
    const store = openStore(t, dataDir);
    await store.users.erase("demo", { user_id: id });
    // All pages that the write changed are in the log. Nothing else has been written by now.
    written.push(statSync(join(dataDir, "foyer.db-wal")).size);
    await until(() => heldIn(dataDir, ["Ada the erased"]).length === 0);
    await until(() => marksIn(dataDir).length === 0);
    t.equal((await store.counts()).users, others, "the others stay");
    await store.close();
  }
  const [few, many] = written as [number, number];
  t.ok(many < 2 * few, `${many} bytes instead of ${few}`);
});

void t.test("an erasure that fails is told, and in a check", async (t) => {
  const dataDir = testdir(t);
  const { got, log } = lines();
  const store = openStore(t, dataDir, { maintenance: log, overdueAfter: 1 });
  await store.worlds.create(worldOf("demo"));
  const { id } = await store.users.enter("demo", visitor);
  t.equal((await store.counts()).erasureAge, 0);
  const reader = new Database(join(dataDir, "foyer.db"), { readonly: true });
  t.teardown(() => reader.close());
  reader.exec("BEGIN");
  reader.prepare("SELECT * FROM users").all();
  await store.users.erase("demo", { user_id: id });
  t.ok((await store.counts()).erasureAge > 0);
  const findings = async () =>
    (await check({ dataDir }, () => {})).findings.map(({ problem }) => problem);
  t.strictSame(await findings(), [], "not yet");
  await until(() => got.length > 0);
  t.strictSame(
    got.map((line) => line.replace(/\d+/, "N")),
    [
      "error Erased data has been in the files of the database for N seconds: something reads an earlier state of the database",
    ],
  );
  for (const name of marksIn(dataDir)) {
    const before = new Date("2026-01-02T03:04:05Z");
    utimesSync(join(dataDir, name), before, before);
  }
  t.strictSame(await findings(), [
    "still holds data that was erased at 2026-01-02T03:04:05.000Z; a running server removes it, unless its log says why it cannot",
  ]);
  reader.close();
  await until(() => marksIn(dataDir).length === 0);
  await until(() => got.length > 1);
  t.equal(got[1], "info Erased data has left the files of the database.");
  t.strictSame(await findings(), []);
  t.equal((await store.counts()).erasureAge, 0);
});

void t.test("a value that is too large replaces one that is kept", (t) => {
  const cache = new Cache<string>(20);
  cache.set("a", "small", 5);
  cache.set("a", "large", 11);
  t.equal(cache.get("a"), undefined);
  t.end();
});

void t.test("a failing erasure is logged after a minute, then hourly", (t) => {
  const { got, log } = lines();
  const overdue = new OverdueErasures(log);
  const minute = 60_000;
  const cases: [minutes: number, lines: number][] = [
    ...([
      [0, 0],
      [0.9, 0],
      [1, 1],
      [2, 1],
      [60, 1],
    ] as [number, number][]),
    ...([
      [61, 2],
      [120, 2],
      [121, 3],
    ] as [number, number][]),
  ];
  for (const [minutes, count] of cases) {
    overdue.failed(new Error("no room"), minutes * minute);
    t.equal(got.length, count, `after ${minutes} minutes`);
  }
  t.match(got[1], /^error .* for 3660 seconds: no room$/);
  overdue.succeeded();
  overdue.failed("again", 122 * minute);
  t.equal(got.length, 4, "begins again");
  t.end();
});
