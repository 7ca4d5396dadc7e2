import t from "tap";
import { get } from "svelte/store";
import { startTestServer } from "../../testing.js";
import {
  AnnouncementBoard,
  nextState,
} from "../../web/state/announcement-board.js";
import { Session } from "../../web/state/session.js";
import { until } from "../helper.js";

void t.test("announcements from draft to archive", async (t) => {
  const server = await startTestServer();
  t.teardown(() => server.close());
  await server.createWorld({ id: "demo" });
  const { baseUrl } = server;
  const open = async (traits: string[]) => {
    const token = await server.token("demo", {
      uid: `with ${traits.join()}`,
      traits,
    });
    const identity = { token };
    const session = new Session({ baseUrl, world: "demo", identity });
    t.teardown(() => session.close());
    await session.live.connected();
    const board = new AnnouncementBoard(session.live);
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
