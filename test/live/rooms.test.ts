import { randomUUID } from "node:crypto";
import t from "tap";
import {
  type Client,
  demo,
  type Json,
  type LiveServer,
  makeRoom,
  soon,
  startLive,
} from "./client.js";
import { commands } from "../votes/commands.js";

const keys = (value: object) => Object.keys(value).sort();
const invalid = "protocol.invalid_payload";

/** Empties what came, after everything that follows from earlier commands. */
async function calm(live: LiveServer, ...clients: Client[]): Promise<void> {
  await live.settled();
  for (const client of clients) await client.all();
}

void t.test("a user is there until the last connection leaves", async (t) => {
  const live = await startLive(t);
  const room = await makeRoom(live);
  const admin = await live.admin();
  const [one, two] = [await live.guest("u"), await live.guest("u")];
  await admin.do("room.enter", { room });
  await one.do("room.enter", { channel: room });
  await two.do("room.enter", { room });
  for (let i = 0; i < 2; i++) {
    t.match(await admin.next("room.viewer.added"), { user: { id: one.id } });
  }
  await calm(live, admin);
  t.same(await one.do("room.leave", { room }), {});
  t.same(await one.do("room.leave", { room }), {}, "idempotent");
  await live.settled();
  t.same(await admin.all(), [], "the other browser is still there");
  two.close();
  await soon(two.closed);
  t.same(await admin.next("room.viewer.removed"), { user_id: one.id });
  const again = await live.guest("u");
  await again.do("room.enter", { room });
  await again.do("room.leave", { room });
  t.same(await admin.next("room.viewer.removed"), { user_id: one.id });
  await admin.do("room.leave", { room });
  const word = ({ users }: Json) => users === "none";
  t.match(await again.next("world.user_count_change", word), { room });
});

void t.test("viewers with less rights", async (t) => {
  const config = { "room.viewers": ["host"], "chat.moderate": ["mod"] };
  const live = await startLive(t, {}, [demo({ permission_config: config })]);
  const room = await makeRoom(live);
  const host = await live.person({ uid: "h", traits: ["host"] });
  const guest = await live.guest();
  await guest.do("room.enter", { room });
  const { viewers } = await host.do("room.enter", { room });
  t.equal(viewers.length, 2);
  for (const viewer of viewers) t.notOk("moderation_state" in viewer);
  const other = await live.guest();
  await other.do("room.enter", { room });
  const { user } = await host.next("room.viewer.added");
  t.notOk("moderation_state" in user);
  await calm(live, guest);
  await host.do("room.enter", { room });
  await live.settled();
  t.same(await guest.all(), []);
});

void t.test("eleven are many", async (t) => {
  const live = await startLive(t);
  const room = await makeRoom(live);
  const watch = await live.guest("watch");
  const word = () => watch.next("world.user_count_change");
  const people: Client[] = [];
  for (let i = 0; i < 11; i++) people.push(await live.guest());
  for (const [i, guest] of people.entries()) {
    await guest.do("room.enter", { room });
    if (i === 0) t.same(await word(), { room, users: "few" });
    if (i === 9) t.same(await calm(live, watch), undefined);
  }
  t.same(await word(), { room, users: "many" });
  // The same person twice counts once.
  const again = await live.guest("guest-1");
  await again.do("room.enter", { room });
  people[10]!.close();
  t.same(await word(), { room, users: "few" });
  for (const guest of [again, ...people]) guest.close();
  t.same(await word(), { room, users: "none" });
});

void t.test("reactions", async (t) => {
  const live = await startLive(t);
  const room = await makeRoom(live);
  const closed = { "room.view": ["admin"] };
  const secret = await makeRoom(live, { name: "B", permission_config: closed });
  const [inside, outside, two] = [
    await live.guest("a"),
    await live.guest("b"),
    await live.guest("a"),
  ];
  await inside.do("room.enter", { room });
  await calm(live, inside, outside);
  // At once, as changes within a second share a push.
  const sent: [from: Client, payload: object][] = [
    ...["👏", "❤️", "👍", "🤣", "😮", "👏"].map(
      (reaction): [Client, object] => [outside, { room, reaction }],
    ),
    [inside, { channel: room, reaction: "👏" }],
    [two, { room, reaction: "👏" }],
  ];
  const answers = await Promise.all(
    sent.map(([from, payload]) => from.do("room.react", payload)),
  );
  t.same(answers, Array(sent.length).fill({}), "also those that are dropped");
  t.same(await inside.next("room.reaction"), {
    room,
    reactions: { "👏": 2, "❤️": 1, "👍": 1, "🤣": 1, "😮": 1 },
  });
  await live.settled();
  t.same(await outside.all(), [], "only those inside get them");
  const table: [payload: unknown, code: string][] = [
    [{ room, reaction: "👎" }, "room.unknown_reaction"],
    [{ room, reaction: "❤" }, "room.unknown_reaction"],
    [{ room, reaction: "" }, "room.unknown_reaction"],
    [{ room, reaction: "👏👏" }, "room.unknown_reaction"],
    [{ room, reaction: "constructor" }, "room.unknown_reaction"],
    [{ room }, invalid],
    [{ room, reaction: 5 }, invalid],
    [{ room: secret, reaction: "👏" }, "protocol.denied"],
    [{ reaction: "👏" }, "room.unknown"],
    [null, invalid],
  ];
  for (const [payload, code] of table) {
    const name = JSON.stringify(payload);
    t.equal(await outside.code("room.react", payload), code, name);
  }
});

void t.test("rooms that commands do not find", async (t) => {
  const live = await startLive(t, { commandsPerSecond: 10_000 }, [
    demo(),
    demo({ id: "other" }),
  ]);
  const admin = await live.admin();
  const room = await makeRoom(live);
  const foreign = await makeRoom(live, {}, "other");
  const deleted = await makeRoom(live, { name: "C" });
  await admin.do("room.delete", { room: deleted });
  const actions = [
    "enter",
    "leave",
    "react",
    "delete",
    "config.get",
    "config.patch",
    "schedule",
  ]
    .map((word) => `room.${word}`)
    .concat(commands.map(({ action }) => action));
  const unknown = { code: "room.unknown", message: "Unknown room ID" };
  const ids = [randomUUID(), "x", "", 5, null, {}, [room], foreign, deleted];
  for (const action of actions) {
    for (const id of ids) {
      for (const name of ["room", "channel"]) {
        const [, , problem] = await admin.call(action, { [name]: id });
        t.same(problem, unknown, `${action} ${name} ${JSON.stringify(id)}`);
      }
    }
    t.equal(await admin.code(action, {}), "room.unknown", action);
    for (const payload of [null, [], "x"]) {
      t.equal(await admin.code(action, payload), invalid, action);
    }
  }
});

void t.test("room.create", async (t) => {
  const config = {
    "room.create": ["creator"],
    "room.update": ["updater"],
  };
  const live = await startLive(t, {}, [demo({ permission_config: config })]);
  const both = await live.person({ uid: "b", traits: ["creator", "updater"] });
  const creator = await live.person({ uid: "c", traits: ["creator"] });
  const updater = await live.person({ uid: "u", traits: ["updater"] });
  const guest = await live.guest();
  await makeRoom(live, { name: "First", sorting_priority: 7 });
  await guest.next("world.updated");
  await calm(live, both, creator, updater, guest);

  const chat = { type: "chat.native", config: { volatile: true, other: 1 } };
  const stage = {
    type: "livestream.native",
    config: { hls_url: "https://x.test", other: 1 },
  };
  const made = await both.do("room.create", {
    name: "Talk",
    description: "About *it*",
    modules: [chat],
    permission_preset: "public",
  });
  t.same(keys(made), ["channel", "room"]);
  t.equal(made.channel, made.room, "the channel has the id of the room");
  const settings = await both.do("room.config.get", { room: made.room });
  t.equal(settings.sorting_priority, 8, "the highest and one");

  type Row = [as: Client, payload: Json, code: string];
  const create = (changes: object) => ({
    name: `R${randomUUID()}`,
    description: "",
    modules: [],
    ...changes,
  });
  const table: Row[] = [
    [guest, create({}), "auth.denied"],
    [guest, null, "auth.denied"],
    [creator, create({}), "room.invalid.denied"],
    [creator, create({ modules: undefined }), "room.invalid.denied"],
    [updater, create({}), "ok"],
    [updater, create({ modules: undefined }), "ok"],
    [updater, create({ modules: [chat] }), "room.invalid.denied"],
    [updater, create({ modules: [stage] }), "room.invalid.denied"],
    [creator, create({ modules: [chat] }), "ok"],
    [creator, create({ modules: [{ type: "chat.native" }] }), "ok"],
    [creator, create({ modules: [stage] }), "ok"],
    [creator, create({ modules: [stage, chat] }), "ok"],
    [
      both,
      create({ modules: [{ type: "call.bigbluebutton" }] }),
      "room.invalid.denied",
    ],
    [
      both,
      create({ modules: [{ type: "poster.native" }] }),
      "room.invalid.invalid",
    ],
    [
      both,
      create({ modules: [{ type: "page.markdown" }] }),
      "room.invalid.invalid",
    ],
    [both, create({ name: "Talk" }), "room.invalid.name_taken"],
    [both, create({ name: "tALK" }), "room.invalid.name_taken"],
    [both, create({ name: "" }), invalid],
    [both, create({ name: 5 }), invalid],
    [both, create({ name: "x".repeat(301) }), invalid],
    [both, create({ description: undefined }), "ok"],
    [both, create({ description: 5 }), invalid],
    [both, create({ description: null }), "ok"],
    [both, create({ modules: "x" }), invalid],
    [both, create({ modules: [5] }), invalid],
    [both, create({ modules: [{}] }), invalid],
    [both, create({ permission_preset: "team" }), invalid],
    [both, create({ permission_preset: 5 }), invalid],
    [both, create({ other: 1 }), "ok"],
    [both, null, invalid],
    [both, [], invalid],
  ];
  for (const [as, payload, code] of table) {
    const name = `${as === both ? "" : as.id} ${JSON.stringify(payload)}`;
    t.equal(await as.code("room.create", payload), code, name.slice(0, 150));
  }
  const { module_config } = await both.do("room.config.get", {
    room: made.room,
  });
  t.same(module_config, [{ type: "chat.native", config: { volatile: true } }]);
});

const R = [
  "description",
  "force_join",
  "id",
  "module_config",
  "name",
  "picture",
  "pretalx_id",
  "schedule_data",
  "sorting_priority",
  "trait_grants",
];

void t.test("room.config", async (t) => {
  const live = await startLive(t);
  const modules = [{ type: "livestream.native", config: { hls_url: "x" } }];
  const room = await makeRoom(live, { name: "A", module_config: modules });
  const [admin, guest] = [await live.admin(), await live.guest()];
  const first = await admin.do("room.config.get", { room });
  t.same(keys(first), R);
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
  const rest = (await live.rest("GET", `demo/rooms/${room}/`)).body;
  const patch = (changes: object) =>
    admin.call("room.config.patch", { room, ...changes });

  type Row = [changes: Json, field: string, value: unknown];
  const accepted: Row[] = [
    [{ name: "New" }, "name", "New"],
    [{ description: "*x*" }, "description", "*x*"],
    [{ description: null }, "description", ""],
    [{ picture: "/media/x.png" }, "picture", "/media/x.png"],
    [{ picture: null }, "picture", null],
    [{ sorting_priority: "42" }, "sorting_priority", 42],
    [{ sorting_priority: -1 }, "sorting_priority", -1],
    [{ pretalx_id: "131" }, "pretalx_id", 131],
    [{ pretalx_id: 7 }, "pretalx_id", 7],
    [{ force_join: true }, "force_join", true],
    [{ schedule_data: { session: "x" } }, "schedule_data", { session: "x" }],
    [{ schedule_data: null }, "schedule_data", null],
    [
      { trait_grants: { "chat.send": [["a", "b"]] } },
      "trait_grants",
      { "chat.send": [["a", "b"]] },
    ],
    [{ module_config: [] }, "module_config", []],
    [
      { module_config: [{ type: "chat.native" }] },
      "module_config",
      [{ type: "chat.native" }],
    ],
    [{ unknown: 1, id: "x", import_id: "x" }, "id", room],
  ];
  let expected = first;
  for (const [changes, field, value] of accepted) {
    const [kind, , settings] = await patch(changes);
    t.equal(kind, "success", JSON.stringify(changes));
    expected = { ...expected, [field]: value };
    t.same(settings, expected, JSON.stringify(changes));
    t.same(await admin.do("room.config.get", { room }), expected);
  }
  const pushed = await guest.next(
    "world.updated",
    ({ rooms }) => rooms[0]?.modules[0]?.type === "chat.native",
  );
  t.same(pushed.rooms[0].modules, [
    { type: "chat.native", config: {}, channel_id: room },
  ]);
  const after = (await live.rest("GET", `demo/rooms/${room}/`)).body;
  t.same(keys(after), keys(rest), "REST does not show more");

  const refused: [changes: Json, field: string][] = [
    [{ name: "" }, "name"],
    [{ name: null }, "name"],
    [{ name: 5 }, "name"],
    [{ name: "x".repeat(301) }, "name"],
    [{ name: "a\0" }, "name"],
    [{ description: 5 }, "description"],
    [{ picture: 5 }, "picture"],
    [{ picture: "x".repeat(2001) }, "picture"],
    [{ sorting_priority: "x" }, "sorting_priority"],
    [{ sorting_priority: "1.5" }, "sorting_priority"],
    [{ sorting_priority: 1.5 }, "sorting_priority"],
    [{ sorting_priority: null }, "sorting_priority"],
    [{ sorting_priority: "99999999999" }, "sorting_priority"],
    [{ pretalx_id: "-5" }, "pretalx_id"],
    [{ pretalx_id: "99999999999" }, "pretalx_id"],
    [{ pretalx_id: {} }, "pretalx_id"],
    [{ force_join: "true" }, "force_join"],
    [{ schedule_data: [] }, "schedule_data"],
    [{ schedule_data: "x" }, "schedule_data"],
    [{ trait_grants: [] }, "trait_grants"],
    [{ trait_grants: { "room.view": "x" } }, "trait_grants.room.view"],
    [{ module_config: {} }, "module_config"],
    [{ module_config: [{}] }, "module_config.0.type"],
  ];
  for (const [changes, field] of refused) {
    const [kind, , problem] = await patch(changes);
    const name = JSON.stringify(changes).slice(0, 100);
    t.equal(kind, "error", name);
    t.match(problem, { code: "config.invalid" }, name);
    t.same(keys((problem as Json).details ?? {}), [field], name);
  }
  t.same(await admin.do("room.config.get", { room }), expected, "unchanged");
  for (const action of ["room.config.get", "room.config.patch"]) {
    t.equal(await guest.code(action, { room }), "protocol.denied");
    t.equal(await guest.code(action, { room, name: 5 }), "protocol.denied");
  }
});

void t.test("room.config.list and reorder", async (t) => {
  const live = await startLive(t);
  const hidden = { "room.view": ["nobody"] };
  const rooms: Record<string, string> = {};
  for (const [name, priority] of [
    ["B", 1],
    ["A", 1],
    ["D", 0],
    ["C", 5],
  ] as const) {
    rooms[name] = await makeRoom(live, {
      name,
      sorting_priority: priority,
      ...(name === "D" && { permission_config: hidden }),
    });
  }
  const [admin, guest] = [await live.admin(), await live.guest()];
  const order = (list: Json) =>
    list.map((room: Json) => [room.name, room.sorting_priority]);
  for (const payload of [null, {}]) {
    const list = await admin.do("room.config.list", payload);
    t.same(
      order(list),
      [
        ["A", 1],
        ["B", 1],
        ["C", 5],
      ],
      "without the room that the admin does not see",
    );
    t.same(keys(list[0]), R);
  }
  await calm(live, admin, guest);
  const { A, B, C } = rooms;
  const wanted = [C, randomUUID(), rooms.D, B, null, 5, "x", C, {}];
  const reordered = [
    ["C", 2],
    ["B", 3],
    ["A", 4],
  ];
  t.same(order(await admin.do("room.config.reorder", wanted)), reordered);
  const seer = await live.person({ uid: "seer", traits: ["admin", "nobody"] });
  t.same(
    order(await seer.do("room.config.list", null)),
    [["D", 1], ...reordered],
    "it keeps its place",
  );
  const { rooms: seen } = await guest.next("world.updated");
  t.same(
    seen.map(({ id }: Json) => id),
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
  const live = await startLive(t);
  const room = await makeRoom(live);
  const [admin, outside] = [await live.admin(), await live.guest()];
  const table: [data: Json, code: string][] = [
    [{ session: "x" }, "ok"],
    [{ title: "T", computeSession: true }, "ok"],
    [{}, "ok"],
    [null, "ok"],
    [{ other: 1 }, "room.unknown_schedule_data"],
    [{ title: "x", other: 1 }, "room.unknown_schedule_data"],
    [{ __proto__: null, toString: 1 }, "room.unknown_schedule_data"],
    [{ title: "x".repeat(16 * 1024) }, invalid],
    [[], invalid],
    ["x", invalid],
    [undefined, invalid],
  ];
  for (const [schedule_data, code] of table) {
    const payload = { room, schedule_data };
    const name = JSON.stringify(schedule_data)?.slice(0, 80) ?? "nothing";
    t.equal(await admin.code("room.schedule", payload), code, name);
    if (code !== "ok") continue;
    const { hello } = await live.guest();
    t.same(hello["world.config"].rooms[0].schedule_data, schedule_data);
  }
  const payload = { room, schedule_data: null };
  t.equal(await outside.code("room.schedule", payload), "protocol.denied");
});
