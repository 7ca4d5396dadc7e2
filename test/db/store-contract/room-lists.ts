import type { RoomSelection } from "../../../db/contract/store.js";
import { worldOf } from "../../helper.js";
import { shown } from "../../listed.js";
import { type Contract, fails, selection } from "./setup.js";

/** What every store keeps to when it lists rooms. */
export async function roomListContract(contract: Contract): Promise<void> {
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
      shown((await store.rooms.get("demo", first!.id))!.value),
      "a room in a list is the room",
    );
  });

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

  await contract(
    "no page is too far, and no room too large",
    async (t, store) => {
      const far = { page: Number.MAX_SAFE_INTEGER, pageSize: 1000 };
      const none = { count: 0, users: [] };
      t.strictSame(await store.users.list("demo", far), none);
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
}
