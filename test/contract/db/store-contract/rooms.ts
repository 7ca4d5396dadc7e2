import type { RoomExtras, RoomSelection } from "../../../../db/contract/store.js";
import type { PermissionConfig } from "../../../../schemas/plain/permissions.js";
import type { Room, RoomChanges, RoomOrdering } from "../../../../schemas/rooms.js";
import { shown } from "../../../support/database.js";
import {
  ABSENT,
  add,
  beside,
  type Contract,
  fails,
  namesOf,
  sees,
  selection,
  wonOf,
} from "./setup.js";

const defaults: RoomExtras = {
  picture: null,
  import_id: null,
  pretalx_id: 0,
  force_join: false,
  schedule_data: null,
};

/** Names in code point order, which differs from the collation of every language. */
const NAMES = ["", " b", "B", "Z", "_", "-a", "a", "a-", "aB", "a b", "b", "é", "ﬀ", "\uffff", "🎪"]
  .map((name) => `${name}x`)
  .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

export async function roomContract(base: Contract): Promise<void> {
  const contract = beside(base);

  await contract("a room is kept as it was made", async (t, store) => {
    const least = await store.rooms.create("demo", { name: "least" });
    t.strictSame(JSON.parse(JSON.stringify(least.value)), {
      id: least.value.id,
      name: "least",
      description: "",
      module_config: [],
      permission_config: {},
      sorting_priority: 0,
      domain: "demo.example.org",
      extras: defaults,
    });
    const draft = {
      name: "Ünïcode 🎪",
      description: "\u2028*x*",
      module_config: [{ type: "a", deep: [{ x: null }] }, { type: "a" }],
      permission_config: { "room.view": [["x", "y"]] },
      sorting_priority: -(2 ** 31),
      domain: "own.org",
    };
    const whole = await store.rooms.create("demo", draft);
    t.same(shown(whole.value), { id: whole.value.id, ...draft });
    t.not(whole.value.id, least.value.id);
    for (const made of [least, whole]) {
      t.strictSame(await store.rooms.get("demo", made.value.id), made);
    }
    t.equal(await store.rooms.get("demo", ABSENT), undefined);
    t.equal(await store.rooms.get("other", whole.value.id), undefined);
    await fails(t, store.rooms.update("other", whole.value.id, {}), "absent");
    await fails(t, store.rooms.delete("other", whole.value.id), "absent");
  });

  await contract("a room is changed by fields", async (t, store) => {
    const { value } = await store.rooms.create("demo", { name: "x" });
    let expected: Room = value;
    const steps: Partial<Room>[] = [
      { name: "y" },
      { description: "d" },
      { module_config: [{ type: "a", b: 1 }] },
      { module_config: [{ type: "c" }] },
      { permission_config: { "room.view": ["x"] } },
      { permission_config: {} },
      { sorting_priority: 2 ** 31 - 1 },
      { domain: "own.org" },
      { id: value.id, name: "z", description: "" },
    ];
    for (const changes of steps) {
      expected = { ...expected, ...changes };
      const updated = await store.rooms.update("demo", value.id, changes);
      t.same(updated.value, expected);
      t.strictSame(await store.rooms.get("demo", value.id), updated);
    }
    await store.rooms.delete("demo", value.id);
    t.equal(await store.rooms.get("demo", value.id), undefined);
    await fails(t, store.rooms.delete("demo", value.id), "absent");
  });

  await contract("names are compared by their code points", async (t, store) => {
    for (const name of NAMES.toReversed()) await store.rooms.create("demo", { name });
    const names = async (ordering: RoomOrdering) =>
      namesOf((await store.rooms.list("demo", selection({ ordering }))).value.rooms);
    t.strictSame(await names("name"), NAMES);
    t.strictSame(await names("-name"), NAMES.toReversed());
    t.strictSame(await names("sorting_priority"), NAMES, "after priority");
    t.strictSame(await names("-sorting_priority"), NAMES, "also descending");
  });

  await contract("what is equal has an order, too", async (t, store) => {
    const rooms = await Promise.all(
      Array.from({ length: 36 }, async (_, i) => {
        const name = `room ${i % 3}`;
        const sorting_priority = [-(2 ** 31), 0, 2 ** 31 - 1][(i >> 2) % 3]!;
        const draft = { name, sorting_priority };
        return shown((await store.rooms.create("demo", draft)).value);
      }),
    );
    type Compared = (typeof rooms)[number];
    const by =
      (field: "id" | "name" | "sorting_priority", sign = 1) =>
      (a: Compared, b: Compared) =>
        a[field] === b[field] ? 0 : a[field] < b[field] ? -sign : sign;
    const priority = "sorting_priority";
    const orders: Record<RoomOrdering, ReturnType<typeof by>[]> = {
      sorting_priority: [by(priority), by("name"), by("id")],
      "-sorting_priority": [by(priority, -1), by("name"), by("id")],
      name: [by("name"), by(priority), by("id")],
      "-name": [by("name", -1), by(priority), by("id")],
    };
    for (const [ordering, compare] of Object.entries(orders)) {
      const expected = [...rooms].sort((a, b) =>
        compare.reduce((found, next) => found || next(a, b), 0),
      );
      const listed: Compared[] = [];
      for (let page = 1; page <= 6; page++) {
        const asked = { ordering: ordering as RoomOrdering, page, pageSize: 7 };
        const { value } = await store.rooms.list("demo", selection(asked));
        t.equal(value.count, rooms.length);
        listed.push(...value.rooms);
      }
      t.strictSame(listed, expected, `${ordering}, page by page`);
    }
  });

  await contract("a list is what was asked for", async (t, store) => {
    const m = { module_config: [{ type: "m" }] };
    const crew = { permission_config: { "room.view": ["crew"] } };
    for (const draft of [
      { name: "b", sorting_priority: 1, description: "Grüße" },
      { name: "a", sorting_priority: 1, ...m },
      { name: "c", sorting_priority: 0, ...m },
      { name: "d", sorting_priority: 2, description: "GRÜSSE", ...crew },
    ]) {
      await store.rooms.create("demo", draft);
      await store.rooms.create("other", draft);
    }
    const traits = new Set(["crew"]);
    const cases: [Partial<RoomSelection>, count: number, names: string][] = [
      [{}, 3, "cab"],
      [{ traits, ordering: "-sorting_priority" }, 4, "dabc"],
      [{ pageSize: 2 }, 3, "ca"],
      [{ pageSize: 2, page: 2 }, 3, "b"],
      [{ pageSize: 2, page: 3 }, 3, ""],
      [{ page: Math.floor(Number.MAX_SAFE_INTEGER / 1000), pageSize: 1000 }, 3, ""],
      [{ page: 1e23, pageSize: 1000, search: "A" }, 1, ""],
      [{ type: "m" }, 2, "ca"],
      [{ type: "M" }, 0, ""],
      [{ search: "grüsse" }, 1, "b"],
      [{ search: "GRÜẞE", traits }, 2, "bd"],
      [{ search: "a", type: "m" }, 1, "a"],
      [{ search: "grüße", traits, pageSize: 1, page: 2 }, 2, "d"],
    ];
    for (const [changes, count, names] of cases) {
      const { value: page } = await store.rooms.list("demo", selection(changes));
      const name = JSON.stringify({ ...changes, traits: undefined });
      t.strictSame([page.count, namesOf(page.rooms).join("")], [count, names], name);
    }
    const [first] = (await store.rooms.list("demo", selection())).value.rooms;
    t.strictSame(first, shown((await store.rooms.get("demo", first!.id))!.value));
    for (const world of ["none", "DEMO"]) {
      for (const search of [undefined, "A"]) {
        const { value } = await store.rooms.list(world, selection({ search }));
        t.strictSame(value, { count: 0, rooms: [] }, `${world}, search ${search}`);
      }
    }
  });

  await contract("a search finds a text as it is", async (t, store) => {
    const rooms: Record<string, string> = {
      percent: "100% sure",
      underscore: "a_b",
      backslash: "a\\b",
      quote: `it's "quoted"`,
      greek: "ΟΔΥΣΣΕΥΣ",
      turkish: "İstanbul",
      composed: "caf\u00e9",
      decomposed: "cafe\u0301",
      tent: "🎪",
      lines: "first\nsecond",
    };
    for (const [name, description] of Object.entries(rooms)) {
      await store.rooms.create("demo", { name, description });
    }
    const found: Record<string, string[]> = {
      percent: ["%", "0% S", "PERCENT"],
      underscore: ["_", "A_B"],
      backslash: ["\\"],
      quote: [`'S "Q`],
      greek: ["οδυσσ"],
      composed: ["CAFÉ"],
      decomposed: ["CAFE\u0301"],
      tent: ["🎪"],
      lines: ["first\nSECOND"],
      "": ["a%b", "\ud83c", "first.second", "tent🎪", ".*"],
    };
    for (const [name, searches] of Object.entries(found)) {
      for (const search of searches) {
        const { value } = await store.rooms.list("demo", selection({ search, ordering: "name" }));
        t.equal(namesOf(value.rooms).join(), name, JSON.stringify(search));
        t.equal(value.count, name ? 1 : 0, JSON.stringify(search));
      }
    }
  });

  await contract("a search follows what is changed", async (t, store) => {
    const { id } = (await store.rooms.create("demo", { name: "Old" })).value;
    const update = (changes: RoomChanges) => store.rooms.update("demo", id, changes);
    const steps: [() => Promise<unknown>, old: number, street: number][] = [
      [async () => {}, 1, 0],
      [() => update({ name: "Straße" }), 0, 1],
      [() => update({ description: "Old" }), 1, 1],
      [() => store.rooms.delete("demo", id), 0, 0],
    ];
    for (const [step, ...expected] of steps) {
      await step();
      const counts = ["OLD", "STRASSE"].map((search) =>
        store.rooms.list("demo", selection({ search })),
      );
      t.strictSame(
        (await Promise.all(counts)).map(({ value }) => value.count),
        expected,
      );
    }
  });

  await contract("a room counts once for its modules", async (t, store) => {
    const module_config = ["m", "m", "n", "a%", "ä"].map((type) => ({ type }));
    const { value } = await store.rooms.create("demo", { name: "a", module_config });
    const expectCounts = async (counts: Record<string, number>) => {
      for (const [type, count] of Object.entries(counts)) {
        t.equal((await store.rooms.list("demo", selection({ type }))).value.count, count, type);
      }
    };
    await expectCounts({ m: 1, n: 1, "a%": 1, a: 0, "%": 0, Ä: 0 });
    await store.rooms.update("demo", value.id, { module_config: [{ type: "x" }] });
    await expectCounts({ m: 0, x: 1 });
  });

  await contract("a list holds what its reader may see", async (t, store) => {
    const rooms: Record<string, PermissionConfig> = {
      n: {},
      o: { "room.view": [] },
      c: { "room.view": ["crew"] },
      e: { "room.view": [["crew", "vip"]] },
      b: { "room.view": ["crew", "vip"] },
      r: { "room.view": ["vip", "crew"] },
      z: { "room.view": [[]] },
    };
    for (const [name, permission_config] of Object.entries(rooms)) {
      await store.rooms.create("demo", { name, permission_config });
    }
    const check = async (rule: string, seen: Record<string, string>) => {
      for (const [traits, names] of Object.entries(seen)) {
        const asked = selection({ traits: new Set(traits.split(" ")), ordering: "name" });
        const { value } = await store.rooms.list("demo", asked);
        const name = `${rule}: "${traits}"`;
        t.equal(value.rooms.map(({ name }) => name).join(""), names, name);
        t.equal(value.count, names.length, name);
      }
    };
    await check("no rule of the world", {
      "": "no",
      crew: "ceno",
      vip: "eno",
      "crew vip": "bcenor",
      "vip crew more": "bcenor",
      CREW: "no",
    });
    await store.worlds.update("demo", { permission_config: { "room.view": ["staff"] } });
    await check("a rule of the world", {
      "": "o",
      staff: "no",
      crew: "ceo",
      "crew vip staff": "bcenor",
    });
    const { rooms: listed } = (await store.rooms.list("demo", selection({ ordering: "name" })))
      .value;
    await store.rooms.update("demo", listed[0]!.id, { permission_config: {} });
    await check("a room without its own", { "": "", staff: "no" });
  });

  await contract("a page is bounded by its bytes", async (t, store) => {
    const description = "é".repeat(500_000);
    for (let i = 0; i < 5; i++) await store.rooms.create("demo", { name: `${i}`, description });
    for (const filter of [{}, { search: "ÉÉ" }]) {
      const list = (pageSize: number) =>
        store.rooms.list("demo", selection({ ...filter, pageSize }));
      await fails(t, list(5), "large");
      t.equal((await list(4)).value.rooms.length, 4);
      t.equal((await list(1)).value.count, 5);
    }
    const large = { name: "large", description: "x".repeat(5 * 1024 * 1024) };
    await store.rooms.create("other", large);
    const { value } = await store.rooms.list("other", selection());
    t.match(value.rooms, [large], "one alone is always listed");
  });

  await contract("searches at the same time", async (t, store) => {
    const create = (i: number) => store.rooms.create("demo", { name: `room ${i % 4}` });
    await Promise.all(Array.from({ length: 20 }, (_, i) => create(i)));
    const count = async (search: string, page = 1) =>
      (await store.rooms.list("demo", selection({ search, page }))).value.count;
    const searches = Array.from({ length: 12 }, (_, i) => count(`ROOM ${i % 5}`, 1 + (i % 2)));
    t.strictSame(await Promise.all(searches), [5, 5, 5, 5, 0, 5, 5, 5, 5, 0, 5, 5]);
    const change = create(0);
    await count("room 0");
    await change;
    t.equal(await count("room 0"), 6, "a list read beside a write is not kept for after it");
  });

  await contract("abandoned searches take no places", async (t, store) => {
    const client = new AbortController();
    const { signal } = client;
    const abandoned = Array.from({ length: 60 }, (_, i) =>
      store.rooms.list("demo", selection({ search: `${i}`, signal })),
    );
    const settled = Promise.allSettled(abandoned);
    client.abort();
    const wanted = Array.from({ length: 60 }, (_, i) =>
      store.rooms.list("demo", selection({ search: `wanted ${i}` })),
    );
    t.equal((await Promise.all(wanted)).length, 60);
    await settled;
  });

  await contract("a page is of one moment", async (t, store) => {
    const made = Array.from({ length: 10 }, () => store.rooms.create("demo", { name: "" }));
    const rooms = await Promise.all(made);
    const hidden = { permission_config: { "room.view": ["crew"] } };
    const lists: Record<
      string,
      [
        write: (i: number) => Promise<unknown>,
        rounds: number,
        read: () => Promise<[number, number]>,
      ]
    > = {
      rooms: [
        (i) =>
          store.rooms.update(
            "demo",
            rooms[i % 10]!.value.id,
            i % 20 < 10 ? hidden : { permission_config: {} },
          ),
        300,
        async () => {
          const { value } = await store.rooms.list("demo", selection());
          return [value.count, value.rooms.length];
        },
      ],
      // Each deletion scrubs the database.
      files: [
        async () => store.files.delete("demo", await add(store)),
        40,
        async () => {
          const { count, files } = await store.files.list("demo", { page: 1, pageSize: 50 });
          return [count, files.length];
        },
      ],
    };
    for (const [name, [write, rounds, read]] of Object.entries(lists)) {
      let isWriting = true;
      const writes = (async () => {
        for (let i = 0; i < rounds; i++) await write(i);
      })().finally(() => (isWriting = false));
      let [torn, pages] = [0, 0];
      for (; isWriting; pages++) {
        const [count, length] = await read();
        if (count !== length) torn++;
        await new Promise(setImmediate);
      }
      await writes;
      t.ok(pages > 10, name);
      t.equal(torn, 0, `${name}: count and rows belong together`);
    }
  });

  await contract("the extras of a room", async (t, store, open) => {
    const other = await open();
    const made = await store.rooms.create("demo", { name: "x" });
    const { id } = made.value;
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
    const mixed = await store.rooms.update("demo", id, { name: "y", extras: { import_id: "i" } });
    t.match(mixed.value, { name: "y", extras: { import_id: "i" } });
    const unset = { description: undefined, extras: { import_id: undefined } };
    const named = await store.rooms.update("demo", id, { name: "z", ...unset });
    t.strictSame(named.value.extras, mixed.value.extras, "others keep them");
    await fails(t, store.rooms.update("demo", id, { extras: defaults }, [made.version]), "changed");
    const { rooms } = (await store.rooms.list("demo", selection())).value;
    t.strictSame(rooms, [shown(named.value)], "a list does not show them");

    const data = { session: 7, title: "T" };
    const set = await store.rooms.schedule("demo", id, data);
    t.strictSame({ ...set.value.extras }, { ...mixed.value.extras, schedule_data: data });
    t.strictSame(await store.rooms.get("demo", id), set);
    const over = await store.rooms.schedule("demo", id, null);
    t.equal(over.value.extras.schedule_data, null);
    await fails(t, store.rooms.schedule("none", id, data), "absent");
  });

  await contract("all rooms, also hidden ones", async (t, store) => {
    for (const draft of [
      { name: "b", sorting_priority: 1 },
      { name: "a", sorting_priority: 1, domain: "own.org" },
      { name: "c", sorting_priority: -1 },
      { name: "d", permission_config: { "room.view": ["nobody"] } },
    ]) {
      await store.rooms.create("demo", draft);
    }
    const pageOf = (page: number, pageSize: number, world = "demo") =>
      store.rooms.all(world, { page, pageSize });
    const all = await pageOf(1, 9);
    t.equal(all.map(({ value }) => value.name).join(""), "cdab");
    for (const room of all) t.strictSame(await store.rooms.get("demo", room.value.id), room);
    t.strictSame([...(await pageOf(1, 3)), ...(await pageOf(2, 3))], all);
    for (const none of [pageOf(3, 3), pageOf(2 ** 53 - 1, 1), pageOf(1, 9, "other")]) {
      t.strictSame(await none, []);
    }
    t.strictSame(await pageOf(1, 9, "none"), []);
    await store.rooms.update("demo", all[0]!.value.id, { extras: { picture: "p" } });
    t.equal((await pageOf(1, 1))[0]?.value.extras.picture, "p");
  });

  await contract("a room is opened behind the others", async (t, store) => {
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
    const highest = 2 ** 31 - 1;
    await store.rooms.create("demo", { name: "z", sorting_priority: highest });
    t.equal((await open("last")).value.sorting_priority, highest);
    await store.rooms.create("other", { name: "low", sorting_priority: -9 });
    const rivals = Array.from({ length: 8 }, () => open("rival", "other"));
    t.equal(wonOf(await Promise.allSettled(rivals)), 1, "of several at once, one");
  });

  await contract("rooms are put in order", async (t, store) => {
    const foreign = (await store.rooms.create("other", { name: "x", sorting_priority: 9 })).value;
    const idOf: Record<string, string> = {};
    for (const name of ["a", "b", "c", "d", "e"]) {
      idOf[name] = (await store.rooms.create("demo", { name })).value.id;
    }
    const reorder = (names: string) =>
      store.rooms.reorder(
        "demo",
        [...names].map((name) => idOf[name] ?? foreign.id),
      );
    const cases = { "": "abcde", "d?b": "dbace", eecde: "ecdba", e: "ecdba" };
    for (const [names, expected] of Object.entries(cases)) {
      await reorder(names);
      const all = await store.rooms.all("demo", { page: 1, pageSize: 9 });
      t.strictSame(
        all.map(({ value }) => [value.name, value.sorting_priority]),
        [...expected].map((name, i) => [name, i + 1]),
        names,
      );
    }
    const before = await store.rooms.get("demo", idOf.e!);
    await store.rooms.reorder("demo", [ABSENT, "x"]);
    t.strictSame(await store.rooms.get("demo", idOf.e!), before);
    await reorder("ce");
    t.not((await store.rooms.get("demo", idOf.e!))?.version, before?.version);
    t.equal((await store.rooms.get("other", foreign.id))?.value.sorting_priority, 9);
  });
}
