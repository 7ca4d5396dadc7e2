import type { FileRecord } from "../../../../db/contract/store.js";
import { previewKeyOf } from "../../../../schemas/plain/file-types.js";
import { filesOf, usersOf } from "../../../support/database.js";
import {
  ABSENT,
  ada,
  add,
  beside,
  type Contract,
  fails,
  file,
  guest,
  idsOf,
  newFile,
  SECRET,
  wonOf,
} from "./setup.js";

/** Tests recording files, one by one and concurrently. */
export async function fileContract(base: Contract): Promise<void> {
  const contract = beside(base);

  await contract("files are counted, up to a bound", async (t, store) => {
    const { files } = store;
    await files.add("demo", ada, file("1", 600), 1000);
    const eve = { tokenId: "eve", traits: new Set<string>() };
    for (const visitor of [ada, eve]) {
      await fails(t, files.add("demo", visitor, file("2", 401), 1000), "quota");
    }
    await fails(t, files.add("none", ada, file("2", 1), 1000), "absent");
    t.equal((await usersOf(store, "demo")).length, 1, "no file, no user");
    await files.add("demo", guest, file("2", 400), 1000);
    await files.add("other", ada, file("3", 1000), 1000);
    const sizes = ["demo", "other", "none"].map((world) => files.size(world));
    t.strictSame(await Promise.all(sizes), [1000, 1000, 0]);
    t.match(await filesOf(store, "demo"), [file("2", 400), file("1", 600)]);
    t.strictSame(await filesOf(store, "none"), []);
    const there = ["1", "3", "4", ""].map((key) => files.has(key));
    t.strictSame(await Promise.all(there), [true, true, false, false]);

    await fails(t, store.worlds.delete("demo", ["0", "1"]), "changed");
    t.equal(await files.size("demo"), 1000, "a file is not noted");
    t.strictSame((await store.worlds.delete("demo", ["2", "1", "0"])).sort(), ["1", "2"]);
    t.equal(await files.has("1"), false, "they go with their world");
    t.equal(await files.size("demo"), 0);
    t.strictSame(await usersOf(store, "demo"), []);
    t.equal(await files.has("3"), true);
    t.strictSame(await store.worlds.delete("other"), ["3"]);
    t.match(await store.counts(), { users: 0, fileBytes: 0 });
  });

  await contract("what is recorded of a file", async (t, store) => {
    const before = Date.now();
    let number = 0;
    for (const [extension, type] of [
      ["jpg", "image/jpeg"],
      ["mp3", "audio/mpeg"],
      ["xyz", "application/octet-stream"],
    ] as const) {
      const { id, record } = newFile("demo", { extension });
      await store.files.add("demo", ada, record, 1e9);
      const [user] = await usersOf(store, "demo");
      const file = (await store.files.get("demo", id))!;
      const { uploadedAt } = file;
      const rest = { uploadedAt, number: file.number };
      t.strictSame({ ...file }, { ...record, id, type, userId: user!.id, ...rest });
      t.ok(file.number > number);
      number = file.number;
      t.ok(uploadedAt >= before && uploadedAt <= Date.now());
      t.strictSame((await filesOf(store, "demo"))[0], file, "newest first");
    }
    await store.users.erase("demo", { token_id: "ada" });
    const files = await filesOf(store, "demo");
    t.ok(
      files.every(({ userId }) => userId === null),
      "of who was erased",
    );
    await store.files.delete("demo", files[0]!.id);
    t.equal((await filesOf(store, "demo")).length, 2, "can be deleted");
    await store.files.add("demo", ada, file("last"), 1e9);
    const owners = (await filesOf(store, "demo")).map(({ userId }) => userId !== null);
    t.strictSame(owners, [true, false, false], "an upload does not bring files back");
  });

  await contract("a preview goes with its picture", async (t, store) => {
    const { files } = store;
    const { id, record } = newFile("demo", { size: 700 });
    const preview = { ...record, key: previewKeyOf(record.key), size: 50 };
    await fails(t, files.add("demo", guest, record, 749, preview), "quota");
    t.equal(await files.size("demo"), 0);
    t.equal(await files.has(preview.key), false, "both or none");
    await files.add("demo", guest, record, 750, preview);
    t.equal(await files.size("demo"), 750);
    t.ok((await files.has(record.key)) && (await files.has(preview.key)));
    t.strictSame((await files.keys("demo")).sort(), [record.key, preview.key].sort());
    t.match(await files.list("demo", { page: 1, pageSize: 9 }), { count: 1, files: [{ id }] });
    t.match(await files.get("demo", id), { key: record.key, size: 700 });
    t.strictSame((await files.delete("demo", id)).sort(), [record.key, preview.key].sort());
    t.strictSame(await files.keys("demo"), []);
    t.equal(await files.size("demo"), 0);
    await fails(t, files.delete("demo", id), "absent");
  });

  await contract("a file is deleted", async (t, store) => {
    const { files } = store;
    const { id, record } = newFile("demo", { size: 700 });
    await files.add("demo", guest, record, 1000);
    const other = await add(store, "other");
    for (const [name, world, odd] of [
      ["unknown", "demo", ABSENT],
      ["empty", "demo", ""],
      ["of another world", "demo", other],
      ["in another world", "other", id],
      ["in no world", "none", id],
      ["with its secret", "demo", `${id}.${SECRET}`],
      ["cut", "demo", id.slice(0, -1)],
      ["in upper case", "demo", id.toUpperCase()],
      ["a pattern", "demo", "%"],
      ["a path", "demo", `../other/${other}`],
      ["a world in the id", "other", `../demo/${id}`],
      ["NUL", "demo", `${id}\0`],
    ] as const) {
      t.equal(await files.get(world, odd), undefined, name);
      await fails(t, files.delete(world, odd), "absent");
    }
    t.equal(await files.size("demo"), 700);
    const full = newFile("demo", { size: 400 });
    const again = () => files.add("demo", guest, full.record, 1000);
    await fails(t, again(), "quota");

    t.strictSame(await files.delete("demo", id), [record.key]);
    t.equal(await files.size("demo"), 0);
    t.match(await store.counts(), { fileBytes: 100 });
    t.equal(await files.has(record.key), false);
    t.equal(await files.get("demo", id), undefined);
    t.strictSame(await filesOf(store, "demo"), []);
    await fails(t, files.delete("demo", id), "absent");
    t.equal((await usersOf(store, "demo")).length, 1, "its user stays");
    await again();
    t.strictSame(await files.keys("demo"), [full.record.key]);
    t.equal((await files.get("other", other))?.id, other);
  });

  await contract("files are deleted and added at once", async (t, store, open) => {
    const stores = [store, await open()];
    const doomed = await Promise.all(Array.from({ length: 40 }, () => add(store)));
    const kept: Promise<string>[] = [];
    const deletions = doomed.flatMap((id) =>
      stores.map((one) => {
        kept.push(add(one));
        return one.files.delete("demo", id);
      }),
    );
    t.equal(wonOf(await Promise.allSettled(deletions)), doomed.length, "each was deleted once");
    const left = (await Promise.all(kept)).sort();
    for (const one of stores) {
      t.strictSame(idsOf(await filesOf(one, "demo")).sort(), left);
      t.equal(await one.files.size("demo"), 100 * left.length);
    }
  });

  await contract("uploads at once stay within the quota", async (t, store, open) => {
    const stores = [store, await open()];
    const settled = await Promise.allSettled(
      Array.from({ length: 12 }, (_, i) =>
        stores[i % 2]!.files.add("demo", ada, file(`${i}`, 300), 1000),
      ),
    );
    const done = settled.filter(({ status }) => status === "fulfilled");
    t.equal(done.length, 3);
    for (const one of settled) {
      if (one.status === "rejected") t.match(one.reason, { problem: "quota" });
    }
    t.equal(await store.files.size("demo"), 900);
    t.equal((await filesOf(store, "demo")).length, 3);
    await store.files.add("demo", ada, file("last", 100), 1000);
    await fails(t, store.files.add("demo", ada, file("x", 1), 1000), "quota");
    await fails(t, store.files.add("demo", ada, file("x", 0), 999), "quota");
  });

  await contract("files of one moment stand on one page each", async (t, store) => {
    const made = Array.from({ length: 40 }, (_, i) => newFile("demo", { size: i }).record);
    await Promise.all(
      made.map((record, i) =>
        store.files.add("demo", { tokenId: `${i}`, traits: new Set() }, record, 1e6),
      ),
    );
    const paged: FileRecord[] = [];
    for (let page = 1; page <= 6; page++) {
      const { count, files } = await store.files.list("demo", { page, pageSize: 7 });
      t.equal(count, made.length);
      paged.push(...files);
    }
    for (const [world, page, count] of [
      ["demo", 7, 40],
      ["demo", 1e23, 40],
      ["none", 1, 0],
    ] as const) {
      t.strictSame(await store.files.list(world, { page, pageSize: 7 }), { count, files: [] });
    }
    // A single store writes in call order.
    const keys = made.map(({ key }) => key).toReversed();
    t.strictSame(
      paged.map(({ key }) => key),
      keys,
      "the last recorded one comes first",
    );
    t.strictSame(await filesOf(store, "demo"), paged, "in the order of one page");
    const times = paged.map(({ uploadedAt }) => uploadedAt);
    t.strictSame(
      times,
      times.toSorted((a, b) => b - a),
    );
  });
}
