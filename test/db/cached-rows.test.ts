import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { worldOf } from "../helper.js";
import { openStore } from "../database.js";
import { testdir } from "../testdir.js";
import { writerIn } from "./raw-writes.js";

// A record that was read before is read again if another process has changed any of its columns. As
// every write does, that process appends to the log of the world.

const ENTRIES: Readonly<Record<string, string>> = {
  users: "user.updated",
  rooms: "room.updated",
  worlds: "world.updated",
};

/** A store, and a second connection to its database, by which another process writes. */
function opened(t: Test) {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const db = new Database(join(dataDir, "foyer.db"));
  t.teardown(() => db.close());
  return { store, db, write: writerIn(db) };
}

void t.test("a change of each column", async (t) => {
  const { store, db, write } = opened(t);
  await store.worlds.create(worldOf("demo"));
  const { id: user } = await store.users.enter("demo", {
    tokenId: "ada",
    traits: new Set(["x"]),
    profile: { display_name: "Ada" },
  });
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
    [
      "users",
      "profile",
      '{"display_name":"Eve"}',
      getUser,
      { profile: { display_name: "Eve" } },
    ],
    ["users", "profile", null, getUser, { profile: null }],
    ["users", "traits", '["y"]', getUser, { traits: ["y"] }],
    ["users", "last_seen", 5, getUser, { last_seen: 5 }],
    [
      "users",
      "moderation_state",
      "banned",
      getUser,
      { moderation_state: "banned" },
    ],
    ["users", "client_state", '{"a":1}', getUser, { client_state: { a: 1 } }],
    ["users", "pretalx_id", "p", getUser, { pretalx_id: "p" }],
    ["users", "last_login", 7, getUser, { last_login: 7 }],
    ["users", "token_id", "eve", getUser, { token_id: "eve" }],
    ["rooms", "name", "Hall", getRoom, { name: "Hall" }],
    ["rooms", "description", "d", getRoom, { description: "d" }],
    [
      "rooms",
      "module_config",
      JSON.stringify(config),
      getRoom,
      { module_config: config },
    ],
    ["rooms", "sorting_priority", 9, getRoom, { sorting_priority: 9 }],
    [
      "rooms",
      "extras",
      '{"picture":"x"}',
      getRoom,
      { extras: { picture: "x" } },
    ],
    ["worlds", "title", "New", world, { title: "New" }],
    [
      "worlds",
      "domain",
      "new.example.org",
      world,
      { domain: "new.example.org" },
    ],
    // A room without a domain has the domain of its world.
    [
      "worlds",
      "domain",
      "next.example.org",
      getRoom,
      { domain: "next.example.org" },
    ],
  ];
  for (const [table, column, stored, read, expected] of cases) {
    const name = `${column} of ${table} becomes ${stored}`;
    t.notMatch(await read(), expected, `before ${name}`);
    write(ENTRIES[table]!, `UPDATE ${table} SET ${column} = ?`, stored);
    // Commits of others are seen from the next turn on.
    await new Promise(setImmediate);
    t.match(await read(), expected, name);
    const kept = await read();
    for (const type of ["question.voted", ...Object.values(ENTRIES)]) {
      write(type, null);
      await new Promise(setImmediate);
      t.equal(await read(), kept, "which is kept while others change");
    }
  }
  // Users and rooms go with their world.
  db.pragma("foreign_keys = ON");
  write("world.deleted", "DELETE FROM worlds");
  await new Promise(setImmediate);
  t.equal(await getUser(), undefined);
  t.equal(await getRoom(), undefined);
  t.equal(await world(), undefined);
  await store.worlds.create(worldOf("demo"));
  t.equal(await getUser(), undefined, "nor does a new world bring them back");
});

void t.test("a change of the issuers of a world", async (t) => {
  const { store, write } = opened(t);
  await store.worlds.create(worldOf("demo"));
  const trusting = async () => {
    // Commits of others are seen from the next turn on.
    await new Promise(setImmediate);
    const worlds = await store.worlds.issuing("them", "us");
    return worlds.map(({ value }) => value.title);
  };
  t.strictSame(await trusting(), [], "a list without worlds is kept, too");
  const found = (change: string) => write("index world.updated", change);
  found("INSERT INTO world_issuers VALUES ('demo', 'them', 'us')");
  const { title } = worldOf("demo");
  t.strictSame(await trusting(), [title]);
  write("world.updated", "UPDATE worlds SET title = 'New'");
  t.strictSame(await trusting(), ["New"]);
  found("UPDATE world_issuers SET audience = 'others'");
  t.strictSame(await trusting(), []);
  found("UPDATE world_issuers SET audience = 'us'");
  t.strictSame(await trusting(), ["New"]);
  found("DELETE FROM world_issuers");
  t.strictSame(await trusting(), []);
});

// Each case replaces the log while a row is kept. The next read must not trust what it keeps.
const HISTORIES: readonly [what: string, sql: string][] = [
  [
    "a head that went back",
    "DELETE FROM log WHERE world_id = 'demo' AND seq > 1",
  ],
  [
    "another history that is longer",
    `UPDATE log SET tag = tag + 1;
     INSERT INTO log (world_id, seq, tag, at, type, author, detail)
       SELECT world_id, seq + 1, 1, 0, 'noted', '{}', '{}' FROM log WHERE world_id = 'demo' ORDER BY seq DESC LIMIT 1`,
  ],
  ["a log that was pruned to its end", "DELETE FROM log"],
];

for (const [what, sql] of HISTORIES) {
  void t.test(`a row is compared after ${what}`, async (t) => {
    const { store, db } = opened(t);
    await store.worlds.create(worldOf("demo"));
    const { id } = await store.users.enter("demo", {
      tokenId: "ada",
      traits: new Set(["x"]),
    });
    const state = async () =>
      (await store.users.get("demo", id))?.moderation_state;
    t.equal(await state(), "");
    db.transaction(() => {
      db.exec("UPDATE users SET moderation_state = 'banned'");
      db.exec(sql);
    })();
    await new Promise(setImmediate);
    t.equal(await state(), "banned");
  });
}

void t.test("more entries than one look reads", async (t) => {
  const { store, write } = opened(t);
  await store.worlds.create(worldOf("demo"));
  const title = async () => (await store.worlds.get("demo"))?.value.title;
  await title();
  for (const count of [1, 198, 199, 200, 500]) {
    for (let n = 1; n < count; n++) write("poll.voted", null);
    write("world.updated", "UPDATE worlds SET title = ?", `after ${count}`);
    await new Promise(setImmediate);
    t.equal(await title(), `after ${count}`);
  }
});

void t.test("a command beside the server, a login and a ban", async (t) => {
  const dataDir = testdir(t);
  const [server, beside] = [openStore(t, dataDir), openStore(t, dataDir)];
  await server.worlds.create(worldOf("demo"));
  const visitor = { tokenId: "ada", traits: new Set(["x"]), login: true };
  const { id } = await server.users.enter("demo", visitor);
  const room = (await server.rooms.create("demo", { name: "Stage" })).value.id;
  await server.users.get("demo", id);
  await server.rooms.get("demo", room);
  await beside.rooms.update("demo", room, { name: "Hall" });
  await new Promise(setImmediate);
  t.equal((await server.rooms.get("demo", room))?.value.name, "Hall");
  await Promise.all([
    server.users.enter("demo", visitor),
    beside.users.moderate("demo", id, "banned"),
    server.users.enter("demo", visitor),
  ]);
  await new Promise(setImmediate);
  for (const store of [server, beside]) {
    t.equal((await store.users.get("demo", id))?.moderation_state, "banned");
  }
  await beside.users.moderate("demo", id, "");
  const { last_seen } = await server.users.enter("demo", visitor);
  await new Promise(setImmediate);
  t.match(await server.users.get("demo", id), {
    moderation_state: "",
    last_seen,
  });
});
