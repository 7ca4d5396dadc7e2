import type { Room } from "../../../schemas/rooms.js";
import { worldOf } from "../../helper.js";
import { shown } from "../../listed.js";
import { ABSENT, type Contract, fails } from "./setup.js";

export async function roomContract(contract: Contract): Promise<void> {
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
        extras: {
          picture: null,
          import_id: null,
          pretalx_id: 0,
          force_join: false,
          schedule_data: null,
        },
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
    t.same(shown(whole.value), { id: whole.value.id, ...draft });
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
}
