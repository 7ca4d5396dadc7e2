import type { RoomPage, Versioned } from "../../../db/contract/store.js";
import { worldOf } from "../../helper.js";
import { type Contract, fails, selection } from "./setup.js";

const isFrozen = (value: unknown): boolean =>
  typeof value !== "object" ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isFrozen));

export async function versionContract(contract: Contract): Promise<void> {
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
        const isPage = name.includes("page") || name.includes("search");
        t.equal(
          record!.json,
          JSON.stringify(
            isPage
              ? (record!.value as RoomPage).rooms
              : { ...record!.value, extras: undefined },
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
}
