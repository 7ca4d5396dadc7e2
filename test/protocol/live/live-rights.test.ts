import t from "tap";
import { StoreError, type StoreProblem } from "../../../db/contract/store.js";
import { createWorld, draftWorld } from "../../../db/world-management.js";
import { defaultPermissionConfig } from "../../../schemas/plain/permissions.js";
import { defaultRoles } from "../../../web/state/roles.js";
import { keyOf } from "../../support/helper.js";
import {
  byTrait,
  type Client,
  hostOf,
  invalid,
  type Json,
  makePoll,
  makeQuestion,
  member,
  message,
  modulesOf,
  openWorld,
  OpenWorld,
  say,
  text,
  voteRoom,
} from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Section B: the rights that clients see, and the rights that they actually have.

const server = await startServer(t);

const denied = "protocol.denied";

const ROOM_SILENCED = ["view", "chat.read", "chat.join", "question.read", "poll.read"]
  .concat("call.join")
  .map((it) => `room:${it}`);
const ROOM_OPEN = ["chat.send", "question.ask", "question.vote", "poll.vote", "call.speak"]
  .map((it) => `room:${it}`)
  .concat(ROOM_SILENCED);
const MODERATOR = [
  "chat.moderate",
  "question.moderate",
  "poll.manage",
  "poll.early_results",
  "call.moderate",
  "bbb.recordings",
  "viewers",
].map((it) => `room:${it}`);
const ROOM_ADMIN = [...MODERATOR, "room:announce", "room:update", "room:caption", "room:delete"];
const WORLD_OPEN = ["world:view", "world:chat.direct"];
const WORLD_ADMIN = ["announce", "rooms.create.stage", "rooms.create.chat", "update", "users.list"]
  .concat("users.invite", "users.manage", "connections.unlimited", "secrets", "api", "feed")
  .map((it) => `world:${it}`);

const sorted = (...lists: readonly string[][]) => lists.flat().sort();

/** Returns the rights in the world and in its only room, as a client sees them. */
function seen({ hello }: Client): [string[], string[]] {
  const { permissions, rooms } = hello["world.config"];
  return [permissions.toSorted(), (rooms[0]?.permissions ?? []).toSorted()];
}

void t.test("the strings of the default rules", async (t) => {
  const world = await openWorld(server);
  await world.room();
  const [admin, guest] = [await world.admin(), await world.guest("g")];
  const all = [sorted(WORLD_OPEN, WORLD_ADMIN, ROOM_ADMIN), sorted(ROOM_OPEN, ROOM_ADMIN)];
  t.same(seen(admin), all);
  t.same(seen(guest), [sorted(WORLD_OPEN), sorted(ROOM_OPEN)]);
  t.same(seen(await world.person("api", "api")), [sorted(WORLD_OPEN), sorted(ROOM_OPEN)]);
  await admin.do("user.silence", { id: guest.id });
  const silenced = [["world:view"], sorted(ROOM_SILENCED)];
  t.same(seen(await world.guest("g")), silenced);
  const other = await world.person("boss", "admin", "api");
  await other.do("user.silence", { id: admin.id });
  t.same(seen(await world.admin()), silenced, "administrators, too");
});

void t.test("one string for each key, and what follows from it", async (t) => {
  const none = ["nobody"];
  const base = Object.fromEntries(Object.keys(defaultPermissionConfig).map((key) => [key, none]));
  const world = await openWorld(server, { permission_config: base });
  await world.room();
  const roomToo = (string: string): [string[], string[]] => [[string], [string]];
  type Row = [key: string, world: string[], room: string[]];
  const table: Row[] = [
    ["world.announce", ["world:announce"], []],
    ["room.create", ["world:rooms.create.stage", "world:rooms.create.chat"], []],
    [
      "world.update",
      ["world:update", "world:users.list", "world:users.invite", "world:connections.unlimited"],
      [],
    ],
    ["world.preview", [], []],
    ["user.list", ["world:users.list"], []],
    ["user.manage", ["world:users.manage"], []],
    ["user.invite", ["world:users.invite"], []],
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
    [
      "call.moderate",
      ["room:call.moderate", "room:bbb.recordings"],
      ["room:call.moderate", "room:bbb.recordings"],
    ],
    ["call.recordings", ...roomToo("room:bbb.recordings")],
    ["room.viewers", ...roomToo("room:viewers")],
    ["room.announce", ...roomToo("room:announce")],
    // No room here admits users without a name.
    ["room.invite", [], []],
    ["room.update", ["room:update", "room:caption"], ["room:update", "room:caption"]],
    ["room.caption", ...roomToo("room:caption")],
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
    ["call.join", [], ["room:call.join"]],
    ["call.speak", [], ["room:call.speak"]],
    ["room.view", [], ROOM_OPEN],
  ];
  const person = () => world.person("x", "x");
  const configure = (key: string, rule: string[]) =>
    world.configure({ permission_config: { ...base, [key]: rule } });
  for (const [key, inWorld, inRoom] of table) {
    await configure(key, ["x"]);
    t.same(seen(await person()), [sorted(WORLD_OPEN, inWorld), sorted(ROOM_OPEN, inRoom)], key);
  }
  for (const [key, inWorld, inRoom] of open) {
    await configure(key, none);
    const without = (all: string[], some: string[]) =>
      sorted(all.filter((string) => !some.includes(string)));
    t.same(
      seen(await person()),
      [without(WORLD_OPEN, inWorld), without(ROOM_OPEN, inRoom)],
      `without ${key}`,
    );
  }
});

void t.test("rules of a room hold in this room only", async (t) => {
  const world = await openWorld(server);
  const permission_config = { "room.update": ["x"], "chat.moderate": ["x"] };
  const [mine, other] = [await world.room({ permission_config }), await world.room()];
  const client = await world.person("x", "x");
  const { permissions, rooms } = client.hello["world.config"];
  t.same(permissions.toSorted(), sorted(WORLD_OPEN));
  t.same(
    rooms.map((room: Json) => room.permissions.toSorted()),
    [sorted(ROOM_OPEN, MODERATOR, ["room:update", "room:caption"]), sorted(ROOM_OPEN)],
  );
  t.equal(await client.code("room.config.get", { room: mine }), "ok");
  t.equal(await client.code("room.config.get", { room: other }), denied);
  t.equal(await client.code("user.ban", { id: client.id }), "auth.denied");
  t.equal(await client.code("room.config.list"), "auth.denied");
  const code = await (await world.admin()).code("room.config.get", { room: mine });
  t.equal(code, denied, "the rule of the room comes first");
});

void t.test("rooms with BigBlueButton have the strings of Venueless", async (t) => {
  const world = await openWorld(server);
  await world.room({ module_config: [{ type: "call.bigbluebutton" }] });
  const bbb = ["room:bbb.join", "room:bbb.moderate", "room:bbb.recordings"];
  const [, admin] = seen(await world.admin());
  t.same(
    admin.filter((it) => /^room:(bbb|call)\./.test(it)),
    [...bbb, "room:call.speak"],
  );
  const [, guest] = seen(await world.guest("g"));
  t.same(
    guest.filter((it) => bbb.includes(it)),
    ["room:bbb.join"],
  );
});

void t.test("what each role may do in an event of a template", async (t) => {
  const names = { id: "webinar", title: "Demo", domain: "demo.example.org" };
  const draft = { ...draftWorld(names), config: { JWT_secrets: [keyOf(names.id)] } };
  await createWorld(server.store, draft, "webinar");
  const world = new OpenWorld(server, names.id);
  const admin = await world.admin();
  const [{ id: room, modules }] = admin.hello["world.config"].rooms;
  const channel = modules.find((it: Json) => it.type === "chat.native").channel_id;
  await admin.do("room.enter", { room });
  for (const { trait } of defaultRoles) {
    const name = trait ?? "guest";
    const person = await world.person(`a ${name}`, ...(trait === null ? [] : [trait]));
    const other = await world.person(`with a ${name}`);
    for (const it of [person, other]) await it.do("chat.join", { channel });
    const { event_id: replaces } = await say(other, channel, "Hello");
    const { question } = await other.do("question.ask", { room, content: "Why?" });
    const entered = await person.do("room.enter", { room });
    const poll = { content: "Which?", state: "open", options: [{ content: "This", order: 1 }] };
    const shown = { room, id: question.id, state: "visible" };
    const may: Record<string, boolean> = { viewers: "viewers" in entered };
    for (const [act, command, payload] of [
      ["write", "chat.send", message(channel, text("Hi"))],
      ["ask", "question.ask", { room, content: "How?" }],
      ["delete messages", "chat.send", message(channel, { type: "deleted" }, { replaces })],
      ["show questions", "question.update", shown],
      ["run polls", "poll.create", { room, ...poll }],
      ["silence", "user.silence", { id: other.id }],
      ["ban", "user.ban", { id: other.id }],
      ["announce", "announcement.create", { text: "Hear", state: "draft" }],
      ["edit rooms", "room.config.get", { room }],
      ["edit the event", "world.config.get", {}],
      ["see keys", "world.tokens.list", {}],
    ] as const) {
      may[act] = (await person.code(command, payload)) === "ok";
    }
    const moderates = ["moderator", "admin"].includes(name);
    const hosts = name === "admin";
    const expected = {
      write: true,
      ask: true,
      viewers: moderates,
      "delete messages": moderates,
      "show questions": moderates,
      "run polls": moderates,
      silence: moderates,
      ban: moderates,
      announce: moderates,
      "edit rooms": hosts,
      "edit the event": hosts,
      "see keys": false,
    };
    t.same(may, expected, name);
    await person.do("room.leave", { room });
  }
});

const SECRET = "the secret";

void t.test("a known id shows nothing", async (t) => {
  const world = await openWorld(server);
  const host = await hostOf(world);
  await host.do("user.update", { profile: { display_name: SECRET } });
  const eve = await world.person("Eve");
  type Row = [action: string, payload: Json, expected: string];

  /** Sends all commands, and searches every frame that eve receives for the secret. */
  const refused = async (name: string, rows: Row[]) => {
    await world.calm(undefined, eve);
    for (const [action, payload, expected] of rows) {
      const [kind, , answer] = await eve.call(action, payload);
      t.equal(kind === "error" ? (answer as Json).code : "ok", expected, `${name}: ${action}`);
      t.notMatch(JSON.stringify(answer), SECRET, `${name}: ${action} shows it`);
    }
    await world.settled();
    t.notMatch(JSON.stringify(await eve.all()), SECRET, `${name}: no push does`);
  };
  const question = async (room: string, state: string) => {
    const { id } = await makeQuestion(host, room, state);
    await host.do("question.update", { room, id, content: SECRET });
    return { room, id };
  };
  const poll = async (room: string, state: string) => {
    const options = [SECRET, "other"].map((content, order) => ({ content, order }));
    const made = await makePoll(host, room, { state, options });
    return { room, id: made.id, options: [made.options[0].id] };
  };
  const rowsOf = (
    kind: "question" | "poll",
    payload: Json,
    vote: string,
    other = denied,
  ): Row[] => {
    const isPoll = kind === "poll";
    return [
      [`${kind}.vote`, payload, vote],
      [`${kind}.vote`, { ...payload, ...(isPoll ? { options: [] } : { vote: false }) }, vote],
      [`${kind}.update`, { ...payload, ...(isPoll ? { options: [] } : { answered: true }) }, other],
      [`${kind}.pin`, payload, other],
      [`${kind}.delete`, payload, other],
    ];
  };
  /** Returns a question or poll as managers currently see it. */
  const now = async (kind: string, { room, id }: Json) =>
    (await host.do(`${kind}.list`, { room })).find((it: Json) => it.id === id);

  const room = await voteRoom(world);
  await eve.do("room.enter", { room });
  for (const state of ["mod_queue", "archived"]) {
    const made = await question(room, state);
    await refused(`a question, ${state}`, rowsOf("question", made, "question.unknown"));
    t.match(await now("question", made), { score: 0 }, state);
  }
  for (const state of ["draft", "archived"]) {
    const made = await poll(room, state);
    await refused(`a poll, ${state}`, rowsOf("poll", made, "poll.vote"));
    t.equal((await now("poll", made)).results[made.options[0]], 0);
    const { announcement } = await host.do("announcement.create", { text: SECRET, state });
    await refused(`an announcement, ${state}`, [
      ["announcement.update", announcement, "auth.denied"],
      ["announcement.list", null, "auth.denied"],
    ]);
  }

  const chatRows = (channel: string, event: number, code: string): Row[] => [
    ["chat.fetch", { channel, count: 9, before_id: 2 ** 53 }, code],
    ["chat.search", { channel, query: SECRET.slice(0, 100) }, code],
    ["chat.subscribe", { channel, after: 0 }, code],
    ["chat.react", { channel, event, reaction: "👍" }, code],
  ];
  const friend = await world.person("friend");
  const direct = { users: [friend.id], hide: false };
  const { id: channel } = await host.do("chat.direct.create", direct);
  const sent = await say(host, channel, SECRET);
  await refused("a direct channel of others", [
    ...chatRows(channel, sent.event_id, "chat.denied"),
    ["chat.send", message(channel, text(SECRET)), "chat.denied"],
    ["chat.leave", { channel }, "chat.denied"],
    ["chat.join", { channel }, "room.unknown"],
  ]);

  const rules = { ...byTrait, "question.vote": [], "poll.vote": [], "chat.read": ["admin"] };
  const blind = await voteRoom(world, { chat: true, rules });
  await eve.do("room.enter", { room: blind });
  await host.do("chat.join", { channel: blind });
  const { event_id } = await say(host, blind, SECRET);
  const [asked, created] = [await question(blind, "visible"), await poll(blind, "open")];
  await refused("a room where eve may vote, join and send, but not read", [
    ["question.list", { room: blind }, denied],
    ["poll.list", { room: blind }, denied],
    ...rowsOf("question", asked, "question.unknown"),
    ...rowsOf("poll", created, "poll.unknown"),
    ...chatRows(blind, event_id, denied),
    ["chat.join", { channel: blind }, "ok"],
    ...chatRows(blind, event_id, denied),
  ]);
  await say(host, blind, SECRET);
  await host.do("question.vote", asked);
  await host.do("poll.vote", created);
  await refused("what happens there later", [["chat.leave", { channel: blind }, "ok"]]);
  t.match(await now("question", asked), { score: 1 });
});

void t.test("an archived announcement shows its visible text", async (t) => {
  const world = await openWorld(server);
  const [host, eve] = [await hostOf(world), await world.person("eve")];
  const push = "announcement.created_or_updated";
  const { announcements } = world.store;
  for (const [name, changes] of [
    ["with", [{ state: "archived", text: SECRET }]],
    ["after", [{ text: "edited" }, { state: "archived" }, { text: SECRET }]],
    ["by its end", [{ show_until: "2020-01-01", text: SECRET }]],
  ] as const) {
    const draft = { text: "public", state: "active" };
    const { id } = (await host.do("announcement.create", draft)).announcement;
    await eve.next(push);
    await world.calm(undefined, host);
    // Simulates a slow process, which reads only after everything has been written.
    const list = announcements.list.bind(announcements);
    let go = () => {};
    const held = new Promise<void>((resolve) => (go = resolve));
    announcements.list = async (...args) => {
      await held;
      return list(...args);
    };
    for (const change of changes) await host.do("announcement.update", { id, ...change });
    go();
    announcements.list = list;
    const hidden = { id, is_visible: false };
    t.match(await eve.next(push), { ...hidden, text: /public|edited/ }, name);
    t.match(await host.next(push), { ...hidden, text: SECRET }, name);
    await world.settled();
    t.notMatch(JSON.stringify(await eve.all()), SECRET, name);
    await world.calm(undefined, host);
  }
});

// Conditions that a command has checked may change before the store writes.

void t.test("what the store refuses", async (t) => {
  const world = await openWorld(server);
  const room = await world.room({ module_config: modulesOf({ chat: true }) });
  const ann = await world.person("Ann", "admin");
  await ann.do("chat.join", { channel: room });
  const { id } = await member(world, "other", room);
  const { questions, polls, chat, users } = world.store;
  const parts = { question: questions, poll: polls, chat, user: users } as unknown as Record<
    string,
    Record<string, () => Promise<unknown>>
  >;
  const payloads: Record<string, Json> = {
    "question.ask": { room, content: "Why?" },
    "poll.create": { room, content: "Which?" },
    "poll.vote": { room, id, options: [] },
    "chat.send": message(room, text("x")),
    "chat.react": { channel: room, event: 1, reaction: "👍" },
    "user.block": { id },
  };
  const rows: [action: string, problem: StoreProblem, field: string | undefined, code: string][] = [
    ["question.ask", "denied", undefined, denied],
    ["question.vote", "denied", undefined, denied],
    ["poll.vote", "denied", undefined, denied],
    ["poll.vote", "denied", "poll", "poll.vote"],
    ["chat.send", "denied", undefined, "chat.denied"],
    ["question.ask", "absent", "user", "auth.denied"],
    ["poll.vote", "absent", "user", "auth.denied"],
    ["user.block", "absent", "user", "user.not_found"],
    ["question.pin", "absent", "question", "question.unknown"],
    ["question.pin", "absent", "room", "room.unknown"],
    ["poll.vote", "absent", "poll", "poll.unknown"],
    ["poll.update", "absent", "option", invalid],
    ["poll.update", "denied", "poll_type", invalid],
    ["poll.create", "quota", "options", invalid],
    ["chat.send", "absent", "event", "chat.unknown_event"],
    ["chat.react", "quota", "reactions", "chat.reaction_limit"],
    ["user.block", "quota", undefined, "user.block.limit"],
    ["question.ask", "busy", undefined, "server.unavailable"],
    ["chat.send", "doubtful", undefined, "server.doubtful"],
  ];
  for (const [action, problem, field, code] of rows) {
    const [module, command] = action.split(".") as [string, string];
    const method = command === "ask" ? "create" : command;
    const part = parts[module]!;
    const original = part[method]!;
    part[method] = () => Promise.reject(new StoreError(problem, "Refused.", field));
    const [, , refusal] = await ann.call(action, payloads[action] ?? { room, id });
    part[method] = original;
    const details = { [field === "poll_type" ? field : "options"]: ["Refused."] };
    const name = `${action} ${problem} ${field}`;
    t.match(refusal, code === invalid ? { code, details } : { code }, name);
  }
});
