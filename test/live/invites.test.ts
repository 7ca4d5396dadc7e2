import t, { type Test } from "tap";
import { until } from "../helper.js";
import { demo, type Json, type LiveServer, startLive } from "./client.js";

const modules = (anonymous: boolean) => [
  { type: "livestream.native", config: { hls_url: "https://example.org/s" } },
  { type: "chat.native" },
  {
    type: "question",
    config: { active: true, requires_moderation: false, anonymous },
  },
  { type: "poll", config: { active: true } },
];

/** An event that lets no guests in, with two rooms; one takes people without a name. */
async function closedEvent(t: Test) {
  const closed = demo({
    permission_config: {
      ...{ "world.view": ["attendee"], "world.api": ["admin"] },
      ...{ "world.secrets": ["admin"], "world.update": ["admin"] },
      ...{ "room.update": ["admin"], "room.view": [["attendee", "admin"]] },
      ...{ "chat.moderate": ["admin"], "room.create": ["admin"] },
      "room.delete": ["admin"],
    },
  });
  const live = await startLive(t, {}, [closed]);
  const host = { uid: "host", traits: ["admin", "attendee"] };
  const admin = await live.person({
    ...host,
    profile: { display_name: "Secret host" },
  });
  const rest = async (method: string, path: string, body?: unknown) =>
    (await live.rest(method, path, body)).body;
  const make = async (name: string, anonymous: boolean): Promise<string> =>
    (
      await rest("POST", "demo/rooms/", {
        name,
        module_config: modules(anonymous),
      })
    ).id as string;
  const hall = await make("Hall", true);
  const other = await make("Other", false);
  const { url } = await admin.do("room.invite.anonymous.link", { room: hall });
  const invite_token = new URL(url).hash.replace("#invite=", "");
  const anonymous = async (client_id: string) => {
    const client = await live.connect();
    const answer = await client.login({ client_id, invite_token });
    t.equal(answer[0], "authenticated");
    return client;
  };
  return { live, admin, rest, hall, other, url, invite_token, anonymous };
}

const refusal = async (live: LiveServer, payload: object): Promise<string> => {
  const client = await live.connect();
  const [name, error] = await client.login(payload);
  return name === "error" ? (error as { code: string }).code : name;
};

void t.test("what a person without a name can reach", async (t) => {
  const event = await closedEvent(t);
  const { live, admin, hall, other, url, invite_token, anonymous } = event;
  t.equal(url, `http://127.0.0.1:${live.port}/w/demo/#invite=${invite_token}`);
  const again = await admin.do("room.invite.anonymous.link", { room: hall });
  t.equal(again.url, url, "one link at a time");
  t.equal(
    await admin.code("room.invite.anonymous.link", { room: other }),
    "protocol.denied",
    "a room that takes no people without a name",
  );
  t.equal(await refusal(live, { client_id: "a" }), "auth.missing_token");
  for (const wrong of ["x", `${invite_token}x`, 1, {}]) {
    const payload = { client_id: "a", invite_token: wrong };
    t.equal(await refusal(live, payload), "auth.invalid_token");
  }

  const guest = await anonymous("a");
  const { hello } = guest;
  t.same(hello["world.config"].permissions, ["world:view"]);
  t.same(
    hello["world.config"].rooms.map((room: Json) => [
      room.id,
      room.permissions,
      room.modules.map(({ type }: { type: string }) => type),
    ]),
    [
      [
        hall,
        [
          ...["room:view", "room:question.read", "room:question.ask"],
          ...["room:question.vote", "room:poll.read", "room:poll.vote"],
        ],
        ["question", "poll"],
      ],
    ],
    "one room, with questions and polls",
  );
  t.same(hello["user.config"].profile, {});
  t.same(hello["chat.channels"], []);

  await guest.do("room.enter", { room: hall });
  await admin.do("room.enter", { room: hall });
  const { question } = await guest.do("question.ask", {
    ...{ room: hall, content: "Why?" },
  });
  await (
    await anonymous("b")
  ).do("question.vote", {
    ...{ room: hall, id: question.id },
  });
  const { poll } = await admin.do("poll.create", {
    ...{ room: hall, content: "Lunch?", state: "open" },
    options: [{ content: "Yes", order: 1 }],
  });
  const voted = await guest.do("poll.vote", {
    ...{ room: hall, id: poll.id, options: [poll.options[0].id] },
  });
  t.equal(voted.poll.results[poll.options[0].id], 1);
  t.match(await guest.do("question.list", { room: hall }), [{ score: 1 }]);

  const inHall = { room: hall };
  const chat = { channel: hall };
  const inOther = { room: other, reaction: "👏" };
  const refused: [code: string, action: string, payload: unknown][] = [
    ["auth.denied", "user.update", { profile: { display_name: "Eve" } }],
    ["auth.denied", "user.fetch", { id: admin.id }],
    ["auth.denied", "user.fetch", { ids: [admin.id] }],
    ["auth.denied", "user.list", null],
    ["auth.denied", "user.list.search", { search_term: "", page: 1 }],
    ["auth.denied", "user.online_status", { ids: [admin.id] }],
    ["auth.denied", "user.block", { id: admin.id }],
    ["auth.denied", "user.list.blocked", null],
    ["auth.denied", "exhibition.get.staffed_by_user", { user_id: admin.id }],
    ["auth.denied", "chat.direct.create", { users: [admin.id] }],
    ["auth.denied", "program.get", {}],
    ["auth.denied", "world.config.get", null],
    ["auth.denied", "room.config.list", null],
    ["auth.denied", "announcement.list", null],
    ["auth.denied", "user.kiosk.create", { profile: {} }],
    ["auth.denied", "world.auditlog.list", null],
    ["protocol.denied", "chat.subscribe", chat],
    ["protocol.denied", "chat.join", chat],
    ["protocol.denied", "chat.leave", chat],
    ["protocol.denied", "chat.unsubscribe", chat],
    ["protocol.denied", "chat.fetch", chat],
    ["protocol.denied", "chat.mark_read", chat],
    ["protocol.denied", "chat.send", chat],
    ["protocol.denied", "chat.react", chat],
    ["protocol.denied", "room.enter", inOther],
    ["protocol.denied", "room.react", inOther],
    ["protocol.denied", "question.list", inOther],
    ["protocol.denied", "question.ask", inOther],
    ["protocol.denied", "poll.list", inOther],
    ["protocol.denied", "poll.vote", inOther],
    ["protocol.denied", "room.config.get", inHall],
    ["protocol.denied", "room.invite.anonymous.link", inHall],
    ["protocol.denied", "room.invite.anonymous.end", inHall],
    ["protocol.denied", "question.pin", inHall],
    ["protocol.denied", "poll.create", inHall],
  ];
  for (const [code, action, payload] of refused) {
    t.equal(await guest.code(action, payload), code, action);
  }

  // Others learn nothing of them.
  t.same(
    (await admin.do("user.list", null)).results.map(({ id }: Json) => id),
    [admin.id],
  );
  const { viewers } = await admin.do("room.enter", { room: hall });
  t.same(
    viewers.map(({ id }: Json) => id),
    [admin.id],
  );
  t.same(await admin.do("user.fetch", { ids: [guest.id] }), {});
  t.equal(
    await admin.code("chat.direct.create", { users: [guest.id] }),
    "chat.denied",
  );
  const pushed = JSON.stringify(await guest.all());
  for (const secret of ["Secret host", "hls_url", "chat.native", other]) {
    t.notOk(pushed.includes(secret), `${secret} is not pushed`);
    t.notOk(JSON.stringify(hello).includes(secret), `${secret} is not sent`);
  }
  const upload = await fetch(`http://127.0.0.1:${live.port}/storage/upload/`, {
    ...{ method: "POST", headers: { authorization: "Client a" } },
  });
  t.equal(upload.status, 403);
});

void t.test("the end of a link", async (t) => {
  const ends: Record<
    string,
    (event: Awaited<ReturnType<typeof closedEvent>>) => Promise<unknown>
  > = {
    "the console ends it": ({ admin, hall }) =>
      admin.do("room.invite.anonymous.end", { room: hall }),
    "the module takes no person without a name": ({ rest, hall }) =>
      rest("PATCH", `demo/rooms/${hall}/`, { module_config: modules(false) }),
    "the modules are gone": ({ rest, hall }) =>
      rest("PATCH", `demo/rooms/${hall}/`, { module_config: [] }),
    "the room is gone": ({ rest, hall }) =>
      rest("DELETE", `demo/rooms/${hall}/`),
  };
  for (const [name, end] of Object.entries(ends)) {
    const event = await closedEvent(t);
    const { live, invite_token, anonymous } = event;
    const guest = await anonymous("a");
    await end(event);
    await until(() => !guest.isOpen);
    let frame = await guest.frame();
    while (frame[0] !== "error") frame = await guest.frame();
    t.match(frame, ["error", { code: "auth.invalid_token" }], name);
    t.equal(
      await refusal(live, { client_id: "a", invite_token }),
      "auth.invalid_token",
    );
  }
});

void t.test("screens", async (t) => {
  const { live, admin, rest, hall, other } = await closedEvent(t);
  const profile = { display_name: "Screen", room_id: hall };
  const { user } = await admin.do("user.kiosk.create", { profile });
  t.same(user.profile, profile);
  const { token, id } = await admin.do("user.kiosk.fetch", { id: user.id });
  t.equal(id, user.id);
  const audit = await rest("GET", "demo/audit/?type=token.created");
  t.match(audit, {
    ...{ count: 1, results: [{ subject: { user_id: id }, changes: [] }] },
  });
  t.equal(
    await admin.code("user.kiosk.fetch", { id: admin.id }),
    "user.not_found",
  );
  const ids = async (payload: object | null) =>
    (await admin.do("user.list", payload)).results.map(({ id }: Json) => id);
  t.same(await ids({ type: "kiosk" }), [user.id]);
  t.same(await ids(null), [admin.id]);

  const login = async () => {
    const client = await live.connect();
    return { client, answer: await client.login({ token }) };
  };
  const { client: screen } = await login();
  t.equal(screen.id, user.id);
  const { rooms } = screen.hello["world.config"];
  t.same(
    rooms.map((room: Json) => room.id),
    [hall],
  );
  await screen.do("room.enter", { room: hall });
  await screen.do("chat.subscribe", { channel: hall });
  await screen.do("question.list", { room: hall });
  await admin.do("poll.create", {
    ...{ room: hall, content: "Lunch?", state: "open" },
    options: [{ content: "Yes", order: 1 }],
  });
  const [poll] = await screen.do("poll.list", { room: hall });
  t.ok(poll.results, "it shows how others voted");
  const invite = "room.invite.anonymous.link";
  const { url } = await admin.do(invite, { room: hall });
  t.same(await screen.do(invite, { room: hall }), { url });
  const refused: [string, object][] = [
    ["chat.join", { channel: hall }],
    ["chat.send", { channel: hall }],
    ["question.ask", { room: hall, content: "?" }],
    ["poll.vote", { room: hall, id: poll.id, options: [] }],
    ["question.list", { room: other }],
    ["chat.fetch", { channel: other }],
    [invite, { room: other }],
    ["room.invite.anonymous.end", { room: hall }],
  ];
  for (const [action, payload] of refused) {
    t.equal(await screen.code(action, payload), "protocol.denied", action);
  }
  t.equal(await screen.code("user.update", { profile: {} }), "auth.denied");
  t.equal(
    await screen.code("user.list.search", { search_term: "", page: 1 }),
    "auth.denied",
  );

  const base = `http://127.0.0.1:${live.port}`;
  const headers = { authorization: `Bearer ${token}` };
  const rooms403 = await fetch(`${base}/api/v1/worlds/demo/rooms/`, {
    headers,
  });
  t.equal(rooms403.status, 403);
  const upload = await fetch(`${base}/storage/upload/`, {
    method: "POST",
    headers,
  });
  t.equal(upload.status, 403);

  const open = (path: string) =>
    fetch(`${base}/login/${path}`, { redirect: "manual" });
  const short = await open(token);
  t.match(
    [
      short.status,
      short.headers.get("location"),
      short.headers.get("cache-control"),
      short.headers.get("referrer-policy"),
    ],
    [303, `${base}/w/demo/#token=${token}`, "no-store", "no-referrer"],
  );
  for (const wrong of [
    "x",
    "a.b",
    "%2F%2Fevil.example",
    "https:%2F%2Fevil.example",
    "aa.bb.cc%0d%0aX:1",
    `${token}/x`,
  ]) {
    t.equal((await open(wrong)).status, 404, wrong);
  }
  t.equal(
    (await open("aa.bb.cc")).headers.get("location"),
    `${base}/#token=aa.bb.cc`,
  );

  await admin.do("user.admin.update", {
    id: user.id,
    profile: { room_id: other },
  });
  await until(() => !screen.isOpen);
  const { client: moved } = await login();
  t.same(
    moved.hello["world.config"].rooms.map((room: Json) => room.id),
    [other],
  );
  await rest("POST", "demo/delete_user", { user_id: user.id });
  const { answer } = await login();
  t.match(answer, ["error", { code: "auth.invalid_token" }], "an ended token");
  t.same(await ids({ type: "kiosk" }), []);
});

void t.test("screens of rooms that are hidden from the caller", async (t) => {
  const { live, admin, rest } = await closedEvent(t);
  const hidden = await rest("POST", "demo/rooms/", {
    ...{ name: "Board", module_config: [{ type: "chat.native" }] },
    permission_config: { "room.view": ["board"] },
  });
  const traits = ["admin", "attendee", "board"];
  const board = await live.person({ uid: "board", traits });
  const profile = { display_name: "Screen", room_id: hidden.id };
  const { user } = await board.do("user.kiosk.create", { profile });
  const free = await admin.do("user.kiosk.create", { profile: {} });
  const refused: [string, object][] = [
    ["user.kiosk.create", { profile }],
    ["user.kiosk.fetch", { id: user.id }],
    ["user.admin.update", { id: free.user.id, profile }],
  ];
  for (const [action, payload] of refused) {
    t.equal(await admin.code(action, payload), "protocol.denied", action);
  }
  const audit = await rest("GET", "demo/audit/?type=token.created");
  t.equal(audit.count, 0, "no token was made");
  const shown = async (client: typeof admin) => [
    await client.do("user.fetch", { id: user.id }),
    ...(await client.do("user.list", { type: "kiosk" })).results,
  ];
  for (const one of await shown(admin)) t.notOk("room_id" in one.profile);
  t.match((await shown(board))[0], { profile });
  t.ok((await board.do("user.kiosk.fetch", { id: user.id })).token);
  await board.do("room.config.patch", { room: hidden.id, trait_grants: {} });
  t.ok((await admin.do("user.kiosk.fetch", { id: user.id })).token);
});
