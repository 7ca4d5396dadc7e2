import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { serveLive, makeRoom, type Json, startLive } from "./client.js";

type Live = Awaited<ReturnType<typeof startLive>>;

const at = (seconds: number) =>
  new Date(Date.now() + seconds * 1000).toISOString();

/** A server with a room for all and one for the crew. */
async function furnished(t: Test) {
  const live = await startLive(t);
  const open = await makeRoom(live);
  const crew = await makeRoom(live, {
    name: "Crew",
    permission_config: { "room.view": ["admin"] },
  });
  const saved = async (method: string, path: string, body?: object) => {
    const answer = await live.rest(method, `demo/${path}`, body);
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  return { live, open, crew, saved };
}

/** The pushes of the program that a client got. */
async function pushed(live: Live, client: { all(): Promise<Json[]> }) {
  // Changes are collected.
  await new Promise((resolve) => setTimeout(resolve, 350));
  await live.settled();
  const frames = await client.all();
  return frames.filter(([name]) => (name as string).startsWith("program."));
}

void t.test("who sees what, in which version", async (t) => {
  const { live, open, crew, saved } = await furnished(t);
  const [admin, guest] = [await live.admin(), await live.guest()];
  const ofGuest = new Set<string>();
  const versionOf = async (client = guest) =>
    (await client.do("program.get", {})).version as string;
  /** Does something, and says whose version is another one, and who was told. */
  const affects = async (
    what: string,
    act: () => Promise<unknown>,
    who: string,
  ) => {
    const before = [await versionOf(), await versionOf(admin)];
    await act();
    const told = [await pushed(live, guest), await pushed(live, admin)];
    const after = [await versionOf(), await versionOf(admin)];
    const changed = after.map((version, i) => version !== before[i]);
    t.same(changed, [who.includes("guest"), who.includes("admin")], what);
    const frames = after.map((version, i) =>
      changed[i] ? [["program.updated", { version }]] : [],
    );
    t.same(told, frames, `${what}: pushes`);
    if (changed[0]) t.notOk(ofGuest.has(after[0]!), `${what}: a new version`);
    ofGuest.add(after[0]!);
  };
  const empty = await guest.do("program.get", {});
  t.same(Object.keys(empty), [
    ...[
      "version",
      "now",
      "event",
      "timezone",
      "sessions",
      "speakers",
      "favorites",
    ],
  ]);
  t.match(empty, { event: null, sessions: [], speakers: [], favorites: [] });
  t.ok(Math.abs(Date.parse(empty.now as string) - Date.now()) < 10_000);
  ofGuest.add(empty.version as string);

  let one: Json;
  let draft: Json;
  let ada: Json;
  await affects(
    "a speaker without sessions",
    async () => {
      ada = await saved("POST", "speakers/", { name: "Ada" });
    },
    "admin",
  );
  await affects(
    "a session",
    async () => {
      const body = { title: "One", room_id: open, speaker_ids: [ada.id] };
      one = await saved("POST", "sessions/", body);
    },
    "admin guest",
  );
  await affects(
    "a draft",
    async () => {
      draft = await saved("POST", "sessions/", {
        title: "D",
        room_id: open,
        state: "draft",
      });
    },
    "admin",
  );
  await affects(
    "a change of a draft",
    () => saved("PATCH", `sessions/${draft.id}/`, { title: "E" }),
    "admin",
  );
  await affects(
    "no change",
    () => saved("PATCH", `sessions/${one.id}/`, { title: "One" }),
    "",
  );
  let inCrew: Json;
  await affects(
    "a session in a hidden room",
    async () => {
      inCrew = await saved("POST", "sessions/", { title: "C", room_id: crew });
    },
    "admin",
  );
  const seen = await guest.do("program.get", {});
  t.match(seen.sessions, [{ id: one!.id }]);
  t.match(seen.speakers, [{ id: ada!.id }]);
  const all = await admin.do("program.get", {});
  t.equal(all.sessions.length, 3);
  const known = await guest.do("program.get", { version: seen.version });
  t.same(Object.keys(known), ["version", "now", "favorites"]);

  await affects(
    "a speaker of a session",
    () => saved("PATCH", `speakers/${ada.id}/`, { name: "Ada B" }),
    "admin guest",
  );
  await affects(
    "a title",
    () => saved("PATCH", `sessions/${one.id}/`, { title: "Two" }),
    "admin guest",
  );
  await affects(
    "and back",
    () => saved("PATCH", `sessions/${one.id}/`, { title: "One" }),
    "admin guest",
  );
  await affects(
    "a draft is published",
    () => saved("PATCH", `sessions/${draft.id}/`, { state: "public" }),
    "admin guest",
  );
  await affects(
    "and hidden again",
    () => saved("PATCH", `sessions/${draft.id}/`, { state: "draft" }),
    "admin guest",
  );
  await affects(
    "the hidden room opens",
    () => saved("PATCH", `rooms/${crew}/`, { permission_config: {} }),
    "admin guest",
  );
  await affects(
    "and closes",
    () =>
      saved("PATCH", `rooms/${crew}/`, {
        permission_config: { "room.view": ["admin"] },
      }),
    "admin guest",
  );
  const { config } = await saved("GET", "");
  const event = {
    starts_at: at(0),
    ends_at: at(9),
    tagline: "",
    cover: null,
    location: "",
  };
  await affects(
    "dates of the event",
    () => saved("PATCH", "", { config: { ...config, event } }),
    "admin guest",
  );
  t.same((await guest.do("program.get", {})).event, event);
  await affects(
    "and none",
    () => saved("PATCH", "", { config }),
    "admin guest",
  );
  await affects(
    "a title of the world",
    () => saved("PATCH", "", { title: "W" }),
    "",
  );
  await affects(
    "a deleted session",
    () => saved("DELETE", `sessions/${inCrew.id}/`),
    "admin",
  );
  await affects(
    "a deleted room",
    () => saved("DELETE", `rooms/${open}/`),
    "admin guest",
  );
  t.match((await guest.do("program.get", {})).sessions, [
    { id: one!.id, room_id: null },
  ]);

  await saved("PATCH", "", {
    permission_config: {
      "world.api": ["admin", "api"],
      "world.secrets": ["admin", "api"],
      "world.update": ["admin"],
      "program.read": ["member"],
    },
  });
  t.equal(await guest.code("program.get", {}), "auth.denied");
  t.equal(
    await guest.code("program.favorite", { session: one!.id, on: true }),
    "auth.denied",
  );
});

void t.test("versions are the same after a restart", async (t) => {
  const { live, saved } = await furnished(t);
  await saved("POST", "sessions/", { title: "One" });
  const guest = await live.guest("g");
  const { version } = await guest.do("program.get", {});
  await live.close();
  const again = await serveLive(t, live.dataDir);
  const back = await again.guest("g");
  t.equal((await back.do("program.get", {})).version, version);
});

void t.test("favorites", async (t) => {
  const { live, crew, saved } = await furnished(t);
  const one = await saved("POST", "sessions/", { title: "One" });
  const two = await saved("POST", "sessions/", { title: "Two" });
  const draft = await saved("POST", "sessions/", {
    title: "D",
    state: "draft",
  });
  const hidden = await saved("POST", "sessions/", {
    title: "H",
    room_id: crew,
  });
  const [guest, phone] = [await live.guest("g"), await live.guest("g")];
  const other = await live.guest("other");
  const favor = (session: unknown, on = true) =>
    guest.call("program.favorite", { session, on });
  t.same((await favor(two.id))[2], {});
  t.same(await phone.next("program.favorites"), { favorites: [two.id] });
  await favor(one.id);
  t.same(await phone.next("program.favorites"), {
    favorites: [two.id, one.id],
  });
  await favor(two.id, false);
  t.same(await phone.next("program.favorites"), { favorites: [one.id] });
  t.same((await phone.do("program.get", {})).favorites, [one.id]);
  t.same(await pushed(live, guest), [], "the author knows");
  t.same(await pushed(live, other), [], "others are not told");
  const answers = new Set<string>();
  for (const session of [randomUUID(), "x", 5, null, draft.id, hidden.id]) {
    answers.add(JSON.stringify((await favor(session))[2]));
    answers.add(JSON.stringify((await favor(session, false))[2]));
  }
  t.same(
    [...answers],
    ['{"code":"program.unknown","message":"Unknown session ID"}'],
  );
  await saved("PATCH", `sessions/${one.id}/`, { state: "draft" });
  t.same(
    (await guest.do("program.get", {})).favorites,
    [],
    "none that is hidden",
  );
  await saved("PATCH", `sessions/${one.id}/`, { state: "public" });
  t.same((await guest.do("program.get", {})).favorites, [one.id]);
  await saved("DELETE", `sessions/${one.id}/`);
  t.same((await guest.do("program.get", {})).favorites, []);
});

void t.test("rooms show the session that is on", async (t) => {
  const { live, open, saved } = await furnished(t);
  const bare = await makeRoom(live, { name: "Bare" });
  const admin = await live.admin();
  const own = { title: "Own" };
  for (const room of [open, bare]) {
    await admin.do("room.schedule", { room, schedule_data: own });
  }
  const guest = await live.guest();
  await guest.do("room.enter", { room: open });
  const shows = async (room: string) => {
    const { hello } = await live.guest();
    const { rooms } = hello["world.config"] as { rooms: Json[] };
    return rooms.find(({ id }) => id === room).schedule_data;
  };
  t.same(await shows(open), own);
  const talk = {
    title: "Talk",
    room_id: open,
    starts_at: at(1),
    ends_at: at(2.5),
  };
  const { id } = await saved("POST", "sessions/", talk);
  const push = () => guest.next("room.schedule");
  t.same(
    await push(),
    { room: open, schedule_data: null },
    "it has sessions now",
  );
  t.same(
    await push(),
    { room: open, schedule_data: { session: id } },
    "it begins",
  );
  t.same(await shows(open), { session: id });
  t.same(await push(), { room: open, schedule_data: null }, "it ends");
  t.same(await shows(open), null);
  const late = { starts_at: at(-5), ends_at: at(100) };
  await saved("PATCH", `sessions/${id}/`, late);
  t.same(await push(), { room: open, schedule_data: { session: id } });
  await saved("PATCH", `sessions/${id}/`, { state: "draft" });
  t.same(
    await push(),
    { room: open, schedule_data: own },
    "a draft is no session",
  );
  t.same(await shows(open), own);
  t.same(await shows(bare), own);
});
