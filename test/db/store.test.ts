import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t from "tap";
import { check } from "../../db/maintenance/check.js";
import type { ListedUser } from "../../db/contract/store.js";
import { copyAsKilled, heldIn, openStore } from "../database.js";
import { until, worldOf } from "../helper.js";
import { usersOf } from "../listed.js";
import { place } from "./sqlite-place.js";
import { answers, storeContract } from "./store-contract/index.js";
import { testdir } from "../testdir.js";

void t.test("SQLite", (t) => storeContract(t, place, answers));

void t.test("what is erased is in no byte of the database", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  // So many, of such different lengths and in such an order, that SQLite moves
  // rows from page to page, and leaves the bytes of some in the old ones.
  const COUNT = 3000;
  const idOf = (i: number) =>
    `user-${i}-${"n".repeat(10 + ((i * 37) % 180))}-end`;
  for (let round = 0; round < 2; round++) {
    await Promise.all(
      Array.from({ length: COUNT }, (_, n) => {
        const i = (n * 7919) % COUNT;
        const trait = "t".repeat((i * 7 + round * 31) % 90);
        return store.files.add(
          "demo",
          {
            tokenId: idOf(i),
            traits: new Set([`trait-${i}-${trait}-end`]),
            profile: { display_name: `profile-${i}-end` },
          },
          { key: `${i}-${round}`, size: 1, sha256: "00" },
          1e9,
        );
      }),
    );
  }
  const users = await usersOf(store, "demo");
  const numberOf = ({ token_id }: ListedUser) =>
    Number(token_id!.split("-")[1]);
  const doomed = users.filter(
    (user) => (numberOf(user) * 7919) % COUNT < COUNT / 2,
  );
  t.equal(doomed.length, COUNT / 2);
  await Promise.all(
    doomed.map(({ id }) => store.users.erase("demo", { user_id: id })),
  );
  await store.close();
  const textsOf = (user: ListedUser) => [
    user.token_id!,
    ...user.traits,
    `profile-${numberOf(user)}-end`,
  ];
  const there = new Set(
    readFileSync(join(dataDir, "foyer.db"), "latin1").match(
      /(user|trait|profile)-\d+-(n*-|t*-)?end/g,
    ),
  );
  const found = (user: ListedUser) =>
    textsOf(user).some((text) => there.has(text));
  t.strictSame(doomed.filter(found), []);
  t.equal(users.filter(found).length, COUNT / 2, "the others stay");

  const { findings, files } = await check({ dataDir }, () => {});
  t.strictSame(
    findings.filter(({ subject }) => subject === "database"),
    [],
  );
  t.equal(files, 2 * COUNT);
  const db = new Database(join(dataDir, "foyer.db"), { readonly: true });
  t.teardown(() => db.close());
  const owned = db.prepare("SELECT count(*) FROM files WHERE user_id NOT NULL");
  t.equal(owned.pluck().get(), COUNT, "and keep their files");
});

void t.test("what the live layer stores is erased in each byte", async (t) => {
  const dataDir = testdir(t);
  const { users, ...store } = openStore(t, dataDir);
  for (const world of ["demo", "other"]) {
    await store.worlds.create(worldOf(world));
  }
  const COUNT = 600;
  const kinds = ["Name", "state", "pretalx", "later"];
  const textsOf = (i: number) => kinds.map((kind) => `${kind}-${i}-end`);
  const enter = async (i: number) => {
    const world = i % 3 === 0 ? "other" : "demo";
    const { id } = await users.enter(world, {
      clientId: `client-${i}`,
      traits: new Set(),
      profile: { display_name: `Name-${i}-end` },
      pretalxId: `pretalx-${i}-end`,
      login: true,
    });
    return { i, world, id };
  };
  const made = await Promise.all(
    Array.from({ length: COUNT }, (_, i) => enter(i)),
  );
  await Promise.all(
    made.map(({ i, world, id }) =>
      users.update(world, id, {
        client_state: { x: `state-${i}-${"x".repeat((i * 37) % 180)}-end` },
      }),
    ),
  );
  // So that SQLite moves rows from page to page.
  await Promise.all(
    made.map(({ i, world, id }) =>
      users.update(world, id, {
        profile: {
          display_name: `later-${i}-end`,
          x: "y".repeat((i * 53) % 90),
        },
        client_state: { x: `state-${i}-end` },
      }),
    ),
  );
  const inDemo = made.filter(({ world }) => world === "demo");
  const doomed = inDemo.slice(0, 100);
  const pairs = inDemo.map(
    ({ id }, n) => [id, inDemo[(n + 7) % inDemo.length]!.id] as const,
  );
  await Promise.all(pairs.map(([id, other]) => users.block("demo", id, other)));
  await store.announcements.create("other", { text: "announced-0-end" });
  await store.announcements.create("demo", { text: "announced-1-end" });
  await Promise.all(
    doomed.map(({ id }) => users.erase("demo", { user_id: id })),
  );
  await store.worlds.delete("other");
  await store.close();

  const bytes = readFileSync(join(dataDir, "foyer.db"), "latin1").toLowerCase();
  const there = new Set(
    bytes.match(/(name|state|pretalx|later|announced)-\d+-(x*-)?end/g),
  );
  const has = (text: string) => there.has(text.toLowerCase());
  const gone = [...doomed, ...made.filter(({ world }) => world === "other")];
  t.strictSame(
    gone.filter(({ i }) => textsOf(i).some(has)).map(({ i }) => textsOf(i)),
    [],
  );
  t.notOk(has("announced-0-end"));
  t.ok(has("announced-1-end"));
  const erased = new Set(doomed.map(({ id }) => id));
  const stay = inDemo.filter(({ id }) => !erased.has(id));
  t.ok(
    stay.every(({ i }) => textsOf(i).slice(1).every(has)),
    "the others stay",
  );
  const isThere = ([one, other]: readonly [string, string]) =>
    bytes.includes(one + other) || bytes.includes(other + one);
  for (const pair of pairs) {
    const isErased = pair.some((id) => erased.has(id));
    if (isThere(pair) === isErased) t.fail(`a block of ${pair.join()}`);
  }
  const { findings } = await check({ dataDir }, () => {});
  t.strictSame(findings, []);
});

void t.test("what a killed process left in the log is gone next", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  const name = `ada-${"x".repeat(50)}`;
  await store.files.add(
    "demo",
    { tokenId: name, traits: new Set() },
    { key: "a", size: 1, sha256: "00" },
    1e9,
  );
  // A reader keeps the log from being emptied.
  const reader = new Database(join(dataDir, "foyer.db"), { readonly: true });
  t.teardown(() => reader.close());
  reader.exec("BEGIN; SELECT * FROM users");
  reader.prepare("SELECT * FROM users").all();
  await store.users.erase("demo", { token_id: name });
  const crashed = copyAsKilled(dataDir);
  t.strictSame(heldIn(crashed, [name]), [name], "in its log");
  const next = openStore(t, crashed);
  await until(() => heldIn(crashed, [name]).length === 0);
  t.strictSame(await usersOf(next, "demo"), []);
});
