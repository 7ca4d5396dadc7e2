import type { TokenIssuer } from "../../../../schemas/issuers.js";
import type { World } from "../../../../schemas/worlds.js";
import { type Contract, fails, idsOf, sees, selection } from "./setup.js";
import { keyOf, worldOf } from "../../../support/helper.js";

const at = (id: string, domain: string) => worldOf(id, { domain });

export async function worldContract(contract: Contract): Promise<void> {
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
    t.strictSame(await store.worlds.list({ limit: 100 }), [worldOf("demo"), world]);
    t.equal(await store.worlds.get("missing"), undefined);
  });

  await contract("no two worlds share an id or a domain", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    await fails(t, store.worlds.create(worldOf("demo")), "taken", "id");
    const domain = "demo.example.org";
    await fails(t, store.worlds.create(at("new", domain)), "taken", "domain");
    await fails(t, store.worlds.update("other", { title: "No", domain }), "taken", "domain");
    t.same((await store.worlds.get("other"))?.value, worldOf("other"));
    t.equal((await store.worlds.list({ limit: 100 })).length, 2);
    const own = await store.worlds.update("demo", { domain });
    t.equal(own.value.domain, domain, "its own is no other's");
    await store.worlds.delete("demo");
    await store.worlds.update("other", { domain });
    t.equal((await store.worlds.get("other"))?.value.domain, domain);
  });

  await contract("a host name is shared only by worlds that all name a port", async (t, store) => {
    const place = (id: string, domain: string) => store.worlds.create(at(id, domain));
    await place("bare", "bare.org");
    await place("a", "ported.org:8001");
    await place("b", "ported.org:8002");
    for (const domain of ["bare.org", "bare.org:8001", "ported.org", "ported.org:8001"]) {
      await fails(t, place("c", domain), "taken", "domain");
      await fails(t, store.worlds.update("demo", { domain }), "taken", "domain");
      const copy = { world: at("c", domain), rooms: [] };
      await fails(t, store.worlds.import(copy), "taken", "domain");
    }
    const free = ["ported.org:800", "ported.org:80012", "bare.org.uk", "x.bare.org"];
    for (const [i, domain] of [...free, "x.ported.org:8001", "bare.orgx:1"].entries()) {
      t.equal((await place(`free-${i}`, domain)).value.domain, domain);
    }
    const moved = await store.worlds.update("bare", { domain: "bare.org:8001" });
    t.equal(moved.value.domain, "bare.org:8001", "its own host stays free");
  });

  await contract("the world that a host stands for", async (t, store) => {
    const check = async (expected: Record<string, string>) => {
      for (const [id, hosts] of Object.entries(expected)) {
        for (const host of hosts.split(" ")) {
          t.equal((await store.worlds.at(host))?.value.id ?? "none", id, `"${host}"`);
        }
      }
    };
    const any = "demo.example.org demo.example.org:80 x.org x:1 ";
    await check({ demo: any });
    await store.worlds.create(at("a", "a.org:8001"));
    await store.worlds.create(at("b", "a.org:8002"));
    await check({
      demo: "demo.example.org demo.example.org:8001",
      a: "a.org:8001",
      b: "a.org:8002",
      none:
        "a.org a.org:8003 a.org:800 a.org:80010 example.org x.demo.example.org " +
        "demo_example.org % ",
    });
    t.strictSame(await store.worlds.at("a.org:8001"), await store.worlds.get("a"));
    await store.worlds.update("a", { domain: "moved.org" });
    await check({ none: "a.org:8001", a: "moved.org moved.org:1" });
    await store.worlds.delete("a");
    await check({ none: "moved.org", b: "a.org:8002" });
    await store.worlds.delete("b");
    await check({ demo: any });
    await store.worlds.delete("demo");
    await check({ none: "demo.example.org x.org" });
  });

  await contract("ids are in the order of their code points", async (t, store) => {
    const ids = ["a", "a-", "a-b", "a0", "ab", "b", "0"];
    for (const id of ids) await store.worlds.create(worldOf(id));
    const sorted = [...ids, "demo"].sort();
    t.strictSame(idsOf(await store.worlds.list({ limit: 100 })), sorted);
    for (const [i, after] of sorted.entries()) {
      const page = idsOf(await store.worlds.list({ after, limit: 2 }));
      t.strictSame(page, sorted.slice(i + 1, i + 3), `after ${after}`);
    }
    t.strictSame(idsOf(await store.worlds.list({ after: "bb", limit: 1 })), ["demo"]);
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
      ["rules, as a whole", { permission_config: {} }, { permission_config: {} }],
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

  await contract("a world is configured by keys", async (t, store, open) => {
    const other = await open();
    const { JWT_secrets } = worldOf("demo").config;
    const config = { theme: { a: 1, b: 2 }, JWT_secrets, locale: "en" };
    const before = await store.worlds.create({
      ...worldOf("new"),
      config: { ...config, JWT_secrets: [keyOf("new")] },
    });
    const forged = { ...keyOf("new"), secret: "x".repeat(40) };
    const steps: [changes: object, config: object][] = [
      [
        { config: { timezone: "UTC", theme: { c: 3 } } },
        { theme: { c: 3 }, JWT_secrets: [keyOf("new")], locale: "en", timezone: "UTC" },
      ],
      [
        { config: { JWT_secrets: [forged], locale: null, theme: undefined } },
        { theme: { c: 3 }, JWT_secrets: [keyOf("new")], locale: null, timezone: "UTC" },
      ],
    ];
    let last = before;
    for (const [changes, expected] of steps) {
      const changed = await store.worlds.configure("new", changes);
      t.equal(JSON.stringify(changed.value.config), JSON.stringify(expected), "in this order");
      t.not(changed.version, last.version);
      await sees(t, () => other.worlds.get("new"), changed);
      last = changed;
    }
    const again = await store.worlds.configure("new", {
      title: undefined,
      config: { timezone: "UTC" },
    });
    t.equal(again.version, last.version, "the same values, the same version");
    const named = await store.worlds.configure("new", {
      title: "Named",
      permission_config: { "world.view": ["x"] },
    });
    t.match(named.value, {
      title: "Named",
      permission_config: { "world.view": ["x"] },
      domain: before.value.domain,
    });
    t.strictSame(named.value.config, last.value.config);
    const { issuer, audience } = keyOf("new");
    t.strictSame(await store.worlds.issuing(issuer, audience), [named]);
    await fails(t, store.worlds.configure("none", { title: "x" }), "absent");
    const { version } = named;
    const title = { title: "by version" };
    await fails(t, store.worlds.configure("new", title, []), "changed");
    await store.worlds.configure("new", title, ["old", version]);
    const late = store.worlds.configure("new", { title: "late" }, [version]);
    await fails(t, late, "changed");
  });

  await contract("settings at the same time", async (t, store, open) => {
    const stores = [store, await open()];
    const names = Array.from({ length: 40 }, (_, i) => `key${i}`);
    await Promise.all(
      names.map((name, i) => stores[i % 2]!.worlds.configure("demo", { config: { [name]: i } })),
    );
    const stored = async () => {
      const { config } = (await store.worlds.get("demo"))!.value;
      return names.map((name) => config[name]);
    };
    const all = names.map((_, i): unknown => i);
    await sees(t, stored, all, "none is lost");
  });

  await contract("worlds are found by who issues", async (t, store) => {
    const shared = keyOf("shared");
    const rotated = { ...shared, secret: "rotated-".padEnd(40, "x") };
    await store.worlds.create(
      worldOf("a", { config: { JWT_secrets: [shared, keyOf("a"), rotated] } }),
    );
    await store.worlds.create(worldOf("b", { config: { JWT_secrets: [shared] } }));
    const issuing = async ({ issuer, audience } = shared) =>
      (await store.worlds.issuing(issuer, audience)).map(({ value }) => value.id).sort();
    t.strictSame(await issuing(), ["a", "b"]);
    t.strictSame(await issuing(keyOf("a")), ["a"]);
    t.strictSame(await issuing({ ...shared, audience: "x" }), []);
    const [demo] = await store.worlds.issuing(keyOf("demo").issuer, keyOf("demo").audience);
    t.strictSame(demo, await store.worlds.get("demo"));

    await store.worlds.update("a", { config: { JWT_secrets: [keyOf("a")] } });
    t.strictSame(await issuing(), ["b"]);
    await store.worlds.update("a", { config: { theme: 1 } as object });
    t.strictSame(await issuing(keyOf("a")), ["a"]);
    const issuer = { ...shared, secret: undefined, jwks: { keys: [{}] } };
    const JWT_issuers = [JSON.parse(JSON.stringify(issuer)) as TokenIssuer];
    await store.worlds.update("a", { config: { JWT_issuers } });
    t.strictSame(await issuing(), ["a", "b"], "also another issuer");
    await store.worlds.update("a", { config: { theme: 2 } as object });
    t.strictSame(await issuing(), ["a", "b"], "which stays, too");
    await store.worlds.configure("a", { config: { JWT_issuers: [] } });
    t.strictSame(await issuing(), ["a", "b"]);
    await store.worlds.update("a", { config: { JWT_issuers: [] } });
    t.strictSame(await issuing(), ["b"]);
    await store.worlds.delete("b");
    t.strictSame(await issuing(), []);
  });

  await contract("a world goes with its rooms", async (t, store) => {
    const { value: room } = await store.rooms.create("demo", { name: "x" });
    await store.worlds.delete("demo");
    t.equal(await store.worlds.get("demo"), undefined);
    t.equal(await store.rooms.get("demo", room.id), undefined);
    const list = async () => (await store.rooms.list("demo", selection())).value;
    t.strictSame(await list(), { count: 0, rooms: [] });
    await fails(t, store.rooms.update("demo", room.id, {}), "absent");
    await fails(t, store.rooms.delete("demo", room.id), "absent");
    await store.worlds.create(worldOf("demo"));
    t.strictSame(await list(), { count: 0, rooms: [] }, "a new world of that id has none of them");
  });

  await contract("which problem comes first", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    const { domain } = worldOf("other");
    const { version } = (await store.worlds.get("demo"))!;
    const cases: [id: string, versions: string[] | undefined, problem: string][] = [
      ["none", [], "absent"],
      ["demo", [], "changed"],
      ["demo", ["x"], "changed"],
      ["demo", ["x", version], "taken"],
      ["demo", undefined, "taken"],
    ];
    for (const [id, versions, problem] of cases) {
      await t.rejects(store.worlds.update(id, { domain }, versions), {
        name: "StoreError",
        problem,
      });
    }
    await t.rejects(store.worlds.create(worldOf("demo", { domain })), {
      name: "StoreError",
      problem: "taken",
      field: "id",
    });
    t.equal((await store.worlds.get("demo"))!.version, version);
  });
}
