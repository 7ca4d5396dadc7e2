import t from "tap";
import {
  type Client,
  demo,
  type Json,
  type LiveServer,
  makeRoom,
  type Person,
  startLive,
} from "./client.js";

// The changes of a world, for clients that asked for them at login.

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.RUNS ?? 12);
t.comment(`SEED=${seed} RUNS=${numRuns}`);

const ADMIN = { uid: "admin", traits: ["admin", "api"] };

const demoRules = {
  "world.update": ["admin"],
  "world.api": ["admin", "api"],
  "world.secrets": ["admin", "api"],
  "room.update": ["admin"],
  "room.create": ["admin"],
  "room.delete": ["admin"],
};

/** Logs in a client that asks for changes. */
async function follower(live: LiveServer, person: Person): Promise<Client> {
  const client = await live.connect();
  await client.login({ token: live.tokenOf(person), changes: true });
  return client;
}

const namesOf = (rooms: Json[]) => rooms.map(({ name }: Json) => name);

void t.test("clients get each change, and nothing else", async (t) => {
  const live = await startLive(t);
  const [a, b, c] = [
    await makeRoom(live, { name: "A", sorting_priority: 1 }),
    await makeRoom(live, { name: "B", sorting_priority: 2 }),
    await makeRoom(live, {
      name: "C",
      sorting_priority: 3,
      permission_config: { "room.view": [["crew", "admin"]] },
    }),
  ];
  const crew = await follower(live, { uid: "c", traits: ["crew"] });
  const guest = await follower(live, { uid: "g" });
  const old = await live.guest();
  t.same(namesOf(guest.hello["world.config"].rooms), ["A", "B"]);
  t.match(guest.hello["world.config"].rooms[0], { users: "none", count: 0 });
  t.notOk("count" in old.hello["world.config"].rooms[0], "not asked for");

  const room = (id: string) => `demo/rooms/${id}`;
  const none = { rooms: [], removed: [] };
  const open = { "room.view": [] };
  type Told = Json;
  const steps: [
    what: string,
    act: () => Promise<unknown>,
    forCrew: Told,
    forGuest: Told,
  ][] = [
    ["a room", () => live.rest("PATCH", room(a), { name: "A2" }), { rooms: [{ id: a, name: "A2", users: "none", count: 0 }], removed: [] }, { rooms: [{ id: a, name: "A2" }], removed: [] }],
    ["two rooms", () => Promise.all([a, b].map((id) => live.rest("PATCH", room(id), { description: "x" }))), { rooms: [{ id: a }, { id: b }], removed: [] }, { rooms: [{ id: a }, { id: b }], removed: [] }],
    ["a hidden room", () => live.rest("PATCH", room(c), { name: "C2" }), { rooms: [{ id: c }], removed: [] }, undefined],
    ["the order", () => live.rest("PATCH", room(c), { sorting_priority: 0 }), { ...none, order: [c, a, b] }, undefined],
    ["a room that gets visible, before others", () => live.rest("PATCH", room(c), { permission_config: open }), undefined, { rooms: [{ id: c, name: "C2" }], removed: [], order: [c, a, b] }],
    ["a room that gets invisible", () => live.rest("PATCH", room(c), { permission_config: { "room.view": [["crew", "admin"]] } }), undefined, { rooms: [], removed: [c] }],
    ["rights in a room", () => live.rest("PATCH", room(a), { permission_config: { "chat.send": ["crew"] } }), undefined, { rooms: [{ id: a }], removed: [] }],
    ["a rule that changes no right here", () => live.rest("PATCH", room(a), { permission_config: { "chat.send": ["crew"], "room.delete": ["x"] } }), undefined, undefined],
    ["the world", () => live.rest("PATCH", "demo", { title: "D" }), { ...none, world: { title: "D" } }, { ...none, world: { title: "D" } }],
    ["a right in the world", () => live.rest("PATCH", "demo", { permission_config: { ...demoRules, "world.announce": ["crew"] } }), { ...none, permissions: Array }, undefined],
    ["a deleted room", async () => live.rest("DELETE", room(b)), undefined, undefined],
    ["its name, and back", async () => { await live.rest("PATCH", room(a), { name: "A3" }); await live.rest("PATCH", room(a), { name: "A2" }); }, undefined, undefined],
  ]; // prettier-ignore
  let title = 0;
  for (const [what, act, forCrew, forGuest] of steps) {
    await act();
    await old.next("world.updated");
    // The next push shows that nothing came before.
    for (const [client, told] of [
      [crew, forCrew],
      [guest, forGuest],
    ] as const) {
      const frames = await client.all();
      const changes = frames.filter(([name]) => name.startsWith("world."));
      t.same(
        changes.map(([name]) => name),
        told ? ["world.changed"] : [],
        what,
      );
      if (!told) continue;
      const data = changes[0]![1] as Json;
      t.match(data, told, what);
      t.same(Object.keys(data).sort(), Object.keys(told).sort(), what);
      t.equal(data.rooms.length, told.rooms.length, what);
      t.same(data.removed, told.removed, what);
      if (told.order) t.same(data.order, told.order, what);
    }
    await live.rest("PATCH", "demo", { title: `T${title++}` });
    for (const client of [crew, guest]) {
      t.match(await client.next("world.changed"), none);
    }
    await old.next("world.updated");
  }
});

void t.test("changes of other pushes are not repeated", async (t) => {
  const live = await startLive(t);
  const a = await makeRoom(live, { name: "A" });
  const admin = await live.person(ADMIN);
  const guest = await follower(live, { uid: "g" });
  const inside = await follower(live, { uid: "i" });
  await inside.do("room.enter", { room: a });
  for (const client of [guest, inside]) {
    t.match(await client.next("world.user_count_change"), {
      room: a,
      users: "few",
      count: 1,
    });
  }
  const { room: b } = await admin.do("room.create", { name: "B", description: "" }); // prettier-ignore
  await admin.do("room.schedule", { room: a, schedule_data: { session: 7 } });
  t.match(await inside.next("room.schedule"), { room: a });
  t.match(await guest.next("world.changed"), {
    rooms: [{ id: a, schedule_data: { session: 7 }, users: "few", count: 1 }],
    removed: [],
  });
  await admin.do("room.delete", { room: b });
  await live.rest("PATCH", "demo", { title: "T" });
  for (const client of [guest, inside]) {
    t.equal((await client.next("room.create")).id, b);
    t.same(await client.next("room.delete"), { id: b });
    const { rooms, removed, world } = await client.next("world.changed");
    t.same([rooms, removed, world.title], [[], [], "T"]);
  }
  t.same(await admin.do("world.config.patch", { title: "U" }), await admin.do("world.config.get")); // prettier-ignore
});

void t.test("an administrator learns of settings that others cannot see", async (t) => {
  const live = await startLive(t, {}, [demo({ permission_config: demoRules })]);
  await makeRoom(live, { name: "A" });
  const boss = await follower(live, ADMIN);
  const guest = await follower(live, { uid: "g" });
  await live.rest("PATCH", "demo", {
    permission_config: {
      ...demoRules,
      "room.delete": ["admin", "api"],
    },
  });
  t.same(await boss.next("world.changed"), { rooms: [], removed: [] });
  t.same(await guest.all(), []);
}); // prettier-ignore

void t.test("how many people a room has", async (t) => {
  const live = await startLive(t);
  const room = await makeRoom(live);
  const guest = await follower(live, { uid: "g" });
  const old = await live.guest();
  const { presence } = live.app.live;
  const note = (from: number, to: number) => {
    for (let i = from; i < to; i++) {
      const connection = `c${i}`;
      presence.note("demo", { do: "open", connection, user: `u${i}`, at: i });
      presence.note("demo", { do: "enter", connection, room });
    }
  };
  let before = 0;
  for (const [count, users, shown] of [
    [1, "few", 1],
    [2, "few", 2],
    [11, "many", 11],
    [99, "many", 99],
    [100, "many", 100],
    [104, "many", 100],
    [105, "many", 110],
    [1234, "many", 1200],
  ] as const) {
    note(before, count);
    before = count;
    if (count === 104) continue;
    const is = (data: Json) => data.count === shown;
    t.same(
      await guest.next("world.user_count_change", is),
      { room, users, count: shown },
      `${count}`,
    );
  }
  const late = await follower(live, { uid: "late" });
  t.match(late.hello["world.config"].rooms, [{ users: "many", count: 1200 }]);
  const told = (await old.all()).map(([, data]) => data);
  t.same(told, [
    { room, users: "few" },
    { room, users: "many" },
  ]);
});

void t.test("a large world", async (t) => {
  const live = await startLive(t);
  const description = "x".repeat(5000);
  for (let i = 0; i < 60; i++) await makeRoom(live, { description });
  const first = await makeRoom(live, { name: "first" });
  const old = await live.guest();
  const guest = await follower(live, { uid: "g" });
  let bytes = 0;
  let states = 0;
  old.ws.on("message", (data: Buffer) => {
    bytes += data.length;
    states++;
  });
  let changed = 0;
  guest.ws.on("message", (data: Buffer) => (changed += data.length));
  const started = performance.now();
  for (let i = 0; i < 12; i++) {
    await live.rest("PATCH", `demo/rooms/${first}`, { name: `name ${i}` });
    await guest.next("world.changed", ({ rooms }) => rooms[0].name === `name ${i}`); // prettier-ignore
  }
  t.ok(changed < 12 * 1000, `changes are small: ${changed} bytes`);
  // The last state arrives, and earlier ones are left out.
  const isLast = ({ rooms }: Json) =>
    rooms.some(({ name }: Json) => name === "name 11");
  await old.next("world.updated", isLast);
  const seconds = (performance.now() - started) / 1000;
  const one = bytes / states;
  t.ok(
    bytes <= 64 * 1024 * (seconds + 1) + one,
    `${states} states, ${bytes} bytes in ${seconds} s`,
  );
  t.same(await old.names(), ["world.updated"], "the first state");
}); // prettier-ignore

void t.test("a state above the limit of unsent bytes", async (t) => {
  const live = await startLive(t, { maxUnsent: 16 * 1024 });
  const description = "x".repeat(1_000_000);
  for (let i = 0; i < 8; i++) await makeRoom(live, { description });
  const old = await live.guest();
  const others = await follower(live, { uid: "g" });
  old.ws.pause();
  for (let i = 0; i < 5; i++) {
    await live.rest("PATCH", "demo", { title: `T${i}` });
    await others.next("world.changed", ({ world }) => world.title === `T${i}`);
  }
  old.ws.resume();
  await old.next("world.updated");
  t.ok(await old.do("user.list.blocked"), "it is still there");
});

// prettier-ignore

void t.test("why clients may not write, or come", async (t) => {
  const live = await startLive(t);
  const { users } = live.app.store;
  const person = { uid: "x" };
  const first = await follower(live, person);
  const { id } = first.hello["user.config"];
  t.notOk("moderation_state" in first.hello["user.config"]);

  await users.moderate("demo", id, "silenced");
  const silenced = await follower(live, person);
  t.equal(silenced.hello["user.config"].moderation_state, "silenced");
  const old = await live.connect();
  const token = live.tokenOf(person);
  await old.login({ token });
  t.notOk("moderation_state" in old.hello["user.config"], "not asked for");

  await users.moderate("demo", id, "banned");
  for (const [changes, details] of [
    [true, { moderation_state: ["banned"] }],
    [false, undefined],
  ] as const) {
    const client = await live.connect();
    const answer: Json = await client.login({ token, changes });
    t.equal(answer[0], "error");
    t.equal(answer.at(-1).code, "auth.denied");
    t.same(answer.at(-1).details, details);
  }
});

void t.test("the type of a poll", async (t) => {
  const live = await startLive(t);
  const modules = [{ type: "poll", config: { active: true } }];
  const room = await makeRoom(live, { name: "A", module_config: modules });
  await live.rest("PATCH", "demo", {
    permission_config: { ...demoRules, "poll.manage": ["admin"] },
  });
  const host = await follower(live, ADMIN);
  const guest = await follower(live, { uid: "g" });
  const old = await live.guest();
  for (const client of [host, guest, old]) {
    await client.do("room.enter", { room });
  }
  const draft = { room, content: "Which?", state: "open", poll_type: "multi" };
  const options = ["a", "b", "c"].map((content) => ({ content }));
  const { poll } = await host.do("poll.create", { ...draft, options });
  t.equal(poll.poll_type, "multi");
  const name = "poll.created_or_updated";
  t.equal((await guest.next(name)).poll.poll_type, "multi");
  t.notOk("poll_type" in (await old.next(name)).poll);
  const chosen = poll.options.slice(0, 2).map(({ id }: Json) => id);
  const vote = { room, id: poll.id, options: chosen };
  t.match(await guest.do("poll.vote", vote), {
    poll: { poll_type: "multi", results: { [chosen[0]]: 1, [chosen[1]]: 1 } },
  });
  t.notOk("poll_type" in (await old.do("poll.vote", vote)).poll);
  const [listed] = await guest.do("poll.list", { room });
  t.match(listed, { poll_type: "multi", answers: chosen });
  const [plain] = await old.do("poll.list", { room });
  t.notOk("poll_type" in plain);
});
