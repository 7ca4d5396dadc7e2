import { stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import Database from "better-sqlite3";
import t from "tap";
import type { AnyEvent } from "../../db/contract/events.js";
import { LogEvents } from "../../db/log/log-events.js";
import { openEngines } from "../../db/open.js";
import { openSqliteStore } from "../../db/sqlite/index.js";
import { worldOf } from "../helper.js";
import { openStore } from "../database.js";
import { testdir } from "../testdir.js";
import { writerIn } from "./raw-writes.js";

// Reads of one turn of the event loop see one state. What arrives from outside may
// have been sent after another process answered a write, so it has to see that
// write, also if a timer had read before it arrived.

const PHASES = [
  ["a timer", () => setTimeout(1)],
  ["the end of a turn", () => setImmediate()],
] as const;

for (const [name, enter] of PHASES) {
  void t.test(`what arrives after a read in ${name}`, async (t) => {
    const dataDir = testdir(t);
    const store = openStore(t, dataDir);
    const db = new Database(join(dataDir, "foyer.db"));
    t.teardown(() => db.close());
    await store.worlds.create(worldOf("demo"));
    const title = async () => (await store.worlds.get("demo"))?.value.title;
    const write = writerIn(db);

    for (let round = 0; round < 20; round++) {
      await enter();
      await title();
      write("world.updated", "UPDATE worlds SET title = ?", `Title ${round}`);
      // It is there when the loop looks for what has arrived.
      const arrival = stat(dataDir);
      const until = performance.now() + 10;
      while (performance.now() < until);
      await arrival;
      t.equal(await title(), `Title ${round}`);
    }
  });
}

void t.test("reads of the log share no earlier state", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const db = new Database(join(dataDir, "foyer.db"));
  t.teardown(() => db.close());
  await store.worlds.create(worldOf("demo"));
  const title = async () => (await store.worlds.get("demo"))?.value.title;
  const write = writerIn(db);
  for (let n = 100; n < 110; n++) {
    const before = title();
    const next = db.prepare("UPDATE log_heads SET seq = ? - 1");
    db.transaction(() => {
      next.run(n);
      write("world.updated", "UPDATE worlds SET title = ?", `Title ${n}`);
    })();
    const [[head], { tag }, after] = await Promise.all([
      store.log.heads(["demo"]),
      store.log.since("demo", n, 9),
      title(),
    ]);
    t.equal(head!.seq, n);
    t.not(tag, undefined);
    t.equal(await before, after, "as other reads of a turn do");
  }
});

void t.test("a read after an entry sees what the entry is about", async (t) => {
  const dataDir = testdir(t);
  const engines = await openEngines({ dataDir });
  t.teardown(() => engines.close());
  const { store, events } = engines;
  await store.worlds.create(worldOf("demo"));
  const { value } = await store.rooms.create("demo", { name: "Stage" });
  // Its writes run in this thread, so one commits within a turn.
  const other = openSqliteStore(dataDir, {
    startsHere: true,
    onAppended: (hints) => (events as LogEvents).took(hints),
  });
  t.teardown(() => other.close());
  const rules = async () => {
    const room = await store.rooms.get("demo", value.id);
    return room?.value.permission_config["room.view"];
  };
  await events.follow("demo");
  let after: ReturnType<typeof rules> | undefined;
  events.subscribe((event: AnyEvent) => {
    if (event.type === "room.updated") after = rules();
  });
  const changes = { permission_config: { "room.view": ["staff"] } };
  const written = other.rooms.update("demo", value.id, changes);
  const before = rules();
  await written;
  t.same(await before, undefined, "the turn began with the old rights");
  t.same(await after, ["staff"], "and went on with the new ones");
});
