import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t from "tap";
import { check } from "../../db/maintenance/check.js";
import { openSqliteStore } from "../../db/sqlite/index.js";
import type { ListedUser } from "../../db/store.js";
import { until, worldOf } from "../helper.js";
import { usersOf } from "../listed.js";
import { storeContract } from "./store-contract/index.js";

void t.test("SQLite", async (t) => {
  await storeContract(t, (t) => {
    const dataDir = t.testdir();
    return () => openSqliteStore(dataDir);
  });
});

void t.test("what is erased is in no byte of the database", async (t) => {
  const dataDir = t.testdir();
  const store = openSqliteStore(dataDir);
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

  const { findings, files } = await check(dataDir, () => {});
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

void t.test("what a killed process left in the log is gone next", async (t) => {
  const dataDir = t.testdir();
  const store = openSqliteStore(dataDir);
  t.teardown(() => store.close());
  await store.worlds.create(worldOf("demo"));
  const name = `ada-${"x".repeat(50)}`;
  await store.files.add(
    "demo",
    { tokenId: name, traits: new Set() },
    { key: "a", size: 1, sha256: "00" },
    1e9,
  );
  // Somebody reads, so that the log cannot be emptied.
  const reader = new Database(join(dataDir, "foyer.db"), { readonly: true });
  t.teardown(() => reader.close());
  reader.exec("BEGIN; SELECT * FROM users");
  reader.prepare("SELECT * FROM users").all();
  await store.users.erase("demo", { token_id: name });
  const crashed = join(dataDir, "crashed");
  mkdirSync(crashed);
  for (const file of readdirSync(dataDir)) {
    if (!/^foyer\.db(-wal|\.erasing-.*)?$/.test(file)) continue;
    copyFileSync(join(dataDir, file), join(crashed, file));
  }
  const held = () =>
    ["foyer.db", "foyer.db-wal"].filter((file) =>
      readFileSync(join(crashed, file)).includes(name),
    );
  t.strictSame(held(), ["foyer.db-wal"]);
  const next = openSqliteStore(crashed);
  t.teardown(() => next.close());
  await until(async () => held().length === 0);
  t.strictSame(await usersOf(next, "demo"), []);
});
