import t, { type Test } from "tap";
import { foyerProcess, keyOf, tokenOf as sign, until } from "../../support/helper.js";
import {
  type Client,
  invalid,
  type Json,
  keys,
  openWorld,
  soon,
} from "../../support/open-world.js";
import { keyServer, makeKey } from "../../support/provider.js";
import { startServer } from "../../support/server.js";
import { openStoreIn } from "../../support/stack.js";

// Logins: who is admitted, what users receive, and what ends their connections.

const server = await startServer(t, { config: { webhookAllow: ["127.0.0.1"] } });

const second = () => Math.floor(Date.now() / 1000);
const invalidToken = "auth.invalid_token";

void t.test("who may not log in", async (t) => {
  const [world, other] = [await openWorld(server), await openWorld(server)];
  const forged = { key: "y".repeat(40) };
  const token = (claims: object, options?: object) => ({
    token: sign(keyOf(world.id), { uid: "u", traits: [], ...claims }, options),
  });
  const table: Record<string, Record<string, unknown>> = {
    "auth.missing_id_or_token": {
      nothing: {},
      nulls: { token: null, client_id: null },
      "an empty uid": token({ uid: "" }),
      "an empty client ID": { client_id: "" },
    },
    [invalid]: {
      null: null,
      "a list": [],
      "a text": "x",
      "a long client ID": { client_id: "x".repeat(201) },
      "a client ID with a blank": { client_id: "a b" },
      "a client ID that is an object": { client_id: {} },
      "a client ID that is a fraction": { client_id: 1.5 },
      "a client ID beyond integers": { client_id: 1e300 },
      "a client ID that is true": { client_id: true },
    },
    [invalidToken]: {
      "a token that is none": { token: "x" },
      "an empty token": { token: "" },
      "a token that is a number": { token: 5 },
      "a token that is an object": { token: {} },
      "a token of lone surrogates": { token: "\ud800.\ud800.\ud800" },
      "a bad token beside a client ID": { token: "x", client_id: "a" },
      "another secret": token({}, forged),
      "another issuer": token({ iss: "x" }),
      "another audience": token({ aud: "x" }),
      "a list of other audiences": token({ aud: ["x"] }),
      "a list of no audiences": token({ aud: [] }),
      "not valid yet": token({ nbf: second() + 100 }),
      "without exp": token({ exp: undefined }),
      "without uid": token({ uid: undefined }),
      "another world": { token: other.tokenOf({ uid: "u" }) },
      "an algorithm": token({}, { algorithm: "HS512" }),
      "expired and forged": token({ exp: second() - 5 }, forged),
    },
    "auth.expired_token": { expired: token({ exp: second() - 5 }) },
  };
  const client = await world.connect();
  for (const [code, rows] of Object.entries(table)) {
    for (const [name, payload] of Object.entries(rows)) {
      client.sendFrame("authenticate", 7, payload);
      t.match(await client.frame(), ["error", 7, { code }], name);
    }
  }
  t.equal((await client.login({ client_id: "a" }))[0], "authenticated");
  const { users } = await world.store.users.list(world.id, { page: 1, pageSize: 10 });
  t.equal(users.length, 1, "no refused login made a user");
});

void t.test("without world.view no user is created", async (t) => {
  const world = await openWorld(server, { permission_config: { "world.view": ["staff"] } });
  const client = await world.connect();
  const login = (traits: string[]) => client.login({ token: world.tokenOf({ uid: "u", traits }) });
  t.match(await client.login({ client_id: "a" }), ["error", { code: "auth.missing_token" }]);
  t.match(await login(["other"]), ["error", { code: "auth.denied" }]);
  const { users } = await world.store.users.list(world.id, { page: 1, pageSize: 10 });
  t.same(users, []);
  t.equal((await login(["staff"]))[0], "authenticated");
});

void t.test("who is who", async (t) => {
  const world = await openWorld(server);
  const ids = async (...names: (string | number)[]) => {
    const all = await Promise.all(names.map((name) => world.guest(name)));
    return new Set(all.map(({ id }) => id)).size;
  };
  t.equal(await ids(4, "4"), 1, "a number counts as its text");
  t.equal(await ids(0, "0", -1, "-1"), 2);
  t.equal(await ids("x".repeat(200), "X".repeat(200)), 2);
  t.equal(await ids(...Array<string>(8).fill("same")), 1, "first logins at once");
  const { id } = await world.person({ uid: 5 });
  t.equal((await world.person({ uid: "5" })).id, id);
  t.not((await world.guest("5")).id, id, "a guest is not the uid");
  const both = await world.connect();
  await both.login({ token: world.tokenOf({ uid: 5 }), client_id: "9" });
  t.equal(both.id, id, "the token counts");
  for (const claims of [{ iat: second() + 3600 }, { aud: ["x", keyOf(world.id).audience] }]) {
    t.equal((await world.person({ uid: 5, ...claims })).id, id);
  }
});

void t.test("what the answer holds", async (t) => {
  const pretalx = { domain: "https://pretalx.test", event: "x" };
  const trait_badges_map = { crew: "Crew", speaker: "Speaker", also: "Crew" };
  const secret = { theme: { secret: 1 }, bbb_defaults: { secret: 1 } };
  const config = { trait_badges_map, pretalx, ...secret };
  const world = await openWorld(server, { title: "Our event", config });
  const module_config = [
    { type: "chat.native" },
    { type: "livestream.native", config: { hls_url: "x" } },
    { type: "call.bigbluebutton", config: { secret: true } },
  ];
  await world.room({ name: "B", sorting_priority: 1, module_config });
  await world.room({ name: "A", sorting_priority: 2 });
  await world.room({ name: "C", sorting_priority: 1 });
  await world.room({ name: "D", permission_config: { "room.view": ["staff"] } });
  const traits = ["speaker", "crew", "also"];
  const { "world.config": seen, ...hello } = (await world.person({ uid: "u", traits })).hello;
  t.same(hello, {
    announcements: [],
    "chat.channels": [],
    "chat.notification_counts": {},
    "chat.read_pointers": {},
    exhibition: { exhibitors: [], contact_requests: [] },
    "user.config": {
      badges: ["Crew", "Speaker"],
      client_state: {},
      deleted: false,
      id: hello["user.config"].id as string,
      inactive: false,
      pretalx_id: null,
      profile: {},
    },
  });
  t.same(keys(seen), ["permissions", "rooms", "world"]);
  t.same(seen.world, {
    id: world.id,
    title: "Our event",
    pretalx,
    profile_fields: [],
    social_logins: [],
    iframe_blockers: { default: { enabled: false, policy_url: null } },
    onsite_traits: [],
    vapid_public_key: seen.world.vapid_public_key as string,
  });
  t.ok(seen.permissions.includes("world:view"));
  const names = seen.rooms.map(({ name }: Json) => name);
  t.same(names, ["B", "C", "A"], "by priority, then name");
  const [{ id, permissions, ...room }] = seen.rooms;
  t.ok(permissions.includes("room:view"));
  t.same(room, {
    name: "B",
    description: "",
    picture: null,
    import_id: null,
    pretalx_id: 0,
    force_join: false,
    schedule_data: null,
    users: "none",
    modules: [
      { type: "chat.native", config: {}, channel_id: id },
      { type: "livestream.native", config: { hls_url: "x" } },
      { type: "call.bigbluebutton", config: {} },
    ],
  });
});

void t.test("the connection limit", async (t) => {
  const table: [limit: unknown, replaced: number][] = [
    [1, 2],
    [2, 1],
    [3, 0],
    [0, 0],
    [null, 0],
    ["2", 1],
    ["many", 0],
    [{}, 0],
    [-1, 0],
  ];
  for (const [connection_limit, count] of table) {
    const world = await openWorld(server, { config: { connection_limit } });
    const clients: Client[] = [];
    for (let i = 0; i < 3; i++) clients.push(await world.guest("same"));
    const stranger = await world.guest("other");
    for (const client of clients.slice(0, count)) {
      const replaced = { code: "connection.replaced", message: "Connection replaced" };
      t.same(await client.next("error"), replaced);
      t.equal((await soon(client.closed)).code, 1000);
    }
    for (const client of [...clients.slice(count), stranger]) {
      t.same(await client.all(), [], `${JSON.stringify(connection_limit)} of three`);
    }
  }
});

void t.test("who has no connection limit", async (t) => {
  const world = await openWorld(server, { config: { connection_limit: 1 } });
  const admins = [await world.admin(), await world.admin(), await world.admin()];
  await world.calm(undefined);
  for (const admin of admins) t.same(await admin.all(), []);
});

void t.test("connections that end during their login", async (t) => {
  const world = await openWorld(server);
  const { sockets, hub } = world.live;
  const before = sockets.size;
  for (const end of ["terminate", "close"] as const) {
    const clients = await Promise.all(Array.from({ length: 30 }, () => world.connect()));
    for (const client of clients) {
      client.sendFrame("authenticate", { client_id: "gone" });
      client.ws[end]();
    }
    await Promise.all(clients.map(({ closed }) => closed));
    await until(() => sockets.size === before);
    // This login is answered only after the earlier ones have been handled.
    const last = await world.guest();
    t.equal(hub.in(world.id).size, 1, `no connection stays behind: ${end}`);
    last.close();
    await until(() => hub.in(world.id).size === 0);
  }
});

void t.test("changes while a login waits for the store", async (t) => {
  const world = await openWorld(server);
  const { worlds, users } = world.store;
  const { config, permission_config } = (await worlds.get(world.id))!.value;
  const fresh = { ...keyOf(world.id), secret: "z".repeat(40) };
  const rows: [change: object, code: string][] = [
    [{ config: { ...config, JWT_secrets: [fresh] } }, invalidToken],
    [{ permission_config: { ...permission_config, "world.view": ["staff"] } }, "auth.denied"],
  ];
  const enter = users.enter.bind(users);
  t.teardown(() => Object.assign(users, { enter }));
  for (const [change, code] of rows) {
    users.enter = async (...args) => {
      const entered = await enter(...args);
      await worlds.update(world.id, change);
      return entered;
    };
    const late = await world.connect();
    t.match(await late.login({ token: world.tokenOf({ uid: code }) }), ["error", { code }]);
    t.equal((await soon(late.closed)).code, 1008);
    t.equal(world.live.hub.in(world.id).size, 0, "it does not stay");
    await worlds.update(world.id, { config, permission_config });
  }
});

void t.test("nothing is lost between the login and what it holds", async (t) => {
  const world = await openWorld(server);
  const writing = (async () => {
    for (let i = 0; i < 20; i++) await world.configure({ title: `T${i}` });
  })();
  const clients: Client[] = [];
  for (let i = 0; i < 10; i++) clients.push(await world.guest());
  await writing;
  const isLast = ({ world }: Json) => world.title === "T19";
  for (const client of clients) {
    if (isLast(client.hello["world.config"])) continue;
    t.ok(await client.sees("world.updated", isLast));
  }
});

/** Checks that a connection receives an error code, and is closed. */
async function ends(t: Test, client: Client, code: string): Promise<void> {
  t.match(await client.next("error"), { code }, code);
  const close = code === "world.unknown_world" ? 1000 : 1008;
  t.equal((await soon(client.closed)).code, close, code);
}

void t.test("a token expires", async (t) => {
  const world = await openWorld(server);
  const guest = await world.guest();
  // Valid for at least two seconds, so that a busy machine can log in first.
  const client = await world.person({ uid: "u", seconds: 3 });
  await ends(t, client, "auth.expired_token");
  t.equal(await guest.code("user.list.blocked"), "ok");
});

void t.test("a key is removed by REST", async (t) => {
  const world = await openWorld(server);
  const { config } = (await world.rest("GET")).body;
  const fresh = { ...keyOf(world.id), secret: "z".repeat(40) };
  const [old, guest] = [await world.person({ uid: "old" }), await world.guest()];
  const set = (...JWT_secrets: object[]) =>
    world.rest("PATCH", "", { config: { ...config, JWT_secrets } });
  await set(fresh, keyOf(world.id));
  await old.next("world.updated");
  const client = await world.connect();
  t.equal((await client.login({ token: sign(fresh, { uid: "new" }) }))[0], "authenticated");
  await set(fresh);
  await ends(t, old, invalidToken);
  for (const other of [client, guest]) t.equal(await other.code("user.list.blocked"), "ok");
});

void t.test("another issuer is removed by REST", async (t) => {
  const world = await openWorld(server);
  const { jwk, sign } = await makeKey("ES256", "1");
  const traits = { always: ["crew"] };
  const issuer = { issuer: "shop", audience: "event", jwks: { keys: [jwk] }, traits };
  const set = (...JWT_issuers: object[]) => world.rest("PATCH", "", { config: { JWT_issuers } });
  const users = async () => (await world.rest("GET", "users/")).body.results as unknown;
  const login = async (claims: object) => {
    const client = await world.connect();
    const all = { iss: "shop", aud: "event", name: "Ada", ...claims };
    return { client, answer: await client.login({ token: await sign(all) }) };
  };
  const sub = "7";
  await set(issuer);
  const { client } = await login({ sub });
  t.match(client.hello["user.config"].profile, { display_name: "Ada" });
  t.match(await users(), [{ token_id: "shop#7", traits: ["crew"] }]);
  t.match((await login({})).answer, ["error", { code: invalidToken }]);
  await set({ ...issuer, trusted: true });
  await ends(t, client, invalidToken);
  const bare = await login({ sub });
  t.match(await users(), [{ token_id: "shop#7" }, { token_id: "7" }]);
  await set();
  await ends(t, bare.client, invalidToken);
  t.match((await login({ sub })).answer, ["error", { code: invalidToken }]);
});

void t.test("an issuer with keys at an address is removed", async (t) => {
  const world = await openWorld(server);
  const { jwk, sign } = await makeKey("ES256", "1");
  const { url: jwks_url } = await keyServer(t, [jwk]);
  const issuer = { issuer: "shop", audience: "event", jwks_url };
  await world.rest("PATCH", "", { config: { JWT_issuers: [issuer] } });
  const client = await world.connect();
  const token = await sign({ iss: "shop", aud: "event", sub: "7" });
  t.equal((await client.login({ token }))[0], "authenticated");
  await world.rest("PATCH", "", { config: { theme: {} } });
  t.equal(await client.code("user.list.blocked"), "ok", "it stays");
  await world.rest("PATCH", "", { config: { JWT_issuers: [] } });
  await ends(t, client, invalidToken);
});

void t.test("a silence while its user is busy", async () => {
  const world = await openWorld(server);
  const beside = await openStoreIn(t, server.dataDir);
  const client = await world.guest();
  let stop = false;
  const busy = (async () => {
    while (!stop) await client.code("user.list.blocked");
  })().catch(() => {});
  await beside.users.moderate(world.id, client.id, "silenced");
  // Any write by the server makes it notice the writes of other processes.
  await world.guest();
  await soon(client.next("connection.reload"));
  stop = true;
  client.ws.terminate();
  await busy;
});

void t.test("a user is deleted by a command", async (t) => {
  const world = await openWorld(server);
  const [one, two] = [await world.guest("g"), await world.guest("g")];
  const { code, stderr } = await server.command("user", "delete", world.id, one.id);
  t.equal(code, 0, stderr);
  for (const client of [one, two]) t.same(await soon(client.next("connection.reload")), {});
  t.not((await world.guest("g")).id, one.id);
});

void t.test("a world is deleted by a command", async (t) => {
  const [world, other] = [await openWorld(server), await openWorld(server)];
  const clients = [await world.guest(), await world.admin()];
  const stranger = await other.guest();
  const args = ["world", "delete", world.id, "--yes"];
  const { code, stderr } = await foyerProcess(t, server.dataDir, args);
  t.equal(code, 0, stderr);
  for (const client of clients) await ends(t, client, "world.unknown_world");
  t.same(await stranger.all(), []);
});
