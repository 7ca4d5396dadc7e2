import t from "tap";
import {
  type Client,
  type Json,
  keys,
  makePoll,
  openWorld,
  type OpenWorld,
} from "../../support/open-world.js";
import { type Person, startServer } from "../../support/server.js";

// Changes of a world, for clients that requested them at login.

const server = await startServer(t);

const ADMIN = { uid: "admin", traits: ["admin", "api"] };

const rules = {
  "world.update": ["admin"],
  "world.api": ["admin", "api"],
  "world.secrets": ["admin", "api"],
  "room.update": ["admin"],
  "room.create": ["admin"],
  "room.delete": ["admin"],
};

/** Logs in a client that requests changes. */
async function follower(world: OpenWorld, person: Person): Promise<Client> {
  const client = await world.connect();
  await client.login({ token: world.tokenOf(person), changes: true });
  return client;
}

void t.test("clients get each change, and nothing else", async (t) => {
  const world = await openWorld(server);
  const hidden = { "room.view": [["crew", "admin"]] };
  const [a, b, c] = [
    await world.room({ name: "A", sorting_priority: 1 }),
    await world.room({ name: "B", sorting_priority: 2 }),
    await world.room({ name: "C", sorting_priority: 3, permission_config: hidden }),
  ];
  const crew = await follower(world, { uid: "c", traits: ["crew"] });
  const guest = await follower(world, { uid: "g" });
  const old = await world.guest();
  const [first, second] = guest.hello["world.config"].rooms;
  t.match([first, second], [{ name: "A", users: "none", count: 0 }, { name: "B" }]);
  t.notOk("count" in old.hello["world.config"].rooms[0], "not asked for");

  const change = (room: string, changes: object) => world.rest("PATCH", `rooms/${room}`, changes);
  const rule = (room: string, permission_config: object) => change(room, { permission_config });
  const configure = (changes: object) => world.rest("PATCH", "", changes);
  const changed = (rooms: object[], more = {}) => ({ rooms, removed: [], ...more });
  const described = changed([{ id: a }, { id: b }]);
  const sends = { "chat.send": ["crew"] };
  const titled = changed([], { world: { title: "D" } });
  type Step = [what: string, act: () => Promise<unknown>, forCrew?: Json, forGuest?: Json];
  const steps: Step[] = [
    [
      "a room",
      () => change(a, { name: "A2" }),
      changed([{ id: a, name: "A2", users: "none", count: 0 }]),
      changed([{ id: a, name: "A2" }]),
    ],
    [
      "two rooms",
      () => Promise.all([a, b].map((id) => change(id, { description: "x" }))),
      described,
      described,
    ],
    ["a hidden room", () => change(c, { name: "C2" }), changed([{ id: c }])],
    ["the order", () => change(c, { sorting_priority: 0 }), changed([], { order: [c, a, b] })],
    [
      "a room that gets visible, before others",
      () => rule(c, { "room.view": [] }),
      undefined,
      changed([{ id: c, name: "C2" }], { order: [c, a, b] }),
    ],
    ["a room that gets invisible", () => rule(c, hidden), undefined, changed([], { removed: [c] })],
    ["rights in a room", () => rule(a, sends), undefined, changed([{ id: a }])],
    ["a rule that changes no right here", () => rule(a, { ...sends, "room.delete": ["x"] })],
    ["the world", () => configure({ title: "D" }), titled, titled],
    [
      "a right in the world",
      () => configure({ permission_config: { ...rules, "world.announce": ["crew"] } }),
      changed([], { permissions: Array }),
    ],
    ["a deleted room", () => world.rest("DELETE", `rooms/${b}`)],
    [
      "its name, and back",
      async () => {
        await change(a, { name: "A3" });
        await change(a, { name: "A2" });
      },
    ],
  ];
  for (const [i, [what, act, forCrew, forGuest]] of steps.entries()) {
    await act();
    await old.next("world.updated");
    for (const [client, expected] of [
      [crew, forCrew],
      [guest, forGuest],
    ] as const) {
      const frames = (await client.all()).filter(([name]) => name.startsWith("world."));
      const names = frames.map(([name]) => name);
      t.same(names, expected ? ["world.changed"] : [], what);
      if (!expected) continue;
      const data = frames[0]![1] as Json;
      t.match(data, expected, what);
      t.same(keys(data), keys(expected), what);
      t.equal(data.rooms.length, expected.rooms.length, what);
      t.same([data.removed, data.order], [expected.removed, expected.order], what);
    }
    await configure({ title: `T${i}` });
    for (const client of [crew, guest]) {
      t.match(await client.next("world.changed"), { rooms: [], removed: [] });
    }
    await old.next("world.updated");
  }
});

void t.test("changes of other pushes are not repeated", async (t) => {
  const world = await openWorld(server);
  const a = await world.room();
  const admin = await world.person(ADMIN);
  const guest = await follower(world, { uid: "g" });
  const inside = await follower(world, { uid: "i" });
  await inside.do("room.enter", { room: a });
  for (const client of [guest, inside]) {
    t.match(await client.next("world.user_count_change"), { room: a, users: "few", count: 1 });
  }
  const { room: b } = await admin.do("room.create", { name: "B", description: "" });
  const schedule_data = { session: 7 };
  await admin.do("room.schedule", { room: a, schedule_data });
  t.match(await inside.next("room.schedule"), { room: a });
  const changed = [{ id: a, schedule_data, users: "few", count: 1 }];
  t.match(await guest.next("world.changed"), { rooms: changed, removed: [] });
  await admin.do("room.delete", { room: b });
  await world.rest("PATCH", "", { title: "T" });
  for (const client of [guest, inside]) {
    t.equal((await client.next("room.create")).id, b);
    t.same(await client.next("room.delete"), { id: b });
    const { rooms, removed, world } = await client.next("world.changed");
    t.same([rooms, removed, world.title], [[], [], "T"]);
  }
  const settings = await admin.do("world.config.patch", { title: "U" });
  t.same(settings, await admin.do("world.config.get"));
});

void t.test("an administrator learns of settings that others cannot see", async (t) => {
  const world = await openWorld(server, { permission_config: rules });
  await world.room();
  const [boss, guest] = [await follower(world, ADMIN), await follower(world, { uid: "g" })];
  await world.calm(undefined, boss, guest);
  const permission_config = { ...rules, "room.delete": ["admin", "api"] };
  await world.rest("PATCH", "", { permission_config });
  t.same(await boss.next("world.changed"), { rooms: [], removed: [] });
  t.same(await guest.all(), []);
});

void t.test("how many people a room has", async (t) => {
  const world = await openWorld(server);
  const room = await world.room();
  const [guest, old] = [await follower(world, { uid: "g" }), await world.guest()];
  await world.calm(undefined, guest, old);
  const { presence } = world.live;
  let before = 0;
  const fill = (count: number) => {
    for (; before < count; before++) {
      const connection = `c${before}`;
      const user = `u${before}`;
      presence.note(world.id, { do: "open", connection, user, at: before });
      presence.note(world.id, { do: "enter", connection, room });
    }
  };
  for (const [count, users, shown] of [
    [1, "few", 1],
    [10, "few", 10],
    [11, "many", 11],
    [99, "many", 99],
    [100, "many", 100],
    [104, "many", 100],
    [105, "many", 110],
    [1234, "many", 1200],
  ] as const) {
    fill(count);
    if (count === 104) continue;
    const push = await guest.next("world.user_count_change", (data) => data.count === shown);
    t.same(push, { room, users, count: shown }, `${count}`);
  }
  const late = await follower(world, { uid: "late" });
  t.match(late.hello["world.config"].rooms, [{ users: "many", count: 1200 }]);
  const frames = (await old.all()).filter(([name]) => name === "world.user_count_change");
  t.same(
    frames.map(([, data]) => data),
    ["few", "many"].map((users) => ({ room, users })),
  );
});

void t.test("a large world", async (t) => {
  const world = await openWorld(server);
  const description = "x".repeat(5000);
  for (let i = 0; i < 60; i++) await world.room({ description });
  const first = await world.room();
  const [old, guest] = [await world.guest(), await follower(world, { uid: "g" })];
  await world.calm(undefined, old, guest);
  const got = { old: 0, states: 0, guest: 0 };
  old.ws.on("message", (data: Buffer) => {
    got.old += data.length;
    got.states++;
  });
  guest.ws.on("message", (data: Buffer) => (got.guest += data.length));
  const has =
    (name: string) =>
    ({ rooms }: Json) =>
      rooms.some((room: Json) => room.name === name);
  const started = performance.now();
  for (let i = 0; i < 12; i++) {
    await world.rest("PATCH", `rooms/${first}`, { name: `name ${i}` });
    await guest.next("world.changed", has(`name ${i}`));
  }
  t.ok(got.guest < 12 * 1000, `changes are small: ${got.guest} bytes`);
  // The latest state arrives; earlier ones are skipped.
  await old.next("world.updated", has("name 11"));
  const seconds = (performance.now() - started) / 1000;
  const most = 64 * 1024 * (seconds + 1) + got.old / got.states;
  t.ok(got.old <= most, `${got.states} states, ${got.old} bytes in ${seconds} s`);
});

void t.test("a state above the limit of unsent bytes", async (t) => {
  const world = await openWorld(await startServer(t, { limits: { maxUnsent: 16 * 1024 } }));
  const description = "x".repeat(1_000_000);
  for (let i = 0; i < 8; i++) await world.room({ description });
  const [old, others] = [await world.guest(), await follower(world, { uid: "g" })];
  old.ws.pause();
  for (let i = 0; i < 5; i++) {
    await world.rest("PATCH", "", { title: `T${i}` });
    await others.next("world.changed", ({ world }) => world?.title === `T${i}`);
  }
  old.ws.resume();
  await old.next("world.updated");
  t.ok(await old.do("user.list.blocked"), "it is still there");
});

void t.test("why clients may not write, or come", async (t) => {
  const world = await openWorld(server);
  const { users } = world.store;
  const person = { uid: "x" };
  const config = ({ hello }: Client) => hello["user.config"];
  const first = await follower(world, person);
  t.notOk("moderation_state" in config(first));
  await users.moderate(world.id, first.id, "silenced");
  t.equal(config(await follower(world, person)).moderation_state, "silenced");
  t.notOk("moderation_state" in config(await world.person(person)), "not asked for");
  await users.moderate(world.id, first.id, "banned");
  for (const changes of [true, false]) {
    const client = await world.connect();
    const answer: Json = await client.login({ token: world.tokenOf(person), changes });
    t.match(answer, ["error", { code: "auth.denied" }]);
    t.same(answer.at(-1).details, changes ? { moderation_state: ["banned"] } : undefined);
  }
});

void t.test("the type of a poll", async (t) => {
  const permission_config = { ...rules, "poll.manage": ["admin"] };
  const world = await openWorld(server, { permission_config });
  const room = await world.room({ module_config: [{ type: "poll", config: { active: true } }] });
  const host = await follower(world, ADMIN);
  const [guest, old] = [await follower(world, { uid: "g" }), await world.guest()];
  for (const client of [host, guest, old]) await client.do("room.enter", { room });
  const poll = await makePoll(host, room, { poll_type: "multi" });
  t.equal(poll.poll_type, "multi");
  const name = "poll.created_or_updated";
  t.equal((await guest.next(name)).poll.poll_type, "multi");
  t.notOk("poll_type" in (await old.next(name)).poll);
  const [one, two]: string[] = poll.options.map(({ id }: Json) => id);
  const vote = { room, id: poll.id, options: [one, two] };
  const voted = { poll_type: "multi", results: { [one!]: 1, [two!]: 1 } };
  t.match(await guest.do("poll.vote", vote), { poll: voted });
  t.notOk("poll_type" in (await old.do("poll.vote", vote)).poll);
  t.match(await guest.do("poll.list", { room }), [{ poll_type: "multi", answers: [one, two] }]);
  t.notOk("poll_type" in (await old.do("poll.list", { room }))[0]);
});
