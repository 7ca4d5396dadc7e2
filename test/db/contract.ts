import type { Test } from "tap";
import type {
  RoomPage,
  RoomSelection,
  Store,
  StoreProblem,
  Versioned,
  WorldSelection,
} from "../../db/store.js";
import type { Room } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";
import { keyOf, worldOf } from "../helper.js";
import { filesOf, usersOf } from "../listed.js";
import { orderContract } from "./order-contract.js";
import { usersContract } from "./users-contract.js";

/** Opens one more store on a place; all stores of a place hold the same. */
export type Open = () => Store | Promise<Store>;

const ABSENT = "00000000-0000-4000-8000-000000000000";

/** The first page of all rooms for somebody without traits, with some of it different. */
const selection = (changes: Partial<RoomSelection> = {}): RoomSelection => ({
  traits: new Set(),
  page: 1,
  pageSize: 50,
  ordering: "sorting_priority",
  ...changes,
});

const isFrozen = (value: unknown): boolean =>
  typeof value !== "object" ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isFrozen));

/**
 * What every store keeps to, whatever it is made of.
 * @param place makes a new and empty place.
 */
export async function storeContract(
  t: Test,
  place: (t: Test) => Open | Promise<Open>,
): Promise<void> {
  /** A test with one store, that has the world `demo`. */
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
      await run(t, store, open);
    });

  const fails = (
    t: Test,
    promise: Promise<unknown>,
    problem: StoreProblem,
    field?: string,
  ) =>
    t.rejects(promise, {
      name: "StoreError",
      problem,
      ...(field !== undefined && { field }),
    });

  await contract("a world is kept as it was made", async (t, store) => {
    const world = worldOf("new", {
      title: "Ünïcode 🎪\u2028",
      config: {
        JWT_secrets: [keyOf("new"), keyOf("more")],
        theme: { colors: { primary: "#673ab7" }, odd: [null, 1.5, ""] },
      },
      permission_config: { "a.b": ["x", ["y", "z"]], "c.d": [] },
      domain: "new.example.org:8443",
    });
    const made = await store.worlds.create(world);
    t.strictSame(made.value, world);
    t.match(made.version, /^[^",]+$/, "a version fits in an ETag");
    t.strictSame(await store.worlds.get("new"), made);
    t.strictSame(await store.worlds.list({ limit: 100 }), [
      worldOf("demo"),
      world,
    ]);
    t.equal(await store.worlds.get("missing"), undefined);
  });

  await contract("no two worlds share an id or a domain", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    await fails(t, store.worlds.create(worldOf("demo")), "taken", "id");
    const domain = "demo.example.org";
    await fails(
      t,
      store.worlds.create(worldOf("new", { domain })),
      "taken",
      "domain",
    );
    await fails(
      t,
      store.worlds.update("other", { title: "No", domain }),
      "taken",
      "domain",
    );
    t.same((await store.worlds.get("other"))?.value, worldOf("other"));
    t.equal((await store.worlds.list({ limit: 100 })).length, 2);
    t.equal(
      (await store.worlds.update("demo", { domain })).value.domain,
      domain,
      "its own is no other's",
    );
    await store.worlds.delete("demo");
    await store.worlds.update("other", { domain });
    t.equal((await store.worlds.get("other"))?.value.domain, domain);
  });

  await contract(
    "a host name is shared only by worlds that all name a port",
    async (t, store) => {
      const place = (id: string, domain: string) =>
        store.worlds.create(worldOf(id, { domain }));
      await place("bare", "bare.org");
      await place("a", "ported.org:8001");
      await place("b", "ported.org:8002");
      const taken = [
        "bare.org",
        "bare.org:8001",
        "ported.org",
        "ported.org:8001",
      ];
      for (const domain of taken) {
        await fails(t, place("c", domain), "taken", "domain");
        await fails(
          t,
          store.worlds.update("demo", { domain }),
          "taken",
          "domain",
        );
        const copy = { world: worldOf("c", { domain }), rooms: [] };
        await fails(t, store.worlds.import(copy), "taken", "domain");
      }
      const free = [
        "ported.org:800",
        "ported.org:80012",
        "bare.org.uk",
        "x.bare.org",
        "x.ported.org:8001",
        "bare.orgx:1",
      ];
      for (const [i, domain] of free.entries()) {
        t.equal((await place(`free-${i}`, domain)).value.domain, domain);
      }
      const moved = await store.worlds.update("bare", {
        domain: "bare.org:8001",
      });
      t.equal(moved.value.domain, "bare.org:8001", "its own host stays free");
      t.equal(
        (await store.worlds.at("ported.org:8001"))?.value.id,
        "a",
        "each port leads to its world",
      );
      t.equal(await store.worlds.at("ported.org"), undefined);
    },
  );

  await contract("worlds are listed page by page", async (t, store) => {
    for (const id of ["b", "a", "c"]) await store.worlds.create(worldOf(id));
    const ids = async (selection: WorldSelection) =>
      (await store.worlds.list(selection)).map(({ id }) => id).join();
    t.equal(await ids({ limit: 2 }), "a,b");
    t.equal(await ids({ after: "b", limit: 2 }), "c,demo");
    t.equal(await ids({ after: "bb", limit: 1 }), "c");
    t.equal(await ids({ after: "demo", limit: 2 }), "");
  });

  await contract(
    "values are frozen, and versions name them",
    async (t, store) => {
      const module_config = [{ type: "a", config: { deep: [{ x: 1 }] } }];
      const made = await store.rooms.create("demo", {
        name: "a",
        module_config,
      });
      const first = await store.rooms.list("demo", selection());
      const records: [name: string, record: Versioned<object> | undefined][] = [
        ["a world", await store.worlds.get("demo")],
        ["a made world", await store.worlds.create(worldOf("new"))],
        ["a room", await store.rooms.get("demo", made.value.id)],
        ["a made room", made],
        ["a page", first],
        [
          "a search",
          await store.rooms.list("demo", selection({ search: "A" })),
        ],
      ];
      for (const [name, record] of records) {
        t.ok(Object.isFrozen(record), name);
        const sent = name.includes("page") || name.includes("search");
        t.equal(
          record!.json,
          JSON.stringify(
            sent ? (record!.value as RoomPage).rooms : record!.value,
          ),
          `${name}, as JSON`,
        );
        t.ok(isFrozen(record!.value), `${name}, with all that is in it`);
      }
      t.equal(
        (await store.rooms.list("demo", selection())).version,
        first.version,
        "the same page has the same version",
      );
      t.equal(
        (await store.rooms.list("demo", selection({ search: "a" }))).version,
        first.version,
        "however it was found",
      );
      await store.rooms.update("demo", made.value.id, { name: "b" });
      t.not(
        (await store.rooms.list("demo", selection())).version,
        first.version,
        "and another one has another",
      );
    },
  );

  await contract("a page is bounded by its bytes", async (t, store) => {
    const description = "é".repeat(500_000);
    for (let i = 0; i < 5; i++) {
      await store.rooms.create("demo", { name: `${i}`, description });
    }
    for (const filter of [{}, { search: "ÉÉ" }]) {
      const list = (pageSize: number) =>
        store.rooms.list("demo", selection({ ...filter, pageSize }));
      await fails(t, list(5), "large");
      t.equal((await list(4)).value.rooms.length, 4);
      t.equal((await list(1)).value.count, 5);
    }
  });

  await contract(
    "no page is too far, and no room too large",
    async (t, store) => {
      const far = { page: Number.MAX_SAFE_INTEGER, pageSize: 1000 };
      t.strictSame(await store.users.list("demo", far), {
        count: 0,
        users: [],
      });
      t.strictSame(await store.files.list("demo", far), {
        count: 0,
        files: [],
      });
      const farther = { page: 1e23, pageSize: 1000 };
      t.strictSame((await store.files.list("demo", farther)).files, []);
      t.strictSame(
        (await store.rooms.list("demo", selection(farther))).value.rooms,
        [],
      );
      const description = "x".repeat(5 * 1024 * 1024);
      await store.rooms.create("demo", { name: "large", description });
      const { value } = await store.rooms.list("demo", selection());
      t.equal(value.rooms[0]?.description.length, description.length);
    },
  );

  await contract("searches at the same time", async (t, store) => {
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        store.rooms.create("demo", { name: `room ${i % 4}` }),
      ),
    );
    const counts = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const asked = selection({ search: `ROOM ${i % 5}`, page: 1 + (i % 2) });
        return (await store.rooms.list("demo", asked)).value.count;
      }),
    );
    t.strictSame(counts, [5, 5, 5, 5, 0, 5, 5, 5, 5, 0, 5, 5]);
    const change = store.rooms.create("demo", { name: "room 0" });
    await store.rooms.list("demo", selection({ search: "room 0" }));
    await change;
    t.equal(
      (await store.rooms.list("demo", selection({ search: "room 0" }))).value
        .count,
      6,
      "a list that was read beside a write is not kept for after it",
    );
  });

  await contract("a world is changed by fields", async (t, store) => {
    const { JWT_secrets } = worldOf("demo").config;
    const steps: [
      name: string,
      changes: Parameters<typeof store.worlds.update>[1],
      result: Partial<World>,
    ][] = [
      ["a title", { title: "New" }, { title: "New" }],
      [
        "a config without keys keeps them",
        { config: { a: 1 } as object },
        { config: { JWT_secrets, a: 1 } },
      ],
      [
        "another replaces all but the keys",
        { config: { b: [] } as object },
        { config: { JWT_secrets, b: [] } },
      ],
      [
        "a config with keys replaces them",
        { config: { JWT_secrets: [keyOf("next")] } },
        { config: { JWT_secrets: [keyOf("next")] } },
      ],
      [
        "rules, as a whole",
        { permission_config: {} },
        { permission_config: {} },
      ],
      [
        "several at once",
        { title: "Last", domain: "last.org", id: "demo" },
        { title: "Last", domain: "last.org" },
      ],
    ];
    let expected = worldOf("demo");
    for (const [name, changes, result] of steps) {
      expected = { ...expected, ...result };
      const updated = await store.worlds.update("demo", changes);
      t.same(updated.value, expected, name);
      t.strictSame(await store.worlds.get("demo"), updated, name);
    }
    await fails(t, store.worlds.update("missing", {}), "absent");
  });

  await contract("worlds are found by who issues", async (t, store) => {
    const shared = keyOf("shared");
    const rotated = { ...shared, secret: "rotated-".padEnd(40, "x") };
    await store.worlds.create(
      worldOf("a", { config: { JWT_secrets: [shared, keyOf("a"), rotated] } }),
    );
    await store.worlds.create(
      worldOf("b", { config: { JWT_secrets: [shared] } }),
    );
    const issuing = async ({ issuer, audience } = shared) =>
      (await store.worlds.issuing(issuer, audience))
        .map(({ value }) => value.id)
        .sort();
    t.strictSame(await issuing(), ["a", "b"]);
    t.strictSame(await issuing(keyOf("a")), ["a"]);
    t.strictSame(await issuing({ ...shared, audience: "x" }), []);
    const [demo] = await store.worlds.issuing(
      keyOf("demo").issuer,
      keyOf("demo").audience,
    );
    t.strictSame(demo, await store.worlds.get("demo"));

    await store.worlds.update("a", { config: { JWT_secrets: [keyOf("a")] } });
    t.strictSame(await issuing(), ["b"]);
    await store.worlds.update("a", { config: { theme: 1 } as object });
    t.strictSame(await issuing(keyOf("a")), ["a"]);
    await store.worlds.delete("b");
    t.strictSame(await issuing(), []);
  });

  await contract("a world goes with its rooms", async (t, store) => {
    const { value: room } = await store.rooms.create("demo", { name: "x" });
    await store.worlds.delete("demo");
    t.equal(await store.worlds.get("demo"), undefined);
    t.equal(await store.rooms.get("demo", room.id), undefined);
    t.strictSame((await store.rooms.list("demo", selection())).value, {
      count: 0,
      rooms: [],
    });
    await fails(t, store.worlds.delete("demo"), "absent");
    await fails(t, store.rooms.create("demo", { name: "x" }), "absent");
    await fails(t, store.rooms.update("demo", room.id, {}), "absent");
    await fails(t, store.rooms.delete("demo", room.id), "absent");

    await store.worlds.create(worldOf("demo"));
    t.strictSame(
      (await store.rooms.list("demo", selection())).value,
      { count: 0, rooms: [] },
      "a new world of that id has none of them",
    );
  });

  await contract("a world moves as a whole", async (t, store) => {
    const plain = await store.rooms.create("demo", { name: "plain" });
    const own = await store.rooms.create("demo", {
      name: "own",
      description: "d",
      module_config: [{ type: "m", x: [null, 0.5] }],
      permission_config: { "room.view": ["crew"] },
      sorting_priority: -1,
      domain: "own.org",
    });
    await store.rooms.update("demo", plain.value.id, { name: "changed" });
    const before = {
      world: await store.worlds.update("demo", { title: "Changed" }),
      plain: await store.rooms.get("demo", plain.value.id),
      own: await store.rooms.get("demo", own.value.id),
    };
    const copy = (await store.worlds.export("demo"))!;
    t.same(
      copy.rooms.map(({ id, domain }) => ({ id, domain })),
      [
        { id: own.value.id, domain: "own.org" },
        { id: plain.value.id, domain: undefined },
      ],
      "rooms in order, with what is their own",
    );
    t.equal(await store.worlds.export("missing"), undefined);

    await store.worlds.delete("demo");
    await store.worlds.import(copy, { dryRun: true });
    t.equal(await store.worlds.get("demo"), undefined, "a dry run");
    t.strictSame(await store.worlds.import(copy), before.world);
    t.strictSame(await store.worlds.export("demo"), copy);
    t.strictSame(await store.worlds.get("demo"), before.world);
    t.strictSame(
      await store.rooms.get("demo", plain.value.id),
      before.plain,
      "versions included",
    );
    t.strictSame(await store.rooms.get("demo", own.value.id), before.own);
    const { issuer, audience } = keyOf("demo");
    t.strictSame(await store.worlds.issuing(issuer, audience), [before.world]);
    const counts = await Promise.all(
      [
        selection(),
        selection({ traits: new Set(["crew"]) }),
        selection({ traits: new Set(["crew"]), type: "m" }),
        selection({ search: "CHANGED" }),
      ].map(
        async (asked) => (await store.rooms.list("demo", asked)).value.count,
      ),
    );
    t.strictSame(counts, [1, 2, 1, 1], "found as it was");
  });

  await contract(
    "a world comes with all its rooms or not at all",
    async (t, store) => {
      const { value } = await store.rooms.create("demo", { name: "x" });
      const copyOf = (world: World, ...ids: string[]) => ({
        world,
        rooms: ids.map((id) => ({ id, name: "copy" })),
      });
      const domain = "demo.example.org";
      const cases: [field: string, ReturnType<typeof copyOf>][] = [
        ["id", copyOf(worldOf("demo", { domain: "free.org" }))],
        ["domain", copyOf(worldOf("new", { domain }), ABSENT)],
        ["rooms", copyOf(worldOf("new"), ABSENT, value.id)],
        ["rooms", copyOf(worldOf("new"), ABSENT, ABSENT)],
      ];
      for (const [field, copy] of cases) {
        for (const dryRun of [true, false]) {
          await fails(t, store.worlds.import(copy, { dryRun }), "taken", field);
        }
        t.equal(await store.worlds.get("new"), undefined);
        t.equal(await store.rooms.get("new", ABSENT), undefined);
      }
      const made = await store.worlds.import(copyOf(worldOf("new"), ABSENT));
      t.same(made.value, worldOf("new"));
      t.equal((await store.rooms.list("new", selection())).value.count, 1);

      const whole = (await store.worlds.export("new"))!;
      let writing = true;
      const writes = (async () => {
        for (let i = 0; i < 100; i++) {
          await store.worlds.delete("new");
          await store.worlds.import(whole);
        }
      })().finally(() => (writing = false));
      let torn = 0;
      while (writing) {
        const seen = await store.worlds.export("new");
        if (seen && seen.rooms.length !== 1) torn++;
        await new Promise(setImmediate);
      }
      await writes;
      t.equal(torn, 0, "nobody sees a part");
    },
  );

  await contract("a world leaves the names of its files", async (t, store) => {
    const uploader = { tokenId: "1", traits: new Set<string>() };
    const names = ["a", "b"].map((name) => `pub/demo/${name}`);
    for (const key of names) {
      const file = { key, size: 1, sha256: "" };
      await store.files.add("demo", uploader, file, 10);
    }
    t.same((await store.worlds.delete("demo")).sort(), names);
    t.notOk(await store.files.has(names[0]!));
  });

  await contract("a room is kept as it was made", async (t, store) => {
    const least = await store.rooms.create("demo", { name: "least" });
    t.strictSame(
      { ...least.value },
      {
        id: least.value.id,
        name: "least",
        description: "",
        module_config: [],
        permission_config: {},
        sorting_priority: 0,
        domain: "demo.example.org",
      },
    );
    const draft = {
      name: "Ünïcode 🎪",
      description: "\u2028*x*",
      module_config: [{ type: "a", deep: [{ x: null }] }, { type: "a" }],
      permission_config: { "room.view": [["x", "y"]] },
      sorting_priority: -(2 ** 31),
      domain: "own.org",
    };
    const whole = await store.rooms.create("demo", draft);
    t.same(whole.value, { id: whole.value.id, ...draft });
    t.not(whole.value.id, least.value.id);
    for (const made of [least, whole]) {
      t.strictSame(await store.rooms.get("demo", made.value.id), made);
    }
    t.equal(await store.rooms.get("demo", ABSENT), undefined);
    await store.worlds.create(worldOf("other"));
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

  await contract("a version names what a reader sees", async (t, store) => {
    const { value: room } = await store.rooms.create("demo", { name: "x" });
    const subjects: [
      name: string,
      get: () => Promise<Versioned<unknown> | undefined>,
      update: (
        text: string,
        versions?: string[],
      ) => Promise<Versioned<unknown>>,
    ][] = [
      [
        "world",
        () => store.worlds.get("demo"),
        (title, versions) => store.worlds.update("demo", { title }, versions),
      ],
      [
        "room",
        () => store.rooms.get("demo", room.id),
        (name, versions) =>
          store.rooms.update("demo", room.id, { name }, versions),
      ],
    ];
    for (const [name, get, update] of subjects) {
      const first = await update("a");
      t.strictSame(await update("a"), first, `${name}: no change`);
      const second = await update("b", ["x", first.version]);
      t.not(second.version, first.version, `${name}: a change`);
      await fails(t, update("c", [first.version]), "changed");
      await fails(t, update("b", []), "changed");
      t.strictSame(await get(), second, `${name}: nothing was written`);
      const third = await update("a");
      t.same(third.value, first.value);
      t.not(third.version, first.version, `${name}: a change back`);
    }

    const before = (await store.rooms.get("demo", room.id))!.version;
    await store.worlds.update("demo", { domain: "moved.org" });
    t.not(
      (await store.rooms.get("demo", room.id))!.version,
      before,
      "a room shows the domain of its world",
    );
    await fails(t, store.rooms.delete("demo", room.id, [before]), "changed");
    const { version } = (await store.rooms.get("demo", room.id))!;
    await store.rooms.delete("demo", room.id, [version]);
    await fails(t, store.rooms.delete("demo", room.id, [version]), "absent");
  });

  await contract("a list is what was asked for", async (t, store) => {
    const drafts = [
      { name: "b", sorting_priority: 1, description: "Grüße" },
      { name: "a", sorting_priority: 1, module_config: [{ type: "m" }] },
      { name: "c", sorting_priority: 0, module_config: [{ type: "m" }] },
      {
        name: "d",
        sorting_priority: 2,
        description: "GRÜSSE",
        permission_config: { "room.view": ["crew"] },
      },
    ];
    await store.worlds.create(worldOf("other"));
    for (const draft of drafts) {
      await store.rooms.create("demo", draft);
      await store.rooms.create("other", draft);
    }
    const crew = new Set(["crew"]);
    const cases: [Partial<RoomSelection>, count: number, names: string][] = [
      [{}, 3, "cab"],
      [{ traits: crew }, 4, "cabd"],
      [{ traits: crew, ordering: "-sorting_priority" }, 4, "dabc"],
      [{ traits: crew, ordering: "name" }, 4, "abcd"],
      [{ traits: crew, ordering: "-name" }, 4, "dcba"],
      [{ pageSize: 2 }, 3, "ca"],
      [{ pageSize: 2, page: 2 }, 3, "b"],
      [{ pageSize: 2, page: 3 }, 3, ""],
      [{ type: "m" }, 2, "ca"],
      [{ type: "M" }, 0, ""],
      [{ search: "grüsse" }, 1, "b"],
      [{ search: "GRÜẞE", traits: crew }, 2, "bd"],
      [{ search: "a", type: "m" }, 1, "a"],
      [{ search: "grüße", traits: crew, pageSize: 1, page: 2 }, 2, "d"],
    ];
    for (const [changes, count, names] of cases) {
      const { value: page } = await store.rooms.list(
        "demo",
        selection(changes),
      );
      const name = JSON.stringify({ ...changes, traits: undefined });
      t.equal(page.count, count, name);
      t.equal(page.rooms.map(({ name }) => name).join(""), names, name);
    }
    const [first] = (await store.rooms.list("demo", selection())).value.rooms;
    t.strictSame(
      first,
      (await store.rooms.get("demo", first!.id))?.value,
      "a room in a list is the room",
    );
  });

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
    t.equal(winners.length, 1, "one of those who knew the same version");

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

  await contract("a page is of one moment", async (t, store) => {
    const rooms = await Promise.all(
      Array.from({ length: 10 }, () =>
        store.rooms.create("demo", { name: "" }),
      ),
    );
    let writing = true;
    const hidden = { permission_config: { "room.view": ["crew"] } };
    const writes = (async () => {
      for (let i = 0; i < 300; i++) {
        const { id } = rooms[i % 10]!.value;
        const change = i % 20 < 10 ? hidden : { permission_config: {} };
        await store.rooms.update("demo", id, change);
      }
    })().finally(() => (writing = false));
    let torn = 0;
    let pages = 0;
    while (writing) {
      const { value: page } = await store.rooms.list("demo", selection());
      if (page.count !== page.rooms.length) torn++;
      pages++;
      await new Promise(setImmediate);
    }
    await writes;
    t.ok(pages > 10);
    t.equal(torn, 0, "count and rooms belong together");
  });

  const file = (key: string, size = 100) => ({ key, size, sha256: "00" });
  const ada = {
    tokenId: "ada",
    traits: new Set(["b", "a"]),
    profile: { display_name: "Ada" },
  };
  const guest = { clientId: "ada", traits: new Set<string>() };

  await contract("who uploads is a user", async (t, store) => {
    const users = () => usersOf(store, "demo");
    t.strictSame(await users(), []);
    const before = Date.now();
    await store.files.add("demo", ada, file("1"), 1000);
    await store.files.add("demo", guest, file("2"), 1000);
    const [second, first, ...rest] = (await users()).sort((a, b) =>
      (a.token_id ?? "").localeCompare(b.token_id ?? ""),
    );
    t.strictSame(rest, [], "a uid and a client ID of one name are two users");
    t.match(second, { token_id: null, client_id: "ada", traits: [] });
    t.equal(second?.profile, null);
    t.match(first, { token_id: "ada", client_id: null, traits: ["b", "a"] });
    t.strictSame(first?.profile, ada.profile);
    t.ok(first!.last_seen >= before && first!.last_seen <= Date.now());

    const later = { tokenId: "ada", traits: new Set(["c"]) };
    await store.files.add("demo", later, file("3"), 1000);
    const again = (await users()).find(({ id }) => id === first?.id);
    t.match(again, { traits: ["c"], profile: ada.profile });
    t.equal((await users()).length, 2);

    await store.worlds.create(worldOf("other"));
    await store.files.add("other", ada, file("4"), 1000);
    const [there] = await usersOf(store, "other");
    t.not(there?.id, first?.id, "of another world, another user");
  });

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

    t.strictSame((await store.worlds.delete("demo")).sort(), ["1", "2"]);
    t.equal(await store.files.has("1"), false, "they go with their world");
    t.equal(await store.files.size("demo"), 0);
    t.strictSame(await usersOf(store, "demo"), []);
    t.equal(await store.files.has("3"), true);
    t.strictSame(await store.worlds.delete("other"), ["3"]);
  });

  await contract("a user is erased", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    await store.files.add("demo", ada, file("1"), 1000);
    await store.files.add("demo", guest, file("2"), 1000);
    await store.files.add("other", ada, file("3"), 1000);
    const users = await usersOf(store, "demo");
    const { id } = users.find(({ client_id }) => client_id !== null)!;
    for (const name of [
      { token_id: "eve" },
      { token_id: "" },
      { user_id: ABSENT },
      { user_id: "ada" },
      { token_id: id },
    ]) {
      await fails(t, store.users.erase("demo", name), "absent");
    }
    await fails(t, store.users.erase("other", { user_id: id }), "absent");
    await fails(t, store.users.erase("none", { token_id: "ada" }), "absent");
    t.equal((await usersOf(store, "demo")).length, 2);

    await store.users.erase("demo", { token_id: "ada" });
    t.strictSame(
      (await usersOf(store, "demo")).map(({ client_id }) => client_id),
      ["ada"],
      "and not the guest of the same name",
    );
    await fails(t, store.users.erase("demo", { token_id: "ada" }), "absent");
    await store.users.erase("demo", { user_id: id });
    await fails(t, store.users.erase("demo", { user_id: id }), "absent");
    t.strictSame(await usersOf(store, "demo"), []);
    t.equal((await usersOf(store, "other")).length, 1);
    t.equal((await filesOf(store, "demo")).length, 2, "files stay");
    t.equal(await store.files.size("demo"), 200);

    await store.files.add("demo", ada, file("4"), 1000);
    const [back, ...rest] = await usersOf(store, "demo");
    t.strictSame(rest, []);
    t.notOk(
      users.some((user) => user.id === back?.id),
      "somebody new",
    );
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
      t.same((await get())?.value, value);
      t.equal((await list()).value.count, 1);
      const updated = await writer.rooms.update("demo", value.id, {
        name: "b",
      });
      t.strictSame(await get(), updated, "with the same version");
      t.equal((await list()).value.rooms[0]?.name, "b");
      await fails(
        t,
        reader.rooms.update("demo", value.id, { name: "c" }, ["x"]),
        "changed",
      );
      const world = await writer.worlds.update("demo", {
        config: { JWT_secrets: [keyOf(`key of ${value.id}`)] },
      });
      t.strictSame(await reader.worlds.get("demo"), world);
      const { issuer, audience } = world.value.config.JWT_secrets[0]!;
      t.strictSame(await reader.worlds.issuing(issuer, audience), [world]);
      await writer.rooms.delete("demo", value.id);
      t.equal(await get(), undefined);
      t.equal((await list()).value.count, 0);
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

  await usersContract(t, place);
  await orderContract(t, place);
}
