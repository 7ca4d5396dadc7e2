import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { openSqliteStore } from "../../db/sqlite/index.js";
import type { User } from "../../schemas/users.js";
import { worldOf } from "../helper.js";
import { storeContract } from "./contract.js";

void t.test("SQLite", (t) =>
  storeContract(t, (t) => {
    const dataDir = t.testdir();
    return () => openSqliteStore(dataDir);
  }),
);

void t.test("what is erased is in no byte of the database", async (t) => {
  const dataDir = t.testdir();
  const store = openSqliteStore(dataDir);
  await store.worlds.create(worldOf("demo"));
  // So many, of such different lengths and in such an order, that SQLite moves
  // rows from page to page, and leaves the bytes of some in the old ones.
  const COUNT = 6000;
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
  const users = await store.users.list("demo");
  const numberOf = ({ token_id }: User) => Number(token_id!.split("-")[1]);
  const doomed = users.filter(
    (user) => (numberOf(user) * 7919) % COUNT < COUNT / 2,
  );
  t.equal(doomed.length, COUNT / 2);
  await Promise.all(
    doomed.map(({ id }) => store.users.erase("demo", { user_id: id })),
  );
  await store.close();
  const textsOf = (user: User) => [
    user.token_id!,
    ...user.traits,
    `profile-${numberOf(user)}-end`,
  ];
  const there = new Set(
    readFileSync(join(dataDir, "foyer.db"), "latin1").match(
      /(user|trait|profile)-\d+-(n*-|t*-)?end/g,
    ),
  );
  const found = (user: User) => textsOf(user).some((text) => there.has(text));
  t.strictSame(doomed.filter(found), []);
  t.equal(users.filter(found).length, COUNT / 2, "the others stay");
});
