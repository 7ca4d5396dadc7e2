import { keyOf, worldOf } from "../../helper.js";
import { usersOf } from "../../listed.js";
import {
  ABSENT,
  type Contract,
  fails,
  file,
  guest,
  sees,
  selection,
} from "./setup.js";

/** What every store keeps to from its opening to its end, alone and beside others. */
export async function lifetimeContract(contract: Contract): Promise<void> {
  await contract("writes at the same time", async (t, store) => {
    const made = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        store.rooms.create("demo", { name: String(i) }),
      ),
    );
    t.equal(new Set(made.map(({ value }) => value.id)).size, 100);
    t.equal((await store.rooms.list("demo", selection())).value.count, 100);

    const { id } = made[0]!.value;
    const { version } = made[0]!;
    const settled = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) =>
        store.rooms.update("demo", id, { name: `by ${i}` }, [version]),
      ),
    );
    const winners = settled.filter(({ status }) => status === "fulfilled");
    t.equal(winners.length, 1, "one of the writers with the same version");

    // What fails takes nothing with it that was under way beside it.
    const [good, bad, alsoGood] = await Promise.allSettled([
      store.worlds.create(worldOf("good")),
      store.worlds.create(worldOf("bad", { domain: "good.example.org" })),
      store.rooms.create("good", { name: "x" }),
    ]);
    t.equal(good.status, "fulfilled");
    t.match(bad, { reason: { problem: "taken" } });
    t.equal(alsoGood.status, "fulfilled");

    // Not even when it fails after it has written something.
    const name = "beside it";
    const half = {
      world: worldOf("half"),
      rooms: [ABSENT, id].map((id) => ({ id, name })),
    };
    const around = await Promise.allSettled([
      store.rooms.update("demo", id, { name }),
      store.worlds.import(half),
      store.rooms.update("demo", id, { name: "too late" }, [version]),
      store.rooms.create("good", { name }),
      store.worlds.import(half),
    ]);
    t.match(around, [
      { value: { value: { id, name } } },
      { reason: { problem: "taken", field: "rooms" } },
      { reason: { problem: "changed" } },
      { value: { value: { name } } },
      { reason: { problem: "taken", field: "rooms" } },
    ]);
    t.equal((await store.rooms.get("demo", id))?.value.name, name);
    t.equal(await store.worlds.get("half"), undefined);
    t.equal((await store.rooms.list("good", selection())).value.count, 2);
  });

  await contract("two stores on one place", async (t, store, open) => {
    const other = await open();
    t.strictSame(
      await other.worlds.get("demo"),
      await store.worlds.get("demo"),
    );

    // Each reads first, so that it has something to be wrong about.
    for (const [writer, reader] of [
      [store, other],
      [other, store],
    ] as const) {
      const { value } = await writer.rooms.create("demo", { name: "a" });
      const get = () => reader.rooms.get("demo", value.id);
      const list = () => reader.rooms.list("demo", selection());
      const names = async () =>
        (await list()).value.rooms.map(({ name }) => name);
      t.same((await get())?.value, value);
      await sees(t, names, ["a"]);
      const updated = await writer.rooms.update("demo", value.id, {
        name: "b",
      });
      await sees(t, get, updated);
      t.equal((await get())?.version, updated.version, "with the same version");
      await sees(t, names, ["b"]);
      await fails(
        t,
        reader.rooms.update("demo", value.id, { name: "c" }, ["x"]),
        "changed",
      );
      const world = await writer.worlds.update("demo", {
        config: { JWT_secrets: [keyOf(`key of ${value.id}`)] },
      });
      await sees(t, () => reader.worlds.get("demo"), world);
      const { issuer, audience } = world.value.config.JWT_secrets[0]!;
      await sees(t, () => reader.worlds.issuing(issuer, audience), [world]);
      await writer.rooms.delete("demo", value.id);
      await sees(t, get, undefined);
      await sees(t, names, []);
    }

    const writes = await Promise.allSettled(
      [store, other].flatMap((one) =>
        Array.from({ length: 20 }, (_, i) =>
          one.worlds.create(worldOf(`world-${i}`)),
        ),
      ),
    );
    const made = writes.filter(({ status }) => status === "fulfilled");
    t.equal(made.length, 20, "each was made by one of them");
    t.equal((await store.worlds.list({ limit: 100 })).length, 21);
  });

  await contract(
    "what is written outlives the store",
    async (t, store, open) => {
      const { value: room } = await store.rooms.create("demo", { name: "x" });
      // Not waited for: closing finishes what is under way.
      const last = store.rooms.update("demo", room.id, { name: "last" });
      await store.close();
      t.equal((await last).value.name, "last");
      const again = await open();
      t.strictSame(await again.rooms.get("demo", room.id), await last);
      t.strictSame((await again.worlds.get("demo"))?.value, worldOf("demo"));
    },
  );

  await contract("how much there is", async (t, store, open) => {
    const other = await open();
    const sha256 = "0".repeat(64);
    const traits = new Set<string>();
    const has = async (counts: object, name: string) => {
      for (const one of [store, other])
        t.match(await one.counts(), counts, name);
    };
    await has({ worlds: 1, rooms: 0, users: 0, fileBytes: 0 }, "at first");
    const { databaseBytes } = await store.counts();
    t.ok(databaseBytes > 0);

    await store.worlds.create(worldOf("other"));
    for (const world of ["demo", "other"]) {
      await store.rooms.create(world, { name: "a" });
      const open = { "room.view": [] };
      await store.rooms.create(world, { name: "b", permission_config: open });
      for (const [i, uploader] of [
        { clientId: "x", traits },
        { clientId: "x", traits },
        { tokenId: "x", traits },
      ].entries()) {
        const file = { key: `${world}/${i}`, size: 100, sha256 };
        await store.files.add(world, uploader, file, 1000);
      }
    }
    await has(
      { worlds: 2, rooms: 4, users: 4, fileBytes: 600 },
      "in two worlds",
    );
    await store.users.erase("other", { token_id: "x" });
    await has({ worlds: 2, users: 3, fileBytes: 600 }, "without the erased");
    await store.worlds.delete("other");
    await has(
      { worlds: 1, rooms: 2, users: 2, fileBytes: 300 },
      "a world less",
    );
  });

  await contract("a store that is closed", async (t, store) => {
    await store.close();
    await store.close();
    for (const use of [
      () => store.worlds.get("demo"),
      () => store.worlds.list({ limit: 100 }),
      () => store.rooms.list("demo", selection()),
      () => store.counts(),
      () => store.worlds.update("demo", {}),
      () => store.rooms.create("demo", { name: "x" }),
      () => usersOf(store, "demo"),
      () => store.users.erase("demo", { token_id: "x" }),
      () => store.files.has("x"),
      () => store.files.add("demo", guest, file("x"), 1000),
    ]) {
      await fails(t, use(), "unusable");
    }
  });

  await contract("lists of a store that is closed", async (t, store) => {
    await store.worlds.create(worldOf("other"));
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
