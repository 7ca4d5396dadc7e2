import t, { type Test } from "tap";
import {
  keyOf,
  type Request,
  rules,
  serve,
  tokenOf,
  until,
  worldOf,
} from "../helper.js";

// What hosts do over HTTP, by the commands of the websocket.

const ROOM = {
  name: "Stage",
  module_config: ["chat.native", "question", "poll"].map((type) => ({
    ...{ type, config: { active: true } },
  })),
};

async function setUp(t: Test, permissions = rules({})) {
  const server = await serve(t, [
    worldOf("demo", { permission_config: permissions }),
  ]);
  const { store } = server;
  const room = (await store.rooms.create("demo", ROOM)).value.id;
  const enter = async (tokenId: string, ...traits: string[]) =>
    (await store.users.enter("demo", { tokenId, traits: new Set(traits) })).id;
  /** Calls as a host, or as another user with the traits of a host. */
  const call = (
    method: string,
    path: string,
    more: Partial<Request> & { uid?: string | null; traits?: string[] } = {},
  ) => {
    const { uid = "host", traits = ["admin", "api"], ...rest } = more;
    const claims = { traits, ...(uid !== null && { uid }) };
    return server.call({
      ...{ method, url: `/api/v1/worlds/demo/${path}` },
      as: `Bearer ${tokenOf(keyOf("demo"), claims)}`,
      ...rest,
    });
  };
  return { ...server, room, enter, call };
}

void t.test("announcements", async (t) => {
  const { call } = await setUp(t);
  const path = "announcements/";
  const made = await call("POST", path, {
    body: { text: "Lunch", state: "active" },
  });
  const announcement = made.body as { id: string };
  t.match(made, {
    status: 201,
    body: {
      text: "Lunch",
      state: "active",
      show_until: null,
      is_visible: true,
    },
  });
  t.match(
    made.headers.location,
    `/api/v1/worlds/demo/announcements/${announcement.id}/`,
  );
  const own = `${path}${announcement.id}/`;
  const got = await call("GET", own);
  t.strictSame(
    [got.status, got.body, got.headers.etag],
    [200, made.body, made.headers.etag],
  );
  const list = await call("GET", `${path}?page_size=1`);
  t.match(list.body, {
    count: 1,
    next: null,
    previous: null,
    results: [made.body],
  });
  const etag = got.headers.etag!;
  const unchanged = await call("GET", own, {
    headers: { "if-none-match": etag },
  });
  t.equal(unchanged.status, 304);
  const whole = { ...announcement, text: "Dinner" };
  const changed = await call("PATCH", own, {
    body: whole,
    headers: { "if-match": etag },
  });
  t.match(changed, { status: 200, body: { text: "Dinner" } });
  const late = await call("PATCH", own, {
    body: { text: "No" },
    headers: { "if-match": etag },
  });
  t.match(late, { status: 412, body: { code: "changed" } });
  const present = changed.headers.etag as string;
  const race = await Promise.all(
    ["Tea", "Coffee", "Water"].map((text) =>
      call("PATCH", own, { body: { text }, headers: { "if-match": present } }),
    ),
  );
  t.same(race.map(({ status }) => status).sort(), [200, 412, 412]);
  const states = ["draft", "active", "archived"];
  const next = ["draft active", "active archived"];
  for (const from of states) {
    for (const to of states) {
      const { body } = await call("POST", path, { body: { text: "x" } });
      const one = `${path}${(body as { id: string }).id}/`;
      for (const state of states.slice(1, states.indexOf(from) + 1)) {
        await call("PATCH", one, { body: { state } });
      }
      const step = `${from} ${to}`;
      const isLegal = from === to || next.includes(step);
      const got = await call("PATCH", one, { body: { text: "y", state: to } });
      t.match(
        got,
        isLegal
          ? { status: 200, body: { text: "y", state: to } }
          : { status: 400, body: { state: [/cannot become/] } },
        step,
      );
      const { body: kept } = await call("GET", one);
      t.match(kept, { text: isLegal ? "y" : "x" }, `${step}: whole or not`);
    }
  }
  const bad: [object, object][] = [
    [{}, { text: ["This field is required."] }],
    [{ text: "" }, { text: ["May not be empty."] }],
    [{ text: "x", show_until: "soon" }, { show_until: [/Must be a time/] }],
    [{ text: "x", state: "gone" }, { state: [/Must be one of/] }],
    [{ text: "x".repeat(10_001) }, { text: [/10000/] }],
    [{ text: "x", more: 1 }, { more: [/./] }],
  ];
  for (const [body, faults] of bad) {
    t.match(
      await call("POST", path, { body }),
      { status: 400, body: faults },
      JSON.stringify(body).slice(0, 50),
    );
  }
  t.match(await call("PATCH", own, { body: { id: "other" } }), {
    status: 400,
    body: { id: [/./] },
  });
  t.equal((await call("GET", `${path}missing/`)).status, 403);
});

void t.test("moderation of users", async (t) => {
  const { call, enter, store } = await setUp(t);
  const id = await enter("ada");
  const host = await enter("host", "admin", "api");
  const decide = (user: string, moderation_state: unknown, uid = "host") =>
    call("PATCH", `users/${user}/`, { body: { moderation_state }, uid });
  for (const [asked, is] of [
    ["silenced", "silenced"],
    ["banned", "banned"],
    ["silenced", "banned"],
    ["none", "none"],
  ] as const) {
    const { status, body } = await decide(id, asked);
    t.match(
      { status, body },
      { status: 200, body: { id, token_id: "ada", moderation_state: is } },
    );
    t.equal(
      (await store.users.get("demo", id))!.moderation_state,
      is === "none" ? "" : is,
    );
  }
  t.match(await decide(id, "gone"), {
    status: 400,
    body: { moderation_state: [/./] },
  });
  t.match(await decide(host, "banned"), {
    status: 400,
    body: { moderation_state: ["Not for yourself."] },
  });
  t.equal((await decide("nobody", "banned")).status, 403);
  const second = await enter("second", "admin", "api");
  await store.users.moderate("demo", second, "silenced");
  t.equal(
    (await decide(id, "banned", "second")).status,
    403,
    "a silenced host",
  );
  t.equal(
    (await call("GET", "rooms/", { uid: "second" })).status,
    200,
    "may look",
  );
});

void t.test("the chat of a room", async (t) => {
  const { call, enter, store, room } = await setUp(t);
  const path = `rooms/${room}/messages/`;
  const send = (body: string, uid: string | null = "host", more: object = {}) =>
    call("POST", path, {
      body: { content: { type: "text", body }, ...more },
      uid,
    });
  const first = await send("Hello");
  t.match(first, {
    status: 201,
    body: {
      channel: room,
      event_type: "channel.message",
      content: { type: "text", body: "Hello" },
    },
  });
  const { event_id, sender } = first.body as {
    event_id: number;
    sender: string;
  };
  t.match(
    await store.users.get("demo", sender),
    { token_id: "host" },
    "by the user of the token",
  );
  t.strictSame(
    await store.chat.members("demo", room, 10),
    [],
    "no user joined",
  );
  t.equal((await send("x", null)).status, 403, "a token without a uid");
  const edited = await send("Hello!", "host", { replaces: event_id });
  t.match(edited, { status: 201, body: { replaces: event_id } });
  const listed = await call("GET", `${path}?after=0&limit=1`);
  t.match(listed.body, {
    results: [{ event_id, type: "chat.event", content: { body: "Hello!" } }],
    users: { [sender]: { id: sender } },
  });
  const newest = await call("GET", `${path}?limit=1`);
  t.match(newest.body, { results: [{ replaces: event_id }] });
  const before = await call("GET", `${path}?before=${event_id}`);
  t.match(before.body, { results: [] });
  for (const query of [
    "after=1&before=2",
    "limit=0",
    "limit=1001",
    "after=x",
  ]) {
    t.equal((await call("GET", `${path}?${query}`)).status, 400, query);
  }
  for (const [content, field] of [
    [{ type: "text", body: "" }, "content"],
    [{ type: "odd" }, "content"],
    [{ type: "deleted" }, "content"],
    [{ type: "text", body: "x".repeat(10_001) }, "content.body"],
    [{}, "content.type"],
  ] as const) {
    t.match(await call("POST", path, { body: { content } }), {
      status: 400,
      body: { [field]: [/./] },
    });
  }
  const guest = await enter("guest");
  const { event } = await store.chat.send("demo", room, {
    sender: guest,
    content: { type: "text", body: "Spam" },
    volatile: true,
  });
  t.equal((await call("DELETE", `${path}${event.id}/`)).status, 204);
  t.match(await store.chat.event("demo", room, event.id), {
    content: '{"type":"deleted"}',
  });
  for (const id of [999_999, "x", "0"]) {
    t.equal((await call("DELETE", `${path}${id}/`)).status, 403, String(id));
  }
  const statuses = await Promise.all(
    Array.from({ length: 30 }, () => send("fast", "bob")),
  );
  t.ok(
    statuses.some(
      ({ status, body }) =>
        status === 429 && (body as { code: string }).code === "rate_limited",
    ),
    "rates",
  );
  const empty = (await store.rooms.create("demo", { name: "No chat" })).value
    .id;
  t.equal(
    (
      await call("POST", `rooms/${empty}/messages/`, {
        body: { content: { type: "text", body: "x" } },
      })
    ).status,
    403,
  );
  await store.users.moderate("demo", sender, "silenced");
  t.equal((await send("x")).status, 403, "a silenced user");
  t.equal((await call("GET", path)).status, 200, "reads on");
});

void t.test("questions and polls", async (t) => {
  const { app, call, enter, store, room } = await setUp(
    t,
    rules({ "chat.moderate": ["mod"], "world.api": ["api"] }),
  );
  const { events } = app;
  const sender = await enter("ada");
  const queued = await store.questions.create("demo", room, {
    sender,
    content: "Q1",
    state: "mod_queue",
  });
  const shown = await store.questions.create("demo", room, {
    sender,
    content: "Q2",
    state: "visible",
  });
  const open = await store.polls.create("demo", room, {
    content: "P",
    options: [{ content: "A" }],
    state: "open",
  });
  const draft = await store.polls.create("demo", room, {
    content: "D",
    options: [],
  });
  const ids = async (path: string, ...traits: string[]) => {
    const { body } = await call("GET", `rooms/${room}/${path}`, {
      traits,
      uid: null,
    });
    const { count, results } = body as {
      count: number;
      results: { id: string; results?: unknown }[];
    };
    return [count, results.map(({ id, results }) => [id, results])];
  };
  t.strictSame(await ids("questions/", "api", "mod"), [
    2,
    [
      [queued.id, undefined],
      [shown.id, undefined],
    ],
  ]);
  t.strictSame(await ids("questions/?page=2&page_size=1", "api", "mod"), [
    2,
    [[shown.id, undefined]],
  ]);
  t.strictSame(await ids("questions/", "api"), [1, [[shown.id, undefined]]]);
  t.strictSame(await ids("polls/", "api", "mod"), [
    2,
    [
      [open.id, { [open.options[0]!.id]: 0 }],
      [draft.id, {}],
    ],
  ]);
  t.strictSame(await ids("polls/", "api"), [1, [[open.id, undefined]]]);

  // The first follower leaves, and another one comes later. This process gets no entry in between.
  const follow = async () => {
    await events.follow("demo");
    await until(() => events.isCurrent("demo"));
  };
  await follow();
  await ids("polls/", "api");
  events.unfollow("demo");
  await store.polls.delete("demo", room, open.id);
  await follow();
  t.strictSame(await ids("polls/", "api"), [0, []], "nothing is kept");
});

void t.test("tokens", async (t) => {
  const { call, server } = { ...(await setUp(t)), server: "http://localhost" };
  const claimsOf = (token: string) =>
    JSON.parse(
      Buffer.from(token.split(".")[1]!, "base64url").toString(),
    ) as Record<string, unknown>;
  const sign = async (body: object) => {
    const { status, body: answer } = await call("POST", "tokens/", { body });
    const { token = "", url } = answer as {
      token?: string;
      url?: string | null;
    };
    return {
      status,
      url,
      token,
      claims: token ? claimsOf(token) : (answer as Record<string, unknown>),
    };
  };
  const base = { traits: ["attendee"], expires_in: 60 };
  const event = await sign({ ...base, uid: "7", name: "Ada", page: "event" });
  t.match(event, {
    status: 200,
    claims: {
      uid: "7",
      traits: ["attendee"],
      profile: { display_name: "Ada" },
    },
  });
  t.equal(Number(event.claims.exp) - Number(event.claims.iat), 60);
  t.ok(event.url!.endsWith(`/w/demo/#token=${event.token}`), server);
  const console = await sign({ ...base, page: "console", expires_in: "12h" });
  t.ok(console.url!.endsWith(`/w/demo/console#token=${console.token}`));
  t.ok(console.claims.uid, "a link is for one person");
  const bare = await sign({ ...base, page: null });
  t.strictSame([bare.url, bare.claims.uid], [null, undefined]);
  for (const [body, field] of [
    [{ expires_in: 60 }, "traits"],
    [{ traits: ["a b"], expires_in: 60 }, "traits.0"],
    [{ ...base, expires_in: 0 }, "expires_in"],
    [{ ...base, expires_in: 1e9 }, "expires_in"],
    [{ ...base, expires_in: "80000h" }, "expires_in"],
    [{ ...base, expires_in: "999999h" }, "expires_in"],
    [{ ...base, expires_in: "3000d" }, "expires_in"],
    [{ ...base, page: "x" }, "page"],
    [{ ...base, x: 1 }, "x"],
  ] as const) {
    const { status, claims } = await sign(body);
    t.match(
      { status, claims },
      { status: 400, claims: { [field]: [/./] } },
      JSON.stringify(body),
    );
  }
});

void t.test("the server's own API", async (t) => {
  const adminToken = "an-operator-token-of-40-characters-or-so";
  const as = `Bearer ${adminToken}`;
  const { call, store } = await serve(t, [worldOf("demo")], {
    config: { adminToken },
  });
  const url = "/api/v1/worlds/";
  const create = (body: object) => call({ method: "POST", url, as, body });
  const made = await create({ id: "new", title: "New", template: "meetup" });
  const { key, links, ...world } = made.body as {
    key: { secret: string };
    links: Record<string, string>;
    id: string;
  };
  t.equal(made.status, 201);
  t.strictSame(world, { ...(await store.worlds.get("new"))!.value });
  t.match(world, { id: "new", config: { JWT_secrets: [key] } });
  t.match(links, { console: /\/w\/new\/console#token=/, event: /\/w\/new\/$/ });
  const token = links.console!.split("#token=")[1]!;
  const inWorld = `${url}new/rooms/`;
  const rooms = await call({ url: inWorld, as: `Bearer ${token}` });
  t.match(rooms.body, { count: 2, results: [{ name: "Stage" }, {}] });
  const list = await call({ url: `${url}?page_size=1&page=2`, as });
  t.match(list.body, {
    ...{ count: 2, next: null, results: [{ id: "new", title: "New" }] },
  });
  for (const [body, faults] of [
    [{ title: "x" }, { id: [/./] }],
    [{ id: "A", title: "x" }, { id: [/./] }],
    [{ id: "x", title: "x", template: "x" }, { template: [/./] }],
    [{ id: "x", title: "x", config: {} }, { config: [/./] }],
  ] as const) {
    t.match(await create(body), { status: 400, body: faults });
  }
  for (const [body, field] of [
    [{ id: "demo", title: "x" }, "id"],
    [{ id: "x", title: "x", domain: "demo.example.org" }, "domain"],
  ] as const) {
    t.match(await create(body), {
      status: 409,
      body: { code: "conflict", fields: { [field]: [/already/] } },
    });
  }
  const [one, two] = await Promise.all(
    ["", "&cursor="].map(async (more) => {
      const first = await call({ url: `${url}?page_size=1${more}`, as });
      const { next } = first.body as { next: string };
      return (await call({ url: next, as })).body;
    }),
  );
  t.match(one, { count: 2, results: [{ id: "new" }], next: null });
  t.match(two, { count: 2, results: [{ id: "new" }], next: null });
  const past = await call({ url: `${url}?page=9`, as });
  t.match(past.body, { count: 2, results: { length: 0 } });
  // Nothing else, and no other user.
  t.equal((await call({ url: inWorld, as })).status, 401);
  t.equal((await call({ url: `${url}demo/`, as })).status, 401);
  t.equal((await call({ url, as: `${as}x` })).status, 401);
  t.equal((await call({ url })).headers["www-authenticate"], "Bearer");
  const remove = (id: string) =>
    call({ method: "DELETE", url: `${url}${id}/`, as });
  t.equal((await remove("new")).status, 204);
  t.equal(await store.worlds.get("new"), undefined);
  t.equal((await remove("new")).status, 403);
  t.equal((await call({ url: inWorld, as: `Bearer ${token}` })).status, 401);

  const again = (await create({ id: "new", title: "New" })).body as {
    links: { console: string };
  };
  const [, next] = again.links.console.split("#token=");
  const feed = (after: number) =>
    call({ url: `${url}new/changes/?after=${after}`, as: `Bearer ${next}` });
  t.match((await feed(0)).body, { results: [] }, "no change of the old world");
  t.match(await feed(1), { status: 410, body: { code: "cursor_expired" } });

  const without = await serve(t);
  t.equal((await without.call({ url, as })).status, 404);
  const refused = { method: "DELETE", url: `${url}demo/`, as };
  t.equal((await without.call(refused)).status, 405);
});
