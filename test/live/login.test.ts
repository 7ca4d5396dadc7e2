import t from "tap";
import { keyOf, tokenOf as sign, until } from "../helper.js";
import { demo, type Json, makeRoom, soon, startLive } from "./client.js";

const second = () => Math.floor(Date.now() / 1000);

void t.test("who may not log in", async (t) => {
  const live = await startLive(t, {}, [demo(), demo({ id: "other" })]);
  const key = keyOf("demo");
  const token = (claims: object, options?: object) =>
    sign(key, { uid: "u", traits: [], ...claims }, options);
  const long = "x".repeat(201);
  const invalid = "auth.invalid_token";
  const payload = "protocol.invalid_payload";
  const table: [name: string, payload: unknown, code: string][] = [
    ["nothing", {}, "auth.missing_id_or_token"],
    ["nulls", { token: null, client_id: null }, "auth.missing_id_or_token"],
    ["null", null, payload],
    ["a list", [], payload],
    ["a text", "x", payload],
    ["a token that is none", { token: "x" }, invalid],
    ["an empty token", { token: "" }, invalid],
    ["a token that is a number", { token: 5 }, invalid],
    ["a token that is an object", { token: {} }, invalid],
    ["a token of lone surrogates", { token: "\ud800.\ud800.\ud800" }, invalid],
    ["a bad token beside a client ID", { token: "x", client_id: "a" }, invalid],
    ["another secret", { token: token({}, { key: "y".repeat(40) }) }, invalid],
    ["another issuer", { token: token({ iss: "x" }) }, invalid],
    ["another audience", { token: token({ aud: "x" }) }, invalid],
    ["not valid yet", { token: token({ nbf: second() + 100 }) }, invalid],
    ["without exp", { token: token({ exp: undefined }) }, invalid],
    ["without uid", { token: token({ uid: undefined }) }, invalid],
    ["an empty uid", { token: token({ uid: "" }) }, "auth.missing_id_or_token"],
    ["a list of other audiences", { token: token({ aud: ["x"] }) }, invalid],
    ["a list of no audiences", { token: token({ aud: [] }) }, invalid],
    ["another world", { token: live.tokenOf({ uid: "u" }, "other") }, invalid],
    ["an algorithm", { token: token({}, { algorithm: "HS512" }) }, invalid],
    ["expired", { token: token({ exp: second() - 5 }) }, "auth.expired_token"],
    [
      "expired and forged",
      { token: token({ exp: second() - 5 }, { key: "y".repeat(40) }) },
      invalid,
    ],
    ["an empty client ID", { client_id: "" }, "auth.missing_id_or_token"],
    ["a long client ID", { client_id: long }, payload],
    ["a client ID with a blank", { client_id: "a b" }, payload],
    ["a client ID that is an object", { client_id: {} }, payload],
    ["a client ID that is a fraction", { client_id: 1.5 }, payload],
    ["a client ID beyond integers", { client_id: 1e300 }, payload],
    ["a client ID that is true", { client_id: true }, payload],
  ];
  const client = await live.connect();
  for (const [name, payload, code] of table) {
    client.sendFrame("authenticate", 7, payload);
    t.match(await client.frame(), ["error", 7, { code }], name);
  }
  t.equal((await client.login({ client_id: "a" }))[0], "authenticated");
  const { users } = await live.app.store.users.list("demo", {
    page: 1,
    pageSize: 10,
  });
  t.equal(users.length, 1, "no refused login made a user");
});

void t.test("without world.view no user is created", async (t) => {
  const closed = { "world.view": ["staff"] };
  const live = await startLive(t, {}, [demo({ permission_config: closed })]);
  const client = await live.connect();
  t.match(await client.login({ client_id: "a" }), [
    "error",
    { code: "auth.missing_token" },
  ]);
  const token = live.tokenOf({ uid: "u", traits: ["other"] });
  t.match(await client.login({ token }), ["error", { code: "auth.denied" }]);
  const { users } = await live.app.store.users.list("demo", {
    page: 1,
    pageSize: 10,
  });
  t.same(users, []);
  const good = live.tokenOf({ uid: "u", traits: ["staff"] });
  t.equal((await client.login({ token: good }))[0], "authenticated");
});

void t.test("who is who", async (t) => {
  const live = await startLive(t);
  const ids = async (...names: (string | number)[]) => {
    const all = [];
    for (const name of names) all.push((await live.guest(name)).id);
    return new Set(all).size;
  };
  t.equal(await ids(4, "4"), 1, "a number counts as its text");
  t.equal(await ids(0, "0", -1, "-1"), 2);
  t.equal(await ids("x".repeat(200), "X".repeat(200)), 2);
  const uids = [5, "5"];
  const people = [];
  for (const uid of uids) people.push((await live.person({ uid })).id);
  t.equal(new Set(people).size, 1);
  t.not(people[0], (await live.guest("5")).id, "a guest is not the uid");
  const both = await live.connect();
  await both.login({ token: live.tokenOf({ uid: 5 }), client_id: "9" });
  t.equal(both.id, people[0], "the token counts");
  for (const claims of [
    { iat: second() + 3600 },
    { aud: ["x", keyOf("demo").audience] },
  ]) {
    t.equal((await live.person({ uid: 5, ...claims })).id, people[0]);
  }
  const many = await Promise.all(
    Array.from({ length: 8 }, () => live.guest("same")),
  );
  t.equal(new Set(many.map(({ id }) => id)).size, 1, "first logins at once");
});

void t.test("what the answer holds", async (t) => {
  const live = await startLive(t, {}, [
    demo({
      title: "Our event",
      config: {
        trait_badges_map: { crew: "Crew", speaker: "Speaker", also: "Crew" },
        pretalx: { domain: "https://pretalx.test", event: "x" },
        theme: { secret: 1 },
        bbb_defaults: { secret: 1 },
      },
    }),
  ]);
  await makeRoom(live, {
    name: "B",
    sorting_priority: 1,
    module_config: [
      { type: "chat.native" },
      { type: "livestream.native", config: { hls_url: "x" } },
      { type: "call.bigbluebutton", config: { secret: true } },
    ],
  });
  await makeRoom(live, { name: "A", sorting_priority: 2 });
  await makeRoom(live, { name: "C", sorting_priority: 1 });
  const hidden = { "room.view": ["staff"] };
  await makeRoom(live, { name: "D", permission_config: hidden });
  const { hello } = await live.person({
    uid: "u",
    traits: ["speaker", "crew", "also"],
  });
  const keys = (value: object) => Object.keys(value).sort();
  t.same(keys(hello), [
    "announcements",
    "chat.channels",
    "chat.notification_counts",
    "chat.read_pointers",
    "exhibition",
    "user.config",
    "world.config",
  ]);
  t.same(hello.exhibition, { exhibitors: [], contact_requests: [] });
  t.same(keys(hello["user.config"]), [
    "badges",
    "client_state",
    "deleted",
    "id",
    "inactive",
    "pretalx_id",
    "profile",
  ]);
  t.match(hello["user.config"], {
    badges: ["Crew", "Speaker"],
    client_state: {},
    deleted: false,
    inactive: false,
    pretalx_id: null,
    profile: {},
  });
  const { world, permissions, rooms } = hello["world.config"];
  t.same(keys(hello["world.config"]), ["permissions", "rooms", "world"]);
  t.same(world, {
    id: "demo",
    title: "Our event",
    pretalx: { domain: "https://pretalx.test", event: "x" },
    profile_fields: [],
    social_logins: [],
    iframe_blockers: { default: { enabled: false, policy_url: null } },
    onsite_traits: [],
    vapid_public_key: world.vapid_public_key as string,
  });
  t.ok(permissions.includes("world:view"));
  t.same(
    rooms.map(({ name }: Json) => name),
    ["B", "C", "A"],
    "by priority, then name",
  );
  const [room] = rooms;
  t.same(keys(room), [
    "description",
    "force_join",
    "id",
    "import_id",
    "modules",
    "name",
    "permissions",
    "picture",
    "pretalx_id",
    "schedule_data",
    "users",
  ]);
  t.match(room, {
    picture: null,
    import_id: null,
    pretalx_id: 0,
    force_join: false,
    schedule_data: null,
    users: "none",
  });
  t.same(room.modules, [
    { type: "chat.native", config: {}, channel_id: room.id },
    { type: "livestream.native", config: { hls_url: "x" } },
    { type: "call.bigbluebutton", config: {} },
  ]);
});

const replaced = {
  code: "connection.replaced",
  message: "Connection replaced",
};

void t.test("the connection limit", async (t) => {
  const table: [limit: unknown, open: number, replaced: number][] = [
    [1, 3, 2],
    [2, 3, 1],
    [3, 3, 0],
    [0, 3, 0],
    [null, 3, 0],
    ["2", 3, 1],
    ["many", 3, 0],
    [{}, 3, 0],
    [-1, 3, 0],
  ];
  const idOf = (row: number) => `w${row}`;
  const worlds = table.map(([limit], row) =>
    demo({ id: idOf(row), config: { connection_limit: limit } }),
  );
  const live = await startLive(t, {}, worlds);
  for (const [row, [limit, open, count]] of table.entries()) {
    const world = idOf(row);
    const clients = [];
    for (let i = 0; i < open; i++) {
      clients.push(await live.guest("same", world));
    }
    const stranger = await live.guest("other", world);
    const [gone, stay] = [clients.slice(0, count), clients.slice(count)];
    for (const client of gone) t.same(await client.next("error"), replaced);
    for (const client of [...stay, stranger]) {
      t.same(await client.all(), [], `${JSON.stringify(limit)} of ${open}`);
    }
    const [first] = gone;
    if (first && row === 0) t.equal((await soon(first.closed)).code, 1000);
  }
});

void t.test("who has no connection limit", async (t) => {
  const config = { connection_limit: 1 };
  const live = await startLive(t, {}, [demo({ config })]);
  const admins = [await live.admin(), await live.admin(), await live.admin()];
  await live.settled();
  for (const admin of admins) t.same(await admin.all(), []);
});

void t.test("connections that end during their login", async (t) => {
  const live = await startLive(t);
  const { sockets, hub } = live.app.live;
  for (const end of ["terminate", "close"] as const) {
    const clients = await Promise.all(
      Array.from({ length: 30 }, () => live.connect()),
    );
    for (const client of clients) {
      client.sendFrame("authenticate", { client_id: "gone" });
      client.ws[end]();
    }
    await Promise.all(clients.map(({ closed }) => closed));
    await until(() => sockets.size === 0);
    // A later login is answered after theirs.
    const last = await live.guest();
    t.equal(hub.in("demo").size, 1, `no connection stays behind: ${end}`);
    last.close();
    await until(() => hub.in("demo").size === 0);
  }
});

void t.test("changes while a login waits for the store", async (t) => {
  const live = await startLive(t);
  const { worlds, users } = live.app.store;
  const { value } = (await worlds.get("demo"))!;
  const { config, permission_config } = value;
  const fresh = { ...keyOf("demo"), secret: "z".repeat(40) };
  const rows: [change: object, code: string][] = [
    [{ config: { ...config, JWT_secrets: [fresh] } }, "auth.invalid_token"],
    [
      { permission_config: { ...permission_config, "world.view": ["staff"] } },
      "auth.denied",
    ],
  ];
  const enter = users.enter.bind(users);
  t.teardown(() => Object.assign(users, { enter }));
  for (const [change, code] of rows) {
    users.enter = async (...args) => {
      const entered = await enter(...args);
      await worlds.update("demo", change);
      return entered;
    };
    const late = await live.connect();
    const token = live.tokenOf({ uid: code });
    t.match(await late.login({ token }), ["error", { code }]);
    t.equal((await soon(late.closed)).code, 1008);
    t.equal(live.app.live.hub.in("demo").size, 0, "it does not stay");
    await worlds.update("demo", { config, permission_config });
  }
});
