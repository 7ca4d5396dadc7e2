import { filesOf, usersOf } from "../../listed.js";
import { ada, add, type Contract, fails, file, guest } from "./setup.js";

/** What every store keeps to when many upload at once. */
export async function uploadContract(contract: Contract): Promise<void> {
  await contract(
    "uploads at once stay within the quota",
    async (t, store, open) => {
      const stores = [store, await open()];
      const settled = await Promise.allSettled(
        Array.from({ length: 12 }, (_, i) =>
          stores[i % 2]!.files.add("demo", ada, file(`${i}`, 300), 1000),
        ),
      );
      const done = settled.filter(({ status }) => status === "fulfilled");
      t.equal(done.length, 3);
      for (const one of settled) {
        if (one.status === "rejected")
          t.match(one.reason, { problem: "quota" });
      }
      t.equal(await store.files.size("demo"), 900);
      t.equal((await filesOf(store, "demo")).length, 3);
      await store.files.add("demo", ada, file("last", 100), 1000);
      await fails(t, store.files.add("demo", ada, file("x", 1), 1000), "quota");
      await fails(t, store.files.add("demo", ada, file("x", 0), 999), "quota");
    },
  );

  await contract(
    "first uploads at once make one user",
    async (t, store, open) => {
      const stores = [store, await open()];
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          add(stores[i % 2]!, "demo", i % 4 < 2 ? ada : guest),
        ),
      );
      for (const one of stores) {
        t.equal((await usersOf(one, "demo")).length, 2);
        t.equal((await filesOf(one, "demo")).length, 20);
      }
      const owners = new Set(
        (await filesOf(store, "demo")).map(({ userId }) => userId),
      );
      t.equal(owners.size, 2);
    },
  );

  await contract(
    "files of one moment stand on one page each",
    async (t, store) => {
      const ids = await Promise.all(
        Array.from({ length: 30 }, () => add(store)),
      );
      const listed: string[] = [];
      for (let page = 1; page <= 5; page++) {
        const { count, files } = await store.files.list("demo", {
          page,
          pageSize: 7,
        });
        t.equal(count, 30);
        listed.push(...files.map(({ id }) => id));
      }
      t.strictSame([...listed].sort(), [...ids].sort());
      const files = await filesOf(store, "demo");
      t.strictSame(
        files.map(({ id }) => id),
        listed,
        "in the order of one page",
      );
      t.strictSame(
        files.map(({ uploadedAt }) => uploadedAt),
        files.map(({ uploadedAt }) => uploadedAt).sort((a, b) => b - a),
        "the newest first",
      );
    },
  );

  await contract("an erased user stays erased", async (t, store) => {
    await store.files.add("demo", ada, file("1"), 1000);
    const { id } = (await usersOf(store, "demo"))[0]!;
    const erased = await Promise.allSettled([
      store.users.erase("demo", { token_id: "ada" }),
      store.users.erase("demo", { user_id: id }),
      store.users.erase("demo", { user_id: id }),
    ]);
    const done = erased.filter(({ status }) => status === "fulfilled");
    t.equal(done.length, 1, "once");
    await store.files.add("demo", ada, file("2"), 1000);
    await fails(t, store.users.erase("demo", { user_id: id }), "absent");
    const [file2, file1] = await filesOf(store, "demo");
    t.equal(file1?.userId, null, "an upload does not bring files back");
    t.not(file2?.userId, null);
    await store.worlds.delete("demo");
    t.match(await store.counts(), { users: 0, fileBytes: 0 });
  });
}
