import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { openSqliteStore } from "../../db/sqlite/index.js";
import type { Room } from "../../schemas/rooms.js";
import { admin, foyer, serve, worldOf } from "../helper.js";
import { openStore } from "../database.js";
import { testdir } from "../testdir.js";

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";
const fileOf = (dataDir: string) => join(dataDir, "foyer.db");

/** A new database with one world in it. */
async function made(t: Test): Promise<string> {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  await store.close();
  return dataDir;
}

/** Changes a database behind the back of the store. */
function tamper(dataDir: string, sql: string): void {
  const db = new Database(fileOf(dataDir));
  db.exec(sql);
  db.close();
}

void t.test("what is not opened", async (t) => {
  const cases: [
    name: string,
    prepare: (t: Test) => string | Promise<string>,
    reason: RegExp,
  ][] = [
    [
      "a database of a newer Foyer",
      async (t) => {
        const dataDir = await made(t);
        tamper(dataDir, "PRAGMA user_version = 999");
        return dataDir;
      },
      /version 999.*use a newer Foyer/,
    ],
    [
      "a database of another program",
      (t) => {
        const dataDir = testdir(t);
        tamper(dataDir, "CREATE TABLE songs (title TEXT)");
        return dataDir;
      },
      /not a Foyer database/,
    ],
    [
      "a database of another program that is marked",
      (t) => {
        const dataDir = testdir(t);
        tamper(
          dataDir,
          "PRAGMA application_id = 7; PRAGMA user_version = 1; CREATE TABLE x (y)",
        );
        return dataDir;
      },
      /not a Foyer database/,
    ],
    [
      "what is no database",
      (t) => testdir(t, { "foyer.db": "no database ".repeat(500) }),
      /not a database/,
    ],
    [
      "a file in place of the folder",
      (t) => join(testdir(t, { data: "" }), "data"),
      /DATA_DIR: .*data is not a folder/,
    ],
  ];
  for (const [name, prepare, reason] of cases) {
    await t.test(name, async (t) => {
      const dataDir = await prepare(t);
      const before = read(dataDir);
      t.throws(() => openSqliteStore(dataDir), {
        name: "StoreError",
        problem: "unusable",
        message: reason,
      });
      t.equal(read(dataDir), before, "it is left as it was");
      const { code, stdout, stderr } = await foyer(dataDir, ["world", "list"]);
      t.equal(code, 1);
      t.equal(stdout, "");
      t.match(stderr, reason);
      t.match(stderr, /^foyer: [^\n]+\n$/, "one line");
    });
  }

  /** What the database file holds, where there is one. */
  function read(dataDir: string): string | undefined {
    try {
      return readFileSync(fileOf(dataDir), "latin1");
    } catch {
      return undefined;
    }
  }
});

void t.test("only its owner can open a new folder", async (t) => {
  const parent = testdir(t);
  chmodSync(parent, 0o755);
  const dataDir = join(parent, "a", "b");
  await openSqliteStore(dataDir).close();
  t.equal(statSync(dataDir).mode & 0o777, 0o700);
  t.equal(statSync(fileOf(dataDir)).mode & 0o777, 0o600);
});

void t.test("a folder that is there keeps what is in it", async (t) => {
  const dataDir = testdir(t, { "notes.txt": "mine" });
  mkdirSync(join(dataDir, "folder"));
  await openSqliteStore(dataDir).close();
  t.equal(readFileSync(join(dataDir, "notes.txt"), "utf8"), "mine");
});

void t.test("a lock that another process keeps", async (t) => {
  const lockTimeout = 1000;
  const { call, dataDir } = await serve(t, undefined, { lockTimeout });
  const post = () =>
    call({ method: "POST", url: rooms, as, body: { name: "x" } });
  t.equal((await post()).status, 201);

  const other = new Database(fileOf(dataDir));
  t.teardown(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  let waiting = true;
  const started = Date.now();
  const refused = post().finally(() => (waiting = false));
  const reads: number[] = [];
  while (waiting) {
    reads.push((await call({ url: rooms, as })).status);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const { status, headers, body } = await refused;
  t.equal(status, 503);
  t.equal(headers["retry-after"], "1");
  t.match(body, { detail: /database is busy/ });
  t.ok(Date.now() - started >= lockTimeout - 50, "it waited for the lock");
  // One that waits for the lock takes as long as the write, and is refused, too.
  t.ok(reads.length > 1, `${reads.length} reads went on`);
  t.same([...new Set(reads)], [200], "and none waited for the lock");

  // A lock that is released in time makes no write fail.
  const patient = post();
  await call({ url: rooms, as });
  other.exec("ROLLBACK");
  const made = await patient;
  t.equal(made.status, 201);
  t.match((await call({ url: rooms, as })).body, { count: 2 });
  const { id } = made.body as Room;
  t.equal((await call({ url: `${rooms}${id}/`, as })).status, 200);
});

void t.test(
  "other programs cannot take the log away",
  { skip: process.platform !== "linux" && "it reads /proc/locks" },
  async (t) => {
    const dataDir = testdir(t);
    const store = openStore(t, dataDir);
    const { ino } = statSync(fileOf(dataDir));
    const locks = () =>
      readFileSync("/proc/locks", "utf8")
        .split("\n")
        .filter((line) => line.includes(`:${ino} `)).length;
    t.ok(locks() > 0, "SQLite holds its lock");
    // The first write starts the writer thread, which opens the database again.
    await store.worlds.create(worldOf("demo"));
    t.ok(locks() > 0, "and still does");

    const python = spawnSync("python3", [
      "-c",
      "import sqlite3, sys\nd = sqlite3.connect(sys.argv[1])\nprint(d.execute('SELECT count(*) FROM worlds').fetchone()[0])\nd.close()",
      fileOf(dataDir),
    ]);
    if (python.status !== 0) return t.comment("there is no python3");
    t.equal(String(python.stdout), "1\n");
    await store.worlds.create(worldOf("next"));
    const copy = `${dataDir}-crashed`;
    t.teardown(() => rmSync(copy, { recursive: true, force: true }));
    // By another process, as this one must not open the files.
    spawnSync("cp", ["-r", dataDir, copy]);
    const crashed = openStore(t, copy);
    t.equal(
      (await crashed.worlds.list({ limit: 9 })).length,
      2,
      "what was written after it looked is on the disk",
    );
  },
);

void t.test("a write that cannot be handed to the thread", async (t) => {
  const { store } = await serve(t);
  let deep: unknown = null;
  for (let i = 0; i < 20_000; i++) deep = [deep];
  const draft = (name: string, config: unknown) =>
    store.rooms.create("demo", {
      name,
      module_config: [{ type: "x", config }],
    });
  const [before, failed, after] = await Promise.allSettled([
    draft("before", 1),
    draft("deep", deep),
    draft("uncloneable", () => {}),
    draft("after", 2),
  ]).then(([first, ...rest]) => [first, rest.slice(0, 2), rest[2]] as const);
  t.equal(before.status, "fulfilled");
  for (const { status } of failed) t.equal(status, "rejected");
  t.equal(after.status, "fulfilled");
});

void t.test("a database that breaks while it serves", async (t) => {
  const { call, dataDir, store } = await serve(t);
  // The writer has begun, and has its statements.
  await store.worlds.update("demo", { title: "x" });
  tamper(dataDir, "DROP TABLE room_modules");
  const broken = await call({
    method: "POST",
    url: rooms,
    as,
    body: { name: "x", module_config: [{ type: "x" }] },
  });
  t.equal(broken.status, 500);
  t.strictSame(broken.body, {
    detail: "Internal server error.",
    code: "fault",
  });
  t.match(
    (await call({ url: rooms, as })).body,
    { count: 0, results: [] },
    "nothing of the failed write is left",
  );
});

void t.test("a search for users parses no profile", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  const fields = { about: "Berlin ".repeat(5000), city: "Straße" };
  await Promise.all(
    Array.from({ length: 200 }, (_, i) => {
      const visitor = { tokenId: `${i}`, traits: new Set<string>() };
      return store.users.enter("demo", { ...visitor, profile: { fields } });
    }),
  );
  // Whatever parses one fails.
  tamper(dataDir, "UPDATE users SET profile = '?' || profile");
  const asked = { page: 1, pageSize: 5, fields: ["city"] };
  const count = async (term: string) =>
    (await store.users.search("demo", { ...asked, term })).count;
  t.equal(await count("stRASSE"), 200);
  t.equal(await count("berlin"), 0);
});
