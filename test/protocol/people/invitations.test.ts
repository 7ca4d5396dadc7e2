import t, { type Test } from "tap";
import type { Client, Json } from "../../../conformance/client.js";
import { fileForm, PDF } from "../../support/files.js";
import { keyOf, tokenOf, until, worldOf } from "../../support/helper.js";
import { type Server, type ServerOptions, startServer } from "../../support/server.js";
import { NO_SERVERS } from "../../support/shared.js";
import { Faults } from "../harness/faulty-store.js";

// Invitations over HTTP, and what their tokens grant while they are valid and afterward.

const PERMISSIONS = {
  "world.api": [["admin", "api", "desk", "moderator"]],
  "world.secrets": ["admin"],
  "world.update": ["admin"],
  "chat.moderate": [["admin", "moderator"]],
  "user.invite": [["admin", "desk", "moderator"]],
};

const world = (id: string) => worldOf(id, { permission_config: PERMISSIONS });

const PATH = "/api/v1/worlds/demo/invitations/";

/** A server, with shorthands for requests about its invitations. */
function inviter(server: Pick<Server, "call" | "tokenOf">) {
  const as = `Bearer ${server.tokenOf({ uid: "host", traits: ["admin"] })}`;
  const call = (method: string, path: string, body?: unknown, who = as) =>
    server.call({ method, url: PATH + path, as: who, ...(body !== undefined && { body }) });
  return {
    as,
    call,
    invite: async (draft: object, who = as): Promise<Json> => {
      const { status, body } = await call("POST", "", draft, who);
      if (status !== 201) throw new Error(JSON.stringify(body));
      return body;
    },
  };
}

const tokenIn = (link: string): string => link.slice(link.indexOf("#token=") + 7);

const jtiIn = (token: string): string =>
  (JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as { jti: string }).jti;

/** Whether a token grants each kind of access to a world. */
async function doorsOf(server: Server, token: string) {
  const as = `Bearer ${token}`;
  const client = await server.connect();
  const [answer] = await client.login({ token });
  client.ws.terminate();
  const get = async (path: string) => {
    const { status } = await server.call({ url: `/api/v1/worlds/demo/${path}`, as });
    return status;
  };
  const form = fileForm("a.pdf", PDF);
  const sent = await server.call({
    method: "POST",
    url: "/storage/upload/?world=demo",
    as,
    headers: form.headers,
    body: form.body,
  });
  return {
    login: answer,
    rooms: await get("rooms/"),
    changes: await get("changes/"),
    upload: sent.status,
  };
}

const OPEN = { login: "authenticated", rooms: 200, changes: 200, upload: 201 };
const SHUT = { login: "error", rooms: 401, changes: 401, upload: 403 };

type Act = (kit: ReturnType<typeof inviter>, id: string) => Promise<Json>;

const endings: Record<string, Act> = {
  revoked: ({ call }, id) => call("PATCH", `${id}/`, { revoked: true }),
  deleted: ({ call }, id) => call("DELETE", `${id}/`),
  renewed: ({ call }, id) => call("POST", `${id}/link/`),
  ended: ({ call }, id) => call("PATCH", `${id}/`, { expires_at: "2020-01-01T00:00:00Z" }),
};

const places: Record<string, ServerOptions> = {
  "one process": {},
  "two workers": { processes: 2, engine: "sqlite" },
  "two nodes": { processes: 2, engine: "shared" },
};

for (const [place, options] of Object.entries(places)) {
  const skip = options.engine === "shared" && NO_SERVERS;
  void t.test(`an ended invitation on ${place}`, { skip }, async (t) => {
    const server = await startServer(t, { ...options, worlds: [world("demo")] });
    const kit = inviter(server);
    for (const [name, act] of Object.entries(endings)) {
      const { id, link, uid } = await kit.invite({ name: "Ann", role: "admin" });
      const token = tokenIn(link);
      t.strictSame(await doorsOf(server, token), OPEN, `${name}: before`);
      // One connection on each process.
      const open: Client[] = [];
      for (let i = 0; i < 4; i++) {
        const client = await server.connect();
        t.equal((await client.login({ token }))[0], "authenticated");
        open.push(client);
      }
      const began = Date.now();
      const { status } = await act(kit, id);
      t.ok(status < 300, name);
      for (const client of open) t.ok(await client.next("error"), name);
      await Promise.all(open.map(({ closed }) => closed));
      const took = Date.now() - began;
      t.comment(`${place}, ${name}: ${took} ms`);
      await until(async () => {
        const doors = await doorsOf(server, token);
        return JSON.stringify(doors) === JSON.stringify(SHUT);
      });
      t.strictSame(await doorsOf(server, token), SHUT, `${name}: also on the other process`);
      const { body } = await server.call({
        url: `/api/v1/worlds/demo/users/?token_id=${uid}`,
        as: kit.as,
      });
      const { traits } = (body as Json).results[0];
      const isOut = name === "revoked" || name === "deleted";
      if (isOut) t.strictSame(traits, [], "nothing acts on the old traits");
    }
    // A changed role.
    const { id, link, uid } = await kit.invite({ name: "Bo", role: "admin" });
    const token = tokenIn(link);
    const open: Client[] = [];
    for (let i = 0; i < 4; i++) {
      const client = await server.connect();
      await client.login({ token });
      t.ok(client.hello["world.config"].permissions.includes("world:update"), "a host");
      open.push(client);
    }
    t.match(await kit.call("PATCH", `${id}/`, { role: "attendee" }), {
      body: { role: "attendee" },
    });
    for (const client of open) t.ok(await client.next("connection.reload"));
    const again = await server.connect();
    await again.login({ token });
    t.notOk(again.hello["world.config"].permissions.includes("world:update"));
    const { status } = await server.call({
      url: "/api/v1/worlds/demo/rooms/",
      as: `Bearer ${token}`,
    });
    t.equal(status, 403, "no API any more");
    const named = await server.call({
      url: `/api/v1/worlds/demo/users/?token_id=${uid}`,
      as: kit.as,
    });
    t.match(named.body, { results: [{ traits: ["attendee"] }] });
  });
}

void t.test("an invitation ends with the event, also if the event's end moves", async (t) => {
  const server = await startServer(t, { processes: 2, worlds: [world("demo")] });
  const { invite, as } = inviter(server);
  const enter = async (role: string) => {
    const { link } = await invite({ role });
    const token = tokenIn(link);
    const open = [await server.connect(), await server.connect()];
    for (const client of open) t.equal((await client.login({ token }))[0], "authenticated");
    return open;
  };
  const [guests, hosts] = [await enter("attendee"), await enter("admin")];
  const url = "/api/v1/worlds/demo/";
  const { config } = (await server.call({ url, as })).body as Json;
  const event = { starts_at: "2026-01-01T10:00:00Z", ends_at: "2026-01-02T10:00:00Z" };
  const body = { config: { ...config, event } };
  t.equal((await server.call({ method: "PATCH", url, as, body })).status, 200);
  for (const guest of guests) {
    t.match(await guest.next("error"), { code: "auth.expired_token" });
    await guest.closed;
  }
  for (const host of hosts) t.equal(await host.code("user.list.blocked"), "ok", "hosts stay");
});

void t.test("what hosts see and change", async (t) => {
  const server = await startServer(t, { worlds: [world("demo")] });
  const { call, invite } = inviter(server);
  const ann = await invite({ name: "Ann", email: "ann@example.org", role: "speaker" });
  t.match(ann, { name: "Ann", state: "invited", expires_at: null, used_at: null, user_id: null });
  t.match(ann.link, /^http:\/\/localhost:8375\/w\/demo\/#token=/);
  const many = await invite([{ role: "admin", name: "Bo" }, { role: "attendee" }]);
  t.match(many, [{ link: /\/console#token=/ }, { name: "", email: null }]);
  const list = async (query = "") => (await call("GET", query)).body as Json;
  t.match(await list(), { count: 3, results: [{ id: ann.id }, { name: "Bo" }, { name: "" }] });
  t.notOk(JSON.stringify(await list()).includes("token"), "the list has no links");
  t.match(await list("?q=ANN@"), { count: 1 });
  t.match(await list("?role=attendee&state=invited"), { count: 1 });
  t.match(await list("?page_size=2&cursor="), { count: 3, results: { length: 2 }, next: String });

  const client = await server.connect();
  await client.login({ token: tokenIn(ann.link) });
  t.equal(client.hello["user.config"].profile.display_name, "Ann");
  await until(async () => (await list(`?q=ann`)).results[0].used_at !== null);
  t.match(await list("?state=used"), {
    results: [{ id: ann.id, state: "used", last_seen_at: String, user_id: client.id }],
  });

  const got = await call("GET", `${ann.id}/`);
  const etag = got.headers.etag!;
  const patch = (body: object) => call("PATCH", `${ann.id}/`, body);
  t.match(
    await patch(got.body as object).catch(String),
    { status: 400 },
    "what is computed cannot be sent",
  );
  t.match(await patch({ id: "x" }), { status: 400, body: { id: ["May not be changed."] } });
  t.match(await patch({ id: ann.id, name: "Anna" }), { status: 200, body: { name: "Anna" } });
  t.match(await patch({ expires_at: "2027-02-30T00:00:00Z" }), { status: 400 });
  const stale = await server.call({
    method: "PATCH",
    url: `${PATH}${ann.id}/`,
    as: inviter(server).as,
    headers: { "if-match": etag },
    body: { name: "x" },
  });
  t.equal(stale.status, 412);
  t.match(await patch({ revoked: true }), { body: { state: "revoked", revoked_at: String } });
  t.match(await call("POST", `${ann.id}/link/`), { status: 409 });
  t.match(await patch({ revoked: false }), { body: { state: "used", revoked_at: null } });
  t.strictSame(
    (await doorsOf(server, tokenIn(ann.link))).login,
    "error",
    "the old link stays dead",
  );
  const { body } = await call("POST", `${ann.id}/link/`);
  t.equal((await doorsOf(server, tokenIn((body as Json).link))).login, "authenticated");
  t.match(await call("DELETE", `${ann.id}/`), { status: 204 });
  t.match(await call("GET", `${ann.id}/`), { status: 403, body: { code: "missing" } });
});

void t.test("bad invitations are refused, and nothing is lost", async (t) => {
  const server = await startServer(t, { worlds: [world("demo")] });
  const { call, invite } = inviter(server);
  await invite({ role: "x", uid: "ann" });
  const bad: Record<string, [body: unknown, status: number, field?: string]> = {
    nothing: [{}, 400, "role"],
    "no list": [[], 400],
    "too many": [Array.from({ length: 1001 }, () => ({ role: "x" })), 400],
    "a number": [5, 400],
    "a role with a space": [{ role: "a b" }, 400, "role"],
    "a role in a list": [[{ role: "x" }, { role: "a,b" }], 400, "1.role"],
    "an unknown field": [{ role: "x", traits: ["admin"] }, 400, "traits"],
    "an address that is none": [{ role: "x", email: "ann" }, 400, "email"],
    "an address with a line": [{ role: "x", email: "a@b\r\nBcc: c@d" }, 400, "email"],
    "two addresses": [{ role: "x", email: "a@b,c@d" }, 400, "email"],
    "no time": [{ role: "x", expires_at: "tomorrow" }, 400, "expires_at"],
    "no such day": [[{ role: "x", expires_at: "2027-02-30T00:00:00Z" }], 400, "0.expires_at"],
    "a uid that has one": [[{ role: "x" }, { role: "x", uid: "ann" }], 409, "1.uid"],
    "a uid twice": [
      [
        { role: "x", uid: "bo" },
        { role: "x", uid: "bo" },
      ],
      409,
      "1.uid",
    ],
  };
  for (const [name, [body, status, field]] of Object.entries(bad)) {
    const answer = await call("POST", "", body);
    t.equal(answer.status, status, name);
    if (field) t.ok(JSON.stringify(answer.body).includes(`"${field}"`), `${name}: ${answer.text}`);
  }
  t.match(await call("GET", ""), { body: { count: 1 } });
  const all = Array.from({ length: 1000 }, (_, i) => ({ role: "x", name: `Person ${i}` }));
  t.match(await call("POST", "", all), { status: 201, body: { length: 1000 } });
});

void t.test("nobody gives or takes rights that they lack", async (t) => {
  const server = await startServer(t, { worlds: [world("demo")] });
  const { call, invite, as } = inviter(server);
  const bearer = ({ link }: Json) => `Bearer ${tokenIn(link)}`;
  const host = await invite({ role: "admin" });
  const moderator = await invite({ role: "moderator" });
  const desk = await invite({ role: "desk" });
  const guest = await invite({ role: "attendee" });
  const status = async (...args: Parameters<typeof call>) => (await call(...args)).status;
  for (const [name, who] of Object.entries({ moderator, desk })) {
    const by = bearer(who);
    const forbidden = { host, ...(name === "desk" && { moderator }) };
    for (const [other, { id }] of Object.entries(forbidden)) {
      const why = `${name}, ${other}`;
      t.equal(await status("PATCH", `${id}/`, { role: "attendee" }, by), 403, why);
      t.equal(await status("PATCH", `${id}/`, { revoked: true }, by), 403, why);
      t.equal(await status("PATCH", `${id}/`, { name: "x" }, by), 403, why);
      t.equal(await status("DELETE", `${id}/`, undefined, by), 403, why);
      t.equal(await status("POST", `${id}/link/`, undefined, by), 403, why);
    }
    t.equal(await status("POST", "", { role: "admin" }, by), 403, name);
    t.equal(await status("POST", "", [{ role: "attendee" }, { role: "admin" }], by), 403, name);
    t.equal(await status("PATCH", `${who.id}/`, { role: "admin" }, by), 403, name);
    t.equal(await status("PATCH", `${guest.id}/`, { role: "admin" }, by), 403, name);
    t.equal(await status("POST", "", { role: "attendee", uid: host.uid }, by), 403, name);
    t.equal(await status("POST", "", { role: "attendee", uid: "x" }, by), 403, "no keys, no uid");
    t.equal(await status("PATCH", `${guest.id}/`, { name: name }, by), 200, name);
    t.equal(await status("POST", "", { role: "attendee" }, by), 201, name);
    t.equal(await status("GET", "", undefined, by), 200, name);
  }
  t.equal(await status("POST", "", { role: "moderator" }, bearer(desk)), 403);
  await server.store.rooms.create("demo", {
    name: "Hall",
    permission_config: { "poll.manage": ["hall"], "room.view": ["vip"] },
  });
  const usher = await invite({ role: "hall", name: "Usher" });
  for (const [why, method, path, body, expected] of [
    ["a right in one room", "POST", "", { role: "hall" }, 403],
    ["somebody who has it", "PATCH", `${usher.id}/`, { role: "attendee" }, 403],
    ["their link", "POST", `${usher.id}/link/`, undefined, 403],
    ["a room that others may see by default", "POST", "", { role: "vip" }, 201],
  ] as const) {
    t.equal(await status(method, path, body, bearer(desk)), expected, why);
  }
  t.equal(await status("GET", "", undefined, bearer(guest)), 403);
  const own = bearer(host);
  for (const changes of [
    { role: "attendee" },
    { revoked: true },
    { expires_at: "2020-01-01T00:00:00Z" },
  ]) {
    t.equal(await status("PATCH", `${host.id}/`, changes, own), 409, JSON.stringify(changes));
  }
  t.equal(await status("DELETE", `${host.id}/`, undefined, own), 409);
  t.equal(await status("PATCH", `${host.id}/`, { name: "Me", role: "admin" }, own), 200);
  t.match(await call("POST", `${host.id}/link/`, undefined, own), { status: 200 });
  t.equal(await status("GET", "", undefined, own), 401, "the old link has ended");
  t.equal(await status("GET", "", undefined, as), 200);
});

void t.test("a jti is no way around the keys", async (t) => {
  const server = await startServer(t, { worlds: [world("demo"), world("other")] });
  const { invite } = inviter(server);
  const { link, uid, id } = await invite({ role: "attendee" });
  const jti = jtiIn(tokenIn(link));
  t.equal(jti, `${id}.l1`);
  const claims = { uid, traits: ["admin", "api"], jti };
  const url = "/api/v1/worlds/demo/rooms/";
  const status = async (token: string, where = url) =>
    (await server.call({ url: where, as: `Bearer ${token}` })).status;
  t.equal(await status(tokenOf(keyOf("other"), claims)), 403, "the key of another world");
  t.equal(await status(tokenOf(keyOf("demo"), claims)), 403, "the role decides, not the traits");
  const forged: Record<string, object> = {
    "another person": { uid: "host" },
    "no person": { uid: undefined },
    "another invitation": { jti: `00000000-0000-4000-8000-000000000000.l1` },
    "a newer link": { jti: `${id}.l2` },
    "an older link": { jti: `${id}.l0` },
    "a newer recovery link": { jti: `${id}.r2` },
  };
  for (const [name, other] of Object.entries(forged)) {
    t.equal(await status(tokenOf(keyOf("demo"), { ...claims, ...other })), 401, name);
  }
  const foreign = tokenOf(keyOf("other"), claims);
  t.equal(
    await status(foreign, url.replace("demo", "other")),
    401,
    "an invitation of another world",
  );
  for (const other of ["x", `${id}`, `${id}.x1`, `${id}.l`, 5, null, `${id}.l1 `]) {
    const token = tokenOf(keyOf("demo"), { ...claims, jti: other });
    t.equal(await status(token), 200, `${JSON.stringify(other)} names no invitation`);
  }
});

void t.test("without an answer of the store, nobody enters", async (t) => {
  const faults = new Faults();
  const server = await startServer(t, { worlds: [world("demo")], faults, mayLogErrors: true });
  const { invite } = inviter(server);
  const { link } = await invite({ role: "admin" });
  const token = tokenIn(link);
  const url = "/api/v1/worlds/demo/rooms/";
  const get = () => server.call({ url, as: `Bearer ${token}` });
  t.equal((await get()).status, 200);
  faults.arm("demo", 0, "unusable", "invitations.standing");
  t.match(await get(), { status: 503 });
  faults.disarm("demo");
  t.equal((await get()).status, 200);
  faults.arm("demo", 0, "unusable", "invitations.standing");
  const client = await server.connect();
  t.match(await client.login({ token }), ["error", { code: "server.unavailable" }]);
  faults.disarm("demo");
  faults.arm("demo", 1, "unusable", "invitations.standing");
  const later = await server.connect();
  t.match(await later.login({ token }), ["error", { code: "server.unavailable" }]);
  faults.disarm("demo");
});

void t.test("an invitation that ends while its person logs in", async (t) => {
  const server = await startServer(t, { worlds: [world("demo")] });
  const { invite, call } = inviter(server);
  for (let i = 0; i < 10; i++) {
    const { link, id } = await invite({ role: "admin" });
    const token = tokenIn(link);
    const clients = await Promise.all(Array.from({ length: 5 }, () => server.connect()));
    const logins = clients.map((client) => client.login({ token }));
    await call("DELETE", `${id}/`);
    await Promise.all(logins);
    for (const client of clients) await ends(t, client);
  }
});

/** Expects that a connection is refused or ended. */
async function ends(t: Test, client: Client): Promise<void> {
  if (client.id === "") {
    t.equal(client.hello, undefined, "it was refused");
    return;
  }
  t.match(await client.next("error"), { code: "auth.invalid_token" });
  await client.closed;
}
