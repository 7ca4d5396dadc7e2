import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import { type Contract, selection } from "./setup.js";

/** What every store keeps to when it leaves rooms out of a list. */
export async function roomFilterContract(contract: Contract): Promise<void> {
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
    const cases: [search: string, found: string[]][] = [
      ["%", ["percent"]],
      ["0% S", ["percent"]],
      ["_", ["underscore"]],
      ["A_B", ["underscore"]],
      ["a%b", []],
      ["\\", ["backslash"]],
      ["'S \"Q", ["quote"]],
      ["οδυσσ", ["greek"]],
      ["CAFÉ", ["composed"]],
      ["CAFE\u0301", ["decomposed"]],
      ["🎪", ["tent"]],
      ["\ud83c", []],
      ["first\nSECOND", ["lines"]],
      ["first.second", []],
      ["tent🎪", []],
      ["PERCENT", ["percent"]],
      [".*", []],
    ];
    for (const [search, found] of cases) {
      const asked = selection({ search, ordering: "name" });
      const { value } = await store.rooms.list("demo", asked);
      const names = value.rooms.map(({ name }) => name);
      t.strictSame(names, found, JSON.stringify(search));
      t.equal(value.count, found.length, JSON.stringify(search));
    }
  });

  await contract("a search follows what is changed", async (t, store) => {
    const { value } = await store.rooms.create("demo", { name: "Old" });
    const found = async (search: string) =>
      (await store.rooms.list("demo", selection({ search }))).value.count;
    t.equal(await found("OLD"), 1);
    await store.rooms.update("demo", value.id, { name: "Straße" });
    t.strictSame([await found("old"), await found("STRASSE")], [0, 1]);
    await store.rooms.update("demo", value.id, { description: "Old" });
    t.strictSame([await found("old"), await found("strasse")], [1, 1]);
    await store.rooms.delete("demo", value.id);
    t.strictSame([await found("old"), await found("strasse")], [0, 0]);
  });

  await contract("a room counts once for its modules", async (t, store) => {
    const module_config = ["m", "m", "n", "a%", "ä"].map((type) => ({ type }));
    const { value } = await store.rooms.create("demo", {
      name: "a",
      module_config,
    });
    const count = async (type: string) =>
      (await store.rooms.list("demo", selection({ type }))).value.count;
    for (const [type, expected] of [
      ["m", 1],
      ["n", 1],
      ["a%", 1],
      ["a", 0],
      ["%", 0],
      ["Ä", 0],
    ] as const) {
      t.equal(await count(type), expected, type);
    }
    await store.rooms.update("demo", value.id, {
      module_config: [{ type: "x" }],
    });
    t.strictSame([await count("m"), await count("x")], [0, 1]);
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
        const asked = selection({
          traits: new Set(traits.split(" ")),
          ordering: "name",
        });
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
    await store.worlds.update("demo", {
      permission_config: { "room.view": ["staff"] },
    });
    await check("a rule of the world", {
      "": "o",
      staff: "no",
      crew: "ceo",
      "crew vip staff": "bcenor",
    });
    const { rooms: listed } = (
      await store.rooms.list("demo", selection({ ordering: "name" }))
    ).value;
    await store.rooms.update("demo", listed[0]!.id, { permission_config: {} });
    await check("a room without its own", { "": "", staff: "no" });
  });
}
