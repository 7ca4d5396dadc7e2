import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import pg from "pg";
import t, { type Test } from "tap";
import { openFiles } from "../../db/blobs/folder/local-files.js";
import { Database } from "../../db/engines/postgres/engine/postgres-database.js";
import { NODES } from "../../db/engines/postgres/engine/postgres-sql.js";
import { postgresStore } from "../../db/engines/postgres/index.js";
import { backup } from "../../db/maintenance/backup.js";
import { check } from "../../db/maintenance/check.js";
import { restore } from "../../db/maintenance/restore.js";
import { contradictions, furnish } from "../contract/db/contradictions.js";
import { entriesOf, furnished, tarOf, withRows } from "../protocol/commands/archives.js";
import { sharedDatabases } from "../support/servers/postgres.js";
import { NO_SERVERS, servers } from "../support/shared.js";
import { testdir } from "../support/testdir.js";

// Backups and restores on engines shared by several machines: what they refuse, and what they leave
// behind.

const postgres = sharedDatabases();
const options = { skip: NO_SERVERS };
const quiet = () => {};

/** Creates a backup with two files, and an empty target for it. */
async function prepared(t: Test) {
  const { dataDir, keys } = await furnished(t, 2);
  const dir = join(dataDir, "..");
  const archive = join(dir, "backup.tar");
  await backup({ dataDir }, archive, quiet);
  const url = await postgres.createDatabase();
  const to = {
    dataDir: join(dir, "unused"),
    database: { url, pool: 2 },
    bucket: await (await servers()).newBucket(),
  };
  const files = await openFiles(to.dataDir, to.bucket);
  t.teardown(() => files.close());
  const held = async () => {
    const found: string[] = [];
    for await (const { key } of files.keys()) found.push(key);
    return found;
  };
  const put = (key: string) =>
    files.put(key, Readable.from([Buffer.from("other")]), async () => {});
  const worlds = async () => {
    const name = new URL(url).pathname.slice(1);
    const found = "SELECT to_regclass('worlds') AS found";
    const [row] = (await postgres.run(found, name)) as { found: string }[];
    if (row!.found === null) return 0;
    return (await postgres.run("SELECT FROM worlds", name)).length;
  };
  return { archive, dir, keys, to, url, put, held, worlds };
}

void t.test("what a shared place refuses", options, async (t) => {
  const { archive, dir, keys, to, url, put, held, worlds } = await prepared(t);
  const refuses = async (says: RegExp, path = archive) => {
    await t.rejects(restore(path, to, quiet), { message: says });
  };

  await put("pub/demo/stranger.pdf");
  await refuses(/is not empty: it has pub\/demo\/stranger\.pdf/);
  t.same(await held(), ["pub/demo/stranger.pdf"]);
  const files = await openFiles(to.dataDir, to.bucket);
  await files.remove("pub/demo/stranger.pdf");
  await files.close();

  const node = new pg.Client(url);
  await node.connect();
  await node.query(`SELECT pg_advisory_lock_shared(${NODES})`);
  await refuses(/^cannot restore into .*: servers use the database .* at 127/);
  await node.end();

  const entries = entriesOf(readFileSync(archive));
  const cases: [table: string, says: RegExp, change: (row: unknown) => unknown][] = [
    [
      "rooms",
      /a row of rooms cannot be stored: .*foreign key/,
      (row) => (row as unknown[]).with(1, "evil"),
    ],
    [
      "users",
      /a row of users cannot be stored: .*check constraint/,
      (row) => (row as unknown[]).map((one) => (one === "" ? "evil" : one)),
    ],
    ["sequences", /there is no sequence evil/, () => ["evil", 1]],
  ];
  for (const [table, says, change] of cases) {
    const path = join(dir, `${table}.tar`);
    const changed = withRows(entries, table, (rows) => rows.map(change));
    writeFileSync(path, tarOf(changed));
    await refuses(says, path);
    t.equal(await worlds(), 0, table);
    t.same(await held(), [], `${table}: no file stays`);
  }

  // Simulates a file left behind by a killed restore.
  await put(keys[0]!);
  t.match(await restore(archive, to, quiet), {
    worlds: 1,
    rooms: 2,
    files: 2,
    untimed: 0,
    name: /^the database .* at 127/,
  });
  t.same(await held(), keys);
  t.equal(await worlds(), 1);
  t.notOk(existsSync(to.dataDir), "the folder is not used");
  await refuses(/^the database .* is not empty/);

  await t.test("and what a backup of it has", async (t) => {
    const again = join(dir, "again.tar");
    t.match(await backup(to, again, quiet), { worlds: 1, files: 2, damaged: [] });
    const of = (path: string) =>
      entriesOf(readFileSync(path)).filter((one) => !/manifest/.test(one.path));
    t.strictSame(of(again), of(archive));
  });
});

void t.test("files in a bucket beside a database in a folder", options, async (t) => {
  const { archive, dir, keys, to, held } = await prepared(t);
  const place = { dataDir: join(dir, "restored"), bucket: to.bucket };
  t.match(await restore(archive, place, quiet), { worlds: 1, files: 2 });
  t.same(await held(), keys);
  t.ok(existsSync(join(place.dataDir, "foyer.db")));
  t.notOk(existsSync(join(place.dataDir, "media")));
  const again = join(dir, "again.tar");
  t.match(await backup(place, again, quiet), { files: 2, damaged: [] });
});

void t.test("foyer check of PostgreSQL", options, async (t) => {
  const url = await postgres.createDatabase();
  const whole = new URL(url).pathname.slice(1);
  const store = postgresStore(await Database.open({ url, pool: 2 }, { create: true }));
  const event = await furnish(store);
  await store.close();
  /** The SQL that causes each inconsistency, and the finding. */
  const cases = [
    ...contradictions(event, "NULL"),
    ["DROP INDEX rooms_by_name", "the index rooms_by_name is missing"],
    [
      "UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'rooms_by_name'::regclass",
      "the index rooms_by_name is invalid",
    ],
  ] as const;

  await t.test("what is whole has no findings", async (t) => {
    const dataDir = testdir(t);
    const place = { dataDir, database: { url, pool: 1 } };
    const { findings, ...counts } = await check(place, () => {});
    t.strictSame(findings, []);
    t.match(counts, { worlds: 1, rooms: 1, files: 0, questions: 1, polls: 2 });
    t.ok(counts.chat_events > 0);
  });

  await t.test("each contradiction has its words", async (t) => {
    const dataDir = testdir(t);
    for (const [breaking, finding] of cases) {
      const broken = await postgres.createDatabase(undefined, whole);
      await postgres.run(breaking, new URL(broken).pathname.slice(1));
      const place = { dataDir, database: { url: broken, pool: 1 } };
      const { findings } = await check(place, () => {});
      t.strictSame(
        findings.map(({ problem }) => problem),
        [finding],
        breaking,
      );
    }
  });
});
