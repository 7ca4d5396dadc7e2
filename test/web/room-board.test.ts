import t, { type Test } from "tap";
import { get } from "svelte/store";
import { startTestServer } from "../../testing.js";
import { audienceOf, moved, RoomBoard } from "../../web/state/room-board.js";
import { draftOf, presets, type Preset } from "../../web/state/room-presets.js";
import { Session } from "../../web/state/session.js";
import { until } from "../helper.js";

async function start(t: Test, traits = ["admin", "api"]) {
  const server = await startTestServer();
  t.teardown(() => server.close());
  await server.createWorld({ id: "demo" });
  const token = await server.token("demo", { uid: "a", traits });
  const { baseUrl } = server;
  const session = new Session({ baseUrl, world: "demo", identity: { token } });
  t.teardown(() => session.close());
  await session.live.connected();
  const problems: string[] = [];
  const board = new RoomBoard(session.live, (text) => problems.push(text));
  t.teardown(() => board.close());
  const names = () => get(board).rows?.map(({ name }) => name);
  const make = async (name: string, more: object = {}) =>
    (await server.app.store.rooms.create("demo", { name, ...more })).value.id;
  return { server, session, board, problems, names, make };
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
  const { board, names, make } = await start(t);
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
  const { server, board, names, make } = await start(t);
  const ids: string[] = [];
  for (const name of ["a", "b", "c", "d"]) ids.push(await make(name));
  await until(() => names()?.length === 4);
  board.move(ids[3]!, 0);
  t.same(names(), ["d", "a", "b", "c"], "before any answer");
  board.move(ids[0]!, 3);
  board.move(ids[1]!, 0);
  t.same(names(), ["b", "d", "c", "a"]);
  const stored = async () =>
    (await server.app.store.rooms.all("demo", { page: 1, pageSize: 9 })).map(
      ({ value }) => value.name,
    );
  await until(async () => (await stored()).join("") === "bdca");
  await until(() => names()?.join("") === "bdca");
});

void t.test("an order that is refused is taken back", async (t) => {
  const { server, session, board, names, make, problems } = await start(t);
  const ids = [await make("a"), await make("b")];
  await until(() => names()?.length === 2);
  const call = session.live.call.bind(session.live);
  const intercepted = t.intercept(session.live, "call", {
    value: (...args: Parameters<typeof call>) =>
      args[0] === "room.config.reorder"
        ? Promise.reject(new Error("No."))
        : call(...args),
  });
  board.move(ids[1]!, 0);
  t.same(names(), ["b", "a"]);
  await until(() => problems.length > 0);
  await until(() => names()?.join("") === "ab");
  t.same(problems, ["No."]);
  intercepted.restore();

  // The right ends while the page is open.
  await server.app.store.worlds.update("demo", {
    permission_config: { "room.update": ["nobody"] },
  });
  await until(() => !get(board).mayReorder);
  t.same(names(), ["a", "b"], "what everybody sees stays");
});

void t.test("with the rights of a visitor", async (t) => {
  const { board, names, make } = await start(t, []);
  await make("a");
  await until(() => names()?.length === 1);
  t.match(get(board), { mayReorder: false, mayCreate: false });
  t.match(get(board).rows, [{ rules: undefined, sent: { name: "a" } }]);
});

void t.test("the server takes every kind of new room", async (t) => {
  const { session } = await start(t);
  for (const name of Object.keys(presets) as Preset[]) {
    const draft = draftOf(name, name, 7);
    t.match(await session.api.createRoom(draft), draft, name);
  }
});
