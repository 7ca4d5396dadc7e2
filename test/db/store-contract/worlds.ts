import type { TokenIssuer } from "../../../schemas/issuers.js";
import type { WorldSelection } from "../../../db/contract/store.js";
import type { World } from "../../../schemas/worlds.js";
import { keyOf, worldOf } from "../../helper.js";
import { type Contract, fails, selection } from "./setup.js";

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
}
