import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate, setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import type * as Choice from "../../../db/choice.js";
import { StoreError } from "../../../db/contract/store.js";
import { auditReads } from "../../../db/domains/audit.js";
import type { Reading } from "../../../db/domains/domain.js";
import { openInMemory } from "../../../db/engines/sqlite/engine/sqlite-database.js";
import { sqlOn } from "../../../db/engines/sqlite/engine/sqlite-sql.js";
import { migrate } from "../../../db/engines/sqlite/engine/sqlite-upgrade.js";
import type { WriteCall, Writes } from "../../../db/engines/sqlite/engine/write-calls.js";
import { batches } from "../../../db/engines/sqlite/engine/write-runner.js";
import { openSqliteStore, type SqliteOptions } from "../../../db/engines/sqlite/index.js";
import type { WriteLog } from "../../../db/engines/sqlite/log/log-writes.js";
import { forPostgres, forSqlite } from "../../../db/schema/migrations.js";
import type { Room } from "../../../schemas/rooms.js";
import { openStore } from "../../support/database.js";
import { admin, foyer, until, worldOf } from "../../support/helper.js";
import { startServer } from "../../support/server.js";
import { testdir } from "../../support/testdir.js";
import { compare, type Shape, sorted } from "./shapes.js";
import { allEvents, chatting, message } from "./store-contract/chat-setup.js";
import { enter, fails } from "./store-contract/setup.js";

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";
const fileOf = (dataDir: string) => join(dataDir, "foyer.db");

/** Opens a store with the world `demo`. */
async function opened(t: Test, options?: SqliteOptions, dataDir = testdir(t)) {
  const store = openStore(t, dataDir, options);
  await store.worlds.create(worldOf("demo"));
  return { dataDir, store };
}

/** Changes a database without its store noticing. */
function tamper(dataDir: string, sql: string): void {
  const db = new Database(fileOf(dataDir));
  db.exec(sql);
  db.close();
}

void t.test("what is not opened", async (t) => {
  const tampered = (sql: string) => (t: Test) => {
    const dataDir = testdir(t);
    tamper(dataDir, sql);
    return dataDir;
  };
  const cases: [name: string, prepare: (t: Test) => string | Promise<string>, reason: RegExp][] = [
    [
      "a database of a newer Foyer",
      async (t) => {
        const { dataDir, store } = await opened(t);
        await store.close();
        tamper(dataDir, "PRAGMA user_version = 999");
        return dataDir;
      },
      /version 999.*use a newer Foyer/,
    ],
    [
      "a database of another program",
      tampered("CREATE TABLE songs (title TEXT)"),
      /not a Foyer database/,
    ],
    [
      "a database of another program that is marked",
      tampered("PRAGMA application_id = 7; PRAGMA user_version = 1; CREATE TABLE x (y)"),
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
  for (const [name, prepare, message] of cases) {
    await t.test(name, async (t) => {
      const dataDir = await prepare(t);
      const read = () => existsSync(fileOf(dataDir)) && readFileSync(fileOf(dataDir), "latin1");
      const before = read();
      const expected = { name: "StoreError", problem: "unusable", message };
      t.throws(() => openSqliteStore(dataDir), expected);
      t.equal(read(), before, "it is left as it was");
      const { code, stdout, stderr } = await foyer(dataDir, ["world", "list"]);
      t.strictSame([code, stdout], [1, ""]);
      t.match(stderr, message);
      t.match(stderr, /^foyer: [^\n]+\n$/, "one line");
    });
  }
});

// Tests run from dist/test/contract/db.
const root = fileURLToPath(new URL("../../../../", import.meta.url));

void t.test("engines whose packages are not installed", async (t) => {
  const manifest = readFileSync(join(root, "package.json"), "utf8");
  const { peerDependencies: peers } = JSON.parse(manifest) as {
    peerDependencies: Record<string, string>;
  };
  // Outside the checkout, which has all packages installed.
  const folder = mkdtempSync(join(tmpdir(), "foyer-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  mkdirSync(join(folder, "db/contract"), { recursive: true });
  for (const name of ["choice.js", "contract/store.js"]) {
    copyFileSync(join(root, "dist/db", name), join(folder, "db", name));
  }
  const { href } = pathToFileURL(join(folder, "db/choice.js"));
  const { refuseMissingPackages } = (await import(href)) as typeof Choice;
  const saidOf = (choice: Choice.EngineChoice) => {
    try {
      refuseMissingPackages(choice);
      return undefined;
    } catch (error) {
      const { name, message } = error as Error;
      t.equal(name, "StoreError");
      t.notMatch(message, /\n/);
      return message;
    }
  };
  const database = { url: "postgres://localhost/foyer", pool: 1 };
  const valkeyUrl = "redis://localhost";
  const place = { bucket: "foyer", region: "us-east-1" };
  const bucket = { ...place, forcePathStyle: false, redirect: false };
  const everything = { database, valkeyUrl, bucket };
  const install = (name: string) => {
    const path = join(folder, "node_modules", name);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "index.js"), "");
  };
  t.equal(saidOf({}), undefined);
  t.match(saidOf({ database }), /^DATABASE_URL: .* npm install pg@8 /);
  t.match(saidOf({ bucket }), /^S3_BUCKET: .* npm install @aws-sdk\/\S+@3 @/);
  t.match(saidOf(everything), /^DATABASE_URL, VALKEY_URL, S3_BUCKET: /);
  install("pg");
  t.equal(saidOf({ database }), undefined);
  t.match(saidOf({ database, valkeyUrl }), /^VALKEY_URL: .* npm install @redis\/client@6 /);
  const asked = [...saidOf(everything)!.matchAll(/(\S+)@(\d+)(?= )/g)];
  const wanted = Object.entries(peers).filter(([name]) => name !== "pg");
  t.strictSame(
    asked.map(([, name, major]) => `${name} ^${major}`).sort(),
    wanted.map(([name, range]) => `${name} ${range.split(".", 1)[0]}`).sort(),
    "the versions that the manifest names",
  );
  Object.keys(peers).forEach(install);
  t.equal(saidOf(everything), undefined);
});

void t.test("only its owner can open a new folder, and one keeps what is in it", async (t) => {
  const parent = testdir(t, { "notes.txt": "mine", folder: {} });
  chmodSync(parent, 0o755);
  const dataDir = join(parent, "a", "b");
  await openSqliteStore(dataDir).close();
  t.equal(statSync(dataDir).mode & 0o777, 0o700);
  t.equal(statSync(fileOf(dataDir)).mode & 0o777, 0o600);
  await openSqliteStore(parent).close();
  t.equal(readFileSync(join(parent, "notes.txt"), "utf8"), "mine");
});

void t.test("a lock that another process keeps", async (t) => {
  const lockTimeout = 1000;
  const { call, dataDir } = await startServer(t, {
    lockTimeout,
    threads: true,
    mayLogErrors: true,
  });
  const post = () => call({ method: "POST", url: rooms, as, body: { name: "x" } });
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
    await delay(5);
  }
  const { status, headers, body } = await refused;
  t.strictSame([status, headers["retry-after"]], [503, "1"]);
  t.match(body, { detail: /database is busy/ });
  t.ok(Date.now() - started >= lockTimeout - 50, "it waited for the lock");
  // A read that waited for the lock would take as long as the write, and fail, too.
  t.ok(reads.length > 1, `${reads.length} reads went on`);
  t.same([...new Set(reads)], [200], "and none waited for the lock");

  // If the lock is released in time, no write fails.
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
    const expectLocks = (when: string) =>
      t.match(readFileSync("/proc/locks", "utf8"), `:${ino} `, `SQLite holds its lock ${when}`);
    expectLocks("at first");
    // The first write starts the writer thread, which opens the database a second time.
    await store.worlds.create(worldOf("demo"));
    expectLocks("while it writes");

    const program = `import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
print(d.execute('SELECT count(*) FROM worlds').fetchone()[0])
d.close()`;
    const python = spawnSync("python3", ["-c", program, fileOf(dataDir)]);
    if (python.status !== 0) return t.comment("there is no python3");
    t.equal(String(python.stdout), "1\n");
    await store.worlds.create(worldOf("next"));
    const copy = `${dataDir}-crashed`;
    t.teardown(() => rmSync(copy, { recursive: true, force: true }));
    // Copied by another process: opening and closing the files in this one would drop SQLite's
    // locks.
    spawnSync("cp", ["-r", dataDir, copy]);
    const { worlds } = openStore(t, copy);
    t.equal((await worlds.list({ limit: 9 })).length, 2, "what was written then is on the disk");
  },
);

void t.test("a write that cannot be handed to the thread", async (t) => {
  const { store } = await opened(t);
  let deep: unknown = null;
  for (let i = 0; i < 20_000; i++) deep = [deep];
  const configs = { before: 1, deep, uncloneable: () => {}, after: 2 };
  const results = await Promise.allSettled(
    Object.entries(configs).map(([name, config]) =>
      store.rooms.create("demo", { name, module_config: [{ type: "x", config }] }),
    ),
  );
  const statuses = results.map(({ status }) => status);
  t.strictSame(statuses, ["fulfilled", "rejected", "rejected", "fulfilled"]);
});

void t.test("a database that breaks while it serves", async (t) => {
  const { call, dataDir, store } = await startServer(t, { threads: true, mayLogErrors: true });
  // Ensures that the writer is running and has prepared its statements.
  await store.worlds.update("demo", { title: "x" });
  tamper(dataDir, "DROP TABLE room_modules");
  const body = { name: "x", module_config: [{ type: "x" }] };
  const broken = await call({ method: "POST", url: rooms, as, body });
  t.equal(broken.status, 500);
  t.strictSame(broken.body, { detail: "Internal server error.", code: "fault" });
  const left = (await call({ url: rooms, as })).body;
  t.match(left, { count: 0, results: [] }, "nothing of the failed write is left");
});

void t.test("a search for users parses no profile", async (t) => {
  const { dataDir, store } = await opened(t);
  const profile = { fields: { about: "Berlin ".repeat(5000), city: "Straße" } };
  await Promise.all(
    Array.from({ length: 200 }, (_, i) => enter(store, `${i}`, "demo", { profile })),
  );
  // Makes any attempt to parse a profile fail.
  tamper(dataDir, "UPDATE users SET profile = '?' || profile");
  for (const [term, count] of [
    ["stRASSE", 200],
    ["berlin", 0],
  ] as const) {
    const asked = { page: 1, pageSize: 5, fields: ["city"], term };
    t.equal((await store.users.search("demo", asked)).count, count);
  }
});

/** Columns whose SQLite type is ANY because their values can be erased: see `TABLES`. */
const ERASABLE = ["content", "data", "audit", "changes", "request"];

function shapeOf(db: Database.Database, table: string): Shape {
  const rows = <T>(pragma: string) => db.pragma(pragma) as T[];
  type Column = { name: string; type: string; notnull: number; pk: number };
  const columns = rows<Column>(`table_info(${table})`);
  const isAny = (name: string, type: string) => type === "ANY" && ERASABLE.includes(name);
  const indexes = rows<{ name: string; unique: number }>(`index_list(${table})`);
  const references = new Map<number, { from: string[]; table: string; to: string[] }>();
  type Reference = { id: number; table: string; from: string; to: string; on_delete: string };
  for (const { id, from, to, ...key } of rows<Reference>(`foreign_key_list(${table})`)) {
    t.equal(key.on_delete, "CASCADE", table);
    const known = references.get(id) ?? { from: [], table: key.table, to: [] };
    known.from.push(from);
    known.to.push(to);
    references.set(id, known);
  }
  const [counter] = columns.filter(({ pk, type }) => pk === 1 && type === "INTEGER");
  // Events have a separate rowid in SQLite.
  const isOwn = (name: string) =>
    name === "gone" || (table === "chat_events" && name === counter?.name);
  const isRowid =
    counter !== undefined &&
    !isOwn(counter.name) &&
    columns.filter(({ pk }) => pk > 0).length === 1;
  const unique = indexes
    .filter(({ unique }) => unique === 1)
    .map(({ name }) => rows<{ name: string }>(`index_info(${name})`).map(({ name }) => name));
  return {
    columns: columns
      .filter(({ name }) => !isOwn(name))
      .map(({ name, type, notnull, pk }) => {
        const kind = type === "INTEGER" ? "number" : "text";
        if (kind === "text") t.ok(type === "TEXT" || isAny(name, type), `${table}.${name}`);
        const isNull = isAny(name, type) || (notnull === 0 && pk === 0);
        return `${name} ${kind}${isNull ? "?" : ""}`;
      })
      .sort(),
    references: [...references.values()]
      .map(({ from, table, to }) => `${from.join(" ")} -> ${table} ${to.join(" ")}`)
      .sort(),
    unique: [...(isRowid ? [counter.name] : []), ...unique.map(sorted)].sort(),
  };
}

void t.test("the tables of SQLite are as described", (t) => {
  const db = new Database(":memory:");
  migrate(db);
  const tables = db
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'chat_words%'",
    )
    .pluck()
    .all() as string[];
  compare(t, "SQLite", new Map(tables.map((name) => [name, shapeOf(db, name)])));
  db.close();
  t.end();
});

void t.test("a table is written once", async (t) => {
  const text = `CREATE TABLE notes (
  world_id TEXT NOT NULL,
  number COUNTER,
  text TEXT NOT NULL,
  seen BIGINT,
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number) -- postgres
);
CREATE INDEX notes_by_text ON notes (digest(text), number);
ALTER TABLE notes ADD COLUMN kind TEXT NOT NULL DEFAULT '';
`;
  t.equal(
    forPostgres(text),
    `CREATE TABLE notes (
  world_id TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL GENERATED BY DEFAULT AS IDENTITY,
  text TEXT COLLATE "C" NOT NULL,
  seen BIGINT,
  PRIMARY KEY (world_id, number)
);
CREATE INDEX notes_by_text ON notes (foyer_digest(text), number);
ALTER TABLE notes ADD COLUMN kind TEXT COLLATE "C" NOT NULL DEFAULT '';
`,
    "texts are compared by code points",
  );
  const db = new Database(":memory:");
  db.exec(forSqlite(text));
  const sql = sqlOn(db);
  const insert = "INSERT INTO notes (world_id, text, seen) VALUES ($1, $2, $3)";
  for (const text of ["a", "b", "c"]) await sql.run(insert, ["w", text, 2]);
  const numbers = "SELECT number FROM notes WHERE text = ANY ($2) AND seen = $1";
  t.strictSame(await sql.column(numbers, [2, ["c", "a"]]), [1, 3]);
  t.equal(await sql.value("SELECT text FROM notes WHERE $1", [true]), "a");
  t.match(await sql.one("SELECT * FROM notes"), { number: 1, kind: "" });
  t.equal(await sql.one("SELECT * FROM notes WHERE seen = $1", [3]), undefined);
  t.equal(await sql.run("DELETE FROM notes WHERE number > $1", [1]), 2);
  await t.rejects(sql.run(insert, ["w", "d", "no number"]), /INTEGER/, "STRICT");
  t.throws(() => forSqlite("CREATE TABLE a (b TEXT);"), /line of its own/);
});

void t.test("SQLite sorts no audit for a page of it", async (t) => {
  const db = new Database(":memory:");
  migrate(db);
  const sql = sqlOn(db);
  const plans: string[] = [];
  const explaining: typeof sql = {
    ...sql,
    async all<R extends object>(text: string, params?: readonly unknown[]) {
      const steps = await sql.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, params);
      plans.push(...steps.map(({ detail }) => detail));
      return sql.all<R>(text, params);
    },
  };
  const snapshot: Reading["snapshot"] = (read) => read(explaining);
  const reads = auditReads({ ...sql, snapshot } as Reading);
  await reads.list("demo", { page: 1, pageSize: 100 });
  t.match(plans.join("\n"), /USING INDEX log_audited/);
  t.notMatch(plans.join("\n"), /TEMP B-TREE/);
});

void t.test("each write of a batch succeeds or fails alone", async (t) => {
  const db = new Database(":memory:");
  db.exec("CREATE TABLE notes (text TEXT NOT NULL) STRICT");
  const sql = sqlOn(db);
  const insert = "INSERT INTO notes (text) VALUES ($1)";
  const refused = new StoreError("denied", "No.");
  const writes = {
    plain: (text: string) => db.prepare("INSERT INTO notes VALUES (?)").run(text).changes,
    async waits(text: string) {
      await sql.run(insert, [text]);
      return await sql.value("SELECT count(*) FROM notes");
    },
    async fails(text: string) {
      await sql.run(insert, [text]);
      throw refused;
    },
    async refuses() {
      await sql.all("SELECT * FROM notes");
      throw refused;
    },
  };
  const log = {
    begin() {},
    during: (_by: unknown, write: () => unknown) => write(),
    finish: () => [],
  } as unknown as WriteLog;
  const run = batches(db, writes as unknown as Writes, log, 0);
  const failure = { problem: "denied", message: "No." };
  let isOver = false;
  void setImmediate().then(() => (isOver = true));
  const expectAnswers = async (calls: (keyof typeof writes)[], answers: unknown[]) => {
    const all = calls.map((name, i) => [i, name, [`${name} ${i}`], undefined]);
    const expected = answers.map((answer, i) =>
      answer === failure ? [i, undefined, failure] : [i, answer],
    );
    t.strictSame((await run(all as unknown as WriteCall[])).answers, expected);
  };
  await expectAnswers(["plain", "refuses", "waits"], [1, failure, 2]);
  // Uses savepoints.
  const mixed = [3, failure, 1, failure, 5];
  await expectAnswers(["waits", "fails", "plain", "fails", "waits"], mixed);
  t.notOk(isOver, "only microtasks passed");
  t.notOk(db.inTransaction);
  const texts = ["plain 0", "waits 2", "waits 0", "plain 2", "waits 4"];
  t.strictSame(await sql.column("SELECT text FROM notes"), texts);
});

/** How long writes are batched under load, in milliseconds. */
const WINDOW = 8;

/** Opens a store with a chat that counts its transactions. */
async function counting(t: Test) {
  let transactions = 0;
  const { store } = await opened(t, { onAppended: () => void transactions++ });
  return { store, ...(await chatting(store)), transactions: () => transactions };
}

void t.test("messages in a stream share transactions", async (t) => {
  const { store, room, say, transactions } = await counting(t);
  const before = transactions();
  const begin = performance.now();
  const sent: ReturnType<typeof say>[] = [];
  for (let i = 0; i < 50; i += 2) {
    sent.push(say(String(i)), say(String(i + 1)));
    await delay(1);
  }
  const ids = (await Promise.all(sent)).map(({ event }) => event.id);
  const windows = (performance.now() - begin) / WINDOW;
  const count = transactions() - before;
  t.ok(count <= windows + 2, `${count} transactions in ${windows} windows`);
  const events = await allEvents(store, room);
  t.strictSame(
    events.slice(-50).map(({ id }) => id),
    ids,
  );
  t.strictSame(
    ids,
    ids.toSorted((a, b) => a - b),
    "in their order",
  );
});

type Counting = Awaited<ReturnType<typeof counting>>;
const ends: Record<string, (kit: Counting, t: Test) => Promise<unknown>> = {
  "leaves with one that does not": ({ store }) => store.worlds.update("demo", { title: "New" }),
  "leaves before the store closes": ({ store }) => store.close(),
  "does not share the fate of its company": async ({ store, room, eve }, t) =>
    fails(t, store.chat.send("demo", room, message(eve)), "denied"),
};

for (const [name, end] of Object.entries(ends)) {
  void t.test(`a write that waits ${name}`, async (t) => {
    const kit = await counting(t);
    // After a quiet period, the first write is sent to the thread immediately.
    await delay(2 * WINDOW);
    const before = kit.transactions();
    const first = kit.say("first");
    // The first write is now in flight, and the next one is queued before its result arrives.
    await setImmediate();
    const waiting = kit.say("second");
    const ended = end(kit, t);
    await first;
    t.match(await waiting, { event: { content: /second/ } });
    await ended;
    // The thread may pick up the first write together with the others.
    const count = kit.transactions() - before;
    t.ok(count <= 2, `${count} transactions`);
  });
}

// The writer thread ends when it is idle.

const threads = () => (process.report.getReport() as { workers: object[] }).workers.length;

void t.test("an idle thread ends, and a write starts another", async (t) => {
  const others = threads();
  const store = openStore(t, testdir(t), { idle: 50 });
  t.equal(threads(), others, "reads need none");
  await store.worlds.create(worldOf("demo"));
  t.equal(threads(), others + 1);
  await until(() => threads() === others);
  await store.worlds.update("demo", { title: "b" });
  t.equal((await store.worlds.get("demo"))?.value.title, "b");
});

void t.test("writes that come while it ends are kept in order", async (t) => {
  const { dataDir, store } = await opened(t, { idle: 1 });
  const { room, say } = await chatting(store);
  const sent: ReturnType<typeof say>[] = [];
  for (let i = 0; i < 60; i++) {
    sent.push(say(`${i}`));
    await delay(i % 12);
  }
  const last = say("last");
  await store.close();
  const ids = (await Promise.all([...sent, last])).map(({ event }) => event.id);
  const kept = await allEvents(openStore(t, dataDir), room);
  t.strictSame(
    kept.slice(-ids.length).map(({ id }) => id),
    ids,
  );
});

void t.test("a store prepares itself without a thread", async (t) => {
  const others = threads();
  const { store } = await opened(t, { startsHere: true });
  const { room, say } = await chatting(store);
  const here = [say("a"), say("b")];
  const absent = new StoreError("absent", "There is no such room.", "room");
  const refused = t.rejects(store.rooms.delete("demo", "none"), absent);
  t.equal(threads(), others);
  store.serve();
  const sent = await Promise.all([...here, say("c")]);
  await refused;
  t.equal(threads(), others + 1);
  const kept = await allEvents(store, room);
  t.strictSame(
    kept.slice(-3).map(({ id }) => id),
    sent.map(({ event }) => event.id),
  );
});

void t.test("a thread erases what another process left", async (t) => {
  const { dataDir, store: before } = await opened(t);
  const { say } = await chatting(before);
  await say("left behind");
  await before.close();
  const db = new Database(fileOf(dataDir));
  t.teardown(() => db.close());
  db.exec(`INSERT INTO chat_remains SELECT world_id, number FROM chat_channels;
    DELETE FROM chat_channels`);
  const hasRemains = () => db.prepare("SELECT 1 FROM chat_remains").get() !== undefined;
  const others = threads();
  const store = openStore(t, dataDir, { startsHere: true });
  await store.worlds.update("demo", { title: "b" });
  // If this thread erased, the write would have scheduled it with a timer that fires before this
  // one.
  await delay(0);
  store.serve();
  t.ok(hasRemains(), "the event loop has not done it");
  await until(() => !hasRemains());
  t.equal(threads(), others + 1);
});

void t.test("a world whose deletion or import was cut short is removed", async (t) => {
  const { dataDir, store: before } = await opened(t);
  const { say } = await chatting(before);
  await say("left behind");
  const { value: world } = (await before.worlds.get("demo"))!;
  await before.close();
  const db = new Database(fileOf(dataDir));
  t.teardown(() => db.close());
  db.exec(
    "DELETE FROM worlds WHERE id = 'demo'; UPDATE world_ids SET touched = 1 WHERE id = 'demo'",
  );
  const store = openStore(t, dataDir);
  t.equal(await store.worlds.get("demo"), undefined);
  await fails(t, store.worlds.create(world), "taken", "id");
  const left = db.prepare("SELECT 1 FROM world_ids WHERE id = 'demo'");
  await until(() => left.get() === undefined);
  t.strictSame(db.prepare("SELECT * FROM users WHERE world_id = 'demo'").all(), []);
  await store.worlds.create(world);
});

void t.test("stores share a database in memory", async (t) => {
  const db = openInMemory();
  t.teardown(() => db.close());
  const [one, other] = [openSqliteStore(db), openSqliteStore(db)];
  await one.worlds.create(worldOf("demo"));
  const { value: room } = await one.rooms.create("demo", { name: "Hall" });
  t.equal((await other.rooms.get("demo", room.id))?.value.name, "Hall");
  await other.rooms.update("demo", room.id, { name: "Attic" });
  t.equal((await one.rooms.get("demo", room.id))?.value.name, "Attic", "no cache is behind");
  const page = { page: 1, pageSize: 9 };
  const filtered = { ...page, traits: new Set<string>(), ordering: "name", search: "att" } as const;
  t.match(await one.users.search("demo", page), { count: 0, users: [] });
  t.equal((await one.rooms.list("demo", filtered)).value.count, 1, "searches need no thread");
  await one.worlds.clone("demo", worldOf("copy"));
  t.match(await other.rooms.all("copy", page), [{ value: { name: "Attic" } }]);
  t.ok((await one.counts()).databaseBytes > 0);
  t.equal(await other.log.floor("demo"), 0);
  const waiting = one.worlds.update("demo", { title: "Late" });
  await one.close();
  t.equal((await waiting).value.title, "Late");
  t.equal((await other.worlds.get("demo"))?.value.title, "Late", "the others go on");
  await other.close();
});
