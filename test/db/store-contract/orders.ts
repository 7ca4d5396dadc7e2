import { exported } from "../../exported.js";
import { randomUUID } from "node:crypto";
import type { RoomSelection } from "../../../db/contract/store.js";
import type { WorldChanges } from "../../../schemas/worlds.js";
import { keyOf, worldOf } from "../../helper.js";
import { filesOf, usersOf } from "../../listed.js";
import type { Contract } from "./setup.js";

/** An id that sorts by its number, from 1 to 9. */
const uuid = (n: number) => `${n}0000000-0000-4000-8000-000000000000`;

/**
 * The orders that every store keeps, in its lists and in what it stores.
 */
export async function orderContract(contract: Contract): Promise<void> {
  await contract("texts are sorted by their code points", async (t, store) => {
    const names = [
      "",
      "-a",
      "A",
      "Z",
      "a",
      "a-",
      "ab",
      "z",
      "ä",
      "\uffff",
      "🎪",
    ];
    for (const name of names.toSorted(() => Math.random() - 0.5)) {
      await store.rooms.create("demo", { name });
    }
    for (const [ordering, wanted] of [
      ["name", names],
      ["-name", names.toReversed()],
      ["sorting_priority", names],
      ["-sorting_priority", names],
    ] as [RoomSelection["ordering"], string[]][]) {
      const { value } = await store.rooms.list("demo", {
        traits: new Set(),
        page: 1,
        pageSize: 50,
        ordering,
      });
      t.strictSame(
        value.rooms.map(({ name }) => name),
        wanted,
        ordering,
      );
    }
  });

  await contract("the ties of rooms", async (t, store) => {
    const rooms: [id: number, name: string, priority: number][] = [
      [4, "a", 1],
      [1, "a", 2],
      [3, "a", 2],
      [2, "b", 1],
      [5, "b", 1],
    ];
    await store.worlds.import({
      world: worldOf("tied"),
      rooms: rooms.map(([id, name, sorting_priority]) => ({
        id: uuid(id),
        name,
        sorting_priority,
      })),
    });
    const orders: [RoomSelection["ordering"], string][] = [
      ["sorting_priority", "42513"],
      ["-sorting_priority", "13425"],
      ["name", "41325"],
      ["-name", "25413"],
    ];
    for (const [ordering, wanted] of orders) {
      const { value } = await store.rooms.list("tied", {
        traits: new Set(),
        page: 1,
        pageSize: 50,
        ordering,
      });
      const found = value.rooms.map(({ id }) => id[0]).join("");
      t.equal(found, wanted, ordering);
    }
  });

  await contract("the ties of users", async (t, store) => {
    const users: [id: number, day: number][] = [
      [4, 1],
      [1, 2],
      [3, 2],
      [2, 1],
      [5, 1],
    ];
    await store.worlds.import({
      world: worldOf("tied"),
      rooms: [],
      users: users.map(([id, day]) => ({
        id: uuid(id),
        token_id: `user-${id}`,
        client_id: null,
        profile: null,
        traits: [],
        last_seen: `2026-01-0${day}T00:00:00Z`,
      })),
    });
    for (const [ordering, order] of [
      ["created", "12345"],
      ["-last_seen", "13245"],
      ["last_seen", "54231"],
    ] as const) {
      const page = { page: 1, pageSize: 10, ordering };
      const found = await store.users.list("tied", page);
      t.equal(found.users.map(({ id }) => id[0]).join(""), order, ordering);
    }
  });

  await contract("files that are recorded at once", async (t, store) => {
    const traits = new Set<string>();
    const keys = Array.from(
      { length: 40 },
      () => `pub/demo/${randomUUID()}.AbCdEfGh_-12.pdf`,
    );
    await Promise.all(
      keys.map((key, n) =>
        store.files.add(
          "demo",
          { tokenId: `user-${n}`, traits },
          { key, size: 1, sha256: "00" },
          1e6,
        ),
      ),
    );
    const files = await filesOf(store, "demo");
    const again = await filesOf(store, "demo");
    t.strictSame(again, files, "files in one order");
    // One store writes in the order in which it was asked.
    t.strictSame(
      files.map(({ key }) => key),
      keys.toReversed(),
      "the one that was recorded last comes first",
    );
  });

  await contract("names in objects keep their order", async (t, store) => {
    const theme = { z: 1, a: { y: [{ d: 1, c: 2 }], b: 0 } };
    const config = { theme, JWT_secrets: [keyOf("new")], first: true };
    const rules = { "z.z": [], "a.a": ["x"] };
    const made = await store.worlds.create(
      worldOf("new", { config, permission_config: rules }),
    );
    const text = JSON.stringify([config, rules]);
    const { value, version } = (await store.worlds.get("new"))!;
    t.equal(JSON.stringify([value.config, value.permission_config]), text);
    t.equal(version, made.version);
    const [copy] = (await exported(store, "new")).rows.worlds!;
    t.equal(`[${copy!.config},${copy!.permission_config}]`, text);

    const rest: Record<string, unknown> & WorldChanges["config"] = {
      theme,
      first: true,
    };
    const changed = await store.worlds.update("new", { config: rest });
    t.strictSame(
      Object.keys(changed.value.config),
      ["JWT_secrets", "theme", "first"],
      "keys that are kept come first",
    );
    t.not(changed.version, version, "another order is another version");
    const same = await store.worlds.update("new", { config: rest });
    t.equal(same.version, changed.version);

    const module = { type: "x", z: 1, a: { c: 1, b: 2 } };
    const room = await store.rooms.create("demo", {
      name: "a",
      module_config: [module],
    });
    const read = (await store.rooms.get("demo", room.value.id))!;
    t.equal(JSON.stringify(read.value.module_config), JSON.stringify([module]));
    t.equal(read.version, room.version);
    const profile = { z: 1, a: 2 };
    const user = { tokenId: "1", traits: new Set(["z", "a"]), profile };
    await store.users.enter("demo", user);
    const [listed] = await usersOf(store, "demo");
    t.equal(JSON.stringify(listed!.profile), JSON.stringify(profile));
    t.strictSame(listed!.traits, ["z", "a"]);
  });

  await contract("which problem comes first", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    const { domain } = worldOf("other");
    const { version } = (await store.worlds.get("demo"))!;
    const cases: [
      id: string,
      versions: string[] | undefined,
      problem: string,
    ][] = [
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
