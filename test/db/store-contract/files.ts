import { worldOf } from "../../helper.js";
import { filesOf, usersOf } from "../../listed.js";
import {
  ABSENT,
  add,
  ada,
  type Contract,
  fails,
  file,
  guest,
  newFile,
  SECRET,
  tick,
} from "./setup.js";

export async function fileContract(contract: Contract): Promise<void> {
  await contract("files are counted, up to a bound", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    await store.files.add("demo", ada, file("1", 600), 1000);
    await fails(t, store.files.add("demo", ada, file("2", 401), 1000), "quota");
    await fails(t, store.files.add("none", ada, file("2", 1), 1000), "absent");
    const eve = { tokenId: "eve", traits: new Set<string>() };
    await fails(t, store.files.add("demo", eve, file("2", 401), 1000), "quota");
    t.equal((await usersOf(store, "demo")).length, 1, "no file, no user");
    await store.files.add("demo", guest, file("2", 400), 1000);
    await store.files.add("other", ada, file("3", 1000), 1000);
    t.equal(await store.files.size("demo"), 1000);
    t.equal(await store.files.size("other"), 1000);
    t.equal(await store.files.size("none"), 0);
    t.match(await filesOf(store, "demo"), [file("2", 400), file("1", 600)]);
    t.strictSame(await filesOf(store, "none"), []);
    t.strictSame(
      await Promise.all(["1", "3", "4", ""].map((key) => store.files.has(key))),
      [true, true, false, false],
    );

    await fails(t, store.worlds.delete("demo", ["0", "1"]), "changed");
    t.equal(await store.files.size("demo"), 1000, "a file is not noted");
    t.strictSame((await store.worlds.delete("demo", ["2", "1", "0"])).sort(), [
      "1",
      "2",
    ]);
    t.equal(await store.files.has("1"), false, "they go with their world");
    t.equal(await store.files.size("demo"), 0);
    t.strictSame(await usersOf(store, "demo"), []);
    t.equal(await store.files.has("3"), true);
    t.strictSame(await store.worlds.delete("other"), ["3"]);
  });

  await contract("users and files, page by page", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    const names = ["a", "b", "c", "d", "e"];
    const ids: string[] = [];
    for (const tokenId of names) {
      ids.unshift(await add(store, "demo", { tokenId }));
      await tick();
    }
    await add(store, "other", { tokenId: "elsewhere" });
    const pages: [page: number, pageSize: number, from: number, to: number][] =
      [
        [1, 50, 0, 5],
        [1, 5, 0, 5],
        [1, 2, 0, 2],
        [2, 2, 2, 4],
        [3, 2, 4, 5],
        [4, 2, 5, 5],
        [2, 5, 5, 5],
        [5, 1, 4, 5],
        [Number.MAX_SAFE_INTEGER / 1000, 1000, 5, 5],
      ];
    for (const [page, pageSize, from, to] of pages) {
      const name = `page ${page} of ${pageSize}`;
      const { count, users } = await store.users.list("demo", {
        page,
        pageSize,
      });
      t.equal(count, 5, name);
      t.strictSame(
        users.map(({ token_id }) => token_id),
        names.slice(from, to),
        name,
      );
      const list = await store.files.list("demo", { page, pageSize });
      t.equal(list.count, 5, name);
      t.strictSame(
        list.files.map(({ id }) => id),
        ids.slice(from, to),
        name,
      );
    }
    const all = { page: 1, pageSize: 50 };
    t.strictSame(await store.users.list("none", all), { count: 0, users: [] });
    t.strictSame(await store.files.list("none", all), { count: 0, files: [] });
  });

  await contract("what is recorded of a file", async (t, store) => {
    await store.worlds.create(worldOf("other"));
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
      const file = await store.files.get("demo", id);
      t.strictSame(
        { ...file, uploadedAt: 0 },
        {
          ...{ ...record, id, type, userId: user!.id },
          ...{ uploadedAt: 0, number: file?.number },
        },
      );
      t.ok(file!.number > number);
      number = file!.number;
      t.ok(file!.uploadedAt >= before && file!.uploadedAt <= Date.now());
      t.strictSame((await filesOf(store, "demo"))[0], file, "newest first");
    }
    await store.users.erase("demo", { token_id: "ada" });
    const files = await filesOf(store, "demo");
    t.strictSame(
      files.map(({ userId }) => userId),
      [null, null, null],
      "of who was erased",
    );
    await store.files.delete("demo", files[0]!.id);
    t.equal((await filesOf(store, "demo")).length, 2, "can be deleted");
  });

  await contract("a file is deleted", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    const { id, record } = newFile("demo", { size: 700 });
    await store.files.add("demo", guest, record, 1000);
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
      t.equal(await store.files.get(world, odd), undefined, name);
      await fails(t, store.files.delete(world, odd), "absent");
    }
    t.equal(await store.files.size("demo"), 700);
    const full = newFile("demo", { size: 400 });
    const again = () => store.files.add("demo", guest, full.record, 1000);
    await fails(t, again(), "quota");

    t.equal(await store.files.delete("demo", id), record.key);
    t.equal(await store.files.size("demo"), 0);
    t.match(await store.counts(), { fileBytes: 100 });
    t.equal(await store.files.has(record.key), false);
    t.equal(await store.files.get("demo", id), undefined);
    t.strictSame(await filesOf(store, "demo"), []);
    await fails(t, store.files.delete("demo", id), "absent");
    t.equal((await usersOf(store, "demo")).length, 1, "its user stays");
    await again();
    t.strictSame(await store.files.keys("demo"), [full.record.key]);
    t.equal((await store.files.get("other", other))?.id, other);
  });

  await contract(
    "files are deleted and added at once",
    async (t, store, open) => {
      await store.worlds.create(worldOf("other"));
      const stores = [store, await open()];
      const doomed = await Promise.all(
        Array.from({ length: 40 }, () => add(store)),
      );
      const kept: Promise<string>[] = [];
      const results = await Promise.allSettled(
        doomed.flatMap((id) =>
          stores.map((one) => {
            kept.push(add(one));
            return one.files.delete("demo", id);
          }),
        ),
      );
      const done = results.filter(({ status }) => status === "fulfilled");
      t.equal(done.length, doomed.length, "each was deleted once");
      const left = await Promise.all(kept);
      for (const one of stores) {
        t.strictSame(
          (await filesOf(one, "demo")).map(({ id }) => id).sort(),
          [...left].sort(),
        );
        t.equal(await one.files.size("demo"), 100 * left.length);
      }
    },
  );

  await contract("a page of files is of one moment", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    let writing = true;
    const writes = (async () => {
      // Each deletion scrubs the database.
      for (let i = 0; i < 40; i++) {
        await store.files.delete("demo", await add(store));
      }
    })().finally(() => (writing = false));
    let [torn, pages] = [0, 0];
    while (writing) {
      const { count, files } = await store.files.list("demo", {
        page: 1,
        pageSize: 50,
      });
      if (count !== files.length) torn++;
      pages++;
      await new Promise(setImmediate);
    }
    await writes;
    t.ok(pages > 10);
    t.equal(torn, 0);
  });
}
