import t from "tap";
import { openSqliteStore } from "../../db/sqlite/index.js";
import { textsBelow } from "../files.js";
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
  // So many, of such different lengths and changing so often, that SQLite moves
  // rows from page to page, and leaves their bytes in the old ones.
  const idOf = (i: number) => `user-${i}-${"n".repeat((i * 37) % 90)}-end`;
  for (let round = 0; round < 3; round++) {
    await Promise.all(
      Array.from({ length: 2000 }, (_, i) =>
        store.files.add(
          "demo",
          {
            tokenId: idOf(i),
            traits: new Set([
              `trait-${i}-${"t".repeat((i * 7 + round * 31) % 90)}-end`,
            ]),
            profile: { display_name: `profile-${i}-end` },
          },
          { key: `${i}-${round}`, size: 1, sha256: "00" },
          1e9,
        ),
      ),
    );
  }
  const users = await store.users.list("demo");
  const doomed = users.filter((_, i) => (i * 7919) % 2000 < 1000);
  t.ok(doomed.length > 900);
  await Promise.all(
    doomed.map(({ id }) => store.users.erase("demo", { user_id: id })),
  );
  await store.close();
  const textsOf = ({ token_id, traits }: (typeof users)[number]) => {
    const [, number] = token_id!.split("-");
    return [token_id!, ...traits, `profile-${number}-end`];
  };
  t.strictSame(await textsBelow(dataDir, doomed.flatMap(textsOf)), []);
  const left = users.filter((user) => !doomed.includes(user)).flatMap(textsOf);
  t.equal((await textsBelow(dataDir, left)).length, left.length);
});
