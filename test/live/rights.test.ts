import t from "tap";
import {
  defaultPermissionConfig,
  isWithheld,
  type PermissionKey,
} from "../../schemas/plain/permissions.js";
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
  const other = await live.person({ uid: "boss", traits: ["admin"] });
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
