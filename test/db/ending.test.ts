import { existsSync } from "node:fs";
import t from "tap";
import { openStore } from "../database.js";
import { worldOf } from "../helper.js";
import { testdir } from "../testdir.js";

// How tests of stores end.

void t.test("a folder outlives what a test has opened in it", async (t) => {
  let there: boolean | undefined;
  let folder: string | undefined;
  await t.test("a test", async (t) => {
    const dataDir = (folder = testdir(t));
    // It runs after the store was closed.
    t.teardown(() => (there = existsSync(dataDir)));
    const store = openStore(t, dataDir);
    await store.worlds.create(worldOf("demo"));
    // What is erased in the end leaves a mark in the folder meanwhile.
    const { value } = await store.rooms.create("demo", { name: "a" });
    await store.rooms.delete("demo", value.id);
  });
  t.equal(there, true);
  t.equal(existsSync(folder!), false, "and is removed then");
});
