import { stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { Cache } from "../../../db/cache.js";
import type { AnyEvent } from "../../../db/contract/events.js";
import { LogEvents } from "../../../db/log/log-events.js";
import { openEngines } from "../../../db/open.js";
import { openSqliteStore } from "../../../db/engines/sqlite/index.js";
import { openStore } from "../../support/database.js";
import { worldOf } from "../../support/helper.js";
import { testdir } from "../../support/testdir.js";
import { enter } from "./store-contract/setup.js";

// A cached record is re-read after another process changes any of its columns. Commits of other
// processes become visible in the next turn of the event loop.

const ENTRIES: Readonly<Record<string, string>> = {
  users: "user.updated",
  rooms: "room.updated",
  worlds: "world.updated",
};

/** Opens a store with the world `demo`, and a second connection that writes like another process. */
async function opened(t: Test) {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  const db = new Database(join(dataDir, "foyer.db"));
  t.teardown(() => db.close());
  const head = db.prepare<[string]>(
    `INSERT INTO log_heads (world_id, seq, tag) VALUES (?, 1, abs(random() % 1000000))
     ON CONFLICT DO UPDATE SET seq = seq + 1, tag = excluded.tag`,
  );
  const insert = db.prepare<[string, string]>(
    `INSERT INTO log (world_id, seq, tag, at, type, author, detail)
     SELECT world_id, seq, tag, 0, ?, '{"kind":"command"}', '{}' FROM log_heads WHERE world_id = ?`,
  );
  /** Appends an entry to a world's log, along with an optional change, in one transaction. */
  const write = (type: string, change: string | null, parameter?: unknown, world = "demo") =>
    db.transaction(() => {
      if (change !== null) db.prepare(change).run(...(parameter === undefined ? [] : [parameter]));
      head.run(world);
      insert.run(type, world);
    })();
  const title = async () => (await store.worlds.get("demo"))?.value.title;
  return { dataDir, store, db, write, title };
}

void t.test("a change of each column", async (t) => {
  const { store, db, write } = await opened(t);
  const profile = { display_name: "Ada" };
  const user = await enter(store, "ada", "demo", { traits: new Set(["x"]), profile });
  const room = (await store.rooms.create("demo", { name: "Stage" })).value.id;
  const world = async () => (await store.worlds.get("demo"))?.value;
  const getUser = () => store.users.get("demo", user);
  const getRoom = async () => (await store.rooms.get("demo", room))?.value;
  const config = [{ type: "chat.native", config: {} }];
  const cases: [
    table: string,
    column: string,
    stored: string | number | null,
    read: () => Promise<unknown>,
    expected: object,
  ][] = [
    ["users", "profile", '{"display_name":"Eve"}', getUser, { profile: { display_name: "Eve" } }],
    ["users", "profile", null, getUser, { profile: null }],
    ["users", "traits", '["y"]', getUser, { traits: ["y"] }],
    ["users", "last_seen", 5, getUser, { last_seen: 5 }],
    ["users", "moderation_state", "banned", getUser, { moderation_state: "banned" }],
    ["users", "client_state", '{"a":1}', getUser, { client_state: { a: 1 } }],
    ["users", "pretalx_id", "p", getUser, { pretalx_id: "p" }],
    ["users", "last_login", 7, getUser, { last_login: 7 }],
    ["users", "token_id", "eve", getUser, { token_id: "eve" }],
    ["rooms", "name", "Hall", getRoom, { name: "Hall" }],
    ["rooms", "description", "d", getRoom, { description: "d" }],
    ["rooms", "module_config", JSON.stringify(config), getRoom, { module_config: config }],
    ["rooms", "sorting_priority", 9, getRoom, { sorting_priority: 9 }],
    ["rooms", "extras", '{"picture":"x"}', getRoom, { extras: { picture: "x" } }],
    ["worlds", "title", "New", world, { title: "New" }],
    ["worlds", "domain", "new.example.org", world, { domain: "new.example.org" }],
    // A room without a domain inherits its world's domain.
    ["worlds", "domain", "next.example.org", getRoom, { domain: "next.example.org" }],
  ];
  for (const [table, column, stored, read, expected] of cases) {
    const name = `${column} of ${table} becomes ${stored}`;
    t.notMatch(await read(), expected, `before ${name}`);
    write(ENTRIES[table]!, `UPDATE ${table} SET ${column} = ?`, stored);
    await setImmediate();
    const kept = await read();
    t.match(kept, expected, name);
    for (const type of ["question.voted", ...Object.values(ENTRIES)]) {
      write(type, null);
      await setImmediate();
      t.equal(await read(), kept, "which is kept while others change");
    }
  }
  // Users and rooms are deleted along with their world.
  db.pragma("foreign_keys = ON");
  write("world.deleted", "DELETE FROM world_ids");
  await setImmediate();
  for (const read of [getUser, getRoom, world]) t.equal(await read(), undefined);
  await store.worlds.create(worldOf("demo"));
  t.equal(await getUser(), undefined, "nor does a new world bring them back");
});

void t.test("a user who is erased leaves the memory", async (t) => {
  const { store } = await opened(t);
  const id = await enter(store, "ada");
  const kept = new WeakRef((await store.users.get("demo", id))!);
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const isThere = async () => {
    await setImmediate();
    gc();
    return kept.deref() !== undefined;
  };
  t.ok(await isThere());
  await store.users.erase("demo", { user_id: id });
  t.notOk(await isThere());
});

void t.test("a change of the issuers of a world", async (t) => {
  const { store, write } = await opened(t);
  const trusting = async () => {
    await setImmediate();
    const worlds = await store.worlds.issuing("them", "us");
    return worlds.map(({ value }) => value.title);
  };
  t.strictSame(await trusting(), [], "a list without worlds is kept, too");
  const { title } = worldOf("demo");
  for (const [change, titles] of [
    ["INSERT INTO world_issuers VALUES ('demo', 'them', 'us')", [title]],
    ["UPDATE worlds SET title = 'New'", ["New"]],
    ["UPDATE world_issuers SET audience = 'others'", []],
    ["UPDATE world_issuers SET audience = 'us'", ["New"]],
    ["DELETE FROM world_issuers", []],
  ] as const) {
    write("world.updated", change, undefined, change.includes("issuers") ? "" : "demo");
    t.strictSame(await trusting(), titles, change);
  }
});

void t.test("a command beside the server, a login and a ban", async (t) => {
  const { dataDir, store: server } = await opened(t);
  const beside = openStore(t, dataDir);
  const visitor = { tokenId: "ada", traits: new Set(["x"]), login: true };
  const { id } = await server.users.enter("demo", visitor);
  const room = (await server.rooms.create("demo", { name: "Stage" })).value.id;
  await server.users.get("demo", id);
  await server.rooms.get("demo", room);
  await beside.rooms.update("demo", room, { name: "Hall" });
  await setImmediate();
  t.equal((await server.rooms.get("demo", room))?.value.name, "Hall");
  await Promise.all([
    server.users.enter("demo", visitor),
    beside.users.moderate("demo", id, "banned"),
    server.users.enter("demo", visitor),
  ]);
  await setImmediate();
  for (const store of [server, beside]) {
    t.equal((await store.users.get("demo", id))?.moderation_state, "banned");
  }
  await beside.users.moderate("demo", id, "");
  const { last_seen } = await server.users.enter("demo", visitor);
  await setImmediate();
  t.match(await server.users.get("demo", id), { moderation_state: "", last_seen });
});

void t.test("a value that is too large replaces one that is kept", (t) => {
  const cache = new Cache<string>(20);
  cache.set("a", "small", 5);
  cache.set("a", "large", 11);
  t.equal(cache.get("a"), undefined);
  t.end();
});

// All reads in one turn of the event loop see the same state. A request may have been sent after
// another process confirmed a write. Its handler has to see that write, even if a timer has read
// before the request arrived.
const PHASES = { "a timer": () => setTimeout(1), "the end of a turn": () => setImmediate() };

for (const [name, begin] of Object.entries(PHASES)) {
  void t.test(`what arrives after a read in ${name}`, async (t) => {
    const { dataDir, write, title } = await opened(t);
    for (let round = 0; round < 20; round++) {
      await begin();
      await title();
      write("world.updated", "UPDATE worlds SET title = ?", `Title ${round}`);
      // The result is ready by the time the event loop polls for I/O.
      const arrival = stat(dataDir);
      const until = performance.now() + 10;
      while (performance.now() < until);
      await arrival;
      t.equal(await title(), `Title ${round}`);
    }
  });
}

void t.test("reads of the log share no earlier state", async (t) => {
  const { store, db, write, title } = await opened(t);
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
  // This store writes in the current thread, so a write commits within a turn.
  const onAppended: LogEvents["appended"] = (hints) => (events as LogEvents).appended(hints);
  const other = openSqliteStore(dataDir, { startsHere: true, onAppended });
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
