import t, { type Test } from "tap";
import { filesOf, usersOf } from "../../support/database.js";
import { fileForm, finished, follow, PDF, upload, urlOf } from "../../support/files.js";
import { admin, bearer, keyOf, type Request, rules, tokenOf, until } from "../../support/helper.js";
import { demo, type Server, type ServerOptions, startServer } from "../../support/server.js";

// Users, and the websocket commands that hosts can run over HTTP.

const base = "/api/v1/worlds/demo/";
const users = `${base}users/`;
const erasure = `${base}delete_user`;
const worlds = [demo(), demo({ id: "other" })];

const user = (world: string, uid: string, claims: object = {}) =>
  `Bearer ${tokenOf(keyOf(world), { uid, ...claims })}`;
const host = { traits: ["admin", "api"] };

const uploadAs = async (server: Server, as: string, world = "demo") => {
  const headers = { host: `${world}.localhost` };
  return urlOf(await upload(server, fileForm("a.pdf", PDF), { as, headers }));
};

void t.test("the users of a world", async (t) => {
  const server = await startServer(t, { worlds });
  const profile = { display_name: "Ada", nested: { list: [1, null, "x"] } };
  await uploadAs(server, user("demo", "ada", { traits: ["x"], profile }));
  await uploadAs(server, user("demo", "gone"));
  await server.store.users.erase("demo", { token_id: "gone" });
  await uploadAs(server, user("other", "eve"), "other");
  const before = Date.now();
  await until(() => Date.now() > before);
  await uploadAs(server, "Client guest");
  const get = (path: string) => server.call({ url: users + path, as: admin("demo") });
  const kept = await usersOf(server.store, "demo");
  const results = [
    { token_id: "ada", profile, traits: ["x"] },
    { token_id: null, profile: null, traits: [] },
  ].map((user, i) => {
    const { id, last_seen } = kept[i]!;
    return { id, ...user, last_seen: new Date(last_seen).toISOString() };
  });
  const listed = results.map((user) => ({ ...user, passkeys: 0 }));
  t.strictSame((await get("")).body, { count: 2, next: null, previous: null, results: listed });
  for (const [query, ids] of [
    ["token_id=ada", [0]],
    ["client_id=guest", [1]],
    ["token_id=guest", []],
    ["client_id=ada", []],
    ["client_id=gues", []],
    ["token_id=ada&client_id=guest", []],
    ["token_id=eve", []],
    ["token_id=gone", []],
    ["token_id=ada&page=2", []],
    ["client_id=guest&cursor=", [1]],
  ] as const) {
    const { body, text } = await get(`?${query}`);
    const found = (body as { results: { id: string }[] }).results.map(({ id }) => id);
    t.strictSame(
      found,
      ids.map((at) => kept[at]!.id),
      query,
    );
    t.notMatch(text, /"client_id"|"guest"/, query);
  }
  t.strictSame((await get(`${kept[1]!.id}/`)).body, {
    ...results[1],
    moderation_state: "none",
    moderated_until: null,
  });
});

void t.test("a person is banned before the first visit", async (t) => {
  const server = await startServer(t);
  const decide = (body: object, as = admin("demo")) =>
    server.call({ method: "PATCH", url: users, as, body });
  const token_id = "order-2000";
  const banned = await decide({ token_id, moderation_state: "banned" });
  const state = { token_id, profile: null, traits: [], moderation_state: "banned" };
  t.match(banned, { status: 200, body: state });
  const as = user("demo", token_id, host);
  const form = fileForm("a.pdf", PDF);
  t.equal((await server.call({ url: users, as })).status, 403);
  t.equal((await upload(server, form, { as })).status, 403);
  const again = await decide({ token_id, moderation_state: "none" });
  t.strictSame(again.body, { ...(banned.body as object), moderation_state: "none" });
  t.equal((await server.call({ url: users, as })).status, 200);
  const none = { moderation_state: "none" };
  const cases: [name: string, body: object, status: number, as?: string][] = [
    ["without a uid", none, 400],
    ["an empty uid", { token_id: "", ...none }, 400],
    ["another state", { token_id: "a", moderation_state: "x" }, 400],
    ["more", { token_id: "a", ...none, x: 1 }, 400],
    ["oneself", { token_id: "me", ...none }, 400, user("demo", "me", host)],
    ["without the right", { token_id: "a", ...none }, 403, user("demo", "b", { traits: ["api"] })],
  ];
  for (const [name, body, status, as] of cases) {
    t.equal((await decide(body, as)).status, status, name);
  }
  t.equal((await usersOf(server.store, "demo")).length, 1);
});

void t.test("who is out of reach", async (t) => {
  const server = await startServer(t);
  const manage = [["owner", "admin", "moderator"]];
  await server.store.worlds.update("demo", {
    permission_config: {
      "world.api": [["api", "bot"]],
      "world.secrets": ["owner"],
      "world.update": [["owner", "admin"]],
      "user.manage": manage,
      "user.delete": manage,
    },
  });
  const roles = ["owner", "admin", "moderator", "guest"];
  for (const [role, reached] of [
    ["moderator", ["moderator", "guest"]],
    ["admin", ["admin", "moderator", "guest"]],
    ["owner", roles],
  ] as const) {
    const as = user("demo", `the ${role}`, { traits: [role, "api"] });
    const later = { token_id: `later for ${role}`, moderation_state: "banned" };
    const unknown = await server.call({ method: "PATCH", url: users, as, body: later });
    // An unknown person may turn out to run the event.
    t.equal(unknown.status, role === "owner" ? 200 : 403, `${role}: unknown`);
    for (const subject of roles) {
      const tokenId = `${subject} of ${role}`;
      await uploadAs(server, user("demo", tokenId, { traits: [subject] }));
      const { id } = (await server.store.users.find("demo", { tokenId }))!;
      const is = (reached as readonly string[]).includes(subject);
      const moderation_state = "silenced";
      for (const [method, url, body, status] of [
        ["PATCH", `${users}${id}/`, { moderation_state }, 200],
        ["PATCH", users, { moderation_state, token_id: tokenId }, 200],
        ["POST", erasure, { user_id: id }, 204],
      ] as const) {
        const answer = await server.call({ method, url, as, body });
        t.equal(answer.status, is ? status : 403, `${method} ${url}: ${role} about ${subject}`);
      }
    }
  }
});

void t.test("what delete_user answers", async (t) => {
  const server = await startServer(t, { worlds });
  const links = [
    await uploadAs(server, user("demo", "ada")),
    await uploadAs(server, user("demo", "bob")),
    await uploadAs(server, "Client guest"),
    await uploadAs(server, user("other", "eve"), "other"),
  ];
  const all = await usersOf(server.store, "demo");
  const idOf = (name: string) =>
    all.find(({ token_id, client_id }) => (token_id ?? client_id) === name)!.id;
  const [eve] = await usersOf(server.store, "other");
  const detail = "You do not have permission to perform this action.";
  const forbidden = { detail, code: "forbidden" };
  const missing = { detail: "There is no such user.", code: "missing" };
  const one = { non_field_errors: [/user_id.*token_id/] };
  const cases: [name: string, body: unknown, status: number, answer?: object, as?: string][] = [
    ["the user itself", { token_id: "ada" }, 403, forbidden, user("demo", "ada")],
    ["nobody, with nonsense", "{", 401, { detail: /./ }, ""],
    ["a user without the right, with nonsense", "{", 403, forbidden, bearer("demo")],
    ["nothing", undefined, 400],
    ["no JSON", "{", 400, { detail: /not valid JSON/ }],
    ["a list", [], 400, { non_field_errors: [/./] }],
    ["neither", {}, 400, one],
    ["both", { user_id: idOf("ada"), token_id: "ada" }, 400, one],
    ["both, of two users", { user_id: idOf("ada"), token_id: "bob" }, 400, one],
    ["a number", { token_id: 7 }, 400, { token_id: [/./] }],
    ["one too many", { token_id: "ada", x: 1 }, 400, { x: ["Unknown field."] }],
    ["a stranger", { token_id: "zoe" }, 403, missing],
    ["an unknown id", { user_id: "00000000-0000-4000-8000-000000000000" }, 403, missing],
    ["an id that is none", { user_id: "' OR 1=1 --" }, 403, missing],
    ["an empty name", { token_id: "" }, 403, missing],
    ["the token_id of a client", { token_id: "guest" }, 403, missing],
    ["an id as a token_id", { token_id: idOf("ada") }, 403, missing],
    ["a token_id as an id", { user_id: "ada" }, 403, missing],
    ["a user of another world", { token_id: "eve" }, 403, missing],
    ["one by its id", { user_id: eve!.id }, 403, missing],
    ["a user", { token_id: "ada" }, 204],
    ["the same again", { token_id: "ada" }, 403, missing],
    ["another by its id", { user_id: idOf("bob") }, 204],
    ["a client", { user_id: idOf("guest") }, 204],
  ]; // prettier-ignore
  for (const [name, body, status, answer, as = admin("demo")] of cases) {
    const got = await server.call({ method: "POST", url: erasure, as: as || undefined, body });
    t.equal(got.status, status, name);
    if (answer) t.match(got.body, answer, name);
    if (status === 204) t.equal(got.text, "", name);
  }
  t.strictSame(await usersOf(server.store, "demo"), []);
  t.equal((await usersOf(server.store, "other")).length, 1);
  for (const link of links) t.equal((await follow(server, link)).status, 200, "files stay");
  t.equal((await finished(server.dataDir)).length, 4);
  t.equal((await filesOf(server.store, "demo")).length, 3);
  for (const url of [erasure, `${erasure}/`]) {
    const got = await server.call({ url, as: admin("demo") });
    t.strictSame([got.status, got.headers.allow], [405, "POST"], url);
  }
});

void t.test("the websocket has the same rights on users", async (t) => {
  const server = await startServer(t);
  const rules = {
    "world.api": ["api"],
    "world.update": ["updater"],
    "user.list": ["lister"],
    "user.delete": ["eraser"],
  };
  const { "user.list": _, "user.delete": __, ...fewer } = rules;
  for (const [permission_config, trait, expected] of [
    [rules, "lister", [200, 403]],
    [rules, "eraser", [403, 204]],
    [rules, "updater", [403, 403]],
    [fewer, "lister", [403, 403]],
    [fewer, "updater", [200, 204]],
  ] as const) {
    await server.store.worlds.update("demo", { permission_config });
    const as = user("demo", "caller", { traits: ["api", trait] });
    await uploadAs(server, user("demo", "subject"));
    const { status } = await server.call({ url: users, as });
    const body = { token_id: "subject" };
    const erased = await server.call({ method: "POST", url: erasure, as, body });
    t.strictSame([status, erased.status], expected, trait);
  }
});

const module_config = ["chat.native", "question", "poll"].map((type) => ({
  type,
  config: { active: true },
}));

async function setUp(t: Test, options: ServerOptions = {}) {
  const server = await startServer(t, options);
  const { store } = server;
  const room = (await store.rooms.create("demo", { name: "Stage", module_config })).value.id;
  const enter = async (tokenId: string, ...traits: string[]) =>
    (await store.users.enter("demo", { tokenId, traits: new Set(traits) })).id;
  /** Sends a request as a host, or as another user with the traits of a host. */
  const call = (
    method: string,
    path: string,
    more: Partial<Request> & { uid?: string | null; traits?: string[] } = {},
  ) => {
    const { uid = "host", traits = host.traits, ...rest } = more;
    const as = `Bearer ${tokenOf(keyOf("demo"), { traits, ...(uid !== null && { uid }) })}`;
    return server.call({ method, url: base + path, as, ...rest });
  };
  return { ...server, room, enter, call };
}

void t.test("announcements", async (t) => {
  const { call } = await setUp(t);
  const path = "announcements/";
  const made = await call("POST", path, { body: { text: "Lunch", state: "active" } });
  const announcement = made.body as { id: string };
  const shown = { text: "Lunch", state: "active", show_until: null, is_visible: true };
  t.match(made, { status: 201, body: shown });
  const own = `${path}${announcement.id}/`;
  t.match(made.headers.location, base + own);
  const got = await call("GET", own);
  t.strictSame([got.status, got.body, got.headers.etag], [200, made.body, made.headers.etag]);
  const list = await call("GET", `${path}?page_size=1`);
  t.match(list.body, { count: 1, next: null, previous: null, results: [made.body] });
  const etag = got.headers.etag!;
  t.equal((await call("GET", own, { headers: { "if-none-match": etag } })).status, 304);
  const patch = (body: object, tag: string) =>
    call("PATCH", own, { body, headers: { "if-match": tag } });
  const changed = await patch({ ...announcement, text: "Dinner" }, etag);
  t.match(changed, { status: 200, body: { text: "Dinner" } });
  t.match(await patch({ text: "No" }, etag), { status: 412, body: { code: "changed" } });
  const drinks = ["Tea", "Coffee", "Water"];
  const race = await Promise.all(drinks.map((text) => patch({ text }, changed.headers.etag!)));
  t.same(race.map(({ status }) => status).sort(), [200, 412, 412]);

  const states = ["draft", "active", "archived"];
  const next = ["draft active", "active archived"];
  for (const step of states.flatMap((from) => states.map((to) => `${from} ${to}`))) {
    const [from = "", to = ""] = step.split(" ");
    const { body } = await call("POST", path, { body: { text: "x" } });
    const one = `${path}${(body as { id: string }).id}/`;
    for (const state of states.slice(1, states.indexOf(from) + 1)) {
      await call("PATCH", one, { body: { state } });
    }
    const isLegal = from === to || next.includes(step);
    const got = await call("PATCH", one, { body: { text: "y", state: to } });
    const refused = { status: 400, body: { state: [/cannot become/] } };
    t.match(got, isLegal ? { status: 200, body: { text: "y", state: to } } : refused, step);
    const { body: kept } = await call("GET", one);
    t.match(kept, { text: isLegal ? "y" : "x" }, `${step}: whole or not`);
  }
  const bad: [body: object, faults: object][] = [
    [{}, { text: ["This field is required."] }],
    [{ text: "" }, { text: ["May not be empty."] }],
    [{ text: "x", show_until: "soon" }, { show_until: [/Must be a time/] }],
    [{ text: "x", state: "gone" }, { state: [/Must be one of/] }],
    [{ text: "x".repeat(10_001) }, { text: [/10000/] }],
    [{ text: "x", more: 1 }, { more: [/./] }],
  ];
  for (const [body, faults] of bad) {
    const name = JSON.stringify(body).slice(0, 50);
    t.match(await call("POST", path, { body }), { status: 400, body: faults }, name);
  }
  const renamed = await call("PATCH", own, { body: { id: "other" } });
  t.match(renamed, { status: 400, body: { id: [/./] } });
});

void t.test("moderation of users", async (t) => {
  const { call, enter, store } = await setUp(t);
  const id = await enter("ada");
  const self = await enter("host", "admin", "api");
  const decide = (user: string, moderation_state: unknown, uid = "host") =>
    call("PATCH", `users/${user}/`, { body: { moderation_state }, uid });
  for (const [asked, is] of [
    ["silenced", "silenced"],
    ["banned", "banned"],
    ["silenced", "banned"],
    ["none", "none"],
  ] as const) {
    const body = { id, token_id: "ada", moderation_state: is };
    t.match(await decide(id, asked), { status: 200, body });
    t.equal((await store.users.get("demo", id))!.moderation_state, is === "none" ? "" : is);
  }
  t.match(await decide(id, "gone"), { status: 400, body: { moderation_state: [/./] } });
  const own = { moderation_state: ["You cannot do this to yourself."] };
  t.match(await decide(self, "banned"), { status: 400, body: own });
  const second = await enter("second", "admin", "api");
  await store.users.moderate("demo", second, "silenced");
  t.equal((await decide(id, "banned", "second")).status, 403, "a silenced host");
  t.equal((await call("GET", "rooms/", { uid: "second" })).status, 200, "may look");
});

void t.test("the chat of a room", async (t) => {
  const { call, enter, store, room } = await setUp(t, { limits: { messagesPerSecond: 2 } });
  const path = `rooms/${room}/messages/`;
  const text = (body: string) => ({ type: "text", body });
  const send = (body: string, uid: string | null = "host", more: object = {}) =>
    call("POST", path, { body: { content: text(body), ...more }, uid });
  const first = await send("Hello");
  const event = { channel: room, event_type: "channel.message", content: text("Hello") };
  t.match(first, { status: 201, body: event });
  const { event_id, sender } = first.body as { event_id: number; sender: string };
  t.match(await store.users.get("demo", sender), { token_id: "host" }, "by the user of the token");
  t.strictSame(await store.chat.members("demo", room, 10), [], "no user joined");
  const nameless = await send("x", null);
  t.match(nameless, { status: 403, body: { detail: /uid/, code: "forbidden" } });
  const edited = await send("Hello!", "host", { replaces: event_id });
  t.match(edited, { status: 201, body: { replaces: event_id } });
  const replaced = { event_id, type: "chat.event", content: { body: "Hello!" } };
  for (const [query, body] of [
    ["after=0&limit=1", { results: [replaced], users: { [sender]: { id: sender } } }],
    ["limit=1", { results: [{ replaces: event_id }] }],
    [`before=${event_id}`, { results: [] }],
  ] as const) {
    t.match((await call("GET", `${path}?${query}`)).body, body, query);
  }
  for (const query of ["after=1&before=2", "limit=0", "limit=1001", "after=x"]) {
    t.equal((await call("GET", `${path}?${query}`)).status, 400, query);
  }
  for (const [content, field] of [
    [text(""), "content"],
    [{ type: "odd" }, "content"],
    [{ type: "deleted" }, "content"],
    [text("x".repeat(10_001)), "content.body"],
    [{}, "content.type"],
  ] as const) {
    const refused = { status: 400, body: { [field]: [/./] } };
    t.match(await call("POST", path, { body: { content } }), refused);
  }
  const guest = await enter("guest");
  const draft = { sender: guest, content: text("Spam"), volatile: true };
  const { id } = (await store.chat.send("demo", room, draft)).event;
  t.equal((await call("DELETE", `${path}${id}/`)).status, 204);
  t.match(await store.chat.event("demo", room, id), { content: '{"type":"deleted"}' });
  for (const id of ["x", "0"]) {
    t.equal((await call("DELETE", `${path}${id}/`)).status, 403, id);
  }
  const answers = await Promise.all(Array.from({ length: 30 }, () => send("fast", "bob")));
  const limited = answers.find(({ status }) => status === 429);
  t.match(limited?.body, { code: "rate_limited" });
  const empty = (await store.rooms.create("demo", { name: "No chat" })).value.id;
  const body = { content: text("x") };
  t.equal((await call("POST", `rooms/${empty}/messages/`, { body })).status, 403);
  await store.users.moderate("demo", sender, "silenced");
  t.equal((await send("x")).status, 403, "a silenced user");
  t.equal((await call("GET", path)).status, 200, "reads on");
});

void t.test("questions and polls", async (t) => {
  const permission_config = rules({ "chat.moderate": ["mod"], "world.api": ["api"] });
  const { app, call, enter, store, room } = await setUp(t, {
    worlds: [demo({ permission_config })],
  });
  const sender = await enter("ada");
  const ask = (content: string, state: "mod_queue" | "visible") =>
    store.questions.create("demo", room, { sender, content, state });
  const queued = await ask("Q1", "mod_queue");
  const shown = await ask("Q2", "visible");
  const options = [{ content: "A" }];
  const open = await store.polls.create("demo", room, { content: "P", options, state: "open" });
  const draft = await store.polls.create("demo", room, { content: "D", options: [] });
  const ids = async (path: string, ...traits: string[]) => {
    const { body } = await call("GET", `rooms/${room}/${path}`, { traits, uid: null });
    type Listed = { count: number; results: { id: string; results?: unknown }[] };
    const { count, results } = body as Listed;
    return [count, ...results.map(({ id, results }) => [id, results])];
  };
  const moderators = ["api", "mod"];
  const [one, two] = [queued, shown].map(({ id }) => [id, undefined]);
  t.strictSame(await ids("questions/", ...moderators), [2, one, two]);
  t.strictSame(await ids("questions/?page=2&page_size=1", ...moderators), [2, two]);
  t.strictSame(await ids("questions/", "api"), [1, two]);
  const results = { [open.options[0]!.id]: 0 };
  t.strictSame(await ids("polls/", ...moderators), [2, [open.id, results], [draft.id, {}]]);
  t.strictSame(await ids("polls/", "api"), [1, [open.id, undefined]]);

  // One follower leaves and another follows later. This process receives no entry in between.
  const { events } = app;
  const follow = async () => {
    await events.follow("demo");
    await until(() => events.isCurrent("demo"));
  };
  await follow();
  await ids("polls/", "api");
  events.unfollow("demo");
  await store.polls.delete("demo", room, open.id);
  await follow();
  t.strictSame(await ids("polls/", "api"), [0], "nothing is kept");
});
