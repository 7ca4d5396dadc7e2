import type { RoomOrdering } from "../../../schemas/rooms.js";
import { shown } from "../../listed.js";
import { type Contract, selection } from "./setup.js";

/** Names in the order of their code points, which no language would put them in. */
const NAMES = ["", " b", "B", "Z", "_", "a", "aB", "a b", "b", "é", "ﬀ", "🎪"]
  .map((name) => `${name}x`)
  .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

/** What every store keeps to when it puts rooms in order. */
export async function roomOrderContract(contract: Contract): Promise<void> {
  await contract(
    "names are compared by their code points",
    async (t, store) => {
      for (const name of [...NAMES].reverse()) {
        await store.rooms.create("demo", { name });
      }
      const names = async (ordering: RoomOrdering) =>
        (
          await store.rooms.list("demo", selection({ ordering }))
        ).value.rooms.map(({ name }) => name);
      t.strictSame(await names("name"), NAMES);
      t.strictSame(await names("-name"), [...NAMES].reverse());
      t.strictSame(await names("sorting_priority"), NAMES, "after priority");
    },
  );

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

  await contract("pages that there are not", async (t, store) => {
    await store.rooms.create("demo", { name: "a" });
    const far = Math.floor(Number.MAX_SAFE_INTEGER / 1000);
    for (const [world, page, count] of [
      ["demo", 2, 1],
      ["demo", far, 1],
      ["none", 1, 0],
      ["DEMO", 1, 0],
    ] as const) {
      for (const search of [undefined, "A"]) {
        const asked = selection({ page, pageSize: 1000, search });
        t.strictSame(
          (await store.rooms.list(world, asked)).value,
          { count, rooms: [] },
          `page ${page} of ${world}, search ${search}`,
        );
      }
    }
  });
}
