import { readdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { migrations } from "../../db/sqlite/migrations/index.js";
import { openSqliteStore } from "../../db/sqlite/index.js";
import { foyer, foyerProcess, keyOf, startFoyer, worldOf } from "../helper.js";

const [first, ...later] = migrations as [string, ...string[]];
const latest = 1 + later.length;

/** A database as the first version made it, with a world in it. */
function versionOne(t: Test, more = ""): string {
  const dataDir = t.testdir();
  const db = open(dataDir);
  db.pragma("journal_mode = WAL");
  db.exec(first);
  db.pragma(`application_id = ${0x466f7972}`);
  db.pragma("user_version = 1");
  const { id, title, domain, config, permission_config } = worldOf("old");
  db.prepare(
    "INSERT INTO worlds (id, title, config, permission_config, domain) VALUES (?, ?, ?, ?, ?)",
  ).run(
    id,
    title,
    JSON.stringify(config),
    JSON.stringify(permission_config),
    domain,
  );
  const { issuer, audience } = keyOf("old");
  db.prepare("INSERT INTO world_issuers VALUES (?, ?, ?)").run(
    issuer,
    audience,
    id,
  );
  db.exec(more);
  db.close();
  return dataDir;
}

const open = (dataDir: string, name = "foyer.db") =>
  new Database(join(dataDir, name));

/** What a database says of its version and worlds. */
function look(dataDir: string, name?: string) {
  const db = open(dataDir, name);
  try {
    return {
      version: db.pragma("user_version", { simple: true }),
      worlds: db.prepare("SELECT id FROM worlds").pluck().all(),
      sound: db.pragma("integrity_check", { simple: true }),
    };
  } finally {
    db.close();
  }
}

const copiesIn = (dataDir: string) =>
  readdirSync(dataDir).filter((name) => name.includes(".v"));

void t.test("an old database is upgraded after a copy", async (t) => {
  const dataDir = versionOne(t);
  const { code, stdout, stderr } = await foyer(dataDir, ["world", "list"]);
  t.equal(code, 0);
  t.match(stdout, /^old\told\.example\.org/);
  const [copy, ...others] = copiesIn(dataDir);
  t.same(others, []);
  t.match(copy, /^foyer\.db\.v1-\d{8}T\d{6}Z$/);
  t.equal(
    stderr,
    `foyer: The database was upgraded from version 1 to ${latest}. What it was before is kept in ${join(dataDir, copy!)}.\n`,
  );
  t.same(look(dataDir), { version: latest, worlds: ["old"], sound: "ok" });
  t.same(look(dataDir, copy), { version: 1, worlds: ["old"], sound: "ok" });

  const again = await foyer(dataDir, ["world", "list"]);
  t.same([again.code, again.stderr], [0, ""], "once");
  const check = await foyer(dataDir, ["check"]);
  t.equal(check.code, 0, check.stdout);
  t.same(copiesIn(dataDir), [copy]);
});

void t.test("what version 2 recorded is listed by the next", async (t) => {
  const dataDir = versionOne(t);
  const old = open(dataDir);
  old.exec(`${later[0]};
    PRAGMA user_version = 2;
    INSERT INTO users VALUES ('u1', 'old', 'ada', NULL, NULL, '[]', 1000),
      ('u2', 'old', NULL, 'guest', NULL, '["x"]', 2000),
      ('u3', 'old', NULL, NULL, NULL, NULL, 3000);
    INSERT INTO files VALUES ('pub/old/f1.s.pdf', 'old', 'u1', 10, '00', 1000),
      ('pub/old/f2.s.png', 'old', NULL, 20, '00', 1000);
    UPDATE worlds SET file_bytes = 30;`);
  old.close();
  const store = openSqliteStore(dataDir);
  t.teardown(() => store.close());
  const page = { page: 1, pageSize: 9 };
  t.match(await store.users.list("old", page), {
    count: 2,
    users: [{ id: "u2" }, { id: "u1" }],
  });
  t.match(await store.files.list("old", page), {
    count: 2,
    files: [
      { id: "f2", userId: null },
      { id: "f1", userId: "u1" },
    ],
  });
  t.equal(await store.files.delete("old", "f1"), "pub/old/f1.s.pdf");
  t.equal(await store.files.size("old"), 20);
  t.match(copiesIn(dataDir), [/^foyer\.db\.v2-/]);
  t.match(look(dataDir), { version: latest, sound: "ok" });
});

void t.test("a new database has nothing to copy", async (t) => {
  const dataDir = t.testdir();
  const { code, stderr } = await foyer(dataDir, [
    "world",
    "create",
    "a",
    "--title",
    "A",
    "--domain",
    "a.org",
  ]);
  t.same([code, stderr], [0, ""]);
  t.same(copiesIn(dataDir), []);
});

void t.test("processes that start at once", async (t) => {
  const dataDir = versionOne(t);
  const [server, another, ...lists] = await Promise.all([
    startFoyer(t, dataDir, [], { LOG_LEVEL: "info" }),
    startFoyer(t, dataDir, [], { LOG_LEVEL: "info" }),
    foyerProcess(t, dataDir, ["world", "list"]),
    foyerProcess(t, dataDir, ["world", "list"]),
  ]);
  for (const { code, stderr } of lists) t.equal(code, 0, stderr);
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
  const said = [...lists, ...ended]
    .map(({ stdout, stderr }) => stdout + stderr)
    .join("");
  t.equal(said.split("The database was upgraded").length, 2, "one of them");
  t.equal(copiesIn(dataDir).length, 1);
  t.match(look(dataDir), { version: latest, worlds: ["old"] });
});

void t.test("who starts during an upgrade waits for it", async (t) => {
  const dataDir = versionOne(t);
  const other = open(dataDir);
  other.exec("BEGIN IMMEDIATE");
  const waiting = foyerProcess(t, dataDir, ["world", "list"]);
  // Longer than a write would wait for its lock.
  const patience = new Promise((resolve) => setTimeout(resolve, 2500));
  const first = await Promise.race([waiting, patience]);
  t.equal(first, undefined, "it still waits");
  for (const migration of later) other.exec(migration);
  other.pragma(`user_version = ${latest}`);
  other.exec("COMMIT");
  other.close();
  const { code, stderr } = await waiting;
  t.same([code, stderr], [0, ""]);
  t.same(copiesIn(dataDir), []);
});

void t.test("an upgrade that fails leaves all as it was", async (t) => {
  const dataDir = versionOne(t, "CREATE TABLE files (odd)");
  for (const command of ["world list", "serve"]) {
    const args = command.split(" ");
    const { code, stdout, stderr } = await foyer(dataDir, args);
    t.same([code, stdout], [1, ""]);
    t.equal(
      stderr,
      `foyer: cannot open the database in ${dataDir}: the upgrade to version ${latest} failed, and changed nothing: table files already exists\n`,
    );
    t.same(copiesIn(dataDir), [], "copies do not pile up");
    t.same(look(dataDir), { version: 1, worlds: ["old"], sound: "ok" });
    const tables = open(dataDir);
    t.notOk(
      tables.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'users'").get(),
    );
    tables.close();
  }
});

void t.test("what is not to be upgraded is left alone", async (t) => {
  const cases: [name: string, sql: string, args: string[], stderr: RegExp][] = [
    [
      "newer",
      "PRAGMA user_version = 99",
      ["world", "list"],
      /it has version 99, .* use a newer Foyer\n$/,
    ],
    [
      "foreign",
      "PRAGMA application_id = 7",
      ["check"],
      /it is not a database of Foyer\n$/,
    ],
    [
      "older, and only looked at",
      "",
      ["check"],
      /it has version 1, and not yet \d+; foyer serve upgrades it\n$/,
    ],
  ];
  for (const [name, sql, args, stderr] of cases) {
    await t.test(name, async (t) => {
      const dataDir = versionOne(t, sql);
      const before = look(dataDir);
      t.match(await foyer(dataDir, args), { code: 1, stdout: "", stderr });
      t.same(look(dataDir), before);
      t.same(readdirSync(dataDir), ["foyer.db"]);
    });
  }
});
