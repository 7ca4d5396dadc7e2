import { exported } from "../../exported.js";
import { keyOf, worldOf } from "../../helper.js";
import { ada, type Contract, file, selection } from "./setup.js";
import { usersOf } from "../../listed.js";

/** What a JSON document may hold that an engine may be tempted to change. */
const odd = {
  numbers: [0.1, -5, 1e21, 5e-324, Number.MAX_VALUE, 2 ** 53, 1.0],
  texts: ["", " a ", "caf\u00e9", "cafe\u0301", "\uffff\u{10ffff}", "\u0001\t"],
  others: [true, false, null, [], {}, [[]]],
  "": { "a.b": 1, $ref: "#", ä: 2, "0": 3, "'": 4, "{}": 5 },
};

export async function valueContract(contract: Contract): Promise<void> {
  await contract("values read back as they were given", async (t, store) => {
    const config = { JWT_secrets: [keyOf("odd")], odd };
    const title = odd.texts.join("|");
    const world = worldOf("odd", { config, title });
    await store.worlds.create(world);
    t.strictSame((await store.worlds.get("odd"))?.value, world);

    const module_config = [{ type: "m", odd }];
    const draft = { name: title, description: title, module_config };
    const { value: room } = await store.rooms.create("odd", draft);
    t.match((await store.rooms.get("odd", room.id))?.value, draft);
    const { rooms } = (await store.rooms.list("odd", selection())).value;
    t.strictSame(rooms[0]?.module_config, module_config);
    const copy = (await exported(store, "odd")).rows;
    t.equal(copy.worlds![0]!.config, JSON.stringify(config));
    const stored = JSON.stringify(module_config);
    t.equal(copy.rooms![0]!.module_config, stored);

    const uploader = { tokenId: title, traits: new Set(["ä|"]), profile: odd };
    await store.files.add("odd", uploader, file("1"), 100);
    t.match(await usersOf(store, "odd"), [
      { token_id: title, traits: ["ä|"], profile: odd },
    ]);
  });

  await contract("what differs is kept apart", async (t, store) => {
    const keys = ["a", "A", "a ", "\u00e9", "e\u0301"].map((name) => ({
      ...keyOf("demo"),
      issuer: name,
      audience: name,
    }));
    await store.worlds.update("demo", { config: { JWT_secrets: keys } });
    for (const { issuer } of keys) {
      t.equal((await store.worlds.issuing(issuer, issuer)).length, 1);
      await store.files.add(
        "demo",
        { ...ada, tokenId: issuer },
        file(issuer),
        1e9,
      );
    }
    t.strictSame(await store.worlds.issuing("a", "A"), []);
    t.strictSame(await store.worlds.issuing("e", "e"), []);
    t.equal((await usersOf(store, "demo")).length, keys.length);
    await store.users.erase("demo", { token_id: "A" });
    t.equal((await usersOf(store, "demo")).length, keys.length - 1);
    t.strictSame(
      await Promise.all(
        ["a", "A", "A ", "E\u0301"].map((key) => store.files.has(key)),
      ),
      [true, true, false, false],
    );
    for (const id of ["DEMO", "demo ", "dem", "dem_", "d%"]) {
      t.equal(await store.worlds.get(id), undefined, `"${id}"`);
    }
  });

  await contract(
    "ids are in the order of their code points",
    async (t, store) => {
      const ids = ["a", "a-", "a-b", "a0", "ab", "b", "0"];
      for (const id of ids) await store.worlds.create(worldOf(id));
      const sorted = [...ids, "demo"].sort();
      t.strictSame(
        (await store.worlds.list({ limit: 100 })).map(({ id }) => id),
        sorted,
      );
      for (const [i, after] of sorted.entries()) {
        const [next] = await store.worlds.list({ after, limit: 1 });
        t.equal(next?.id, sorted[i + 1], `after ${after}`);
      }
    },
  );

  await contract("a caller may change what it gave", async (t, store) => {
    const module_config = [{ type: "m", list: [1] }];
    const draft = { name: "a", module_config };
    const { value } = await store.rooms.create("demo", draft);
    module_config[0]!.list.push(2);
    const world = worldOf("new");
    await store.worlds.create(world);
    world.config.JWT_secrets.length = 0;
    t.match((await store.rooms.get("demo", value.id))?.value, {
      module_config: [{ type: "m", list: [1] }],
    });
    t.strictSame((await store.worlds.get("new"))?.value, worldOf("new"));
  });

  await contract("a room without a domain of its own", async (t, store) => {
    const { value } = await store.rooms.create("demo", {
      name: "a",
      domain: "own.org",
    });
    const domain = async () =>
      (await store.rooms.get("demo", value.id))?.value.domain;
    t.equal(await domain(), "own.org");
    await store.worlds.update("demo", { domain: "moved.org" });
    t.equal(await domain(), "own.org");
    await store.rooms.update("demo", value.id, { domain: null });
    t.equal(await domain(), "moved.org");
    await store.worlds.update("demo", { domain: "again.org" });
    t.equal(await domain(), "again.org");
    const [listed] = (await store.rooms.list("demo", selection())).value.rooms;
    t.equal(listed?.domain, "again.org", "in a list, too");
  });
}
