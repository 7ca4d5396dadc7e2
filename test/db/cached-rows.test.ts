import { join } from "node:path";
import Database from "better-sqlite3";
import t from "tap";
import { worldOf } from "../helper.js";
import { openStore } from "../database.js";
import { testdir } from "../testdir.js";

// A record that was read before is read again if another process has changed any of
// its columns.

void t.test("a change of each column", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const db = new Database(join(dataDir, "foyer.db"));
  t.teardown(() => db.close());
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
    db.prepare(`UPDATE ${table} SET ${column} = ?`).run(stored);
    // Commits of others are seen from the next turn on.
    await new Promise(setImmediate);
    t.match(await read(), expected, name);
    const kept = await read();
    db.prepare("UPDATE log_heads SET tag = tag + 1").run();
    await new Promise(setImmediate);
    t.equal(await read(), kept, "which is kept while others change");
  }
  // Users and rooms go with their world.
  db.pragma("foreign_keys = ON");
  db.prepare("DELETE FROM worlds").run();
  await new Promise(setImmediate);
  t.equal(await getUser(), undefined);
  t.equal(await getRoom(), undefined);
  t.equal(await world(), undefined);
  await store.worlds.create(worldOf("demo"));
  t.equal(await getUser(), undefined, "nor does a new world bring them back");
});

void t.test("a change of the issuers of a world", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const db = new Database(join(dataDir, "foyer.db"));
  t.teardown(() => db.close());
  await store.worlds.create(worldOf("demo"));
  const trusting = async () => {
    // Commits of others are seen from the next turn on.
    await new Promise(setImmediate);
    const worlds = await store.worlds.issuing("them", "us");
    return worlds.map(({ value }) => value.title);
  };
  t.strictSame(await trusting(), [], "a list without worlds is kept, too");
  db.prepare("INSERT INTO world_issuers VALUES ('demo', 'them', 'us')").run();
  const { title } = worldOf("demo");
  t.strictSame(await trusting(), [title]);
  db.prepare("UPDATE worlds SET title = 'New'").run();
  t.strictSame(await trusting(), ["New"]);
  db.prepare("UPDATE world_issuers SET audience = 'others'").run();
  t.strictSame(await trusting(), []);
  db.prepare("UPDATE world_issuers SET audience = 'us'").run();
  t.strictSame(await trusting(), ["New"]);
  db.prepare("DELETE FROM world_issuers").run();
  t.strictSame(await trusting(), []);
});
