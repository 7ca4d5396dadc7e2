import { get } from "svelte/store";
import t, { type Test } from "tap";
import { AnnouncementBoard, nextState } from "../../../web/state/announcement-board.js";
import { Directory } from "../../../web/state/directory.js";
import { runsOf } from "../../../web/state/history.js";
import { audienceOf, moved, RoomBoard } from "../../../web/state/room-board.js";
import {
  differences,
  draftOf,
  isEdited,
  merged,
  problemsAt,
  refills,
  RoomEditor,
  roomKinds,
  type RoomValues,
} from "../../../web/state/room-editor.js";
import { until } from "../../support/helper.js";
import { startServer } from "../../support/server.js";
import { newWorld } from "./world.js";

const server = await startServer(t, { worlds: [] });

void t.test("announcements from draft to archive", async (t) => {
  const world = await newWorld(t, server);
  const open = async (traits: string[]) => {
    const { live } = await world.open(`with ${traits.join()}`, traits);
    const board = new AnnouncementBoard(live);
    t.teardown(() => board.close());
    return board;
  };
  const board = await open(["admin"]);
  const other = await open(["admin", "api"]);
  await until(() => get(board).all !== undefined);
  t.same(get(board).all, []);

  const until2099 = "2099-01-01T00:00:00.000Z";
  await board.create("Lunch", until2099, "draft");
  await board.create("Dinner", null, "active");
  t.match(get(board).all, [
    { text: "Dinner", state: "active", is_visible: true },
    { text: "Lunch", state: "draft", show_until: until2099 },
  ]);
  await until(() => get(other).all?.length === 2);

  const [dinner, lunch] = get(board).all!;
  t.equal(nextState(lunch!), "active");
  await board.update(lunch!.id, { state: "active", text: "Lunch!" });
  await board.update(dinner!.id, { state: "archived" });
  t.match(get(board).all, [
    { text: "Dinner", state: "archived", is_visible: false },
    { text: "Lunch!", state: "active", is_visible: true },
  ]);
  t.equal(nextState(get(board).all![0]!), undefined);
  await until(() => get(other).all?.[0]?.state === "archived");
  await t.rejects(board.create("", null, "draft"));

  const stranger = await open([]);
  await until(() => get(stranger).problem !== undefined);
  t.match(get(stranger), { all: undefined, problem: "Permission denied." });
});

async function openDirectory(t: Test, traits?: string[]) {
  const world = await newWorld(t, server);
  const ben = (await world.open("ben", ["attendee"])).me!;
  const session = await world.open("ada", traits);
  const directory = new Directory(session);
  const row = (id: string) => get(directory).people?.find((it) => it.id === id);
  return { session, directory, ben, row };
}

void t.test("the people of a world, with what REST knows", async (t) => {
  const { directory, ben, row, session } = await openDirectory(t);
  t.equal(get(directory).people, undefined);
  await directory.show("", 1);
  t.match(get(directory), { count: 2, isLast: true, isLoading: false });
  t.match(row(ben.id), {
    tokenId: "ben",
    traits: ["attendee"],
    state: "",
    isOnline: true,
    lastSeen: /^20/,
  });

  const until10 = new Date(Date.now() + 600_000).toISOString();
  await session.live.call("user.silence", { id: ben.id, until: until10 });
  await directory.refresh();
  t.match(row(ben.id), { state: "silenced", until: until10 });
  await session.live.call("user.ban", { id: ben.id });
  await directory.refresh();
  t.equal(row(ben.id)?.state, "banned");
  await until(async () => {
    await directory.refresh();
    return row(ben.id)?.isOnline === false;
  });
  await directory.reactivate(ben.id);
  t.equal(row(ben.id)?.state, "");

  await directory.show("BE", 1);
  t.match(get(directory), { people: [{ id: ben.id }], count: undefined });
  t.match(row(ben.id), { traits: ["attendee"] }, "what is known stays known");
  await directory.show("nobody", 1);
  t.same(get(directory).people, []);

  await directory.show("", 1);
  await t.rejects(directory.reactivate(session.me!.id), { code: "user.reactivate.self" });
  await directory.erase(ben.id);
  t.equal(row(ben.id), undefined);
  await directory.show("", 1);
  t.equal(row(ben.id), undefined);
});

void t.test("without the right to REST's list", async (t) => {
  const { directory, ben, row } = await openDirectory(t, []);
  await directory.show("", 1);
  t.match(row(ben.id), { state: undefined, tokenId: undefined, traits: undefined, isOnline: true });
  await t.rejects(directory.reactivate(ben.id), { code: "auth.denied" });
  await t.rejects(directory.erase(ben.id), { name: "FoyerError" });
  t.ok(row(ben.id), "it is still there");
});

void t.test("only the last question is answered", async (t) => {
  const { directory, ben } = await openDirectory(t);
  const first = directory.show("nobody", 1);
  const second = directory.show("ben", 1);
  await Promise.all([first, second]);
  t.match(get(directory), { term: "ben", people: [{ id: ben.id }] });
});

async function openBoard(t: Test, traits?: string[]) {
  const { world, rooms, open } = await newWorld(t, server);
  const session = await open("a", traits);
  const problems: string[] = [];
  const board = new RoomBoard(session.live, (text) => problems.push(text));
  t.teardown(() => board.close());
  const names = () => get(board).rows?.map(({ name }) => name);
  const make = async (name: string, more: object = {}) =>
    (await rooms.create(world, { name, ...more })).value.id;
  return { world, session, board, problems, names, make };
}

void t.test("a place in a list", async (t) => {
  const ids = ["a", "b", "c"];
  const cases: [id: string, to: number, result: string][] = [
    ["a", 0, "abc"],
    ["a", 1, "bac"],
    ["a", 2, "bca"],
    ["c", 0, "cab"],
    ["b", 99, "acb"],
    ["b", -1, "bac"],
    ["x", 0, "abc"],
  ];
  for (const [id, to, result] of cases) {
    t.equal(moved(ids, id, to).join(""), result, `${id} to ${to}`);
  }
});

void t.test("rooms, as organizers see them", async (t) => {
  const { board, names, make } = await openBoard(t);
  await until(() => get(board).rows !== undefined);
  t.same(get(board), {
    ...get(board),
    rows: [],
    mayReorder: true,
    mayCreate: true,
    problem: undefined,
  });
  await make("Stage", { sorting_priority: 1 });
  await make("Backstage", {
    sorting_priority: 2,
    permission_config: { "room.view": [["crew", "admin"]] },
    module_config: [{ type: "chat.native" }],
  });
  await until(() => names()?.length === 2);
  const [stage, backstage] = get(board).rows!;
  const { rules } = get(board);
  t.match(stage, { name: "Stage", priority: 1, sent: { users: "none" } });
  t.match(backstage, { types: ["chat.native"], sent: { name: "Backstage" } });
  t.equal(audienceOf(stage!, rules), "all");
  t.equal(audienceOf(backstage!, rules), "some");
  t.equal(audienceOf(stage!, { "world.view": ["x"] }), "some");
  t.equal(audienceOf(stage!, undefined), undefined);
});

void t.test("a new order is shown at once and kept", async (t) => {
  const { world, board, names, make } = await openBoard(t);
  const ids: string[] = [];
  for (const name of ["a", "b", "c", "d"]) ids.push(await make(name));
  await until(() => names()?.length === 4);
  board.move(ids[3]!, 0);
  t.same(names(), ["d", "a", "b", "c"], "before any answer");
  board.move(ids[0]!, 3);
  board.move(ids[1]!, 0);
  t.same(names(), ["b", "d", "c", "a"]);
  const stored = async () =>
    (await server.store.rooms.all(world, { page: 1, pageSize: 9 })).map(({ value }) => value.name);
  await until(async () => (await stored()).join("") === "bdca");
  await until(() => names()?.join("") === "bdca");
});

void t.test("an order that is refused is taken back", async (t) => {
  const { world, session, board, names, make, problems } = await openBoard(t);
  const ids = [await make("a"), await make("b")];
  await until(() => names()?.length === 2);
  const call = session.live.call.bind(session.live);
  const intercepted = t.intercept(session.live, "call", {
    value: (...args: Parameters<typeof call>) =>
      args[0] === "room.config.reorder" ? Promise.reject(new Error("No.")) : call(...args),
  });
  board.move(ids[1]!, 0);
  t.same(names(), ["b", "a"]);
  await until(() => problems.length > 0);
  await until(() => names()?.join("") === "ab");
  t.same(problems, ["No."]);
  intercepted.restore();

  // The right is revoked while the page is open.
  await server.store.worlds.update(world, {
    permission_config: { "room.update": ["nobody"] },
  });
  await until(() => !get(board).mayReorder);
  t.same(names(), ["a", "b"], "what everybody sees stays");
});

void t.test("with the rights of a visitor", async (t) => {
  const { board, names, make } = await openBoard(t, []);
  await make("a");
  await until(() => names()?.length === 1);
  t.match(get(board), { mayReorder: false, mayCreate: false });
  t.match(get(board).rows, [{ rules: undefined, sent: { name: "a" } }]);
});

void t.test("the server takes every kind of new room", async (t) => {
  const { session } = await openBoard(t);
  for (const name of roomKinds) {
    const draft = draftOf(name, name, 7);
    t.match(await session.api.createRoom(draft), draft, name);
  }
});

async function openEditor(t: Test) {
  const session = await (await newWorld(t, server)).open("a");
  const module_config = [{ type: "chat.native" }];
  const { id } = await session.api.createRoom({ name: "Stage", module_config });
  const editor = new RoomEditor(session, id);
  const values = await editor.load();
  return { session, id, editor, values };
}

const edited = (values: RoomValues, changes: Partial<RoomValues>) => ({
  ...structuredClone(values),
  ...changes,
});

void t.test("a room is edited", async (t) => {
  const { session, id, editor, values } = await openEditor(t);
  t.match(values, { name: "Stage", picture: null, force_join: false, schedule_data: null });
  const mine = edited(values, {
    name: "Hall",
    force_join: true,
    schedule_data: { title: "Opening" },
  });
  t.ok(isEdited(values, mine));
  t.same(await editor.save(mine), { is: "saved", values: mine });
  t.match(await session.live.call("room.config.get", { room: id }), {
    name: "Hall",
    force_join: true,
    schedule_data: { title: "Opening" },
  });
  t.notOk(await editor.isChanged(), "not by another organizer");
  const config = [{ type: "chat.native", config: {} }];
  const same = edited(mine, { module_config: config });
  t.notOk(isEdited(mine, same), "a module without config has an empty one");
  t.equal(await editor.remove(), true);
  await t.rejects(editor.load());
});

void t.test("the changes of others are kept", async (t) => {
  const { session, id, editor, values } = await openEditor(t);
  const mine = edited(values, { description: "Mine" });
  const byThem: [name: string, work: () => Promise<unknown>][] = [
    ["REST", () => session.api.updateRoom(id, { name: "Theirs" })],
    ["the live API", () => session.live.call("room.config.patch", { room: id, picture: "x" })],
  ];
  for (const [name, work] of byThem) {
    await editor.load();
    await work();
    t.equal(await editor.isChanged(), true, name);
    t.same(await editor.save(mine), { is: "changed" }, name);
    t.same(
      await editor.save(edited(values, { force_join: true })),
      { is: "changed" },
      "also without a change to REST's fields",
    );
    t.equal(await editor.remove(), false, name);
  }
  const theirs = await editor.theirs();
  t.same(differences(theirs, mine), [
    { field: "name", theirs: "Theirs", mine: "Stage" },
    { field: "description", theirs: "", mine: "Mine" },
    { field: "picture", theirs: "x", mine: "" },
  ]);
  t.same(await editor.save(mine), { is: "changed" }, "to look decides nothing");
  await editor.load();
  const outcome = await editor.save({ ...theirs, description: "Mine" });
  t.match(outcome, { is: "saved", values: { name: "Theirs" } });
});

void t.test("the own save is no change by others", async (t) => {
  const { editor, values } = await openEditor(t);
  const asked = editor.isChanged();
  await editor.save(edited(values, { name: "Hall", force_join: true }));
  t.equal(await asked, false);
});

void t.test("problems come with their fields", async (t) => {
  const { session, id, editor, values } = await openEditor(t);
  const wrong = await editor.save(
    edited(values, {
      name: "",
      module_config: [{ type: "page.markdown" }, { type: "" }],
      permission_config: { "room.view": ["a b"] },
    }),
  );
  if (wrong.is !== "invalid") throw new Error("It was accepted.");
  t.equal(problemsAt(wrong.problems, "name").length, 1);
  t.same(problemsAt(wrong.problems, "module_config.0"), []);
  t.match(problemsAt(wrong.problems, "module_config.1"), [/^type: /]);
  t.match(problemsAt(wrong.problems, "permission_config"), [/^room\.view/]);

  const long = { title: "x".repeat(20_000) };
  const late = edited(values, { name: "Hall", schedule_data: long });
  const outcome = await editor.save(late);
  t.match(outcome, { is: "invalid", problems: { schedule_data: [/KiB/] } });
  t.equal((await session.api.getRoom(id)).name, "Stage", "nothing is written");
  const again = edited(late, { schedule_data: null });
  t.match(await editor.save(again), { is: "saved", values: { name: "Hall" } });
});

void t.test("what is typed while saving stays", async (t) => {
  const { values } = await openEditor(t);
  const sent = edited(values, { name: "Hall" });
  const now = edited(sent, { description: "And more" });
  const saved = edited(sent, { sorting_priority: 9 });
  t.same(merged(now, sent, saved), { ...saved, description: "And more" });
  const others = edited(saved, { module_config: [] });
  t.same(
    merged(now, sent, others, ["module_config"]).module_config,
    sent.module_config,
    "also what is no JSON yet",
  );
});

void t.test("only fields with another value are filled again", async (t) => {
  const { values } = await openEditor(t);
  t.same(refills(values, structuredClone(values)), []);
  const bare = edited(values, { module_config: [{ type: "chat.native" }] });
  const full = [{ type: "chat.native", config: {} }];
  t.same(refills(bare, edited(bare, { module_config: full })), []);
  t.same(refills(values, edited(values, { name: "Hall" })), [
    ["basics", { name: "Hall", description: "" }],
  ]);
});

void t.test("what one person did many times is one line of the history", async (t) => {
  const at = (second: number) => new Date(Date.UTC(2027, 2, 1, 10, 0, second)).toISOString();
  let id = 0;
  const entry = (type: string, user_id: string, second: number, request_id: string | null) => ({
    id: ++id,
    at: at(second),
    by: { kind: "user" as const, user_id },
    type,
    subject: {},
    changes: [],
    request_id,
  });
  const entries = [
    ...Array.from({ length: 60 }, (_, i) => entry("token.created", "ann", 2 * i, `${i}`)),
    entry("token.created", "bob", 120, "a"),
    // An import, and two changes by hand.
    ...Array.from({ length: 5 }, () => entry("session.created", "ann", 130, "import")),
    entry("session.updated", "ann", 140, "b"),
    entry("session.updated", "ann", 140, "c"),
    // A connection that stays open is no single act.
    entry("user.moderated", "ann", 150, "socket"),
    entry("user.moderated", "ann", 160, "socket"),
    entry("room.updated", "ann", 161, null),
    entry("room.updated", "ann", 161, null),
  ];
  t.same(
    runsOf(entries).map((run) => run.length),
    [60, 1, 5, 1, 1, 1, 1, 1, 1],
  );
});
