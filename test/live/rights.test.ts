import t from "tap";
import { createWorld, draftWorld } from "../../db/worlds.js";
import {
  defaultPermissionConfig,
  isWithheld,
  type PermissionKey,
} from "../../schemas/plain/permissions.js";
import { defaultRoles } from "../../web/state/roles.js";
import { keyOf } from "../helper.js";
import { type Client, demo, type Json, makeRoom, startLive } from "./client.js";

// Section B: the rights that clients see, and those that they have.

const ROOM_OPEN = [
  "room:view",
  "room:chat.read",
  "room:chat.join",
  "room:chat.send",
  "room:question.read",
  "room:question.ask",
  "room:question.vote",
  "room:poll.read",
  "room:poll.vote",
];
const ROOM_SILENCED = [
  "room:view",
  "room:chat.read",
  "room:chat.join",
  "room:question.read",
  "room:poll.read",
];
const MODERATOR = [
  "room:chat.moderate",
  "room:question.moderate",
  "room:poll.manage",
  "room:poll.early_results",
  "room:viewers",
];
const ROOM_ADMIN = [
  ...MODERATOR,
  "room:announce",
  "room:update",
  "room:delete",
];
const WORLD_OPEN = ["world:view", "world:chat.direct"];
const WORLD_ADMIN = [
  "world:announce",
  "world:rooms.create.stage",
  "world:rooms.create.chat",
  "world:update",
  "world:users.list",
  "world:users.manage",
  "world:connections.unlimited",
  "world:secrets",
  "world:api",
  "world:feed",
];

const sorted = (...lists: readonly string[][]) => lists.flat().sort();

/** The rights in the world and in its one room, as a client sees them. */
function told({ hello }: Client): [string[], string[]] {
  const { permissions, rooms } = hello["world.config"];
  const room = rooms[0]?.permissions ?? [];
  return [permissions.toSorted(), room.toSorted()];
}

void t.test("the strings of the default rules", async (t) => {
  const live = await startLive(t);
  await makeRoom(live);
  const [admin, guest] = [await live.admin(), await live.guest("g")];
  const api = await live.person({ uid: "api", traits: ["api"] });
  t.same(told(admin), [
    sorted(WORLD_OPEN, WORLD_ADMIN, ROOM_ADMIN),
    sorted(ROOM_OPEN, ROOM_ADMIN),
  ]);
  t.same(told(guest), [sorted(WORLD_OPEN), sorted(ROOM_OPEN)]);
  t.same(told(api), [sorted(WORLD_OPEN), sorted(ROOM_OPEN)]);
  await admin.do("user.silence", { id: guest.id });
  const silenced = await live.guest("g");
  t.same(told(silenced), [["world:view"], sorted(ROOM_SILENCED)]);
  const traits = ["admin", "api"];
  const other = await live.person({ uid: "boss", traits });
  await other.do("user.silence", { id: admin.id });
  t.same(
    told(await live.admin()),
    [["world:view"], sorted(ROOM_SILENCED)],
    "administrators, too",
  );
});

void t.test("one string for each key, and what follows from it", async (t) => {
  const none = ["nobody"];
  const base = Object.fromEntries(
    Object.keys(defaultPermissionConfig).map((key) => [key, none]),
  );
  const live = await startLive(t, {}, [demo({ permission_config: base })]);
  await makeRoom(live);
  const roomToo = (string: string): [string[], string[]] => [
    [string],
    [string],
  ];
  type Row = [key: string, world: string[], room: string[]];
  const table: Row[] = [
    ["world.announce", ["world:announce"], []],
    [
      "room.create",
      ["world:rooms.create.stage", "world:rooms.create.chat"],
      [],
    ],
    [
      "world.update",
      ["world:update", "world:users.list", "world:connections.unlimited"],
      [],
    ],
    ["user.list", ["world:users.list"], []],
    ["user.manage", ["world:users.manage"], []],
    ["user.delete", [], []],
    ["world.connections", ["world:connections.unlimited"], []],
    ["world.secrets", ["world:secrets", "world:feed"], []],
    ["world.api", ["world:api"], []],
    ["world.feed", ["world:feed"], []],
    ["chat.moderate", [...MODERATOR, "world:users.manage"], MODERATOR],
    ["question.moderate", ...roomToo("room:question.moderate")],
    [
      "poll.manage",
      ["room:poll.manage", "room:poll.early_results"],
      ["room:poll.manage", "room:poll.early_results"],
    ],
    ["poll.results", ...roomToo("room:poll.early_results")],
    ["room.viewers", ...roomToo("room:viewers")],
    ["room.announce", ...roomToo("room:announce")],
    // No room here takes people without a name.
    ["room.invite", [], []],
    ["room.update", ...roomToo("room:update")],
    ["room.delete", ...roomToo("room:delete")],
  ];
  const open: Row[] = [
    ["chat.direct", ["world:chat.direct"], []],
    ["chat.read", [], ["room:chat.read"]],
    ["chat.join", [], ["room:chat.join"]],
    ["chat.send", [], ["room:chat.send"]],
    ["question.read", [], ["room:question.read"]],
    ["question.ask", [], ["room:question.ask"]],
    ["question.vote", [], ["room:question.vote"]],
    ["poll.read", [], ["room:poll.read"]],
    ["poll.vote", [], ["room:poll.vote"]],
    ["room.view", [], ROOM_OPEN],
  ];
  const person = () => live.person({ uid: "x", traits: ["x"] });
  const configure = (key: string, rule: string[]) =>
    live.app.store.worlds.configure("demo", {
      permission_config: { ...base, [key]: rule },
    });
  for (const [key, world, room] of table) {
    await configure(key, ["x"]);
    t.same(
      told(await person()),
      [sorted(WORLD_OPEN, world), sorted(ROOM_OPEN, room)],
      key,
    );
  }
  for (const [key, world, room] of open) {
    await configure(key, none);
    const without = (all: string[], some: string[]) =>
      sorted(all.filter((string) => !some.includes(string)));
    t.same(
      told(await person()),
      [without(WORLD_OPEN, world), without(ROOM_OPEN, room)],
      `without ${key}`,
    );
  }
});

void t.test("rules of a room hold in this room only", async (t) => {
  const live = await startLive(t);
  const own = { "room.update": ["x"], "chat.moderate": ["x"] };
  const mine = await makeRoom(live, { name: "A", permission_config: own });
  const other = await makeRoom(live, { name: "B" });
  const client = await live.person({ uid: "x", traits: ["x"] });
  const { permissions, rooms } = client.hello["world.config"];
  t.same(permissions.toSorted(), sorted(WORLD_OPEN));
  t.same(
    rooms.map((room: Json) => room.permissions.toSorted()),
    [sorted(ROOM_OPEN, MODERATOR, ["room:update"]), sorted(ROOM_OPEN)],
  );
  const get = (room: string) => client.code("room.config.get", { room });
  t.equal(await get(mine), "ok");
  t.equal(await get(other), "protocol.denied");
  t.equal(await client.code("user.ban", { id: client.id }), "auth.denied");
  t.equal(await client.code("room.config.list"), "auth.denied");
  const admin = await live.admin();
  const code = await admin.code("room.config.get", { room: mine });
  t.equal(code, "protocol.denied", "the rule of the room comes first");
});

void t.test("what moderation takes away", async (t) => {
  const keys = Object.keys(defaultPermissionConfig) as PermissionKey[];
  const left = (state: "" | "silenced" | "banned") =>
    keys.filter((key) => !isWithheld(state, key));
  t.same(left(""), keys);
  t.notMatch(left("silenced").join(), /send|vote|ask|manage|update|create/);
  t.same(left("banned"), []);
});

void t.test("what each role may do in an event of a template", async (t) => {
  const live = await startLive(t, {}, []);
  const names = { id: "demo", title: "Demo", domain: "demo.example.org" };
  const draft = {
    ...draftWorld(names),
    config: { JWT_secrets: [keyOf("demo")] },
  };
  await createWorld(live.app.store, draft, "webinar");
  const admin = await live.admin();
  const [room] = admin.hello["world.config"].rooms;
  const channel = room.modules.find(
    (it: Json) => it.type === "chat.native",
  ).channel_id;
  const inRoom = { room: room.id };
  await admin.do("room.enter", inRoom);
  const say = (body: string) => ({
    ...{ channel, event_type: "channel.message" },
    content: { type: "text", body },
  });
  for (const role of defaultRoles) {
    const name = role.trait ?? "guest";
    const traits = role.trait === null ? [] : [role.trait];
    const enter = (uid: string, traits: string[]) =>
      live.person({ uid, traits, profile: { display_name: uid } });
    const person = await enter(`a ${name}`, traits);
    const other = await enter(`with a ${name}`, []);
    for (const it of [person, other]) await it.do("chat.join", { channel });
    const said = await other.do("chat.send", say("Hello"));
    const { question } = await other.do("question.ask", {
      ...inRoom,
      content: "Why?",
    });
    const entered = await person.do("room.enter", inRoom);
    const poll = {
      ...{ ...inRoom, content: "Which?", state: "open" },
      options: [{ content: "This", order: 1 }],
    };
    const erased = {
      ...{ channel, event_type: "channel.message" },
      ...{ replaces: said.event.event_id, content: { type: "deleted" } },
    };
    const may: Record<string, boolean> = { viewers: "viewers" in entered };
    for (const [act, command, payload] of [
      ["write", "chat.send", say("Hi")],
      ["ask", "question.ask", { ...inRoom, content: "How?" }],
      ["delete messages", "chat.send", erased],
      [
        "show questions",
        "question.update",
        { ...inRoom, id: question.id, state: "visible" },
      ],
      ["run polls", "poll.create", poll],
      ["silence", "user.silence", { id: other.id }],
      ["ban", "user.ban", { id: other.id }],
      ["announce", "announcement.create", { text: "Hear", state: "draft" }],
      ["edit rooms", "room.config.get", inRoom],
      ["edit the event", "world.config.get", {}],
      ["see keys", "world.tokens.list", {}],
    ] as const) {
      may[act] = (await person.code(command, payload)) === "ok";
    }
    const moderates = ["moderator", "admin"].includes(name);
    const hosts = name === "admin";
    t.same(
      may,
      {
        ...{ write: true, ask: true, viewers: moderates },
        ...{ "delete messages": moderates, "show questions": moderates },
        ...{ "run polls": moderates },
        ...{ silence: moderates, ban: moderates, announce: moderates },
        ...{ "edit rooms": hosts, "edit the event": hosts, "see keys": false },
      },
      name,
    );
    await person.do("room.leave", inRoom);
  }
});
