import type { RoomExtras } from "../../../db/contract/store.js";
import { worldOf } from "../../helper.js";
import { shown } from "../../listed.js";
import { ABSENT, type Contract, fails, sees, selection } from "./setup.js";

const defaults: RoomExtras = {
  picture: null,
  import_id: null,
  pretalx_id: 0,
  force_join: false,
  schedule_data: null,
};

export async function roomExtraContract(contract: Contract): Promise<void> {
  await contract("the extras of a room", async (t, store, open) => {
    const other = await open();
    const made = await store.rooms.create("demo", { name: "x" });
    const { id } = made.value;
    t.strictSame({ ...made.value.extras }, defaults);
    const versions = new Set([made.version]);
    let expected = defaults;
    const steps: Partial<RoomExtras>[] = [
      { picture: "/media/x.png" },
      { pretalx_id: 42, force_join: true },
      { schedule_data: { title: "Talk", "2": [null], "1": {} } },
      { import_id: "", picture: null },
      defaults,
    ];
    for (const extras of steps) {
      expected = { ...expected, ...extras };
      const name = JSON.stringify(extras);
      const changed = await store.rooms.update("demo", id, { extras });
      t.strictSame({ ...changed.value.extras }, expected, name);
      t.equal(changed.json, made.json, "REST shows nothing of it");
      t.notOk(versions.has(changed.version), "another version");
      versions.add(changed.version);
      for (const reader of [store, other]) {
        await sees(t, () => reader.rooms.get("demo", id), changed, name);
      }
      const kept = await store.rooms.update("demo", id, { extras });
      t.equal(kept.version, changed.version, "the same again changes nothing");
    }
    const mixed = await store.rooms.update("demo", id, {
      name: "y",
      extras: { import_id: "i" },
    });
    t.match(mixed.value, { name: "y", extras: { import_id: "i" } });
    t.throws(() => {
      (mixed.value.extras as RoomExtras).picture = "x";
    }, "frozen");
    const named = await store.rooms.update("demo", id, {
      name: "z",
      description: undefined,
      extras: { import_id: undefined },
    });
    t.strictSame(named.value.extras, mixed.value.extras, "others keep them");
    const stale = store.rooms.update("demo", id, { extras: defaults }, [
      made.version,
    ]);
    await fails(t, stale, "changed");
    const { rooms } = (await store.rooms.list("demo", selection())).value;
    t.strictSame(rooms, [shown(named.value)], "a list does not show them");
  });

  await contract("what is on in a room", async (t, store) => {
    const { value } = await store.rooms.create("demo", { name: "x" });
    const data = { session: 7, title: "T" };
    await store.rooms.update("demo", value.id, { extras: { picture: "p" } });
    const set = await store.rooms.schedule("demo", value.id, data);
    const expected = { ...defaults, picture: "p", schedule_data: data };
    t.strictSame({ ...set.value.extras }, expected);
    t.strictSame(await store.rooms.get("demo", value.id), set);
    const unset = await store.rooms.schedule("demo", value.id, null);
    t.equal(unset.value.extras.schedule_data, null);
    await fails(t, store.rooms.schedule("demo", ABSENT, data), "absent");
    await fails(t, store.rooms.schedule("none", value.id, data), "absent");
  });

  await contract("all rooms, also hidden ones", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    const drafts = [
      { name: "b", sorting_priority: 1 },
      { name: "a", sorting_priority: 1, domain: "own.org" },
      { name: "c", sorting_priority: -1 },
      { name: "d", permission_config: { "room.view": ["nobody"] } },
    ];
    for (const draft of drafts) await store.rooms.create("demo", draft);
    const pageOf = (page: number, pageSize: number) =>
      store.rooms.all("demo", { page, pageSize });
    const all = await pageOf(1, 9);
    t.strictSame(
      all.map(({ value }) => value.name),
      ["c", "d", "a", "b"],
    );
    for (const room of all) {
      t.strictSame(await store.rooms.get("demo", room.value.id), room);
      t.ok(Object.isFrozen(room.value));
    }
    t.strictSame([...(await pageOf(1, 3)), ...(await pageOf(2, 3))], all);
    t.strictSame(await pageOf(3, 3), []);
    t.strictSame(await pageOf(Number.MAX_SAFE_INTEGER, 1), []);
    const first = { page: 1, pageSize: 9 };
    t.strictSame(await store.rooms.all("other", first), []);
    t.strictSame(await store.rooms.all("none", first), []);
    const { id } = all[0]!.value;
    await store.rooms.update("demo", id, { extras: { picture: "p" } });
    t.equal((await pageOf(1, 1))[0]?.value.extras.picture, "p");
  });

  await contract("a room is opened behind the others", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    const open = (name: string, world = "demo") =>
      store.rooms.open(world, { name, sorting_priority: -5 });
    const first = await open("first");
    t.match(first.value, { name: "first", sorting_priority: 1 });
    t.strictSame(await store.rooms.get("demo", first.value.id), first);
    await store.rooms.create("demo", { name: "Straße", sorting_priority: 7 });
    t.equal((await open("next")).value.sorting_priority, 8);
    for (const name of ["first", "FIRST", "STRASSE", "strasse"]) {
      await fails(t, open(name), "taken", "name");
    }
    t.equal((await open("first", "other")).value.sorting_priority, 1);
    await fails(t, open("x", "none"), "absent");
    const highest = 2 ** 31 - 1;
    await store.rooms.create("demo", { name: "z", sorting_priority: highest });
    t.equal((await open("last")).value.sorting_priority, highest);
    await store.rooms.create("other", { name: "low", sorting_priority: -9 });

    const rivals = await Promise.allSettled(
      Array.from({ length: 8 }, () => open("rival", "other")),
    );
    const won = rivals.filter(({ status }) => status === "fulfilled");
    t.equal(won.length, 1, "of several at once, one");
  });

  await contract("rooms are put in order", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    const { value: foreign } = await store.rooms.create("other", {
      name: "x",
      sorting_priority: 9,
    });
    const idOf: Record<string, string> = {};
    for (const name of ["a", "b", "c", "d", "e"]) {
      const made = await store.rooms.create("demo", { name });
      idOf[name] = made.value.id;
    }
    const order = async () =>
      (await store.rooms.all("demo", { page: 1, pageSize: 9 })).map(
        ({ value }) => [value.name, value.sorting_priority],
      );
    const reorder = (names: string) =>
      store.rooms.reorder(
        "demo",
        [...names].map((name) => idOf[name] ?? foreign.id),
      );
    const cases: [names: string, order: string][] = [
      ["", "abcde"],
      ["d?b", "dbace"],
      ["eecde", "ecdba"],
      ["e", "ecdba"],
    ];
    for (const [names, expected] of cases) {
      await reorder(names);
      t.strictSame(
        await order(),
        [...expected].map((name, i) => [name, i + 1]),
        names,
      );
    }
    const before = await store.rooms.get("demo", idOf.e!);
    await store.rooms.reorder("demo", [ABSENT, "x"]);
    t.strictSame(await store.rooms.get("demo", idOf.e!), before);
    await reorder("ce");
    const moved = await store.rooms.get("demo", idOf.e!);
    t.not(moved?.version, before?.version);
    const far = await store.rooms.get("other", foreign.id);
    t.equal(far?.value.sorting_priority, 9);
    await store.rooms.reorder("none", [foreign.id]);
  });
}
