import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import type { Store } from "../../../db/contract/store.js";
import type { TableSource } from "../../../db/copies/dump.js";
import { type Row, TABLES } from "../../../db/copies/tables.js";
import {
  sourceOfFile,
  sqliteSource,
  sqliteTarget,
} from "../../../db/engines/sqlite/copies/sqlite-dump.js";
import { check } from "../../../db/maintenance/check.js";
import { partsOf, rowsIn } from "../../../db/maintenance/table-rows.js";
import { exported, openStore } from "../../support/database.js";
import { worldOf } from "../../support/helper.js";
import { testdir } from "../../support/testdir.js";
import { contradictions, furnish } from "./contradictions.js";
import { fill } from "./filled-store.js";
import { text } from "./store-contract/chat-setup.js";
import { headOf } from "./store-contract/setup.js";

// Copies of all rows of a database, and the findings of `foyer check` in them.

const tableOf = (name: string) => TABLES.find((one) => one.name === name)!;

async function rowsOf(source: TableSource, name: string): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of source.rows(tableOf(name))) rows.push(...batch);
  return rows;
}

/** Changes a closed database without checking foreign keys. */
function change(dataDir: string, sql: string): void {
  const db = new Database(join(dataDir, "foyer.db"));
  db.pragma("foreign_keys = OFF");
  db.exec(sql);
  db.close();
}

/**
 * Copies all rows of a database into a new one.
 * @returns its folder and content.
 */
async function copied(t: Test, dataDir: string) {
  const [scratch, to] = [join(dataDir, "scratch"), join(dataDir, "copy")];
  for (const folder of [scratch, to]) mkdirSync(folder);
  const source = await sqliteSource(dataDir, scratch, () => {});
  const target = sqliteTarget(join(to, "foyer.db"));
  t.equal(await target.isEmpty(), true);
  for (const table of TABLES) await target.load(table, source.rows(table));
  await target.finish();
  await target.close();
  t.equal(await target.isEmpty(), false);
  const again = sourceOfFile(join(to, "foyer.db"));
  const dump: Record<string, Row[]> = {};
  for (const { name } of TABLES) {
    const [rows, same] = await Promise.all([source, again].map((one) => rowsOf(one, name)));
    t.strictSame(same, rows, name);
    dump[name] = rows!;
  }
  await source.close();
  await again.close();
  const db = new Database(join(to, "foyer.db"), { readonly: true });
  const { findings } = await check({ dataDir: to }, () => {});
  t.same(
    findings.filter(({ subject }) => subject === "database"),
    [],
  );
  t.equal(db.pragma("journal_mode", { simple: true }), "wal");
  db.close();
  return { to, dump };
}

void t.test("all rows of a store", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const { room, ada, cy } = await fill(store);
  await store.users.erase("demo", { user_id: cy });
  const { to, dump } = await copied(t, dataDir);
  const empty = Object.entries(dump).filter(([, rows]) => rows.length === 0);
  t.same(empty, [], "something of everything");
  t.notMatch(JSON.stringify(dump), "shameful", "what is erased stays erased");

  const copy = openStore(t, to);
  const asked = { page: 1, pageSize: 9, term: "stRASSE", fields: ["city"] };
  t.match(await copy.users.search("demo", asked), { users: [{ id: ada }] });
  const all = { history: true };
  t.strictSame(await exported(copy, "demo", all), await exported(store, "demo", all));
  t.strictSame(await copy.chat.unread("demo", ada), await store.chat.unread("demo", ada));
  const next = async ({ chat }: Store) =>
    (await chat.send("demo", room, { sender: ada, content: text("next") })).event.id;
  t.equal(await next(copy), await next(store), "ids go on");
});

void t.test("what is over is left out", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await fill(store);
  await store.close();
  change(
    dataDir,
    `UPDATE chat_events SET gone = 1, content = zeroblob(3) WHERE rowid = (SELECT min(rowid) FROM chat_events);
    UPDATE sqlite_sequence SET seq = 900 WHERE name = 'questions';
    UPDATE log_heads SET seq = 900 WHERE world_id = 'demo';
    INSERT INTO chat_events (world_id, id, tag, channel, type, timestamp, content)
      VALUES ('demo', 800, 1, 700, 0, 0, '{}'), ('demo', 801, 1, 700, 0, 0, '{}');
    INSERT INTO chat_edits VALUES ('demo', 800, 801);
    INSERT INTO chat_reactions (world_id, event, reaction, user_id) VALUES ('demo', 800, '+1', 'x');
    INSERT INTO chat_remains VALUES ('demo', 700);
    UPDATE worlds SET file_bytes = 7;`,
  );
  const db = new Database(join(dataDir, "foyer.db"), { readonly: true });
  const left = db.prepare("SELECT count(*) FROM chat_events WHERE gone = 0 AND id < 800");
  const count = left.pluck().get();
  db.close();
  const { to, dump } = await copied(t, dataDir);
  t.equal(dump.chat_events!.length, count);
  t.match(dump, { chat_edits: { length: 2 }, chat_reactions: { length: 1 } });
  const sequences = [
    ["chat_channels", 3],
    ["questions", 900],
  ];
  t.same(dump.sequences, sequences);
  const copy = openStore(t, to);
  t.equal(await copy.files.size("demo"), 6, "sizes are counted again");
  t.equal(await headOf(copy), 900);
});

void t.test("a row that refers to a missing one is damage", async (t) => {
  const dataDir = testdir(t, { scratch: {} });
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  await store.close();
  change(dataDir, "INSERT INTO room_modules VALUES ('demo', 'none', 'm')");
  await t.rejects(
    sqliteSource(dataDir, join(dataDir, "scratch"), () => {}),
    { message: /^the database is damaged: a row of room_modules refers to a row of rooms/ },
  );
});

void t.test("every value is exact", async (t) => {
  const table = tableOf("announcements");
  const texts = ["", "\0", "\u0001\u0002", "\ud800", "a\udfffb", '🎈\u2028\r\n\\"', "\ufeffBOM"];
  const rows: Row[] = [...texts, "x".repeat(9_000_000)].map((one, i) => {
    const number = i % 2 === 0 ? Number.MAX_SAFE_INTEGER - i : -i;
    return [number, one, one, one, i % 3 === 0 ? null : Number.MIN_SAFE_INTEGER, one];
  });
  const batches = async function* () {
    for (const row of rows) yield [row];
  };
  const found: Row[] = [];
  let parts = 0;
  for await (const part of partsOf(table, batches())) {
    parts++;
    // Like the chunks of a tar, which may split a character anywhere.
    const chunks = async function* () {
      const size = part.length > 1e6 ? 65_536 : 3;
      for (let at = 0; at < part.length; at += size) yield part.subarray(at, at + size);
    };
    for await (const batch of rowsIn(table, chunks())) found.push(...batch);
  }
  t.strictSame(found, rows);
  t.equal(parts, 1, "a part ends with a row");
});

// nodes/check.test.ts covers PostgreSQL.

void t.test("each contradiction has its words", async (t) => {
  const dir = testdir(t);
  const whole = join(dir, "whole");
  const store = openStore(t, whole);
  const event = await furnish(store);
  await store.close();
  const counts = { worlds: 1, rooms: 1, questions: 1, polls: 2 };
  t.match(await check({ dataDir: whole }, () => {}), { findings: [], ...counts });
  const bytes = readFileSync(join(whole, "foyer.db"));
  for (const [i, [breaking, finding]] of contradictions(event, "zeroblob(2)").entries()) {
    const dataDir = join(dir, `broken ${i}`);
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, "foyer.db"), bytes);
    change(dataDir, breaking);
    const { findings } = await check({ dataDir }, () => {});
    const problems = findings.map(({ problem }) => problem);
    t.strictSame(
      problems.filter((problem) => !problem.startsWith("a row of ")),
      [finding],
      breaking,
    );
  }
});
