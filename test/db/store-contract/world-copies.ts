import { exported } from "../../exported.js";
import type { World } from "../../../schemas/worlds.js";
import { keyOf, worldOf } from "../../helper.js";
import { ABSENT, type Contract, fails, selection } from "./setup.js";

/** What every store keeps to when a world is exported and imported. */
export async function worldCopyContract(contract: Contract): Promise<void> {
  await contract("a world moves as a whole", async (t, store) => {
    const plain = await store.rooms.create("demo", { name: "plain" });
    const own = await store.rooms.create("demo", {
      name: "own",
      description: "d",
      module_config: [{ type: "m", x: [null, 0.5] }],
      permission_config: { "room.view": ["crew"] },
      sorting_priority: -1,
      domain: "own.org",
    });
    await store.rooms.update("demo", plain.value.id, { name: "changed" });
    const before = {
      world: await store.worlds.update("demo", { title: "Changed" }),
      plain: await store.rooms.get("demo", plain.value.id),
      own: await store.rooms.get("demo", own.value.id),
    };
    const copy = await exported(store, "demo");
    t.same(
      new Map(copy.rows.rooms!.map(({ id, domain }) => [id, domain])),
      new Map([
        [own.value.id, "own.org"],
        [plain.value.id, null],
      ]),
      "rooms with what is their own",
    );
    await fails(t, exported(store, "missing"), "absent", "world");

    await store.worlds.delete("demo");
    await store.worlds.import(copy, { dryRun: true });
    t.equal(await store.worlds.get("demo"), undefined, "a dry run");
    const { rows, world } = await store.worlds.import(copy);
    t.strictSame(world, before.world);
    t.match(rows, { worlds: 1, rooms: 2 });
    t.strictSame(await exported(store, "demo"), copy);
    t.strictSame(await store.worlds.get("demo"), before.world);
    t.strictSame(
      await store.rooms.get("demo", plain.value.id),
      before.plain,
      "versions included",
    );
    t.strictSame(await store.rooms.get("demo", own.value.id), before.own);
    const { issuer, audience } = keyOf("demo");
    t.strictSame(await store.worlds.issuing(issuer, audience), [before.world]);
    const counts = await Promise.all(
      [
        selection(),
        selection({ traits: new Set(["crew"]) }),
        selection({ traits: new Set(["crew"]), type: "m" }),
        selection({ search: "CHANGED" }),
      ].map(
        async (asked) => (await store.rooms.list("demo", asked)).value.count,
      ),
    );
    t.strictSame(counts, [1, 2, 1, 1], "found as it was");
  });

  await contract("users and announcements move along", async (t, store) => {
    const { users, announcements } = store;
    const enter = (tokenId: string) =>
      users.enter("demo", {
        tokenId,
        traits: new Set([tokenId]),
        profile: { display_name: tokenId, "1": [null] },
        pretalxId: `P${tokenId}`,
        login: true,
      });
    const [ada, bob, eve] = [
      await enter("ada"),
      await enter("bob"),
      await enter("eve"),
    ];
    const guest = { clientId: "g", traits: new Set<string>() };
    await users.enter("demo", guest);
    await users.update("demo", ada.id, { client_state: { x: { y: 1 } } });
    await users.moderate("demo", bob.id, "silenced");
    await users.moderate("demo", eve.id, "banned");
    await users.block("demo", ada.id, bob.id);
    await users.block("demo", bob.id, ada.id);
    await users.block("demo", ada.id, eve.id);
    const gone = await enter("gone");
    await users.erase("demo", { user_id: gone.id });
    for (const text of ["z", "a", "m"]) {
      await announcements.create("demo", { text, show_until: 5000 });
    }
    const { value } = await store.rooms.create("demo", { name: "r" });
    const extras = { picture: "p", schedule_data: { "1": null } };
    await store.rooms.update("demo", value.id, { extras });
    const read = async () => ({
      users: (
        await users.search("demo", { page: 1, pageSize: 9, banned: true })
      ).users,
      blocked: await users.blocked("demo", ada.id),
      announcements: await announcements.list("demo"),
      room: await store.rooms.get("demo", value.id),
    });
    const before = await read();
    const copy = await exported(store, "demo");
    t.equal(copy.rows.users?.length, 4, "without the erased one");
    t.match(copy.rows.rooms, [
      { id: value.id, revision: 2, extras: JSON.stringify(extras) },
    ]);

    await store.worlds.delete("demo");
    t.strictSame(await users.blocked("demo", ada.id), []);
    await store.worlds.import(copy, { dryRun: true });
    t.equal(await users.get("demo", ada.id), undefined, "a dry run");
    await store.worlds.import(copy);
    t.strictSame(await read(), before);
    t.strictSame(await exported(store, "demo"), copy);
    t.strictSame((await enter("bob")).id, bob.id, "known by the same name");
    await users.erase("demo", { user_id: ada.id });
    t.strictSame(await users.blocked("demo", bob.id), []);

    const [first, second] = copy.rows.users!.map(({ id, token_id }) => ({
      ...{ id: id as string, token_id: token_id as string, client_id: null },
      ...{ profile: null, traits: [], last_seen: "2026-01-01T00:00:00Z" },
    }));
    const announced = {
      ...{ id: copy.rows.announcements![0]!.id as string, text: "x" },
      ...{ show_until: null, state: "active" as const },
    };
    const fresh = { ...first!, id: ABSENT };
    const cases: [field: string, changes: object][] = [
      ["users", { users: [first] }],
      ["users", { users: [fresh, fresh] }],
      ["users", { users: [fresh, { ...fresh, id: `1${ABSENT.slice(1)}` }] }],
      ["users", { users: [second], announcements: [announced] }],
      ["announcements", { announcements: [announced] }],
    ];
    const empty = { world: worldOf("new"), rooms: [] };
    for (const [field, changes] of cases) {
      for (const dryRun of [true, false]) {
        const whole = { ...empty, ...changes };
        await fails(t, store.worlds.import(whole, { dryRun }), "taken", field);
      }
    }
    t.equal(await store.worlds.get("new"), undefined);
    const twins = { ...empty, users: [fresh], announcements: [] };
    await store.worlds.import(twins);
    t.equal((await users.get("new", ABSENT))?.token_id, first!.token_id);
  });

  await contract(
    "a world comes with all its rooms or not at all",
    async (t, store) => {
      const { value } = await store.rooms.create("demo", { name: "x" });
      const copyOf = (world: World, ...ids: string[]) => ({
        world,
        rooms: ids.map((id) => ({ id, name: "copy" })),
      });
      const domain = "demo.example.org";
      const cases: [field: string, ReturnType<typeof copyOf>][] = [
        ["id", copyOf(worldOf("demo", { domain: "free.org" }))],
        ["domain", copyOf(worldOf("new", { domain }), ABSENT)],
        ["rooms", copyOf(worldOf("new"), ABSENT, value.id)],
        ["rooms", copyOf(worldOf("new"), ABSENT, ABSENT)],
      ];
      for (const [field, copy] of cases) {
        for (const dryRun of [true, false]) {
          await fails(t, store.worlds.import(copy, { dryRun }), "taken", field);
        }
        t.equal(await store.worlds.get("new"), undefined);
        t.equal(await store.rooms.get("new", ABSENT), undefined);
      }
      const { world } = await store.worlds.import(
        copyOf(worldOf("new"), ABSENT),
      );
      t.same(world.value, worldOf("new"));
      t.equal((await store.rooms.list("new", selection())).value.count, 1);

      const whole = await exported(store, "new");
      let writing = true;
      const writes = (async () => {
        for (let i = 0; i < 30; i++) {
          await store.worlds.delete("new");
          await store.worlds.import(whole);
        }
      })().finally(() => (writing = false));
      let torn = 0;
      while (writing) {
        const seen = await exported(store, "new").catch(() => undefined);
        if (seen && seen.rows.rooms?.length !== 1) torn++;
        await new Promise(setImmediate);
      }
      await writes;
      t.equal(torn, 0, "no reader sees a part");
    },
  );
}
