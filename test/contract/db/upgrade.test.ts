import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { BASELINE, migrations } from "../../../db/schema/migrations.js";
import { putDatabase } from "../../support/database.js";
import { foyer, modules, spawnFoyer, until, worldOf } from "../../support/helper.js";
import { testdir } from "../../support/testdir.js";

const LATEST = BASELINE;
const NEXT = BASELINE + 1;

/** A module that makes commands run as a made-up next version. */
const nextVersion = new URL("../../support/next-version.js", import.meta.url).href;

const open = (dataDir: string, name = "foyer.db") => new Database(join(dataDir, name));

/** Reads a database's version, the titles of its worlds, and its integrity. */
function look(dataDir: string, name?: string) {
  const db = open(dataDir, name);
  try {
    return {
      version: db.pragma("user_version", { simple: true }),
      titles: db.prepare("SELECT title FROM worlds").pluck().all(),
      sound: db.pragma("integrity_check", { simple: true }),
    };
  } finally {
    db.close();
  }
}

const copiesIn = (dataDir: string) => readdirSync(dataDir).filter((name) => name.includes(".v"));

/** Creates a data folder with a database of this version. */
async function databaseOf(t: Test): Promise<string> {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("old")]);
  return dataDir;
}

/** Adds the migration of a next version to this process until the test ends. */
function knowNext(t: Test, sql: string): void {
  migrations.push(sql);
  t.teardown(() => void migrations.pop());
}

const NOTES = `CREATE TABLE notes (
  world_id TEXT NOT NULL REFERENCES worlds (id) ON DELETE CASCADE,
  number COUNTER,
  UNIQUE (world_id, number)
);
UPDATE worlds SET title = title || '!';
`;
const OLD = { version: LATEST, titles: ["The old"], sound: "ok" };
const NEW = { version: NEXT, titles: ["The old!"], sound: "ok" };

void t.test("an old database is upgraded after a copy", async (t) => {
  const dataDir = await databaseOf(t);
  const unchanged = { code: 0, stderr: "" };
  for (const [args, says] of [
    [["upgrade"], "nothing has changed"],
    [["upgrade", "--dry-run"], "nothing would change"],
  ] as const) {
    const stdout = `The tables already have version ${LATEST}; ${says}.\n`;
    t.strictSame(await foyer(dataDir, args), { ...unchanged, stdout });
  }
  knowNext(t, NOTES);
  t.strictSame(await foyer(dataDir, ["upgrade", "--dry-run"]), {
    ...unchanged,
    stdout: `The tables would change from version ${LATEST} to ${NEXT}.\n`,
  });
  t.strictSame(JSON.parse((await foyer(dataDir, ["upgrade", "--dry-run", "--json"])).stdout), {
    version: LATEST,
    latest: NEXT,
    changes: true,
  });
  t.same(look(dataDir), OLD);
  t.same(copiesIn(dataDir), []);

  const { code, stdout, stderr } = await foyer(dataDir, ["upgrade"]);
  t.equal(code, 0);
  t.equal(stdout, `The tables have changed from version ${LATEST} to ${NEXT}.\n`);
  const [copy, ...others] = copiesIn(dataDir);
  t.same(others, []);
  t.match(copy, /^foyer\.db\.v100-\d{8}T\d{6}Z$/);
  t.equal(
    stderr,
    `foyer: The database was upgraded from version ${LATEST} to ${NEXT}. A copy of the old version is kept in ${join(dataDir, copy!)}.\n`,
  );
  t.same(look(dataDir), NEW);
  t.same(look(dataDir, copy), OLD);
  t.equal(statSync(join(dataDir, copy!)).mode & 0o777, 0o600, "the copy is for its owner only");
  t.equal((await foyer(dataDir, ["check"])).code, 0);
  t.same(copiesIn(dataDir), [copy]);
});

void t.test("only serve and upgrade upgrade", async (t) => {
  const dataDir = await databaseOf(t);
  knowNext(t, NOTES);
  const commands = [
    "world list",
    "world show old",
    "world create b --title B --domain b.org",
    "token old",
    "user list old",
    "check",
    `backup ${join(testdir(t), "b.tar")}`,
  ];
  for (const command of commands) {
    t.strictSame(
      await foyer(dataDir, command.split(" ")),
      {
        code: 1,
        stdout: "",
        stderr: `foyer: cannot open the database in ${dataDir}: it has version ${LATEST} instead of ${NEXT}; stop the server, and run foyer upgrade\n`,
      },
      command,
    );
  }
  t.same(look(dataDir), OLD);
  t.same(copiesIn(dataDir), []);
  const server = spawnFoyer(
    t,
    ["serve"],
    { DATA_DIR: dataDir, PORT: "0", NODE_OPTIONS: `--import=${nextVersion}` },
    "",
    modules,
  );
  await until(() => /Server listening/.test(server.said.stdout));
  t.match(look(dataDir), { version: NEXT });
  server.signal("SIGTERM");
  await server.finished;
  t.equal((await foyer(dataDir, ["world", "list"])).code, 0);
  const nothing = join(dataDir, "nothing");
  t.match(await foyer(nothing, ["upgrade"]), {
    code: 1,
    stderr: `foyer: there is no database in ${nothing}\n`,
  });
});

void t.test("no upgrade while an older server serves", async (t) => {
  const dataDir = await databaseOf(t);
  knowNext(t, NOTES);
  // Every version reads through a connection that stays open, and every version respects its lock.
  const old = open(dataDir);
  old.pragma("journal_mode = WAL");
  old.prepare("SELECT count(*) FROM worlds").get();
  for (const command of ["upgrade", "serve", "serve --demo"]) {
    t.strictSame(await foyer(dataDir, command.split(" "), { LOG_LEVEL: "silent" }), {
      code: 1,
      stdout: "",
      stderr: `foyer: cannot open the database in ${dataDir}: another process has its version ${LATEST} open; stop all servers first, so that this Foyer can upgrade it\n`,
    });
    t.equal(old.pragma("user_version", { simple: true }), LATEST);
    t.same(copiesIn(dataDir), []);
  }
  const env = { DATA_DIR: dataDir, NODE_OPTIONS: `--import=${nextVersion}` };
  const waiting = spawnFoyer(t, ["upgrade"], env, "", modules);
  // Upgrading waits briefly for a command that is still running.
  setTimeout(() => old.close(), 500);
  t.equal((await waiting.finished).code, 0);
  t.match(look(dataDir), NEW);
});

void t.test("an upgrade that is killed leaves the one or the other", async (t) => {
  const COUNT = 20_000;
  const dataDir = await databaseOf(t);
  const db = open(dataDir);
  db.exec(`WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${COUNT})
    INSERT INTO chat_events (world_id, id, tag, channel, type, sender, timestamp, content)
    SELECT 'old', 1000 + id, 1, 1, 0, 'ada', id, '{"type":"text","body":"message"}' FROM n;`);
  db.close();
  const versions: unknown[] = [];
  let code: number | null = null;
  const env = {
    DATA_DIR: dataDir,
    NODE_OPTIONS: `--import=${nextVersion}`,
    NEXT_VERSION: `ALTER TABLE chat_events ADD COLUMN mood TEXT;
      UPDATE chat_events SET mood = 'calm';`,
  };
  // The increasing delay kills the upgrade in each phase, on a machine of any speed.
  for (let delay = 50; code !== 0; delay *= 1.25) {
    const upgrade = spawnFoyer(t, ["upgrade"], env, "", modules);
    const timer = setTimeout(() => upgrade.signal("SIGKILL"), delay);
    ({ code } = await upgrade.finished);
    clearTimeout(timer);
    const { version, sound } = look(dataDir);
    t.equal(sound, "ok");
    versions.push(version);
  }
  t.ok(versions.length > 3, "it was killed");
  t.strictSame(new Set(versions), new Set([LATEST, NEXT]));
  t.equal(copiesIn(dataDir).length, 1);
  const upgraded = open(dataDir);
  const calm = upgraded.prepare("SELECT count(*) FROM chat_events WHERE mood = 'calm'").pluck();
  t.equal(calm.get(), COUNT);
  upgraded.close();
});

void t.test("a new database has nothing to copy", async (t) => {
  const dataDir = testdir(t);
  const args = ["world", "create", "a", "--title", "A", "--domain", "a.org"];
  t.match(await foyer(dataDir, args), { code: 0, stderr: "" });
  t.same(copiesIn(dataDir), []);
});

void t.test("an upgrade that fails leaves all as it was", async (t) => {
  const dataDir = await databaseOf(t);
  knowNext(t, `${NOTES}\nCREATE TABLE files (\n  odd TEXT\n);`);
  for (const command of ["upgrade", "serve"]) {
    t.strictSame(await foyer(dataDir, [command], { LOG_LEVEL: "silent" }), {
      code: 1,
      stdout: "",
      stderr: `foyer: cannot open the database in ${dataDir}: the upgrade to version ${NEXT} failed, and changed nothing: table files already exists\n`,
    });
    t.same(copiesIn(dataDir), [], "copies do not pile up");
    t.same(look(dataDir), OLD);
    const db = open(dataDir);
    t.notOk(db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'notes'").get());
    db.close();
  }
});

void t.test("a database of another build is refused", async (t) => {
  const dataDir = await databaseOf(t);
  const before =
    "it has version 25, of a build before release 0.1.0; export each world with that build (foyer world export), and import it with this one (foyer world import)";
  const later = `it has version 900, and this Foyer knows versions up to ${LATEST}; use a newer Foyer`;
  for (const [version, why] of [
    [25, before],
    [900, later],
  ] as const) {
    const db = open(dataDir);
    db.pragma(`user_version = ${version}`);
    db.close();
    for (const command of ["serve", "upgrade", "upgrade --dry-run", "world list", "check"]) {
      t.strictSame(
        await foyer(dataDir, command.split(" "), { LOG_LEVEL: "silent" }),
        { code: 1, stdout: "", stderr: `foyer: cannot open the database in ${dataDir}: ${why}\n` },
        `${version}: ${command}`,
      );
    }
    t.match(look(dataDir), { version, sound: "ok" });
    t.same(copiesIn(dataDir), []);
  }
});
