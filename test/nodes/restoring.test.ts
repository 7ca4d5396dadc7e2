import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import pg from "pg";
import t, { type Test } from "tap";
import { furnished } from "../cli/furnished.js";
import { entriesOf, oldArchive, tarOf, withRows } from "../cli/tar.js";
import { openFiles } from "../../db/open-files.js";
import { backup } from "../../db/maintenance/backup.js";
import { restore } from "../../db/maintenance/restore.js";
import { NODES } from "../../db/postgres/engine/locks.js";
import { versionOne } from "../db/old-database.js";
import { startPostgres } from "../servers/postgres.js";
import { startS3 } from "../servers/s3.js";

// Backups and restores on engines that machines share: what they refuse, and what
// they leave.

const postgres = await startPostgres();
t.teardown(() => postgres.close());
const s3 = await startS3(t);
Object.assign(process.env, s3.variables);
const quiet = () => {};

/** A backup with two files, and an empty place for it. */
async function prepared(t: Test) {
  const { dataDir, keys } = await furnished(t, 2);
  const dir = join(dataDir, "..");
  const archive = join(dir, "backup.tar");
  await backup({ dataDir }, archive, quiet);
  const url = await postgres.createDatabase();
  const to = {
    dataDir: join(dir, "unused"),
    database: { url, pool: 2 },
    bucket: await s3.newBucket(),
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

void t.test("what a shared place refuses", async (t) => {
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
  const cases: [
    table: string,
    says: RegExp,
    change: (row: unknown) => unknown,
  ][] = [
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

  // What a killed restore leaves.
  await put(keys[0]!);
  t.match(await restore(archive, to, quiet), {
    ...{ worlds: 1, rooms: 2, files: 2, untimed: 0 },
    name: /^the database .* at 127/,
  });
  t.same(await held(), keys);
  t.equal(await worlds(), 1);
  t.notOk(existsSync(to.dataDir), "the folder is not used");
  await refuses(/^the database .* is not empty/);

  await t.test("and what a backup of it has", async (t) => {
    const again = join(dir, "again.tar");
    t.match(await backup(to, again, quiet), {
      worlds: 1,
      files: 2,
      damaged: [],
    });
    const of = (path: string) =>
      entriesOf(readFileSync(path)).filter((one) => !/manifest/.test(one.path));
    t.strictSame(of(again), of(archive));
  });
});

void t.test("an older archive goes where rows go", async (t) => {
  const { dir, to, worlds } = await prepared(t);
  const archive = join(dir, "old.tar");
  const old = readFileSync(join(versionOne(t), "foyer.db"));
  writeFileSync(archive, tarOf(oldArchive(old, [])));
  t.match(await restore(archive, to, quiet), { worlds: 1, rooms: 0 });
  t.equal(await worlds(), 1);
});

void t.test("files in a bucket beside a database in a folder", async (t) => {
  const { archive, dir, keys, to, held } = await prepared(t);
  const place = { dataDir: join(dir, "restored"), bucket: to.bucket };
  t.match(await restore(archive, place, quiet), { worlds: 1, files: 2 });
  t.same(await held(), keys);
  t.ok(existsSync(join(place.dataDir, "foyer.db")));
  t.notOk(existsSync(join(place.dataDir, "media")));
  const again = join(dir, "again.tar");
  t.match(await backup(place, again, quiet), { files: 2, damaged: [] });
});
