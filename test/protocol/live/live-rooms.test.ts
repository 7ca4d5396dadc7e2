import { randomUUID } from "node:crypto";
import t from "tap";
import { commands } from "../../../schemas/live/index.js";
import { until } from "../../support/helper.js";
import {
  type Client,
  invalid,
  type Json,
  keys,
  openWorld,
  soon,
} from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Rooms, their viewers, and their settings.

const server = await startServer(t);

void t.test("a user is there until the last connection leaves", async (t) => {
  const world = await openWorld(server);
  const room = await world.room();
  const admin = await world.admin();
  const [one, two] = [await world.guest("u"), await world.guest("u")];
  await admin.do("room.enter", { room });
  await one.do("room.enter", { channel: room });
  await two.do("room.enter", { room });
  for (let i = 0; i < 2; i++) {
    t.match(await admin.next("room.viewer.added"), { user: { id: one.id } });
  }
  await world.calm(undefined, admin);
  t.same(await one.do("room.leave", { room }), {});
  t.same(await one.do("room.leave", { room }), {}, "idempotent");
  await world.settled();
  t.same(await admin.all(), [], "the other browser is still there");
  two.close();
  await soon(two.closed);
  t.same(await admin.next("room.viewer.removed"), { user_id: one.id });
  const again = await world.guest("u");
  await again.do("room.enter", { room });
  await again.do("room.leave", { room });
  t.same(await admin.next("room.viewer.removed"), { user_id: one.id });
  await admin.do("room.leave", { room });
  const isNone = ({ users }: Json) => users === "none";
  t.match(await again.next("world.user_count_change", isNone), { room });
});

void t.test("viewers with less rights", async (t) => {
  const permission_config = { "room.viewers": ["host"], "chat.moderate": ["mod"] };
  const world = await openWorld(server, { permission_config });
  const room = await world.room();
  const [host, guest] = [await world.person("h", "host"), await world.guest()];
  await guest.do("room.enter", { room });
  const { viewers } = await host.do("room.enter", { room });
  await (await world.guest()).do("room.enter", { room });
  const { user } = await host.next("room.viewer.added");
  t.equal(viewers.length, 2);
  for (const viewer of [...viewers, user]) t.notOk("moderation_state" in viewer);
  await world.calm(undefined, guest);
  await host.do("room.enter", { room });
  await world.settled();
  t.same(await guest.all(), []);
});

void t.test("who was where is kept if the world asks for it", async (t) => {
  const own = await startServer(t);
  const world = await openWorld(own, { config: { attendance: "people" } });
  const room = await world.room();
  const visits = () => world.store.attendance.visits(world.id, room, undefined, 10);
  const person = await world.person("u");
  await person.do("room.enter", { room });
  await until(async () => (await visits()).length > 0);
  const [first] = await visits();
  t.equal(first!.user, person.id);
  await person.do("room.leave", { room });
  await until(async () => (await visits())[0]!.last > first!.last);
  const other = await world.person("v");
  await other.do("room.enter", { room });
  await own.app.live.close();
  const users = (await visits()).map(({ user }) => user).sort();
  t.same(users, [person.id, other.id].sort(), "also people who are there when the server ends");
});

void t.test("reactions", async (t) => {
  const world = await openWorld(server);
  const room = await world.room();
  const secret = await world.room({ permission_config: { "room.view": ["admin"] } });
  const [inside, outside, two] = [
    await world.guest("a"),
    await world.guest("b"),
    await world.guest("a"),
  ];
  await inside.do("room.enter", { room });
  await world.calm(undefined, inside, outside);
  // Sent concurrently, because changes within a second share a push.
  const emoji = ["👏", "❤️", "👍", "🤣", "😮", "👏"];
  const sent: [from: Client, payload: object][] = [
    ...emoji.map((reaction): [Client, object] => [outside, { room, reaction }]),
    [inside, { channel: room, reaction: "👏" }],
    [two, { room, reaction: "👏" }],
  ];
  const answers = await Promise.all(sent.map(([from, payload]) => from.do("room.react", payload)));
  t.same(answers, Array(sent.length).fill({}), "also those that are dropped");
  const reactions = { "👏": 2, "❤️": 1, "👍": 1, "🤣": 1, "😮": 1 };
  t.same(await inside.next("room.reaction"), { room, reactions });
  await world.settled();
  t.same(await outside.all(), [], "only those inside get them");
  const table: [payload: unknown, code: string][] = [
    ...["👎", "❤", "", "👏👏", "constructor"].map((reaction): [object, string] => [
      { room, reaction },
      "room.unknown_reaction",
    ]),
    [{ room }, invalid],
    [{ room, reaction: 5 }, invalid],
    [{ room: secret, reaction: "👏" }, "protocol.denied"],
    [{ reaction: "👏" }, "room.unknown"],
    [null, invalid],
  ];
  for (const [payload, code] of table) {
    t.equal(await outside.code("room.react", payload), code, JSON.stringify(payload));
  }
});

void t.test("rooms that commands do not find", async (t) => {
  const [world, other] = [await openWorld(server), await openWorld(server)];
  const admin = await world.admin();
  const [room, foreign, deleted] = [await world.room(), await other.room(), await world.room()];
  await admin.do("room.delete", { room: deleted });
  const words = ["enter", "leave", "react", "delete", "config.get", "config.patch", "schedule"];
  const ofVotes = Object.keys(commands).filter((action) => /^(question|poll)\./.test(action));
  const unknown = { code: "room.unknown", message: "Unknown room ID" };
  for (const action of [...words.map((word) => `room.${word}`), ...ofVotes]) {
    for (const id of [randomUUID(), "x", "", 5, null, {}, [room], foreign, deleted]) {
      for (const name of ["room", "channel"]) {
        const [, , problem] = await admin.call(action, { [name]: id });
        t.same(problem, unknown, `${action} ${name} ${JSON.stringify(id)}`);
      }
    }
    t.equal(await admin.code(action, {}), "room.unknown", action);
    for (const payload of [null, [], "x"])
      t.equal(await admin.code(action, payload), invalid, action);
  }
});

void t.test("room.create", async (t) => {
  const permission_config = { "room.create": ["creator"], "room.update": ["updater"] };
  const world = await openWorld(server, { permission_config });
  const [both, creator, updater, guest] = [
    await world.person("b", "creator", "updater"),
    await world.person("c", "creator"),
    await world.person("u", "updater"),
    await world.guest(),
  ];
  await world.room({ name: "First", sorting_priority: 7 });
  const chat = { type: "chat.native", config: { volatile: true, other: 1 } };
  const stage = { type: "livestream.native", config: { hls_url: "https://x.test", other: 1 } };
  const made = await both.do("room.create", {
    name: "Talk",
    description: "About *it*",
    modules: [chat],
    permission_preset: "public",
  });
  t.same(keys(made), ["channel", "room"]);
  t.equal(made.channel, made.room, "the channel has the id of the room");
  const settings = () => both.do("room.config.get", { room: made.room });
  t.equal((await settings()).sorting_priority, 8, "the highest and one");

  const denied = "room.invalid.denied";
  const wrong = "room.invalid.invalid";
  const table: [as: Client, changes: object | null, code: string][] = [
    [guest, {}, "auth.denied"],
    [guest, null, "auth.denied"],
    [creator, {}, denied],
    [creator, { modules: undefined }, denied],
    [updater, {}, "ok"],
    [updater, { modules: undefined }, "ok"],
    [updater, { modules: [chat] }, denied],
    [updater, { modules: [stage] }, denied],
    [creator, { modules: [chat] }, "ok"],
    [creator, { modules: [{ type: "chat.native" }] }, "ok"],
    [creator, { modules: [stage] }, "ok"],
    [creator, { modules: [stage, chat] }, "ok"],
    [both, { modules: [{ type: "call.bigbluebutton" }] }, denied],
    [creator, { modules: [chat, { type: "call.native", config: { mode: "stage" } }] }, "ok"],
    [creator, { modules: [chat, { type: "call.native", config: { mode: 5 } }] }, invalid],
    [creator, { modules: [chat, { type: "call.native" }, { type: "call.jitsi" }] }, invalid],
    [both, { modules: [{ type: "poster.native" }] }, wrong],
    [both, { modules: [{ type: "page.markdown" }] }, wrong],
    [both, { name: "Talk" }, "room.invalid.name_taken"],
    [both, { name: "tALK" }, "room.invalid.name_taken"],
    ...["", 5, "x".repeat(301)].map((name): [Client, object, string] => [both, { name }, invalid]),
    ...["x", [5], [{}]].map((modules): [Client, object, string] => [both, { modules }, invalid]),
    [both, { description: undefined }, "ok"],
    [both, { description: 5 }, invalid],
    [both, { description: null }, "ok"],
    [both, { permission_preset: "team" }, invalid],
    [both, { permission_preset: 5 }, invalid],
    [both, { other: 1 }, "ok"],
    [both, null, invalid],
  ];
  for (const [as, changes, code] of table) {
    const draft = { name: `R${randomUUID()}`, description: "", modules: [] };
    const name = `${as.id} ${JSON.stringify(changes)}`.slice(0, 150);
    t.equal(await as.code("room.create", changes && { ...draft, ...changes }), code, name);
  }
  t.equal(await both.code("room.create", []), invalid);
  const { module_config } = await settings();
  t.same(module_config, [{ type: "chat.native", config: { volatile: true } }]);
});

/** The settings of a room that `room.config.get` returns. */
const SETTINGS = ["description", "force_join", "id", "module_config", "name", "picture"].concat([
  "pretalx_id",
  "schedule_data",
  "sorting_priority",
  "trait_grants",
]);

void t.test("room.config", async (t) => {
  const world = await openWorld(server);
  const modules = [{ type: "livestream.native", config: { hls_url: "x" } }];
  const room = await world.room({ name: "A", module_config: modules });
  const [admin, guest] = [await world.admin(), await world.guest()];
  const first = await admin.do("room.config.get", { room });
  t.same(keys(first), SETTINGS);
  t.match(first, {
    id: room,
    name: "A",
    module_config: modules,
    trait_grants: {},
    picture: null,
    pretalx_id: 0,
    force_join: false,
    schedule_data: null,
  });
  const inRest = async () => keys((await world.rest("GET", `rooms/${room}/`)).body);
  const rest = await inRest();
  /** Changes, and the resulting value if it differs. */
  const accepted: [field: string, given: unknown, value?: unknown][] = [
    ["name", "New"],
    ["description", "*x*"],
    ["description", null, ""],
    ["picture", "/media/x.png"],
    ["picture", null],
    ["sorting_priority", "42", 42],
    ["sorting_priority", -1],
    ["pretalx_id", "131", 131],
    ["pretalx_id", 7],
    ["force_join", true],
    ["schedule_data", { session: "x" }],
    ["schedule_data", null],
    ["trait_grants", { "chat.send": [["a", "b"]] }],
    ["module_config", []],
    ["module_config", [{ type: "chat.native" }]],
    ["id", "x", room],
  ];
  let expected = first;
  for (const [field, given, value = given] of accepted) {
    const changes = { room, unknown: 1, import_id: "x", [field]: given };
    expected = { ...expected, [field]: value };
    const name = `${field} ${JSON.stringify(given)}`;
    t.same(await admin.do("room.config.patch", changes), expected, name);
    t.same(await admin.do("room.config.get", { room }), expected);
  }
  const isChat = ({ rooms }: Json) => rooms[0]?.modules[0]?.type === "chat.native";
  const pushed = await guest.next("world.updated", isChat);
  t.same(pushed.rooms[0].modules, [{ type: "chat.native", config: {}, channel_id: room }]);
  t.same(await inRest(), rest, "REST does not show more");

  const wrongCall = [{ type: "call.native", config: { limit: 1 } }];
  const refused: Record<string, unknown[]> = {
    name: ["", null, 5, "x".repeat(301), "a\0"],
    description: [5],
    picture: [5, "x".repeat(2001)],
    sorting_priority: ["x", "1.5", 1.5, null, "99999999999"],
    pretalx_id: ["-5", "99999999999", {}],
    force_join: ["true"],
    schedule_data: [[], "x"],
    trait_grants: [[], { "room.view": "x" }],
    module_config: [{}, [{}], wrongCall],
  };
  const inside: Record<string, string> = {
    '{"room.view":"x"}': "trait_grants.room.view",
    "[{}]": "module_config.0.type",
    [JSON.stringify(wrongCall)]: "module_config.0.config.limit",
  };
  for (const [field, values] of Object.entries(refused)) {
    for (const value of values) {
      const name = `${field} ${JSON.stringify(value).slice(0, 100)}`;
      const [, , problem] = await admin.call("room.config.patch", { room, [field]: value });
      t.match(problem, { code: "config.invalid" }, name);
      const details = keys((problem as Json).details ?? {});
      t.same(details, [inside[JSON.stringify(value)] ?? field], name);
    }
  }
  t.same(await admin.do("room.config.get", { room }), expected, "unchanged");
  for (const action of ["room.config.get", "room.config.patch"]) {
    t.equal(await guest.code(action, { room, name: 5 }), "protocol.denied");
  }
});

void t.test("room.config.list and reorder", async (t) => {
  const world = await openWorld(server);
  const add = (name: string, sorting_priority: number, more = {}) =>
    world.room({ name, sorting_priority, ...more });
  const [B, A] = [await add("B", 1), await add("A", 1)];
  const D = await add("D", 0, { permission_config: { "room.view": ["nobody"] } });
  const C = await add("C", 5);
  const [admin, guest] = [await world.admin(), await world.guest()];
  const order = (list: Json) => list.map((room: Json) => [room.name, room.sorting_priority]);
  for (const payload of [null, {}]) {
    const list = await admin.do("room.config.list", payload);
    const seen = ["A 1", "B 1", "C 5"].map((it) => [it[0], Number(it[2])]);
    t.same(order(list), seen, "without the room that the admin does not see");
    t.same(keys(list[0]), SETTINGS);
  }
  await world.calm(undefined, admin, guest);
  const reordered = [
    ["C", 2],
    ["B", 3],
    ["A", 4],
  ];
  const wanted = [C, randomUUID(), D, B, null, 5, "x", C, {}];
  t.same(order(await admin.do("room.config.reorder", wanted)), reordered);
  const seer = await world.person("seer", "admin", "nobody");
  const seen = order(await seer.do("room.config.list", null));
  t.same(seen, [["D", 1], ...reordered], "it keeps its place");
  const isLast = ({ rooms }: Json) => rooms[0].id === C;
  const { rooms } = await guest.next("world.updated", isLast);
  t.same(
    rooms.map(({ id }: Json) => id),
    [C, B, A],
  );
  t.same(order(await admin.do("room.config.reorder", [])), reordered);
  for (const payload of [{}, "x", 5]) {
    t.equal(await admin.code("room.config.reorder", payload), invalid);
  }
  t.equal(await guest.code("room.config.list"), "auth.denied");
  t.equal(await guest.code("room.config.reorder", [A]), "auth.denied");
});

void t.test("room.schedule", async (t) => {
  const world = await openWorld(server);
  const room = await world.room();
  const [admin, outside] = [await world.admin(), await world.guest()];
  const table: [code: string, ...data: unknown[]][] = [
    ["ok", { session: "x" }, { title: "T", computeSession: true }, {}, null],
    ["room.unknown_schedule_data", { other: 1 }, { title: "x", other: 1 }],
    ["room.unknown_schedule_data", { __proto__: null, toString: 1 }],
    [invalid, { title: "x".repeat(16 * 1024) }, [], "x", undefined],
  ];
  for (const [code, ...all] of table) {
    for (const schedule_data of all) {
      const name = JSON.stringify(schedule_data)?.slice(0, 80) ?? "nothing";
      t.equal(await admin.code("room.schedule", { room, schedule_data }), code, name);
      if (code !== "ok") continue;
      const { hello } = await world.guest();
      t.same(hello["world.config"].rooms[0].schedule_data, schedule_data);
    }
  }
  t.equal(await outside.code("room.schedule", { room, schedule_data: null }), "protocol.denied");
});
