import { readdirSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { openSqliteStore } from "../../db/sqlite/index.js";
import { foyer } from "../helper.js";
import {
  copiesIn,
  latest,
  later,
  look,
  open,
  versionOne,
} from "./old-database.js";

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
    `foyer: The database was upgraded from version 1 to ${latest}. A copy of the old version is kept in ${join(dataDir, copy!)}.\n`,
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
      /it is not a Foyer database\n$/,
    ],
    [
      "older, and only looked at",
      "",
      ["check"],
      /it has version 1 instead of \d+; foyer serve upgrades it\n$/,
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
