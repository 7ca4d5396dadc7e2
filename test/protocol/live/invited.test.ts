import t, { type Test } from "tap";
import { until } from "../../support/helper.js";
import { type Client, type Json, makePoll, openWorld } from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Screens, and users without a name whom a link lets into a single room.

const server = await startServer(t);

const modules = (anonymous: boolean) => [
  { type: "livestream.native", config: { hls_url: "https://example.org/s" } },
  { type: "chat.native" },
  { type: "question", config: { active: true, requires_moderation: false, anonymous } },
  { type: "poll", config: { active: true } },
];

const ofAdmin = ["world.api", "world.secrets", "world.update", "room.update", "chat.moderate"];

/** Creates an event that admits no guests, with two rooms; one admits users without a name. */
async function closedEvent() {
  const keys = [...ofAdmin, "room.create", "room.delete"];
  const permission_config = {
    ...Object.fromEntries(keys.map((key) => [key, ["admin"]])),
    "world.view": ["attendee"],
    "room.view": [["attendee", "admin"]],
  };
  const world = await openWorld(server, { permission_config });
  const rest = async (...args: Parameters<typeof world.rest>) => (await world.rest(...args)).body;
  const make = async (name: string, anonymous: boolean): Promise<string> =>
    (await rest("POST", "rooms/", { name, module_config: modules(anonymous) })).id as string;
  const admin = await world.person("Secret host", "admin", "attendee");
  const [hall, other] = [await make("Hall", true), await make("Other", false)];
  const { url } = await admin.do("room.invite.anonymous.link", { room: hall });
  const invite_token = new URL(url).hash.replace("#invite=", "");
  const login = async (payload: object) => {
    const client = await world.connect();
    const [name, error] = await client.login(payload);
    return { client, code: name === "error" ? (error as Json).code : "ok" };
  };
  const anonymous = async (client_id: string) => (await login({ client_id, invite_token })).client;
  return { world, admin, rest, hall, other, url, invite_token, login, anonymous };
}

const roomsOf = ({ hello }: Client): string[] =>
  hello["world.config"].rooms.map(({ id }: Json) => id);

const refuses = async (t: Test, client: Client, code: string, rows: Record<string, unknown>) => {
  for (const [name, payload] of Object.entries(rows)) {
    t.equal(await client.code(name.split(":", 1)[0]!, payload), code, name);
  }
};

void t.test("what a person without a name can reach", async (t) => {
  const event = await closedEvent();
  const { world, admin, hall, other, url, invite_token, login, anonymous } = event;
  const link = (room: string) => admin.call("room.invite.anonymous.link", { room });
  t.equal(url, `${server.baseUrl}/w/${world.id}/#invite=${invite_token}`);
  t.match(await link(hall), ["success", Number, { url }], "one link at a time");
  const denied = { code: "protocol.denied" };
  t.match(await link(other), ["error", Number, denied], "it takes no people without a name");
  t.equal((await login({ client_id: "a" })).code, "auth.missing_token");
  for (const wrong of ["x", `${invite_token}x`, 1, {}]) {
    t.equal((await login({ client_id: "a", invite_token: wrong })).code, "auth.invalid_token");
  }

  const guest = await anonymous("a");
  const { hello } = guest;
  t.same(hello["world.config"].permissions, ["world:view"]);
  const votes = ["question.read", "question.ask", "question.vote", "poll.read", "poll.vote"];
  t.same(
    hello["world.config"].rooms.map(({ id, permissions, modules }: Json) => [
      id,
      permissions,
      modules.map(({ type }: Json) => type),
    ]),
    [[hall, ["view", ...votes].map((it) => `room:${it}`), ["question", "poll"]]],
    "one room, with questions and polls",
  );
  t.same(hello["user.config"].profile, {});
  t.same(hello["chat.channels"], []);

  const room = hall;
  for (const client of [guest, admin]) await client.do("room.enter", { room });
  const { question } = await guest.do("question.ask", { room, content: "Why?" });
  await (await anonymous("b")).do("question.vote", { room, id: question.id });
  const { id, options } = await makePoll(admin, room);
  const voted = await guest.do("poll.vote", { room, id, options: [options[0].id] });
  t.equal(voted.poll.results[options[0].id], 1);
  t.match(await guest.do("question.list", { room }), [{ score: 1 }]);

  await refuses(t, guest, "auth.denied", {
    "user.update": { profile: { display_name: "Eve" } },
    "user.fetch": { id: admin.id },
    "user.fetch: several": { ids: [admin.id] },
    "user.list": null,
    "user.list.search": { search_term: "", page: 1 },
    "user.online_status": { ids: [admin.id] },
    "user.block": { id: admin.id },
    "user.list.blocked": null,
    "exhibition.get.staffed_by_user": { user_id: admin.id },
    "chat.direct.create": { users: [admin.id] },
    "program.get": {},
    "world.config.get": null,
    "room.config.list": null,
    "announcement.list": null,
    "user.kiosk.create": { profile: {} },
    "world.auditlog.list": null,
  });
  const ofChat = [
    "subscribe",
    "join",
    "leave",
    "unsubscribe",
    "fetch",
    "mark_read",
    "send",
    "react",
  ];
  const inHall = ["room.config.get", "room.invite.anonymous.link", "room.invite.anonymous.end"];
  const inOther = ["room.enter", "question.list", "question.ask", "poll.list", "poll.vote"];
  const named = (names: string[], payload: object) =>
    Object.fromEntries(names.map((name) => [name, payload]));
  await refuses(t, guest, "protocol.denied", {
    ...named(
      ofChat.map((it) => `chat.${it}`),
      { channel: hall },
    ),
    ...named([...inHall, "question.pin", "poll.create"], { room: hall }),
    ...named([...inOther, "room.react"], { room: other, reaction: "👏" }),
  });

  // Others cannot see them.
  const ids = (users: Json[]) => users.map(({ id }) => id);
  t.same(ids((await admin.do("user.list", null)).results), [admin.id]);
  t.same(ids((await admin.do("room.enter", { room })).viewers), [admin.id]);
  t.same(await admin.do("user.fetch", { ids: [guest.id] }), {});
  t.equal(await admin.code("chat.direct.create", { users: [guest.id] }), "chat.denied");
  const received = JSON.stringify([hello, await guest.all()]);
  for (const secret of ["Secret host", "hls_url", "chat.native", other]) {
    t.notOk(received.includes(secret), `${secret} is not sent`);
  }
  const headers = { authorization: "Client a" };
  const upload = await fetch(`${server.baseUrl}/storage/upload/`, { method: "POST", headers });
  t.equal(upload.status, 403);
});

void t.test("the end of a link", async (t) => {
  type Event = Awaited<ReturnType<typeof closedEvent>>;
  const patch = ({ rest, hall }: Event, module_config: object[]) =>
    rest("PATCH", `rooms/${hall}/`, { module_config });
  const ends: Record<string, (event: Event) => Promise<unknown>> = {
    "the console ends it": ({ admin, hall }) =>
      admin.do("room.invite.anonymous.end", { room: hall }),
    "the module takes no person without a name": (event) => patch(event, modules(false)),
    "the modules are gone": (event) => patch(event, []),
    "the room is gone": ({ rest, hall }) => rest("DELETE", `rooms/${hall}/`),
  };
  for (const [name, end] of Object.entries(ends)) {
    const event = await closedEvent();
    const { invite_token, login, anonymous } = event;
    const guest = await anonymous("a");
    await end(event);
    await guest.closed;
    const errors = guest.rest().filter(([it]) => it === "error");
    t.match(errors, [["error", { code: "auth.invalid_token" }]], name);
    t.equal((await login({ client_id: "a", invite_token })).code, "auth.invalid_token");
  }
});

void t.test("screens", async (t) => {
  const { world, admin, rest, hall, other, url, login } = await closedEvent();
  const profile = { display_name: "Screen", room_id: hall };
  const { user } = await admin.do("user.kiosk.create", { profile });
  t.same(user.profile, profile);
  const { token, id } = await admin.do("user.kiosk.fetch", { id: user.id });
  t.equal(id, user.id);
  const audit = await rest("GET", "audit/?type=token.created");
  t.match(audit, { count: 1, results: [{ subject: { user_id: id }, changes: [] }] });
  t.equal(await admin.code("user.kiosk.fetch", { id: admin.id }), "user.not_found");
  const ids = async (payload: object | null) =>
    (await admin.do("user.list", payload)).results.map(({ id }: Json) => id);
  t.same(await ids({ type: "kiosk" }), [id]);
  t.same(await ids(null), [admin.id]);

  const { client: screen } = await login({ token });
  t.equal(screen.id, id);
  t.same(roomsOf(screen), [hall]);
  const room = hall;
  await screen.do("room.enter", { room });
  await screen.do("chat.subscribe", { channel: hall });
  await screen.do("question.list", { room });
  await makePoll(admin, room);
  const [poll] = await screen.do("poll.list", { room });
  t.ok(poll.results, "it shows how others voted");
  const invite = await screen.do("room.invite.anonymous.link", { room });
  t.match(invite, { url, short: /\/j\/[A-Z2-9]{6}$/ });
  await refuses(t, screen, "protocol.denied", {
    "chat.join": { channel: hall },
    "chat.send": { channel: hall },
    "question.ask": { room, content: "?" },
    "poll.vote": { room, id: poll.id, options: [] },
    "question.list": { room: other },
    "chat.fetch": { channel: other },
    "room.invite.anonymous.link": { room: other },
    "room.invite.anonymous.end": { room },
  });
  await refuses(t, screen, "auth.denied", {
    "user.update": { profile: {} },
    "user.list.search": { search_term: "", page: 1 },
  });

  const base = server.baseUrl;
  const headers = { authorization: `Bearer ${token}` };
  const rooms = await fetch(`${base}/api/v1/worlds/${world.id}/rooms/`, { headers });
  const upload = await fetch(`${base}/storage/upload/`, { method: "POST", headers });
  t.same([rooms.status, upload.status], [403, 403]);

  const open = (path: string) => fetch(`${base}/login/${path}`, { redirect: "manual" });
  const short = await open(token);
  t.equal(short.status, 303);
  t.match(Object.fromEntries(short.headers), {
    location: `${base}/w/${world.id}/#token=${token}`,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
  });
  const foreign = ["%2F%2Fevil.example", "https:%2F%2Fevil.example"];
  for (const wrong of ["x", "a.b", ...foreign, "aa.bb.cc%0d%0aX:1", `${token}/x`]) {
    t.equal((await open(wrong)).status, 404, wrong);
  }
  t.equal((await open("aa.bb.cc")).headers.get("location"), `${base}/#token=aa.bb.cc`);

  await admin.do("user.admin.update", { id, profile: { room_id: other } });
  await until(() => !screen.isOpen);
  t.same(roomsOf((await login({ token })).client), [other]);
  await rest("POST", "delete_user", { user_id: id });
  t.equal((await login({ token })).code, "auth.invalid_token", "an ended token");
  t.same(await ids({ type: "kiosk" }), []);
});

void t.test("screens of rooms that are hidden from the caller", async (t) => {
  const { world, admin, rest } = await closedEvent();
  const hidden = await rest("POST", "rooms/", {
    name: "Board",
    module_config: [{ type: "chat.native" }],
    permission_config: { "room.view": ["board"] },
  });
  const board = await world.person("board", "admin", "attendee", "board");
  const profile = { display_name: "Screen", room_id: hidden.id };
  const { user } = await board.do("user.kiosk.create", { profile });
  const free = await admin.do("user.kiosk.create", { profile: {} });
  await refuses(t, admin, "protocol.denied", {
    "user.kiosk.create": { profile },
    "user.kiosk.fetch": { id: user.id },
    "user.admin.update": { id: free.user.id, profile },
  });
  const audit = await rest("GET", "audit/?type=token.created");
  t.equal(audit.count, 0, "no token was made");
  const shown = async (client: Client) => [
    await client.do("user.fetch", { id: user.id }),
    ...(await client.do("user.list", { type: "kiosk" })).results,
  ];
  for (const one of await shown(admin)) t.notOk("room_id" in one.profile);
  t.match((await shown(board))[0], { profile });
  t.ok((await board.do("user.kiosk.fetch", { id: user.id })).token);
  await board.do("room.config.patch", { room: hidden.id, trait_grants: {} });
  t.ok((await admin.do("user.kiosk.fetch", { id: user.id })).token);
});
