import type { PollChanges } from "../../../../db/contract/poll-store.js";
import type { ImportChanges } from "../../../../db/contract/program-store.js";
import type {
  ListPosition,
  PageSelection,
  Store,
  Versioned,
} from "../../../../db/contract/store.js";
import { INDEX } from "../../../../db/log/entries.js";
import { roomsDigest } from "../../../../db/rules/import-changes.js";
import type { RoomOrdering } from "../../../../schemas/rooms.js";
import type { UserOrdering } from "../../../../schemas/users.js";
import type { WorldChanges } from "../../../../schemas/worlds.js";
import { exported, usersOf } from "../../../support/database.js";
import { keyOf, worldOf } from "../../../support/helper.js";
import {
  ABSENT,
  ada,
  add,
  allFail,
  type Contract,
  enter,
  fails,
  file,
  guest,
  sees,
  selection,
  tick,
} from "./setup.js";

/** An import that changes nothing in an empty world. */
const NO_CHANGES: ImportChanges = {
  basis: { stamp: "", rooms: roomsDigest([]), users: [], pictures: [] },
  rooms: [],
  speakers: [],
  sessions: [],
  deleted: [],
  followed: [],
  places: [],
  entries: [],
};

const isFrozen = (value: unknown): boolean =>
  typeof value !== "object" ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isFrozen));

/** Valid JSON that an engine might be tempted to normalize. */
const odd = {
  numbers: [0.1, -5, 1e21, 5e-324, Number.MAX_VALUE, 2 ** 53, 1.0],
  texts: ["", " a ", "caf\u00e9", "cafe\u0301", "\uffff\u{10ffff}", "\u0001\t"],
  others: [true, false, null, [], {}, [[]]],
  "": { "a.b": 1, $ref: "#", ä: 2, "0": 3, "'": 4, "{}": 5 },
};

/** Tests values and versions from opening a store to closing it, alone and alongside other stores. */
export async function lifetimeContract(contract: Contract): Promise<void> {
  await contract("values read back as they were given", async (t, store) => {
    const theme = { z: 1, a: { y: [{ d: 1, c: 2 }], b: 0 } };
    const config = { theme, JWT_secrets: [keyOf("odd")], odd };
    const permission_config = { "z.z": [], "a.a": ["x"] };
    const title = odd.texts.join("|");
    const world = worldOf("odd", { config, title, permission_config });
    const made = await store.worlds.create(world);
    const read = (await store.worlds.get("odd"))!;
    t.strictSame(read, made);
    t.strictSame(read.value, world);
    const order = JSON.stringify([config, permission_config]);
    t.equal(JSON.stringify([read.value.config, read.value.permission_config]), order);

    const module_config = [{ type: "m", odd }];
    const draft = { name: title, description: title, module_config };
    const { value: room } = await store.rooms.create("odd", draft);
    t.match((await store.rooms.get("odd", room.id))?.value, draft);
    const { rooms } = (await store.rooms.list("odd", selection())).value;
    t.strictSame(rooms[0]?.module_config, module_config);
    const copy = (await exported(store, "odd")).rows;
    const [row] = copy.worlds!;
    t.equal(`[${row!.config},${row!.permission_config}]`, order);
    t.equal(copy.rooms![0]!.module_config, JSON.stringify(module_config));

    const profile = { z: 1, odd, a: 2 };
    const uploader = { tokenId: title, traits: new Set(["ä|", "a"]), profile };
    await store.files.add("odd", uploader, file("1"), 100);
    const [user] = await usersOf(store, "odd");
    t.match(user, { token_id: title, traits: ["ä|", "a"] });
    t.equal(JSON.stringify(user!.profile), JSON.stringify(profile));

    const rest = { theme: { a: theme.a, z: 1 }, odd } as WorldChanges["config"];
    const changed = await store.worlds.update("odd", { config: rest });
    const keys = Object.keys(changed.value.config);
    t.strictSame(keys, ["JWT_secrets", "theme", "odd"], "keys that are kept come first");
    t.not(changed.version, made.version, "another order is another version");
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
      await store.files.add("demo", { ...ada, tokenId: issuer }, file(issuer), 1e9);
    }
    t.strictSame(await store.worlds.issuing("a", "A"), []);
    t.strictSame(await store.worlds.issuing("e", "e"), []);
    t.equal((await usersOf(store, "demo")).length, keys.length);
    await store.users.erase("demo", { token_id: "A" });
    t.equal((await usersOf(store, "demo")).length, keys.length - 1);
    const has = ["a", "A", "A ", "E\u0301"].map((key) => store.files.has(key));
    t.strictSame(await Promise.all(has), [true, true, false, false]);
    for (const id of ["DEMO", "demo ", "dem", "dem_", "d%"]) {
      t.equal(await store.worlds.get(id), undefined, `"${id}"`);
    }
  });

  await contract("a caller may change what it gave", async (t, store) => {
    const module_config = [{ type: "m", list: [1] }];
    const { value } = await store.rooms.create("demo", { name: "a", module_config });
    module_config[0]!.list.push(2);
    const world = worldOf("new");
    await store.worlds.create(world);
    world.config.JWT_secrets.length = 0;
    const { value: read } = (await store.rooms.get("demo", value.id))!;
    t.strictSame(read.module_config, [{ type: "m", list: [1] }]);
    t.strictSame((await store.worlds.get("new"))?.value, worldOf("new"));
  });

  await contract("values are frozen, and versions name them", async (t, store) => {
    const module_config = [{ type: "a", config: { deep: [{ x: 1 }] } }];
    const made = await store.rooms.create("demo", { name: "a", module_config });
    const list = (search?: string) => store.rooms.list("demo", selection({ search }));
    const first = await list();
    const records: [name: string, record: Versioned<object> | undefined, shown?: object][] = [
      ["a world", await store.worlds.get("demo")],
      ["a made world", await store.worlds.create(worldOf("new"))],
      ["a room", await store.rooms.get("demo", made.value.id)],
      ["a made room", made],
      ["a page", first, first.value.rooms],
      ["a search", await list("A"), first.value.rooms],
    ];
    for (const [name, record, shown = { ...record!.value, extras: undefined }] of records) {
      t.ok(Object.isFrozen(record), name);
      t.equal(record!.json, JSON.stringify(shown), `${name}, as JSON`);
      t.ok(isFrozen(record!.value), `${name}, with all that is in it`);
    }
    t.equal((await list()).version, first.version, "the same page has the same version");
    t.equal((await list("a")).version, first.version, "however it was found");
    await store.rooms.update("demo", made.value.id, { name: "b" });
    t.not((await list()).version, first.version, "and another one has another");
  });

  await contract("a version names what a reader sees", async (t, store) => {
    const { value: room } = await store.rooms.create("demo", { name: "x" });
    const subjects: [
      name: string,
      get: () => Promise<Versioned<unknown> | undefined>,
      update: (text: string, versions?: string[]) => Promise<Versioned<unknown>>,
    ][] = [
      [
        "world",
        () => store.worlds.get("demo"),
        (title, versions) => store.worlds.update("demo", { title }, versions),
      ],
      [
        "room",
        () => store.rooms.get("demo", room.id),
        (name, versions) => store.rooms.update("demo", room.id, { name }, versions),
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

  await contract("absent names what is not there, and nothing is written", async (t, _, open) => {
    let hints = 0;
    const store = await open((some) => void (hints += some.length));
    const { worlds, rooms, users, announcements, files, chat, questions, polls } = store;
    const { program, programLinks, invites, webhooks, audit } = store;
    const id = await enter(store, "ada");
    const eve = { tokenId: "eve", traits: new Set<string>() };
    const room = (await rooms.create("demo", { name: "R" })).value.id;
    await chat.join("demo", room, id);
    const draft = { sender: id, content: { type: "text", body: "x" } };
    const by = { user: id, reaction: "x", remove: false, volatile: false };
    const question = { sender: id, content: "x", state: "visible" } as const;
    const poll = await polls.create("demo", room, { content: "x", options: [] });
    const change = (options: PollChanges["options"]) =>
      polls.update("demo", room, poll.id, { options }, id);
    const hook = { url: "https://example.org/", types: ["*"], enabled: true, description: "" };
    const heads = () => store.log.heads(["demo", INDEX, "none"]);
    const before = await heads();
    hints = 0;
    const absent: Readonly<Record<string, Promise<unknown>[]>> = {
      world: [
        worlds.update("none", {}),
        worlds.configure("none", {}),
        worlds.delete("none"),
        rooms.create("none", { name: "R" }),
        rooms.open("none", { name: "R" }),
        rooms.reorder("none", [room]),
        users.enter("none", eve),
        users.moderateNamed("none", "eve", "banned"),
        announcements.create("none", { text: "x" }),
        program.createSession("none", { title: "x" }),
        program.createSpeaker("none", { name: "x" }, []),
        program.import("none", NO_CHANGES, []),
        webhooks.create("none", hook, ""),
        audit.record("none", { type: "a", subject: {} }),
      ],
      room: [
        rooms.update("demo", ABSENT, {}),
        rooms.schedule("demo", ABSENT, null),
        rooms.delete("demo", ABSENT),
        chat.send("demo", ABSENT, draft),
        chat.join("demo", ABSENT, id),
        chat.leave("demo", ABSENT, id, false),
        chat.react("demo", ABSENT, 1, by),
        questions.create("demo", ABSENT, question),
        questions.update("demo", ABSENT, ABSENT, {}, id),
        questions.delete("demo", ABSENT, ABSENT),
        questions.vote("none", room, ABSENT, id, true, false),
        questions.pin("demo", ABSENT, null, id),
        polls.create("none", room, { content: "x", options: [] }),
        polls.update("demo", ABSENT, poll.id, {}, id),
        polls.delete("demo", ABSENT, poll.id),
        polls.vote("demo", ABSENT, poll.id, id, { options: [] }),
        polls.pin("demo", ABSENT, null, id),
        invites.end("demo", ABSENT),
      ],
      user: [
        users.update("demo", ABSENT, {}),
        users.moderate("demo", ABSENT, "banned"),
        users.block("demo", id, ABSENT),
        users.unblock("demo", ABSENT, id),
        users.erase("demo", { user_id: ABSENT }),
        users.erase("demo", { token_id: "none" }),
        chat.join("demo", room, ABSENT),
        chat.empty("demo", ABSENT, 0),
        questions.create("demo", room, { ...question, sender: ABSENT }),
        questions.pin("demo", room, null, ABSENT),
        polls.update("demo", room, poll.id, {}, ABSENT),
        polls.vote("demo", room, poll.id, ABSENT, { options: [] }),
        polls.pin("demo", room, poll.id, ABSENT),
        polls.pin("demo", room, null, ABSENT),
        programLinks.link("demo", ABSENT, false),
      ],
      event: [
        chat.send("demo", room, { ...draft, replaces: 99 }),
        chat.react("demo", room, 99, by),
      ],
      question: [
        questions.update("demo", room, ABSENT, {}, ABSENT),
        questions.delete("demo", room, ABSENT),
        questions.vote("demo", room, ABSENT, ABSENT, true, false),
        questions.pin("demo", room, ABSENT, id),
      ],
      poll: [
        polls.update("demo", room, ABSENT, {}, ABSENT),
        polls.delete("demo", room, ABSENT),
        polls.vote("demo", room, ABSENT, ABSENT, { options: [] }),
        polls.pin("demo", room, ABSENT, id),
      ],
      option: [change([{ content: "x" }, { id: ABSENT }]), change([{}])],
      file: [files.delete("demo", "none")],
      announcement: [announcements.update("demo", ABSENT, {})],
      session: [
        program.updateSession("demo", ABSENT, {}),
        program.deleteSession("demo", ABSENT),
        program.favor("demo", id, ABSENT, true),
      ],
      speaker: [
        program.updateSpeaker("demo", ABSENT, {}, []),
        program.deleteSpeaker("demo", ABSENT),
      ],
      webhook: [webhooks.update("demo", ABSENT, {}), webhooks.delete("demo", ABSENT)],
    };
    // Some fail while an earlier one is being awaited: avoid unhandled rejections.
    for (const write of Object.values(absent).flat()) write.catch(() => {});
    for (const [field, writes] of Object.entries(absent)) await allFail(t, writes, "absent", field);
    t.strictSame(await heads(), before);
    t.equal(hints, 0);
  });

  await contract("writes at the same time", async (t, store) => {
    const made = await Promise.all(
      Array.from({ length: 100 }, (_, i) => store.rooms.create("demo", { name: String(i) })),
    );
    t.equal(new Set(made.map(({ value }) => value.id)).size, 100);
    t.equal((await store.rooms.list("demo", selection())).value.count, 100);

    const { id } = made[0]!.value;
    const { version } = made[0]!;
    const settled = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) =>
        store.rooms.update("demo", id, { name: `by ${i}` }, [version]),
      ),
    );
    const winners = settled.filter(({ status }) => status === "fulfilled");
    t.equal(winners.length, 1, "one of the writers with the same version");

    // A failing write does not affect concurrent ones.
    const [good, bad, alsoGood] = await Promise.allSettled([
      store.worlds.create(worldOf("good")),
      store.worlds.create(worldOf("bad", { domain: "good.example.org" })),
      store.rooms.create("good", { name: "x" }),
    ]);
    t.equal(good.status, "fulfilled");
    t.match(bad, { reason: { problem: "taken" } });
    t.equal(alsoGood.status, "fulfilled");

    // Not even if it fails after it has written something.
    const name = "beside it";
    const half = { world: worldOf("half"), rooms: [ABSENT, id].map((id) => ({ id, name })) };
    const around = await Promise.allSettled([
      store.rooms.update("demo", id, { name }),
      store.worlds.import(half),
      store.rooms.update("demo", id, { name: "too late" }, [version]),
      store.rooms.create("good", { name }),
      store.worlds.import(half),
    ]);
    t.match(around, [
      { value: { value: { id, name } } },
      { reason: { problem: "taken", field: "rooms" } },
      { reason: { problem: "changed" } },
      { value: { value: { name } } },
      { reason: { problem: "taken", field: "rooms" } },
    ]);
    t.equal((await store.rooms.get("demo", id))?.value.name, name);
    t.equal(await store.worlds.get("half"), undefined);
    t.equal((await store.rooms.list("good", selection())).value.count, 2);
  });

  await contract("two stores on one place", async (t, store, open) => {
    const other = await open();
    t.strictSame(await other.worlds.get("demo"), await store.worlds.get("demo"));

    // Each store reads first, so that it could return something stale.
    for (const [writer, reader] of [
      [store, other],
      [other, store],
    ] as const) {
      const { value } = await writer.rooms.create("demo", { name: "a" });
      const get = () => reader.rooms.get("demo", value.id);
      const list = () => reader.rooms.list("demo", selection());
      const names = async () => (await list()).value.rooms.map(({ name }) => name);
      t.same((await get())?.value, value);
      await sees(t, names, ["a"]);
      const updated = await writer.rooms.update("demo", value.id, { name: "b" });
      await sees(t, get, updated);
      t.equal((await get())?.version, updated.version, "with the same version");
      await sees(t, names, ["b"]);
      await fails(t, reader.rooms.update("demo", value.id, { name: "c" }, ["x"]), "changed");
      const world = await writer.worlds.update("demo", {
        config: { JWT_secrets: [keyOf(`key of ${value.id}`)] },
      });
      await sees(t, () => reader.worlds.get("demo"), world);
      const { issuer, audience } = world.value.config.JWT_secrets[0]!;
      await sees(t, () => reader.worlds.issuing(issuer, audience), [world]);
      await writer.rooms.delete("demo", value.id);
      await sees(t, get, undefined);
      await sees(t, names, []);
    }

    const writes = await Promise.allSettled(
      [store, other].flatMap((one) =>
        Array.from({ length: 20 }, (_, i) => one.worlds.create(worldOf(`world-${i}`))),
      ),
    );
    const made = writes.filter(({ status }) => status === "fulfilled");
    t.equal(made.length, 20, "each was made by one of them");
    t.equal((await store.worlds.list({ limit: 100 })).length, 21);
  });

  await contract("what is written outlives the store", async (t, store, open) => {
    const { value: room } = await store.rooms.create("demo", { name: "x" });
    // Not awaited, because closing completes writes in flight.
    const last = store.rooms.update("demo", room.id, { name: "last" });
    await store.close();
    t.equal((await last).value.name, "last");
    const again = await open();
    t.strictSame(await again.rooms.get("demo", room.id), await last);
    t.strictSame((await again.worlds.get("demo"))?.value, worldOf("demo"));
  });

  await contract("how much there is", async (t, store, open) => {
    const other = await open();
    const expectCounts = async (counts: object) => {
      for (const one of [store, other]) t.match(await one.counts(), counts);
    };
    await expectCounts({ worlds: 1, rooms: 0, users: 0, fileBytes: 0 });
    t.ok((await store.counts()).databaseBytes > 0);
    await store.worlds.create(worldOf("other"));
    for (const world of ["demo", "other"]) {
      await store.rooms.create(world, { name: "a" });
      const permission_config = { "room.view": [] };
      await store.rooms.create(world, { name: "b", permission_config });
      for (const visitor of [guest, guest, ada]) await add(store, world, visitor);
    }
    await expectCounts({ worlds: 2, rooms: 4, users: 4, fileBytes: 600 });
    await store.users.erase("other", { token_id: "ada" });
    await expectCounts({ worlds: 2, users: 3, fileBytes: 600 });
    await store.worlds.delete("other");
    await expectCounts({ worlds: 1, rooms: 2, users: 2, fileBytes: 300 });
  });

  await contract("a store that is closed", async (t, store) => {
    await store.close();
    await store.close();
    const page = { page: 1, pageSize: 50 };
    await allFail(
      t,
      [
        store.worlds.get("demo"),
        store.worlds.list({ limit: 100 }),
        store.rooms.list("demo", selection()),
        store.counts(),
        store.worlds.update("demo", {}),
        store.rooms.create("demo", { name: "x" }),
        store.users.enter("demo", ada),
        store.users.list("demo", page),
        store.users.erase("demo", { token_id: "x" }),
        store.files.has("x"),
        store.files.add("demo", guest, file("x"), 1000),
        store.files.list("demo", page),
        store.files.get("demo", ABSENT),
        store.files.keys("demo"),
        store.files.delete("demo", ABSENT),
      ],
      "unusable",
    );
  });
}

/** A row of a page: its id, and its position in the list. */
type Placed = readonly [id: string, place: ListPosition];

/** A list that is paged through while rows are added and removed. */
interface List {
  name: string;
  /**
   * Adds a row.
   * @returns its id.
   */
  add: (store: Store, number: number) => Promise<string>;
  /** Undefined if rows cannot be removed. */
  remove?: (store: Store, id: string) => Promise<unknown>;
  page: (store: Store, selection: PageSelection) => Promise<Placed[]>;
}

const rooms = (ordering: RoomOrdering): List => ({
  name: `rooms by ${ordering}`,
  add: async (store, i) => {
    // Most rooms share their priority or name with another.
    const draft = { name: ["a", "b", "\u{1f600}", "\uffff"][i % 4]!, sorting_priority: i % 3 };
    return (await store.rooms.create("demo", draft)).value.id;
  },
  remove: (store, id) => store.rooms.delete("demo", id),
  page: async (store, asked) => {
    const { value } = await store.rooms.list("demo", selection({ ...asked, ordering }));
    return value.rooms.map(({ id, name, sorting_priority: priority }) => [
      id,
      ordering.endsWith("name") ? [name, priority, id] : [priority, name, id],
    ]);
  },
});

const users = (ordering: UserOrdering): List => ({
  name: `users by ${ordering}`,
  add: (store, i) => enter(store, `${i}`),
  remove: (store, user_id) => store.users.erase("demo", { user_id }),
  page: async (store, asked) => {
    const list = await store.users.list("demo", { ...asked, ordering });
    const field = ordering.endsWith("created") ? "created" : "last_seen";
    return list.users.map((user) => [user.id, [user[field], user.id]]);
  },
});

const lists: List[] = [
  ...(["sorting_priority", "-sorting_priority", "name", "-name"] as const).map(rooms),
  ...(["created", "-created", "last_seen", "-last_seen"] as const).map(users),
  {
    name: "files",
    add: (store) => add(store),
    remove: (store, id) => store.files.delete("demo", id),
    page: async (store, asked) =>
      (await store.files.list("demo", asked)).files.map((file) => [
        file.id,
        [file.uploadedAt, file.number],
      ]),
  },
  {
    name: "the audit",
    add: async (store) => {
      await store.audit.record("demo", { type: "done", subject: {} });
      const { entries } = await store.audit.list("demo", { page: 1, pageSize: 1 });
      return `${entries[0]!.number}`;
    },
    page: async (store, { after: place, ...asked }) => {
      const { entries } = await store.audit.list("demo", { ...asked, place });
      return entries.map(({ number }) => [`${number}`, [number]]);
    },
  },
  {
    name: "webhooks",
    add: async (store, i) => {
      const hook = { url: "https://example.org/", types: ["*"], enabled: true };
      return (await store.webhooks.create("demo", { ...hook, description: `${i}` }, "x")).id;
    },
    remove: (store, id) => store.webhooks.delete("demo", id),
    page: async (store, asked) =>
      (await store.webhooks.list("demo", asked)).webhooks.map(({ id, number }) => [id, [number]]),
  },
];

/** Tests that paging by position skips and repeats no row. */
export async function placeContract(contract: Contract): Promise<void> {
  for (const list of lists) {
    await contract(`${list.name} by places`, async (t, store) => {
      let made = 0;
      const more = () => list.add(store, made++);
      const stay: string[] = [];
      for (let i = 0; i < 9; i++) {
        stay.push(await more());
        if (i % 2 === 0) await tick();
      }
      const seen = new Set<string>();
      const first = { page: 1, pageSize: 2 };
      let page = await list.page(store, first);
      t.equal(page.length, 2);
      while (page.length > 0) {
        for (const [id] of page) {
          t.notOk(seen.has(id), "none twice");
          seen.add(id);
        }
        const [last, after] = page.at(-1)!;
        // Removes the very row at the page's position.
        await list.remove?.(store, last);
        if (made < 14) await more();
        page = await list.page(store, { ...first, after });
      }
      t.strictSame(
        stay.filter((id) => !seen.has(id)),
        [],
        "all",
      );
    });
  }
}
