import { exported } from "../../exported.js";
import { INDEX } from "../../../db/log/entries.js";
import { kioskId } from "../../../db/rules/user-kinds.js";
import { keyOf, worldOf } from "../../helper.js";
import { usersOf } from "../../listed.js";
import { Expecting, me } from "./logged.js";
import { add, type Contract, newFile } from "./setup.js";

const server = { kind: "server" } as const;

export async function logWorldContract(contract: Contract): Promise<void> {
  await contract("what writes to worlds append", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { worlds } = store;
    const titleOf = async (id: string) => (await worlds.get(id))?.value.title;
    const both = (type: "world.created" | "world.deleted", world: string) =>
      [world, INDEX].map((world) => ({ type, world, by: me }));
    await expecting.write(
      "a world is created",
      () => worlds.create(worldOf("new"), me),
      both("world.created", "new"),
      [() => titleOf("new"), "The new"],
    );
    await expecting.write(
      "a world is created without an author",
      () => worlds.create(worldOf("next")),
      [
        { type: "world.created", world: "next", by: server },
        { type: "world.created", world: INDEX, by: server },
      ],
    );
    await expecting.write(
      "a world is changed",
      () => worlds.update("demo", { title: "B" }, undefined, me),
      [{ type: "world.updated" }],
      [() => titleOf("demo"), "B"],
    );
    await expecting.write(
      "a world is configured",
      () => worlds.configure("demo", { title: "C" }, undefined, me),
      [{ type: "world.updated" }],
      [() => titleOf("demo"), "C"],
    );
    await expecting.write(
      "a world gets another domain",
      () => worlds.update("demo", { domain: "x.example.org" }, undefined, me),
      [{ type: "world.updated" }, { type: "world.updated", world: INDEX }],
    );
    const config = { JWT_secrets: [keyOf("other")] };
    await expecting.write(
      "a world gets other issuers",
      () => worlds.update("demo", { config }, undefined, me),
      [{ type: "world.updated" }, { type: "world.updated", world: INDEX }],
    );
    const copy = await exported(store, "demo");
    const unchanged = {
      "the same title": () => worlds.update("demo", { title: "C" }),
      "the same keys": () => worlds.update("demo", { config }),
      "the same settings": () => worlds.configure("demo", { title: "C" }),
      "no change": () => worlds.update("demo", {}),
    };
    await expecting.each(unchanged, [{ type: "world.updated", by: server }]);
    await expecting.refused([
      [() => worlds.create(worldOf("demo")), "taken"],
      [() => worlds.import(copy), "taken"],
      [() => worlds.update("none", {}), "absent"],
      [() => worlds.update("demo", { title: "x" }, ["x"]), "changed"],
      [() => worlds.update("demo", { domain: "new.example.org" }), "taken"],
      [() => worlds.configure("none", {}), "absent"],
      [() => worlds.delete("none"), "absent"],
    ]);
    await add(store);
    await expecting.refused([[() => worlds.delete("demo", []), "changed"]]);
    await expecting.write(
      "a world is deleted",
      () => worlds.delete("demo", undefined, me),
      both("world.deleted", "demo"),
      [() => titleOf("demo"), undefined],
    );
    const [head] = await store.log.heads(["demo"]);
    t.equal(await store.log.floor("demo"), head!.seq, "the feed of another");
    await expecting.nothing({
      "a trial": () => worlds.import(copy, { dryRun: true }),
    });
    await expecting.write(
      "a world is imported",
      () => worlds.import(copy, {}, me),
      both("world.created", "demo"),
      [() => titleOf("demo"), "C"],
    );
  });

  await contract("what writes to rooms append", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { rooms } = store;
    const made = await expecting.write(
      "a room is created",
      () => rooms.create("demo", { name: "a" }, me),
      ({ value: { id } }) => [{ type: "room.created", room: id }],
    );
    const { id: room, permission_config } = made.value;
    const get = async () => (await rooms.get("demo", room))?.value;
    await expecting.write(
      "a room is opened",
      () => rooms.open("demo", { name: "b" }, me),
      ({ value: { id } }) => [{ type: "room.opened", room: id }],
    );
    await expecting.write(
      "a room is changed",
      () => rooms.update("demo", room, { name: "c" }, undefined, me),
      [{ type: "room.updated", room }],
      [async () => (await get())?.name, "c"],
    );
    const schedule = { title: "T" };
    await expecting.write(
      "a room has a schedule",
      () => rooms.schedule("demo", room, schedule, me),
      [{ type: "room.scheduled", room }],
      [async () => (await get())?.extras.schedule_data, schedule],
    );
    await expecting.write(
      "rooms are put in order",
      () => rooms.reorder("demo", [room], me),
      [{ type: "rooms.reordered" }],
      [async () => (await get())?.sorting_priority, 1],
    );
    const unchanged = {
      "the same name": () => rooms.update("demo", room, { name: "c" }),
      "no change": () => rooms.update("demo", room, {}),
    };
    await expecting.each(unchanged, [
      { type: "room.updated", room, by: server },
    ]);
    await expecting.write(
      "the same schedule",
      () => rooms.schedule("demo", room, schedule, me),
      [{ type: "room.scheduled", room }],
    );
    await expecting.write(
      "the same order",
      () => rooms.reorder("demo", [room], me),
      [{ type: "rooms.reordered" }],
    );
    await expecting.refused([
      [() => rooms.create("none", { name: "x" }), "absent"],
      [() => rooms.open("demo", { name: "B" }), "taken"],
      [() => rooms.update("demo", "none", {}), "absent"],
      [() => rooms.update("demo", room, { name: "x" }, []), "changed"],
      [() => rooms.schedule("demo", "none", null), "absent"],
      [() => rooms.delete("demo", room, ["x"]), "changed"],
    ]);
    await expecting.write(
      "a room is deleted",
      () => rooms.delete("demo", room, undefined, me),
      [{ type: "room.deleted", room, rules: permission_config }],
      [get, undefined],
    );
  });

  await contract("what writes to users append", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { users } = store;
    const eve = { tokenId: "eve", traits: new Set(["a"]) };
    const own = (user: string) => ({ by: { ...me, user } });
    const { id: user } = await expecting.write(
      "a user is new",
      () => users.enter("demo", { ...eve, login: true }, me),
      ({ id }) => [{ type: "user.entered", user: id, ...own(id) }],
    );
    const { id: bob } = await users.enter("demo", { ...eve, tokenId: "bob" });
    const get = () => users.get("demo", user);
    await expecting.write(
      "a user has other traits",
      () => users.enter("demo", { ...eve, traits: new Set(["b"]) }, me),
      [{ type: "user.entered", user, ...own(user) }],
      [async () => (await get())?.traits, ["b"]],
    );
    await expecting.write(
      "a new screen",
      () =>
        users.enter(
          "demo",
          { clientId: kioskId("hall"), traits: new Set() },
          me,
        ),
      ({ id }) => [
        { type: "user.entered", user: id },
        {
          ...{ type: "noted", act: "kiosk.created" },
          subject: { user_id: id },
        },
      ],
    );
    const { id: uploader } = await users.enter("demo", {
      ...{ tokenId: "uploader", traits: new Set() },
    });
    const logIn = () =>
      users.enter(
        "demo",
        { tokenId: "uploader", traits: new Set(), login: true },
        me,
      );
    await expecting.write("a user logs in for the first time", logIn, [
      { type: "user.entered", user: uploader, ...own(uploader) },
    ]);
    await expecting.write("a user logs in again", logIn, []);
    const known = { ...eve, traits: new Set(["b"]) };
    await expecting.write(
      "a user is changed",
      () => users.update("demo", user, { pretalx_id: "P", profile: {} }, me),
      [{ type: "user.updated", user }],
      [async () => (await get())?.pretalx_id, "P"],
    );
    await expecting.write(
      "a user is silenced",
      () => users.moderate("demo", user, "silenced", me),
      [{ type: "user.moderated", user }],
      [async () => (await get())?.moderation_state, "silenced"],
    );
    await expecting.write(
      "a user is banned",
      () => users.moderate("demo", user, "banned", me),
      [{ type: "user.moderated", user }],
    );
    await expecting.write(
      "a user blocks another",
      () => users.block("demo", user, bob, me),
      [{ type: "user.blocked", user }],
      [async () => (await users.blocked("demo", user)).length, 1],
    );
    const none = { ...eve, traits: new Set<string>() };
    await expecting.nothing({
      "a banned user comes": () => users.enter("demo", none),
    });
    await expecting.write(
      "a banned user is silenced",
      () => users.moderate("demo", user, "silenced", me),
      [{ type: "user.moderated", user }],
    );
    const unchanged = {
      "the same profile": () => users.update("demo", user, { profile: {} }, me),
      "no change": () => users.update("demo", user, {}, me),
    };
    await expecting.each(unchanged, [{ type: "user.updated", user }]);
    await expecting.write(
      "a block again",
      () => users.block("demo", user, bob, me),
      [{ type: "user.blocked", user }],
    );
    await expecting.write(
      "no block",
      () => users.unblock("demo", bob, user, me),
      [{ type: "user.unblocked", user: bob }],
    );
    await users.moderate("demo", user, "");
    await expecting.nothing({
      "a user comes back": () => users.enter("demo", known),
      "a user logs in": () => users.enter("demo", { ...known, login: true }),
    });
    await expecting.write(
      "and no longer",
      () => users.unblock("demo", user, bob, me),
      [{ type: "user.unblocked", user }],
    );
    await expecting.refused([
      [() => users.enter("none", eve), "absent"],
      [() => users.update("demo", "none", {}), "absent"],
      [() => users.moderate("demo", "none", "banned"), "absent"],
      [() => users.block("demo", user, "none"), "absent"],
      [() => users.erase("demo", { token_id: "none" }), "absent"],
    ]);
    await expecting.write(
      "a user is erased",
      () => users.erase("demo", { token_id: "eve" }, me),
      [{ type: "user.erased", user }],
      [async () => (await usersOf(store, "demo")).length, 2],
    );
    await expecting.refused([
      [() => users.erase("demo", { user_id: user }), "absent"],
      [() => users.unblock("demo", user, bob), "absent"],
    ]);
  });

  await contract("what announcements and files append", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { announcements, files } = store;
    const made = await expecting.write(
      "an announcement is made",
      () => announcements.create("demo", { text: "x" }, me),
      ({ id: announcement }) => [
        { type: "announcement.created", announcement, wasVisible: false },
      ],
    );
    const { id: announcement } = made;
    const update = (changes: Parameters<typeof announcements.update>[2]) =>
      announcements.update("demo", announcement, changes, undefined, me);
    const updated = { type: "announcement.updated", announcement } as const;
    await expecting.write(
      "it becomes visible",
      () => update({ state: "active" }),
      [{ ...updated, wasVisible: false }],
      [async () => (await announcements.list("demo"))[0]?.state, "active"],
    );
    await expecting.write(
      "it gets an end that is over, and another text",
      () => update({ show_until: 1, text: "y" }),
      [
        {
          ...updated,
          wasVisible: true,
          hidden: { ...made, state: "active", show_until: 1 },
        },
      ],
    );
    await expecting.write(
      "it is archived while it is invisible",
      () => update({ state: "archived" }),
      [{ ...updated, wasVisible: false }],
    );
    const unchanged = {
      "the same text": () => update({ text: "y" }),
      "a state that does not follow": () => update({ state: "active" }),
    };
    await expecting.each(unchanged, [{ ...updated, wasVisible: false }]);

    const { id: file, record } = newFile();
    const ada = { tokenId: "ada", traits: new Set<string>() };
    const { id: user } = await store.users.enter("demo", ada);
    const by = { kind: "user", user } as const;
    await expecting.write(
      "a file is added",
      () => files.add("demo", ada, record, 1000),
      [{ type: "file.added", file, by }],
      [() => files.has(record.key), true],
    );
    const other = { ...ada, traits: new Set(["b"]) };
    const second = newFile();
    await expecting.write(
      "a user uploads with other traits",
      () => files.add("demo", other, second.record, 1000),
      [
        { type: "user.entered", user, by },
        { type: "file.added", file: second.id, by },
      ],
    );
    await expecting.refused([
      [() => announcements.create("none", { text: "x" }), "absent"],
      [() => announcements.update("demo", "none", {}), "absent"],
      [() => files.add("demo", ada, newFile().record, 0), "quota"],
      [() => files.delete("demo", "none"), "absent"],
    ]);
    await expecting.write(
      "a file is deleted",
      () => files.delete("demo", file, me),
      [{ type: "file.deleted", file }],
    );
    const url = `https://demo.example/media/${second.record.key}`;
    const added = await store.program.createSpeaker(
      ...(["demo", { name: "Ada", picture: url }, ["demo.example"]] as const),
    );
    const speaker = "value" in added ? added.value.id : "";
    const event = { tagline: "x", cover: { url } };
    await store.worlds.configure("demo", { config: { event } });
    await expecting.write(
      "a file is deleted that a speaker and the event show",
      () => files.delete("demo", second.id, me),
      [
        { type: "file.deleted", file: second.id },
        { type: "speaker.updated", speaker },
        { type: "world.updated" },
      ],
    );
    t.match(await store.worlds.get("demo"), {
      value: { config: { event: { tagline: "x", cover: null } } },
    });
    const { speakers } = await store.program.get("demo");
    t.match(speakers, [{ value: { name: "Ada", picture: null } }]);
  });
}
