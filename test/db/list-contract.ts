import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import type { Store, StoreProblem } from "../../db/store.js";
import { worldOf } from "../helper.js";
import { filesOf, usersOf } from "../listed.js";
import type { Open } from "./contract.js";

const SECRET = "AbCdEfGh_-12";
const ABSENT = "00000000-0000-4000-8000-000000000000";
const traits = new Set<string>();
const guest = { clientId: "guest", traits };

/** The record of a new file, whose id goes with it. */
function newFile(world = "demo", { size = 100, extension = "pdf" } = {}) {
  const id = randomUUID();
  const key = `pub/${world}/${id}.${SECRET}.${extension}`;
  return { id, record: { key, size, sha256: "0".repeat(64) } };
}

/**
 * What every store keeps to that lists users and files, and deletes files.
 * @param place makes a new and empty place.
 */
export async function listContract(
  t: Test,
  place: (t: Test) => Open | Promise<Open>,
): Promise<void> {
  /** A test with one store, that has the worlds `demo` and `other`. */
  const contract = (
    name: string,
    run: (t: Test, store: Store, open: () => Promise<Store>) => Promise<void>,
  ) =>
    t.test(name, async (t) => {
      const make = await place(t);
      const open = async () => {
        const store = await make();
        t.teardown(() => store.close());
        return store;
      };
      const store = await open();
      await store.worlds.create(worldOf("demo"));
      await store.worlds.create(worldOf("other"));
      await run(t, store, open);
    });

  const fails = (t: Test, promise: Promise<unknown>, problem: StoreProblem) =>
    t.rejects(promise, { name: "StoreError", problem });

  const add = async (
    store: Store,
    world = "demo",
    uploader: object = guest,
  ) => {
    const { id, record } = newFile(world);
    await store.files.add(world, { traits, ...uploader }, record, 1e9);
    return id;
  };

  /** Waits until the clock shows another millisecond, by which lists are ordered. */
  const tick = async () => {
    const now = Date.now();
    while (Date.now() === now) await new Promise(setImmediate);
  };

  await contract("users and files, page by page", async (t, store) => {
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
    const last = [...names].reverse();
    for (const [page, pageSize, from, to] of pages) {
      const name = `page ${page} of ${pageSize}`;
      const { count, users } = await store.users.list("demo", {
        page,
        pageSize,
      });
      t.equal(count, 5, name);
      t.strictSame(
        users.map(({ token_id }) => token_id),
        last.slice(from, to),
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

  await contract("who was seen last comes first", async (t, store) => {
    for (const tokenId of ["a", "b", "c"]) {
      await add(store, "demo", { tokenId });
      await tick();
    }
    await add(store, "demo", { tokenId: "a" });
    const order = async () =>
      (await usersOf(store, "demo")).map(({ token_id }) => token_id);
    t.strictSame(await order(), ["a", "c", "b"]);
    await store.users.erase("demo", { token_id: "c" });
    t.strictSame(await order(), ["a", "b"], "without who was erased");
    const { count } = await store.users.list("demo", { page: 1, pageSize: 1 });
    t.equal(count, 2);

    const sameTime = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        add(store, "other", { clientId: `c${i}` }),
      ),
    );
    const users = await usersOf(store, "other");
    t.equal(users.length, sameTime.length);
    t.strictSame(
      users,
      [...users].sort(
        (a, b) => b.last_seen - a.last_seen || (a.id < b.id ? -1 : 1),
      ),
      "then by id",
    );
  });

  await contract("a profile is that of the first upload", async (t, store) => {
    const profile = { display_name: "Ada" };
    await add(store, "demo", { tokenId: "ada", profile });
    await add(store, "demo", { tokenId: "bob" });
    await add(store, "demo", { tokenId: "ada", profile: { other: 1 } });
    await add(store, "demo", { tokenId: "bob", profile });
    const users = await usersOf(store, "demo");
    t.strictSame(
      new Map(users.map((user) => [user.token_id, user.profile])),
      new Map([
        ["ada", profile],
        ["bob", null],
      ]),
    );
  });

  await contract("a page of users is bounded", async (t, store) => {
    const text = "x".repeat(1024 * 1024);
    for (const [i, size] of [5, 1, 1, 1, 1].entries()) {
      const profile = { text: text.repeat(size) };
      await add(store, "demo", { tokenId: `${i}`, profile });
      await tick();
    }
    const page = (page: number, pageSize: number) =>
      store.users.list("demo", { page, pageSize });
    await fails(t, page(1, 50), "large");
    await fails(t, page(1, 4), "large");
    t.equal((await page(1, 3)).users.length, 3);
    t.equal((await page(5, 1)).users.length, 1, "one alone is given always");
  });

  await contract("what is recorded of a file", async (t, store) => {
    const before = Date.now();
    for (const [extension, type] of [
      ["jpg", "image/jpeg"],
      ["mp3", "audio/mpeg"],
      ["xyz", "application/octet-stream"],
    ] as const) {
      const { id, record } = newFile("demo", { extension });
      await store.files.add("demo", { tokenId: "ada", traits }, record, 1e9);
      const [user] = await usersOf(store, "demo");
      const file = await store.files.get("demo", id);
      t.strictSame(
        { ...file, uploadedAt: 0 },
        { ...record, id, type, userId: user!.id, uploadedAt: 0 },
      );
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
    let writing = true;
    const writes = (async () => {
      for (let i = 0; i < 200; i++) {
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

  await contract("lists of a store that is closed", async (t, store) => {
    await store.close();
    const page = { page: 1, pageSize: 50 };
    for (const use of [
      () => store.users.list("demo", page),
      () => store.files.list("demo", page),
      () => store.files.get("demo", ABSENT),
      () => store.files.keys("demo"),
      () => store.files.delete("demo", ABSENT),
    ]) {
      await fails(t, use(), "unusable");
    }
  });
}
