import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import t from "tap";
import { StoreError } from "../../db/contract/store.js";
import { until, worldOf } from "../helper.js";
import { openStore } from "../database.js";
import { testdir } from "../testdir.js";
import { allEvents, chatting } from "./store-contract/chat-setup.js";

// SQLite's thread that writes ends when there are no writes.

const threads = () =>
  (process.report.getReport() as { workers: object[] }).workers.length;

/** The threads of the program that runs tests. */
const others = threads();

/** Whether a store has a thread. */
const hasThread = () => threads() > others;

void t.test("an idle thread ends, and a write starts another", async (t) => {
  const store = openStore(t, testdir(t), { idle: 50 });
  t.equal(hasThread(), false, "reads need none");
  await store.worlds.create(worldOf("demo"));
  t.equal(hasThread(), true);
  await until(() => !hasThread());
  await store.worlds.update("demo", { title: "b" });
  t.equal((await store.worlds.get("demo"))?.value.title, "b");
});

void t.test("writes that come while it ends are kept in order", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir, { idle: 1 });
  await store.worlds.create(worldOf("demo"));
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
  const store = openStore(t, testdir(t), { startsHere: true });
  await store.worlds.create(worldOf("demo"));
  const { room, say } = await chatting(store);
  const here = [say("a"), say("b")];
  const refused = t.rejects(
    store.rooms.delete("demo", "none"),
    new StoreError("absent", "There is no such room.", "room"),
  );
  t.equal(hasThread(), false);
  store.serve();
  const sent = await Promise.all([...here, say("c")]);
  const ids = sent.map(({ event }) => event.id);
  await refused;
  t.equal(hasThread(), true);
  const kept = await allEvents(store, room);
  t.strictSame(
    kept.slice(-3).map(({ id }) => id),
    ids,
  );
});

void t.test("a thread erases what another process left", async (t) => {
  const dataDir = testdir(t);
  const before = openStore(t, dataDir);
  await before.worlds.create(worldOf("demo"));
  const { say } = await chatting(before);
  await say("left behind");
  await before.close();
  const db = new Database(join(dataDir, "foyer.db"));
  t.teardown(() => db.close());
  db.exec(`INSERT INTO chat_remains SELECT world_id, number FROM chat_channels;
    DELETE FROM chat_channels`);
  const hasRemains = () =>
    db.prepare("SELECT 1 FROM chat_remains").get() !== undefined;
  const store = openStore(t, dataDir, { startsHere: true });
  await store.worlds.update("demo", { title: "b" });
  // Erasing here would have begun with the write, by a timer that ends before this one.
  await delay(0);
  store.serve();
  t.ok(hasRemains(), "the event loop has not done it");
  await until(() => !hasRemains());
  t.equal(hasThread(), true);
});
