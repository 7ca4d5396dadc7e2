import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import type { TableSource } from "../../db/copies/dump.js";
import { rowsIn, partsOf } from "../../db/maintenance/rows.js";
import {
  sourceOfFile,
  sqliteSource,
  sqliteTarget,
} from "../../db/sqlite/copies/dump.js";
import { contradictionsIn } from "../../db/sqlite/inspection/inspection.js";
import type { Store } from "../../db/contract/store.js";
import { type Row, TABLES } from "../../db/copies/tables.js";
import { openStore } from "../database.js";
import { exported } from "../exported.js";
import { worldOf } from "../helper.js";
import { testdir } from "../testdir.js";
import { versionOne } from "./old-database.js";
import { fill } from "./filled-store.js";
import { text } from "./store-contract/chat-setup.js";
import { headOf } from "./store-contract/setup.js";

const tableOf = (name: string) => TABLES.find((one) => one.name === name)!;

async function rowsOf(source: TableSource, name: string): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of source.rows(tableOf(name))) rows.push(...batch);
  return rows;
}

/** Copies all rows of a database into a new one. @returns its folder, and what is in it. */
async function copied(t: Test, dataDir: string) {
  const [scratch, to] = ["scratch", "copy"].map((name) => join(dataDir, name));
  for (const folder of [scratch!, to!]) mkdirSync(folder);
  const source = await sqliteSource(dataDir, scratch!, () => {});
  const target = sqliteTarget(join(to!, "foyer.db"));
  t.equal(await target.isEmpty(), true);
  for (const table of TABLES) await target.load(table, source.rows(table));
  await target.finish();
  await target.close();
  t.equal(await target.isEmpty(), false);
  const again = sourceOfFile(join(to!, "foyer.db"));
  const dump: Record<string, Row[]> = {};
  for (const { name } of TABLES) {
    const [rows, same] = await Promise.all(
      [source, again].map((one) => rowsOf(one, name)),
    );
    t.strictSame(same, rows, name);
    dump[name] = rows!;
  }
  await source.close();
  await again.close();
  const db = new Database(join(to!, "foyer.db"), { readonly: true });
  t.same(contradictionsIn(db), []);
  t.equal(db.pragma("journal_mode", { simple: true }), "wal");
  db.close();
  return { to: to!, dump };
}

/** How many rows each table has. */
const countsOf = (dump: Record<string, Row[]>) =>
  Object.fromEntries(
    Object.entries(dump).map(([name, { length }]) => [name, length]),
  );

void t.test("all rows of a store", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const { room, ada, cy } = await fill(store);
  await store.users.erase("demo", { user_id: cy });
  const { to, dump } = await copied(t, dataDir);
  const empty = Object.entries(countsOf(dump)).filter(([, count]) => count < 1);
  t.same(empty, [], "something of everything");
  t.notMatch(JSON.stringify(dump), "shameful", "what is erased stays erased");

  const copy = openStore(t, to);
  const asked = { page: 1, pageSize: 9, term: "stRASSE", fields: ["city"] };
  t.match(await copy.users.search("demo", asked), { users: [{ id: ada }] });
  const all = { history: true };
  t.strictSame(
    await exported(copy, "demo", all),
    await exported(store, "demo", all),
  );
  t.strictSame(
    await copy.chat.unread("demo", ada),
    await store.chat.unread("demo", ada),
  );
  const next = async ({ chat }: Store) =>
    (await chat.send("demo", room, { sender: ada, content: text("next") }))
      .event.id;
  t.equal(await next(copy), await next(store), "ids go on");
});

void t.test("what is over is left out", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await fill(store);
  await store.close();
  const db = new Database(join(dataDir, "foyer.db"));
  db.exec(`
    UPDATE chat_events SET gone = 1, content = zeroblob(3) WHERE rowid = (SELECT min(rowid) FROM chat_events);
    UPDATE sqlite_sequence SET seq = 900 WHERE name = 'questions';
    UPDATE log_heads SET seq = 900 WHERE world_id = 'demo';
    INSERT INTO chat_events (world_id, id, tag, channel, type, timestamp, content)
      VALUES ('demo', 800, 1, 700, 0, 0, '{}'), ('demo', 801, 1, 700, 0, 0, '{}');
    INSERT INTO chat_edits VALUES ('demo', 800, 801);
    INSERT INTO chat_reactions (world_id, event, reaction, user_id) VALUES ('demo', 800, '+1', 'x');
    INSERT INTO chat_remains VALUES ('demo', 700);
    UPDATE worlds SET file_bytes = 7;
  `);
  const before = db
    .prepare("SELECT count(*) FROM chat_events WHERE gone = 0")
    .pluck()
    .get() as number;
  db.close();
  const { to, dump } = await copied(t, dataDir);
  t.equal(dump.chat_events!.length, before - 2);
  t.match(countsOf(dump), { chat_edits: 2, chat_reactions: 1 });
  t.same(dump.sequences, [
    ["chat_channels", 3],
    ["questions", 900],
  ]);
  const copy = openStore(t, to);
  t.equal(await copy.files.size("demo"), 6, "sizes are counted again");
  t.equal(await headOf(copy), 900);
});

void t.test("a row that refers to a missing one is damage", async (t) => {
  const dataDir = testdir(t, { scratch: {} });
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  await store.close();
  const db = new Database(join(dataDir, "foyer.db"));
  db.pragma("foreign_keys = OFF");
  db.exec("INSERT INTO room_modules VALUES ('demo', 'none', 'm')");
  db.close();
  await t.rejects(
    sqliteSource(dataDir, join(dataDir, "scratch"), () => {}),
    {
      message:
        /^the database is damaged: a row of room_modules refers to a row of rooms/,
    },
  );
});

void t.test("an older database is upgraded", async (t) => {
  const source = sourceOfFile(join(versionOne(t), "foyer.db"));
  t.equal((await rowsOf(source, "worlds")).length, 1);
  t.same(
    (await rowsOf(source, "sequences")).map(([, last]) => last),
    [0, 0],
  );
  t.match(await rowsOf(source, "log_heads"), [
    ["", 1],
    ["old", 1],
  ]);
  await source.close();
});

void t.test("every value is exact", async (t) => {
  const table = tableOf("announcements");
  const rows: Row[] = [
    "",
    "\0",
    "\u0001\u0002",
    "\ud800",
    "a\udfffb",
    '🎈\u2028\r\n\\"',
    "\ufeffBOM",
    "x".repeat(9_000_000),
  ].map((one, i) => [
    i % 2 === 0 ? Number.MAX_SAFE_INTEGER - i : -i,
    one,
    one,
    one,
    i % 3 === 0 ? null : Number.MIN_SAFE_INTEGER,
    one,
  ]);
  const batches = async function* () {
    for (const row of rows) yield [row];
  };
  const found: Row[] = [];
  let parts = 0;
  for await (const part of partsOf(table, batches())) {
    parts++;
    // As a tar gives them: a character may be cut anywhere.
    const chunks = async function* () {
      const size = part.length > 1e6 ? 65_536 : 3;
      for (let at = 0; at < part.length; at += size) {
        yield part.subarray(at, at + size);
      }
    };
    for await (const batch of rowsIn(table, chunks())) found.push(...batch);
  }
  t.strictSame(found, rows);
  t.equal(parts, 1, "a part ends with a row");
});
