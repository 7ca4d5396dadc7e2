import t, { type Test } from "tap";
import { startTestServer } from "../../testing.js";
import {
  differences,
  isEdited,
  merged,
  problemsAt,
  refills,
  RoomEditor,
  type RoomValues,
} from "../../web/state/room-editor.js";
import { Session } from "../../web/state/session.js";

async function start(t: Test) {
  const server = await startTestServer();
  t.teardown(() => server.close());
  await server.createWorld({ id: "demo" });
  const { baseUrl } = server;
  const token = await server.token("demo", { uid: "a" });
  const session = new Session({ baseUrl, world: "demo", identity: { token } });
  t.teardown(() => session.close());
  const { id } = await session.api.createRoom({
    name: "Stage",
    module_config: [{ type: "chat.native" }],
  });
  const editor = new RoomEditor(session, id);
  const values = await editor.load();
  return { session, id, editor, values };
}

const edited = (values: RoomValues, changes: Partial<RoomValues>) => ({
  ...structuredClone(values),
  ...changes,
});

void t.test("a room is edited", async (t) => {
  const { session, id, editor, values } = await start(t);
  t.match(values, {
    name: "Stage",
    picture: null,
    force_join: false,
    schedule_data: null,
  });
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
  const { session, id, editor, values } = await start(t);
  const mine = edited(values, { description: "Mine" });
  const byThem: [name: string, work: () => Promise<unknown>][] = [
    ["REST", () => session.api.updateRoom(id, { name: "Theirs" })],
    [
      "the live API",
      () => session.live.call("room.config.patch", { room: id, picture: "x" }),
    ],
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
  const { editor, values } = await start(t);
  const asked = editor.isChanged();
  await editor.save(edited(values, { name: "Hall", force_join: true }));
  t.equal(await asked, false);
});

void t.test("problems come with their fields", async (t) => {
  const { session, id, editor, values } = await start(t);
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
  const { values } = await start(t);
  const sent = edited(values, { name: "Hall" });
  const now = edited(sent, { description: "And more" });
  const saved = edited(sent, { sorting_priority: 9 });
  t.same(merged(now, sent, saved), {
    ...saved,
    description: "And more",
  });
  const others = edited(saved, { module_config: [] });
  t.same(
    merged(now, sent, others, ["module_config"]).module_config,
    sent.module_config,
    "also what is no JSON yet",
  );
});

void t.test("only fields with another value are filled again", async (t) => {
  const { values } = await start(t);
  t.same(refills(values, structuredClone(values)), []);
  const bare = edited(values, { module_config: [{ type: "chat.native" }] });
  const full = [{ type: "chat.native", config: {} }];
  t.same(refills(bare, edited(bare, { module_config: full })), []);
  t.same(refills(values, edited(values, { name: "Hall" })), [
    ["basics", { name: "Hall", description: "" }],
  ]);
});
