import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import t from "tap";
import type { Client, Json } from "../../conformance/client.js";
import { until } from "../helper.js";
import { festival } from "./festival.js";
import { at, Site } from "./site.js";

// The program over websockets. The people are connected to all processes.

/** The pushes of the program that a client got. */
async function told(client: Client): Promise<unknown[]> {
  const frames = await client.all();
  return frames.filter(([name]) => name.startsWith("program."));
}

const get = (client: Client): Promise<Json> => client.do("program.get", {});
const versionOf = async (client: Client): Promise<string> =>
  (await get(client)).version;

/** Waits until a client has the version that it gets. */
async function follows(client: Client): Promise<string> {
  let version = "";
  await until(async () => {
    ({ version } = await client.next("program.updated"));
    return version === (await versionOf(client));
  });
  return version;
}

void t.test("who sees what, in which version", async (t) => {
  const site = await Site.start(t);
  const { session, save } = {
    session: site.session.bind(site),
    save: site.save.bind(site),
  };
  const open = await site.room("Open");
  const crew = await site.room("Crew", { "room.view": ["admin"] });
  const people = {
    guest: await site.guest("guest"),
    phone: await site.guest("guest"),
    admin: await site.user("admin", "admin", "editor"),
  };
  type Name = keyof typeof people;
  const names = Object.keys(people) as Name[];
  const chat = (
    await save("POST", "rooms/", {
      ...{ name: "Chat", module_config: [{ type: "chat.native" }] },
      permission_config: { "room.view": [] },
    })
  ).id;
  for (const name of names) {
    await people[name].do("chat.subscribe", { channel: chat });
  }
  await people.admin.do("chat.join", { channel: chat });
  let acts = 0;
  /** Waits until the processes of all people have heard of what was done. */
  const reached = async () => {
    const body = `${++acts}`;
    await people.admin.do("chat.send", {
      ...{ channel: chat, event_type: "channel.message" },
      content: { type: "text", body },
    });
    for (const name of names) {
      await people[name].next(
        "chat.event",
        ({ content }) => content.body === body,
      );
    }
  };
  const seen = new Set<string>();
  /** Does something that changes what some people see, and no other version. */
  const affects = async (what: string, act: () => unknown, ...who: Name[]) => {
    const before = new Map<Name, string>();
    for (const name of names) {
      before.set(name, await versionOf(people[name]));
    }
    await act();
    for (const name of who) {
      const { version } = await people[name].next("program.updated");
      t.notOk(seen.has(version), `${what}: a new version for ${name}`);
      t.equal(version, await versionOf(people[name]), `${what}: it is pushed`);
    }
    for (const name of who) seen.add(await versionOf(people[name]));
    await reached();
    for (const name of names) {
      const isSame = (await versionOf(people[name])) === before.get(name);
      t.equal(isSame, !who.includes(name), `${what}: the version of ${name}`);
    }
  };
  const all = names;
  const editors = ["admin"] as const;

  const empty = await get(people.guest);
  t.same(Object.keys(empty).sort(), [
    ...["event", "favorites", "now", "sessions", "speakers"],
    // The zone of the event, in which pages show times.
    ...["timezone", "version"],
  ]);
  t.match(empty, { event: null, sessions: [], speakers: [], favorites: [] });
  t.equal(empty.timezone, "Europe/Berlin");
  t.ok(Math.abs(Date.parse(empty.now) - Date.now()) < 30_000);
  t.match(empty.now, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  seen.add(empty.version);

  const { permission_config: rules, config } = (await site.api("")).body;
  const setRules = (more: object) =>
    save("PATCH", "", { permission_config: { ...rules, ...more } });
  const setRoom = (id: string, permission_config: object) =>
    save("PATCH", `rooms/${id}/`, { permission_config });
  await affects("a rule, while there is no program", () =>
    setRules({ "room.view": [["reader", "admin"]] }),
  );
  await affects("and back", () => setRules({}));

  const ids: Record<string, string> = {};
  const make = (title: string, more: object) => async () => {
    ids[title] = await session(title, more);
  };
  const change = (title: string, body: object) => () =>
    save("PATCH", `sessions/${ids[title]}/`, body);
  await affects(
    "a speaker without sessions",
    async () =>
      (ids.ada = (await save("POST", "speakers/", { name: "Ada" })).id),
    ...editors,
  );
  await affects(
    "a first draft in a room",
    make("D", { room_id: open, state: "draft" }),
    ...editors,
  );
  await affects(
    "a session",
    make("One", { room_id: open, speaker_ids: [ids.ada] }),
    ...all,
  );
  await affects("a change of a draft", change("D", { title: "E" }), ...editors);
  await affects("no change", change("One", { title: "One" }));
  await affects(
    "a session in a hidden room",
    make("C", { room_id: crew }),
    ...editors,
  );
  const shown = await get(people.guest);
  t.match(shown.sessions, [{ id: ids.One, state: "public" }]);
  t.match(shown.speakers, [{ id: ids.ada, name: "Ada" }]);
  t.equal((await get(people.admin)).sessions.length, 3);
  const known = await people.guest.do("program.get", {
    version: shown.version,
  });
  t.same(Object.keys(known).sort(), ["favorites", "now", "version"]);
  t.equal(known.version, shown.version);
  const old = await people.guest.do("program.get", { version: empty.version });
  t.same(old.sessions, shown.sessions, "an old version is answered in full");
  for (const version of [5, null, {}, "x".repeat(10_000)]) {
    const answer = await people.guest.call("program.get", { version });
    t.match(JSON.stringify(answer), /sessions|protocol\.payload|invalid/);
  }

  await affects(
    "a speaker of a session",
    () => save("PATCH", `speakers/${ids.ada}/`, { name: "B" }),
    ...all,
  );
  await affects("a title", change("One", { title: "Two" }), ...all);
  await affects("and back", change("One", { title: "One" }), ...all);
  await affects(
    "a draft is published",
    change("D", { state: "public" }),
    ...all,
  );
  await affects("and hidden again", change("D", { state: "draft" }), ...all);
  await affects(
    "a session moves out of sight",
    change("One", { room_id: crew }),
    ...all,
  );
  await affects("and back", change("One", { room_id: open }), ...all);
  await affects("the hidden room opens", () => setRoom(crew, {}), ...all);
  t.equal((await get(people.guest)).sessions.length, 2);
  await affects(
    "and closes",
    () => setRoom(crew, { "room.view": ["admin"] }),
    ...all,
  );
  await affects("other rules of rooms", async () => {
    await setRoom(open, { "chat.send": ["x"], "question.ask": ["x"] });
    await setRoom(crew, { "room.view": ["admin"], "chat.send": ["x"] });
  });
  await affects("other rules of the world", () =>
    setRules({ "chat.moderate": ["x"], "world.announce": ["x"] }),
  );
  await affects("who may read", () => setRules({ "program.read": [] }));
  await affects(
    "who may edit",
    () => setRules({ "program.update": [] }),
    ...all,
  );
  t.equal((await get(people.guest)).sessions.length, 2, "with the draft");
  await affects("and who may not", () => setRules({}), ...all);
  const event = {
    ...{ starts_at: at(0), ends_at: at(9), tagline: "" },
    ...{ cover: null, location: "" },
  };
  const configured = (more: object) => () =>
    save("PATCH", "", { config: { ...config, ...more } });
  await affects("dates of the event", configured({ event }), ...all);
  t.same((await get(people.guest)).event, event);
  await affects("none", configured({}), ...all);
  await affects("the zone", configured({ timezone: "Asia/Tokyo" }), ...all);
  await affects(
    "other settings",
    configured({ timezone: "Asia/Tokyo", theme: { colors: {} } }),
  );
  await affects("a title of the world", () =>
    save("PATCH", "", { title: "W" }),
  );
  await affects(
    "a zone that does not exist",
    configured({ timezone: "Mars/Olympus" }),
    ...all,
  );
  t.equal((await get(people.guest)).timezone, "UTC", "pages can use it");
  const document = festival({ begin: Date.now() });
  const imports =
    (query = "") =>
    async () => {
      const answer = await site.put(document, { query });
      t.equal(answer.status, 200, answer.text);
    };
  await affects("an import on trial", imports("?dry_run=true"));
  await affects("an import", imports(), ...all);
  await affects("the same import", imports("?remove_missing=true"));
  await affects(
    "a deleted session",
    () => save("DELETE", `sessions/${ids.C}/`),
    ...editors,
  );
  const attic = await site.room("Attic");
  await affects(
    "a draft",
    make("F", { room_id: attic, state: "draft" }),
    ...editors,
  );
  await affects(
    "its deleted room",
    () => save("DELETE", `rooms/${attic}/`),
    ...editors,
  );
  // The last one: what was pushed before by mistake comes before it.
  await affects(
    "a deleted room",
    () => save("DELETE", `rooms/${open}/`),
    ...all,
  );
  const kept = (await get(people.guest)).sessions as Json[];
  t.match(
    kept.find(({ id }) => id === ids.One),
    { room_id: null },
  );
  for (const name of names) {
    t.same(await told(people[name]), [], `${name} got one push for each act`);
  }

  const versions = [
    await versionOf(people.guest),
    await versionOf(people.admin),
  ];
  await site.restart();
  t.same(
    [
      await versionOf(await site.guest("guest")),
      await versionOf(await site.user("admin", "admin", "editor")),
    ],
    versions,
    "the same after a restart",
  );
  const guest = await site.guest("guest");
  await setRules({ "program.read": ["crew"] });
  await until(async () => (await guest.code("program.get", {})) !== "ok");
  for (const [command, payload] of [
    ["program.get", {}],
    ["program.favorite", { session: ids.One, on: true }],
    ["program.link", {}],
  ] as const) {
    t.equal(await guest.code(command, payload), "auth.denied", command);
  }
  t.equal(await (await site.user("c", "crew")).code("program.get", {}), "ok");
});

void t.test("favorites", async (t) => {
  const site = await Site.start(t);
  const crew = await site.room("Crew", { "room.view": ["admin"] });
  const [one, two] = [await site.session("One"), await site.session("Two")];
  const draft = await site.session("D", { state: "draft" });
  const hidden = await site.session("H", { room_id: crew });
  const [guest, phone] = [await site.guest("g"), await site.guest("g")];
  const tablet = await site.guest("g");
  const other = await site.guest("other");
  // Each of two servers hears of the sessions in its own time, so versions come late.
  const heard = async (client: Client) =>
    (await client.all()).filter(([name]) => name === "program.favorites");
  const favor = (session: unknown, on: unknown = true) =>
    guest.call("program.favorite", { session, on });
  const both = async (favorites: string[], what: string) => {
    for (const client of [phone, tablet]) {
      t.same(await client.next("program.favorites"), { favorites }, what);
    }
  };
  t.same((await favor(two))[2], {});
  await both([two], "one");
  await favor(one);
  await both([two, one], "two");
  await favor(two, false);
  await both([one], "one again");
  await favor(one);
  await favor(two, false);
  t.same((await get(phone)).favorites, [one]);
  const answers = new Set<string>();
  for (const session of [randomUUID(), "x", 5, null, "", {}, draft, hidden]) {
    for (const on of [true, false]) {
      answers.add(JSON.stringify((await favor(session, on))[2]));
    }
  }
  t.same(
    [...answers],
    ['{"code":"program.unknown","message":"Unknown session ID"}'],
  );
  t.not(await guest.code("program.favorite", { session: one, on: 5 }), "ok");

  const change = (body: object) => site.save("PATCH", `sessions/${one}/`, body);
  const all = [guest, phone, tablet, other];
  for (const client of all) {
    await get(client);
    t.same(await heard(client), []);
  }
  await change({ title: "Won" });
  for (const client of all) {
    // Changes of the program are collected for longer than favorites.
    await client.next("program.updated");
    t.same(await heard(client), [], "nothing changed, and the author knows");
  }
  for (const [hide, show] of [
    [{ state: "draft" }, { state: "public" }],
    [{ room_id: crew }, { room_id: null }],
  ]) {
    await change(hide!);
    await follows(guest);
    t.same((await get(guest)).favorites, [], "none that is hidden");
    await change(show!);
    await follows(guest);
    t.same((await get(guest)).favorites, [one]);
  }
  await site.save("DELETE", `sessions/${one}/`);
  await follows(guest);
  t.same((await get(guest)).favorites, []);

  const sessions = Array.from({ length: 1001 }, (_, i) => ({ title: `S${i}` }));
  t.match((await site.put({ sessions, speakers: [] })).body, { created: 1001 });
  await follows(guest);
  const ids = ((await get(guest)).sessions as Json[])
    .filter(({ title }) => /^S\d/.test(title))
    .map(({ id }) => id as string);
  const last = ids.pop()!;
  for (const session of ids) {
    await guest.do("program.favorite", { session, on: true });
  }
  t.match((await favor(last))[2], { code: "program.too_many" });
  t.same((await favor(ids[0], false))[2], {});
  t.same((await favor(last))[2], {}, "one less, one more");
  t.same((await get(phone)).favorites, [...ids.slice(1), last]);
});

void t.test("rooms show the session that is on", async (t) => {
  const site = await Site.start(t);
  const [open, bare] = [await site.room("Open"), await site.room("Bare")];
  const admin = await site.user("admin", "admin", "editor");
  const own = { title: "Own" };
  for (const room of [open, bare]) {
    await admin.do("room.schedule", { room, schedule_data: own });
  }
  const [guest, phone] = [await site.guest("a"), await site.guest("b")];
  for (const client of [guest, phone]) {
    await client.do("room.enter", { room: open });
  }
  const shows = async (room: string) => {
    const { hello } = await site.guest("c");
    const { rooms } = hello["world.config"] as { rooms: Json[] };
    return rooms.find(({ id }) => id === room).schedule_data;
  };
  const isPushed = async (data: unknown, what: string) => {
    for (const client of [guest, phone]) {
      const push = await client.next(
        "room.schedule",
        ({ room }) => room === open,
      );
      t.same(push.schedule_data, data, what);
    }
  };
  t.same(await shows(open), own, "its own, without sessions");
  const id = await site.session("Talk", {
    ...{ room_id: open, starts_at: at(4), ends_at: at(6) },
  });
  await isPushed(null, "it has sessions now");
  await isPushed({ session: id }, "it begins");
  t.same(await shows(open), { session: id });
  await isPushed(null, "it ends");
  t.same(await shows(open), null);
  const patch = (body: object) => site.save("PATCH", `sessions/${id}/`, body);
  await patch({ starts_at: at(-5), ends_at: at(100) });
  await isPushed({ session: id }, "it is moved to now");
  await patch({ state: "draft" });
  await isPushed(own, "a draft is no session");
  t.same(await shows(open), own);
  t.same(await shows(bare), own);
});

void t.test("a large program comes whole to slow readers", async (t) => {
  const site = await Site.start(t, { LIVE_MAX_UNSENT: "65536" });
  const chat = (
    await site.save("POST", "rooms/", {
      ...{ name: "Chat", module_config: [{ type: "chat.native" }] },
    })
  ).id;
  const sessions = Array.from({ length: 2000 }, (_, i) => ({
    ...{ title: `Session ${i}`, abstract: `${i} `.padEnd(900, "words ") },
  }));
  t.match((await site.put({ sessions, speakers: [] })).body, { created: 2000 });
  const guest = await site.guest("slow");
  const talker = await site.user("talker");
  await guest.do("chat.subscribe", { channel: chat });
  await talker.do("chat.join", { channel: chat });
  const socket = (guest.ws as unknown as { _socket: Socket })._socket;
  socket.pause();
  const answer = guest.call("program.get", {});
  for (let i = 0; i < 20; i++) {
    await talker.do("chat.send", {
      ...{ channel: chat, event_type: "channel.message" },
      content: { type: "text", body: `${i} `.padEnd(1000, "x") },
    });
  }
  await talker.next("chat.event", ({ content }) =>
    content.body?.startsWith("19 "),
  );
  socket.resume();
  const [, , whole] = (await answer) as [string, number, Json];
  t.equal(whole.sessions.length, 2000);
  t.ok(JSON.stringify(whole).length > 2 ** 21);
  t.ok(guest.isOpen);
  const short = await guest.call("program.get", { version: whole.version });
  t.ok(JSON.stringify(short).length < 300, "it is answered without it");
});
