import t from "tap";
import type { AnyEvent } from "../../db/events.js";
import { openEngines } from "../../db/open.js";
import type { StoreProblem } from "../../db/store.js";
import { putDatabase } from "../database.js";
import { worldOf } from "../helper.js";
import { usersOf } from "../listed.js";

// What a store publishes of its writes.

void t.test(
  "one event for each write, after it and before its answer",
  async (t) => {
    const dataDir = t.testdir();
    await putDatabase(dataDir, [worldOf("demo")]);
    const engines = await openEngines({ dataDir });
    t.teardown(() => engines.close());
    const { store, events } = engines;
    const seen: string[] = [];
    const published: AnyEvent[] = [];
    /** What a reader sees the moment that an event comes. */
    let look = async (): Promise<unknown> => undefined;
    let looked: Promise<unknown> | undefined;
    events.subscribe((event) => {
      seen.push("event");
      published.push(event);
      looked = look();
    });

    const { value: room } = await store.rooms.create("demo", { name: "a" });
    const copy = (await store.worlds.export("demo"))!;
    const fileId = "0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10";
    const file = { key: `pub/demo/${fileId}.x.pdf`, size: 1, sha256: "00" };
    const ada = { tokenId: "ada", traits: new Set<string>() };
    const { worlds, rooms, users, files } = store;
    const { id: adaId } = await users.enter("demo", ada);
    const ofDemo = { world: "demo" } as const;
    const ofRoom = { ...ofDemo, room: room.id } as const;
    const titleOf = async (id: string) => (await worlds.get(id))?.value.title;
    const writes: [
      name: string,
      write: () => Promise<unknown>,
      event: AnyEvent,
      look: () => Promise<unknown>,
      sees: unknown,
    ][] = [
      [
        "a world is made",
        () => worlds.create(worldOf("new")),
        { type: "world.created", world: "new" },
        () => titleOf("new"),
        "The new",
      ],
      [
        "a world is changed",
        () => worlds.update("demo", { title: "B" }),
        { type: "world.updated", ...ofDemo },
        () => titleOf("demo"),
        "B",
      ],
      [
        "a room is changed",
        () => rooms.update("demo", room.id, { name: "b" }),
        { type: "room.updated", ...ofRoom },
        async () => (await rooms.get("demo", room.id))?.value.name,
        "b",
      ],
      [
        "a file is added",
        () => files.add("demo", ada, file, 10),
        { type: "file.added", ...ofDemo },
        () => files.has(file.key),
        true,
      ],
      [
        "a user is erased",
        () => users.erase("demo", { token_id: "ada" }),
        { type: "user.erased", ...ofDemo, user: adaId },
        () => usersOf(store, "demo"),
        [],
      ],
      [
        "a file is deleted",
        () => files.delete("demo", fileId),
        { type: "file.deleted", ...ofDemo },
        () => files.has(file.key),
        false,
      ],
      [
        "a room is deleted",
        () => rooms.delete("demo", room.id),
        { type: "room.deleted", ...ofRoom },
        () => rooms.get("demo", room.id),
        undefined,
      ],
      [
        "a world is deleted",
        () => worlds.delete("demo"),
        { type: "world.deleted", ...ofDemo },
        () => titleOf("demo"),
        undefined,
      ],
      [
        "a world is imported",
        () => worlds.import(copy),
        { type: "world.created", ...ofDemo },
        () => titleOf("demo"),
        "The demo",
      ],
    ];
    for (const [name, write, event, looking, sees] of writes) {
      [seen.length, published.length, look] = [0, 0, looking];
      await write().then(() => seen.push("answer"));
      t.strictSame(published, [event], name);
      t.strictSame(seen, ["event", "answer"], `${name}: in this order`);
      t.strictSame(await looked, sees, `${name}: it is done`);
    }

    published.length = 0;
    const made = await rooms.create("demo", { name: "b" });
    t.strictSame(published, [
      { type: "room.created", ...ofDemo, room: made.value.id },
    ]);

    published.length = 0;
    const refused: [write: () => Promise<unknown>, problem: StoreProblem][] = [
      [() => worlds.create(worldOf("demo")), "taken"],
      [() => worlds.import(copy), "taken"],
      [() => worlds.update("none", {}), "absent"],
      [() => worlds.update("demo", { title: "x" }, ["x"]), "changed"],
      [() => worlds.delete("none"), "absent"],
      [() => rooms.create("none", { name: "x" }), "absent"],
      [() => rooms.update("demo", made.value.id, { name: "x" }, []), "changed"],
      [() => rooms.delete("demo", room.id, ["x"]), "changed"],
      [() => users.erase("demo", { token_id: "none" }), "absent"],
      [() => files.add("demo", ada, file, 0), "quota"],
      [() => files.delete("demo", fileId), "absent"],
    ];
    for (const [write, problem] of refused) {
      const error: unknown = await write().catch((thrown: unknown) => thrown);
      t.match(error, { name: "StoreError", problem });
    }
    const trial = { ...copy, world: worldOf("trial"), rooms: [] };
    await worlds.import(trial, { dryRun: true });
    t.strictSame(published, [], "nothing happened");
  },
);
