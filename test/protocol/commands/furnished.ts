import { join } from "node:path";
import type { Test } from "tap";
import type { LocalFiles } from "../../../db/blobs/folder/local-files.js";
import { worldOf } from "../../support/helper.js";
import { openIn } from "../../support/stack.js";
import { testdir } from "../../support/testdir.js";

/** A folder with a world, two rooms and some files, and the stores that have it open. */
export async function furnished(t: Test, count: number) {
  const dataDir = join(testdir(t), "data");
  const { store, files: opened } = await openIn(t, dataDir);
  // Tests that look into its folder are for the embedded engines only.
  const files = opened as LocalFiles;
  await store.worlds.create(worldOf("demo"));
  const rooms = [{ name: "a" }, { name: "b" }];
  for (const room of rooms) await store.rooms.create("demo", room);
  t.teardown(() => store.close());
  t.teardown(() => files.close());
  const keys = Array.from({ length: count }, (_, i) => `pub/demo/${i}.pdf`);
  const uploader = { clientId: "x", traits: new Set<string>() };
  for (const key of keys) {
    const bytes = (async function* () {
      yield Buffer.from(`bytes of ${key}`);
    })();
    await files.put(key, bytes, (stored) =>
      store.files.add("demo", uploader, { key, ...stored }, 1e6),
    );
  }
  return { dataDir, store, files, keys };
}
