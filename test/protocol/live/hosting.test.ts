import t from "tap";
import { until } from "../../support/helper.js";
import { openWorld, type Json, makePoll } from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Hosts run a room's program, and control its screen.

const server = await startServer(t, { config: { trustProxy: ["loopback"] } });
const base = server.baseUrl;

const modules = [
  { type: "question", config: { active: true, requires_moderation: true, anonymous: true } },
  { type: "poll", config: { active: true } },
];

async function event() {
  const world = await openWorld(server, {
    permission_config: {
      "world.api": ["admin"],
      "world.update": ["admin"],
      "world.secrets": ["admin"],
      "room.create": ["admin"],
      "room.update": ["admin"],
      "room.delete": ["admin"],
      "chat.moderate": [["admin", "crew"]],
    },
  });
  const make = async (path: string, body: object) => {
    const answer = await world.rest("POST", path, body);
    t.equal(answer.status, 201, path);
    return answer.body;
  };
  const { id: hall } = await make("rooms/", { name: "Hall", module_config: modules });
  const { id: other } = await make("rooms/", { name: "Other", module_config: [] });
  const now = Date.now();
  const at = (minutes: number) => new Date(now + minutes * 60_000).toISOString();
  const session = async (title: string, start: number, end: number, more: object = {}) =>
    (
      await make("sessions/", {
        title,
        room_id: hall,
        starts_at: at(start),
        ends_at: at(end),
        ...more,
      })
    ).id as string;
  return { world, hall: hall as string, other: other as string, session, make };
}

void t.test("whoever moderates a room runs its program, for everybody at once", async (t) => {
  const { world, hall, session } = await event();
  const on = await session("On", -10, 20);
  const next = await session("Next", 20, 40);
  const crew = await world.person("Crew", "crew");
  const guest = await world.person("Guest");
  const seen = async () => {
    const { sessions } = await guest.do("program.get", {});
    return new Map<string, Json>(sessions.map((it: Json) => [it.id, it]));
  };
  const before = await seen();
  await guest.do("program.favorite", { session: next, on: true });
  const run = (payload: object) => crew.do("session.run", { room: hall, ...payload });
  t.same(await run({ session: on, action: "plus", minutes: 10 }), { moved: [on, next] });
  await guest.next("program.updated");
  const after = await seen();
  const later = (id: string, field: string) =>
    (Date.parse(after.get(id)![field]) - Date.parse(before.get(id)![field])) / 60_000;
  t.same([later(on, "starts_at"), later(on, "ends_at")], [0, 10]);
  t.same([later(next, "starts_at"), later(next, "ends_at")], [10, 10]);
  const { moved } = await guest.do("program.get", {});
  t.same(
    moved,
    [{ session: next, starts_at: before.get(next)!.starts_at, room_id: hall }],
    "a favorite has moved",
  );

  t.same(await run({ session: on, action: "hold" }), { moved: [on] });
  t.equal((await seen()).get(on)!.overrun, "held");
  t.same(await run({ session: next, action: "start" }), { moved: [on, next] });
  t.equal((await seen()).get(on)!.overrun, "ended");
  t.same(await run({ session: next, action: "end" }), { moved: [next] });
  t.same(await run({ session: next, action: "end" }), { moved: [] }, "twice is once");
});

void t.test("what hosts cannot do to a program", async (t) => {
  const { world, hall, other, session, make } = await event();
  const on = await session("On", -10, 20);
  const over = await session("Over", -200, -150);
  const later = await session("Later", 100, 120);
  const draft = await session("Draft", -10, 20, { state: "draft" });
  const { id: planned } = await make("sessions/", { title: "No time", room_id: hall });
  const gone = await session("Gone", -10, 20);
  await world.rest("DELETE", `sessions/${gone}/`);
  const crew = await world.person("Crew", "crew");
  const guest = await world.person("Guest");
  const rows: [string, object, string][] = [
    ["in another room", { room: other, session: on, action: "end" }, "program.unknown"],
    ["in no room", { room: "x", session: on, action: "end" }, "room.unknown"],
    ["deleted", { session: gone, action: "end" }, "program.unknown"],
    ["a draft", { session: draft, action: "start" }, "program.unknown"],
    ["without times", { session: planned, action: "start" }, "program.unknown"],
    ["malformed", { session: 7, action: "end" }, "program.unknown"],
    ["not begun", { session: later, action: "end" }, "program.not_on"],
    ["held before it begins", { session: later, action: "hold" }, "program.not_on"],
    ["long over", { session: over, action: "plus" }, "program.not_on"],
    ["negative", { session: on, action: "plus", minutes: -5 }, "protocol.invalid_payload"],
    ["none", { session: on, action: "plus", minutes: 0 }, "protocol.invalid_payload"],
    ["huge", { session: on, action: "plus", minutes: 1e9 }, "protocol.invalid_payload"],
    ["half", { session: on, action: "plus", minutes: 1.5 }, "protocol.invalid_payload"],
    ["minutes to end", { session: on, action: "end", minutes: 5 }, "protocol.invalid_payload"],
    ["unknown", { session: on, action: "pause" }, "protocol.invalid_payload"],
  ];
  for (const [name, payload, code] of rows) {
    t.equal(await crew.code("session.run", { room: hall, ...payload }), code, name);
  }
  for (const action of ["start", "plus", "hold", "end"]) {
    const code = await guest.code("session.run", { room: hall, session: on, action });
    t.equal(code, "protocol.denied", `a guest: ${action}`);
  }
  const { status } = await world.rest("PATCH", "", { config: { overrun_minutes: 181 } });
  t.equal(status, 400);
  for (const overrun_minutes of [0, 180]) {
    const { status } = await world.rest("PATCH", "", { config: { overrun_minutes } });
    t.equal(status, 200);
    t.match(await guest.do("program.get", {}), { overrun_minutes });
  }
});

void t.test("a change of its times ends what a host decided about a session", async (t) => {
  const { world, hall, session } = await event();
  const on = await session("On", -10, 20);
  const crew = await world.person("Crew", "crew");
  await crew.do("session.run", { room: hall, session: on, action: "hold" });
  const get = async () => (await world.rest("GET", `sessions/${on}/`)).body;
  const { ends_at } = await get();
  const patch = (changes: object) => world.rest("PATCH", `sessions/${on}/`, changes);
  await patch({ title: "Renamed", ends_at });
  t.equal((await get()).overrun, "held");
  await patch({ ends_at: new Date(Date.parse(ends_at) + 60_000).toISOString() });
  t.notOk("overrun" in (await get()));
  await patch({ overrun: "ended" });
  t.equal((await get()).overrun, "ended");
  await patch({ overrun: null });
  t.notOk("overrun" in (await get()));
});

void t.test("the host drives the screen, which shows only what everybody may see", async (t) => {
  const { world, hall, other } = await event();
  const crew = await world.person("Crew", "crew");
  const guest = await world.person("Guest");
  await crew.do("room.enter", { room: hall });
  await guest.do("room.enter", { room: hall });
  const { question } = await guest.do("question.ask", { room: hall, content: "Why?" });
  const { id: poll } = await makePoll(crew, hall);
  const show = (payload: object) => crew.do("screen.show", { room: hall, ...payload });
  const codeOf = (payload: object) => crew.code("screen.show", { room: hall, ...payload });

  const rows: [string, object, string][] = [
    ["a question that waits", { show: "question", id: question.id }, "question.unknown"],
    ["a poll as a question", { show: "question", id: poll }, "question.unknown"],
    ["a question as a poll", { show: "results", id: question.id }, "poll.unknown"],
    ["a poll of another room", { room: other, show: "poll", id: poll }, "poll.unknown"],
    ["no question", { show: "question" }, "protocol.invalid_payload"],
    ["black with a question", { show: "black", id: question.id }, "protocol.invalid_payload"],
    ["something else", { show: "cat" }, "protocol.invalid_payload"],
  ];
  for (const [name, payload, code] of rows) t.equal(await codeOf(payload), code, name);
  for (const command of ["screen.get", "screen.show"]) {
    const payload = { room: hall, show: "black" };
    t.equal(await guest.code(command, payload), "protocol.denied", `${command} of a guest`);
  }

  // A screen that logs in through its link.
  const admin = await world.person("Host", "admin");
  const profile = { display_name: "Screen", room_id: hall };
  const { user } = await admin.do("user.kiosk.create", { profile });
  const { token } = await admin.do("user.kiosk.fetch", { id: user.id });
  const screen = await world.connect();
  await screen.login({ token });
  await screen.do("room.enter", { room: hall });
  t.match(await screen.do("screen.get", { room: hall }), {
    show: "welcome",
    url: `${base}/w/${world.id}/#invite=`,
    short: new RegExp(`^${base}/j/[A-HJ-NP-Z2-9]{6}$`),
  });
  t.equal(await screen.code("screen.get", { room: other }), "protocol.denied");
  t.equal(await screen.code("screen.show", { room: hall, show: "black" }), "protocol.denied");
  const { short, url } = await screen.do("screen.get", { room: hall });
  t.match(await crew.do("screen.get", { room: hall }), { short, url }, "hosts read it, too");

  await crew.do("question.update", { room: hall, id: question.id, state: "visible" });
  await show({ show: "question", id: question.id });
  const pushed = { room: hall, show: "question", id: question.id };
  t.same(await screen.next("screen.shown"), pushed);
  t.same(await crew.next("screen.shown"), pushed);
  await show({ show: "black" });
  t.same(await screen.next("screen.shown"), { room: hall, show: "black" });
  t.match(await screen.do("screen.get", { room: hall }), { show: "black", id: undefined });
  await world.settled();
  const heard = guest.rest().map(([name]) => name);
  t.notOk(heard.includes("screen.shown"), "nobody else hears of it");
  await crew.do("question.update", { room: hall, id: question.id, answered: true });
  t.equal(await codeOf({ show: "question", id: question.id }), "question.unknown", "answered");
});

void t.test("a code leads to the anonymous link, and guessing is slow", async (t) => {
  const { world, hall } = await event();
  const admin = await world.person("Host", "admin");
  const { url, short } = await admin.do("room.invite.anonymous.link", { room: hall });
  const code = short.slice(-6) as string;
  const open = (typed: string, address = "2001:db8:1:2::1") =>
    fetch(`${base}/j/${typed}`, {
      redirect: "manual",
      headers: { accept: "text/html", "x-forwarded-for": address },
    });
  for (const typed of [code, code.toLowerCase(), `${code.slice(0, 3)}-${code.slice(3)}`]) {
    const { status, headers } = await open(typed);
    t.same([status, headers.get("location")], [303, url], typed);
    t.equal(headers.get("cache-control"), "no-store");
  }
  await admin.do("room.invite.anonymous.end", { room: hall });
  t.equal((await open(code)).status, 404, "the link has ended");
  const again = await admin.do("room.invite.anonymous.link", { room: hall });
  t.not(again.short, short, "a new link has a new code");
  for (const typed of ["AAAAAA", "0O1IL8", "K7QF2", "K7QF2MM", "%00", "é".repeat(6)]) {
    t.equal((await open(typed)).status, 404, typed);
  }
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) statuses.push((await open("BBBBBB")).status);
  t.same(statuses, [404, 404, 404, 429, 429, 429], "ten wrong codes from one network");
  const blocked = await open(again.short.slice(-6));
  t.equal(blocked.status, 429, "and the right one does not tell");
  t.ok(Number(blocked.headers.get("retry-after")) > 0);
  const right = again.short.slice(-6) as string;
  t.equal((await open(right, "2001:db8:1:ffff::9")).status, 429, "nor to its neighbors");
  t.equal((await open(right, "192.0.2.7")).status, 303, "others get in");
  // Many concurrent calls while the database is slow.
  const { invites } = server.store;
  const { byCode } = invites;
  t.teardown(() => Object.assign(invites, { byCode }));
  let answer = () => {};
  const slow = new Promise<void>((resolve) => (answer = resolve));
  let waiting = 0;
  const late = (it: string) => (waiting++, slow.then(() => byCode(it)));
  Object.assign(invites, { byCode: late });
  const together = [...Array.from({ length: 30 }, () => "DDDDDD"), right];
  const opened = Promise.all(together.map((it) => open(it, "192.0.2.99")));
  await until(() => waiting === together.length);
  answer();
  const found = (await opened).map(({ status }) => status);
  t.equal(found.filter((it) => it === 404).length, 10, "ten of them at once");
  t.equal(found.filter((it) => it === 429).length, 21, "and the right one does not tell");
  Object.assign(invites, { byCode });
  // Many networks together.
  for (let i = 0; i < 300; i++) await open("CCCCCC", `198.51.${i >> 8}.${i & 255}`);
  t.equal((await open("CCCCCC", "198.51.0.9")).status, 429, "each network has one guess left");
  t.equal((await open(right, "192.0.2.8")).status, 303, "and who knows the code gets in");
});
