import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import type { Author } from "../../../db/contract/author.js";
import { admin, type Answer, bearer, keyOf, tokenOf } from "../../support/helper.js";
import { startServer } from "../../support/server.js";
import { ABSENT_ID, startPopulatedServer, urlOf } from "../../support/route-calls.js";

// How the API refuses unknown parameters, conflicts, and missing objects.

const PLAIN = '{"detail":"You do not have permission to perform this action.","code":"forbidden"}';

const base = "/api/v1/worlds/demo/";

const signed = (claims: Record<string, unknown>) => `Bearer ${tokenOf(keyOf("demo"), claims)}`;
const host = signed({ uid: "u", traits: ["admin", "api"] });

/** Returns the routes that match a pattern. */
const below = (routes: ReadonlySet<string>, pattern: RegExp) =>
  [...routes].filter((route) => pattern.test(route));

void t.test("each operation refuses parameters that it lacks", async (t) => {
  const { routes, room, send, upload, idsFor } = await startPopulatedServer(t);
  const media = await upload(host);
  const id = await room();
  const operations = below(routes, /^(?!HEAD)\w+ \/api\/v1\/worlds\/:world_id\//);
  t.ok(operations.length > 40);
  const unknown = ["Unknown parameter."];
  for (const route of operations) {
    if (/reports|^DELETE \S+:world_id\/$/.test(route)) continue;
    const url = urlOf(route, id, media, await idsFor(route, id));
    const got = await send(route, { url: `${url}?pagesize=1&search%5B%5D=x`, as: host });
    const expected = [400, { pagesize: unknown, "search[]": unknown }];
    t.strictSame([got.status, got.body], expected, route);
  }
  const stranger = { url: `${base}rooms/?pagesize=1`, as: bearer("demo", "x") };
  t.equal((await send("GET /x", stranger)).status, 403, "rights come first");
});

/** Starts a server with helpers to create conflicting objects. */
async function setUp(t: Test) {
  const server = await startServer(t);
  const call = (method: string, path: string, body?: object, as = host) =>
    server.call({ method, url: base + path, as, ...(body && { body }) });
  const idOf = ({ body }: Answer) => (body as { id: string }).id;
  return { ...server, call, idOf };
}

void t.test("what something else has is a conflict", async (t) => {
  const { call, idOf, store } = await setUp(t);
  for (const [path, name, field] of [
    ["sessions/", "session", "title"],
    ["speakers/", "speaker", "name"],
  ] as const) {
    const draft = { [field]: "x" };
    await call("POST", path, { ...draft, import_id: "1" });
    const own = `${path}${idOf(await call("POST", path, draft))}/`;
    const detail = `Another ${name} already has it.`;
    const body = { detail, code: "conflict", fields: { import_id: [detail] } };
    const again = { ...draft, import_id: "1" };
    t.match(await call("POST", path, again), { status: 409, body }, path);
    t.match(await call("PATCH", own, { import_id: "1" }), { status: 409, body }, own);
    const both = await call("POST", path, { ...again, links: [{ title: "x", url: "http://^" }] });
    t.match(
      both,
      { status: 400, body: { import_id: [detail] } },
      "with other faults: invalid data",
    );
  }
  const hook = { url: "https://1.1.1.1/", enabled: false };
  for (let i = 0; i < 20; i++) {
    await store.webhooks.create("demo", { ...hook, types: ["*"], description: "" }, "");
  }
  const quota = { detail: /at most 20 webhooks/, code: "quota" };
  t.match(await call("POST", "webhooks/", hook), { status: 409, body: quota });
  const types = await call("POST", "webhooks/", { ...hook, types: ["nope.*"] });
  t.match(types, { status: 400, body: { "types.0": [/Must be one of/] } });
});

void t.test("who may know reads what is missing", async (t) => {
  const { routes, room, closedRoom, send, upload } = await startPopulatedServer(t);
  const media = await upload(host);
  const present = await room();
  const hidden = await closedRoom();
  // Ids that do not exist, for the routes that name an object.
  const ids = { file: ABSENT_ID, event: "999999999" };
  const named = [...routes].filter((route) =>
    /^(?!HEAD)\w+ \/api\/v1\/worlds\/:world_id\/.*:(?!kind|report)/.test(route),
  );
  t.ok(named.length > 20);
  const editor = signed({ uid: "e", traits: ["api", "crew"] });
  for (const route of named) {
    const isRoom = !/room_id\/.*:/.test(route) && route.includes(":room_id");
    const url = urlOf(route, isRoom ? ABSENT_ID : present, media, ids);
    const got = await send(route, { url, as: host });
    t.equal(got.status, 403, route);
    t.match(got.body, { detail: /^There is no such \w+\.$/, code: "missing" }, route);
    const other = await send(route, { url, as: editor });
    t.equal(other.text, PLAIN, `${route} without world.update`);
  }
  const get = (url: string, as: string) => send("GET /x", { url, as });
  const unseen = await get(`${base}rooms/${hidden}/`, host);
  const gone = await get(`${base}rooms/${ABSENT_ID}/`, host);
  t.equal(unseen.text, gone.text, "a room that the caller may not see");
  const elsewhere = await get("/api/v1/worlds/missing/rooms/", host);
  t.not((elsewhere.body as { code: string }).code, "missing", "a world");
});

void t.test("a host whom moderation stopped learns nothing", async (t) => {
  const { call, store } = await setUp(t);
  const visitor = { tokenId: "u", traits: new Set(["admin", "api"]) };
  const { id } = await store.users.enter("demo", visitor);
  const read = async () => (await call("GET", `rooms/${ABSENT_ID}/`)).text;
  t.match(await read(), /"missing"/);
  await store.users.moderate("demo", id, "silenced");
  t.equal(await read(), PLAIN);
  await store.users.moderate("demo", id, "banned");
  t.equal(await read(), PLAIN);
});

void t.test("times have one form", async (t) => {
  const { call } = await setUp(t);
  const cases: [time: string, isGood: boolean][] = [
    ["2027-03-01T09:00:00Z", true],
    ["2027-03-01t09:00:00.5%2b01:00", true],
    ["2027-03-01", false],
    ["2027-03-01T09:00", false],
    ["2027-03-01 09:00:00Z", false],
    ["2027-03-01T24:00:00Z", false],
    ["2027-02-30T09:00:00Z", false],
    ["", false],
  ];
  const queries = ["audit/?after", "audit/?before", "results/activity/?after", "sessions/?from"];
  for (const [time, isGood] of cases) {
    for (const query of queries) {
      const { status } = await call("GET", `${query}=${time}`);
      t.equal(status, isGood ? 200 : 400, query + time);
    }
    const show_until = decodeURIComponent(time);
    const made = await call("POST", "announcements/", { text: "x", show_until });
    t.equal(made.status, isGood ? 201 : 400, `"${show_until}"`);
  }
});

void t.test("the better of two types is sent", async (t) => {
  const { call } = await startServer(t);
  const [stream, json] = ["text/event-stream", "application/json"];
  const url = `${base}changes/`;
  for (const [accept, type] of [
    [stream, stream],
    [`${stream}, ${json}`, stream],
    [`${json}, ${stream}`, json],
    [`${stream};q=0.5, ${json}`, json],
    [`${stream}; q=0.5, */*;q=0.4`, stream],
    [`${json};q=0.1, ${stream};q=0.2`, stream],
    [`${stream};q=0`, json],
  ] as const) {
    const { headers } = await call({ method: "HEAD", url, as: admin("demo"), headers: { accept } });
    t.equal(String(headers["content-type"]).split(";")[0], type, accept);
  }
});

const as = admin("demo");
const world = "/api/v1/worlds/demo/";
const rooms = `${world}rooms/`;
const TAG = /^"[^",]+"$/;

void t.test("304 for what the client has", async (t) => {
  const { call, store } = await startServer(t);
  const { value: room } = await store.rooms.create("demo", { name: "x" });
  for (const url of [world, `${rooms}${room.id}/`]) {
    const { headers } = await call({ url, as });
    const tag = headers.etag!;
    t.match(tag, TAG);

    const cases: [ifNoneMatch: string, status: number][] = [
      [tag, 304],
      [`W/${tag}`, 304],
      ["*", 304],
      [`"a", ${tag}`, 304],
      [`"a",W/${tag} , "b"`, 304],
      ['"a"', 200],
      ['"a", "b"', 200],
      [tag.slice(1, -1), 200],
      [`"${tag}"`, 200],
      ["", 200],
    ];
    for (const [known, status] of cases) {
      const got = await call({ url, as, headers: { "if-none-match": known } });
      t.equal(got.status, status, known);
      t.equal(got.headers.etag, tag, known);
      t.equal(got.text === "", status === 304, known);
      t.equal(got.headers["cache-control"], "private, no-cache", known);
    }
    const foreign = await call({ url, as: admin("other"), headers: { "if-none-match": tag } });
    t.equal(foreign.status, 401, "a tag is no token");
  }
});

/** A caller for whom every API call succeeds. */
const everybody = `Bearer ${tokenOf(keyOf("demo"), { uid: "u", traits: ["admin", "api"] })}`;

/** All routes that write, except those of the operator and of the setup. */
const writesOf = (routes: ReadonlySet<string>) =>
  [...routes].filter(
    (route) =>
      /^(POST|PUT|PATCH|DELETE) \/api\/v1\/worlds\/:world_id\//.test(route) &&
      route !== "DELETE /api/v1/worlds/:world_id/",
  );

/**
 * Routes that refuse every call here: those of people's own ways in, and those that send mails, as
 * this server has no mail server. See test/protocol/routes/passkeys.test.ts and
 * test/protocol/mail/mails.test.ts.
 */
const ELSEWHERE = /\/(passkeys|ways|login-mails|logins)\/|\/(mail\/test|send)\/$/;

void t.test("every write compares what If-Match names", async (t) => {
  const { routes, room, send, upload, idsFor } = await startPopulatedServer(t);
  const media = await upload(everybody);
  const writes = writesOf(routes);
  t.ok(writes.length > 20);
  let versioned = 0;
  for (const route of writes) {
    // Creates the object anew for each call, because the call may delete it.
    const url = async () => {
      const id = await room();
      return urlOf(route, id, media, await idsFor(route, id));
    };
    const write = async (ifMatch: (tag: string) => string) => {
      const target = await url();
      const get = `GET ${route.replace(/^\w+ /, "")}`;
      const before = routes.has(get) ? await send(get, { url: target, as: everybody }) : undefined;
      const tag = before?.headers.etag;
      const headers = { "if-match": ifMatch(tag ?? '"none"') };
      const got = await send(route, { url: target, as: everybody, headers });
      return { tag, got };
    };
    for (const stale of ['"stale"', '"a", "b"', 'W/"a"', ""]) {
      const { got } = await write(() => stale);
      t.equal(got.status, 412, `${route} with ${stale}`);
      t.match(got.body, { code: "changed" }, route);
    }
    // The last one needs a name.
    if (/\/(test|schedule_update|call\/join\/)$/.test(route) || ELSEWHERE.test(route)) continue;
    const any = await write(() => "*");
    t.match(String(any.got.status), /^20[014]$/, `${route} with *`);
    t.equal((await write((tag) => `W/${tag}`)).got.status, 412, `${route} with a weak one`);
    const { tag, got } = await write((tag) => `"a", ${tag}`);
    if (tag === undefined || route.startsWith("POST")) {
      t.equal(got.status, 412, `${route} has no version`);
    } else {
      t.match(String(got.status), /^20[04]$/, `${route} with its version`);
      versioned++;
    }
  }
  t.ok(versioned >= 12);
});

void t.test("a delivery does not hinder a change of a webhook", async (t) => {
  const { idsFor, send, store } = await startPopulatedServer(t);
  const { webhook_id: webhook } = await idsFor("/:webhook_id/", "");
  const url = `${world}webhooks/${webhook}/`;
  const get = () => send("GET /x", { url, as });
  const { etag } = (await get()).headers;
  const before = (await store.webhooks.get("demo", webhook!))!;
  await store.webhooks.hold("demo", webhook!, "one", before);
  const { revision } = before;
  const now = { ...before, last_status: 500 };
  const of = { revision, holder: "one" };
  t.ok(await store.webhooks.note("demo", webhook!, of, now));
  const after = (await get()).headers.etag;
  t.not(after, etag, "its state is another");
  const patch = (ifMatch: string) =>
    send("PATCH /webhooks/:webhook_id/", {
      url,
      as,
      body: { description: ifMatch },
      headers: { "if-match": ifMatch },
    });
  t.equal((await patch(etag!)).status, 200);
  t.equal((await patch(after!)).status, 412, "its settings are others");
});

// Checks the author that the log records for every route that writes.
// test/protocol/harness/rows.test.ts does the same for websocket commands.

/** Routes that append nothing, or under another author: uploads are logged as the uploader, a user. */
const OTHERS =
  /\/(storage\/\w+|tokens|setup|call\/join|livekit)\/$|\/(test|stop)$|^(POST|DELETE) \/api\/v1\/worlds\/(:world_id\/)?$/;

void t.test("the author of what a route appends is its caller", async (t) => {
  const { idsFor, room, routes, send, store, upload, holdCall } = await startPopulatedServer(t);
  const traits = ["admin", "api"];
  const { value: world } = (await store.worlds.get("demo"))!;
  // Without this setting, the call of the pretalx plugin is refused because it names another
  // schedule.
  const pretalx = { domain: "https://p.example", event: "demo" };
  await store.worlds.update("demo", { config: Object.assign({}, world.config, { pretalx }) });
  const person = { tokenId: "ada", traits: new Set(traits) };
  const { id: user } = await store.users.enter("demo", person);
  const as = (uid: string) => `Bearer ${tokenOf(keyOf("demo"), { uid, traits })}`;
  const headOf = async () => (await store.log.heads(["demo"]))[0]!.seq;
  const media = await upload(as("ada"));
  const added = await store.log.since("demo", (await headOf()) - 1, 1);
  t.match(added.entries, [{ type: "file.added", by: { kind: "user", user } }]);

  const callers: Record<string, (author: Author) => boolean> = {
    [as("ada")]: ({ kind, user: id }) => kind === "api" && id === user,
    [as("bob")]: ({ kind, user: id, token }) =>
      kind === "api" && id === undefined && /^[\da-f]{32}$/.test(token ?? ""),
    [admin("demo")]: ({ kind, token }) => kind === "api" && /^[\da-f]{32}$/.test(token ?? ""),
  };
  const writing = [...routes].filter(
    (route) =>
      /^(POST|PUT|PATCH|DELETE) /.test(route) && !OTHERS.test(route) && !ELSEWHERE.test(route),
  );
  t.ok(writing.length > 20, `${writing.length} routes`);
  for (const route of writing) {
    for (const [as, isCaller] of Object.entries(callers)) {
      // Sending messages requires a user, and only the first caller has one yet.
      if (route.includes("/messages/") && as !== Object.keys(callers)[0]) {
        continue;
      }
      const id = await room();
      const uid = randomUUID();
      const ids = await idsFor(route, id, uid);
      const ban = { body: { moderation_state: "banned" } };
      const erased = async () => {
        const visitor = { tokenId: uid, traits: new Set<string>() };
        await store.users.enter("demo", visitor);
        return { body: { token_id: uid } };
      };
      const more = route.endsWith("/:user_id/")
        ? ban
        : route.endsWith("/delete_user")
          ? await erased()
          : route.endsWith("/merge/")
            ? { body: { speaker_id: (await idsFor(route, id))["speaker_id"] } }
            : {};
      if (route.endsWith("/call/")) await holdCall(id);
      const head = await headOf();
      const url = urlOf(route, id, media, ids);
      const { status } = await send(route, { url, as, ...more });
      t.ok(status < 300, `${route}: ${status}`);
      const { entries } = await store.log.since("demo", head, 100);
      t.ok(entries.length > 0, `${route} appends`);
      for (const { type, by } of entries) {
        t.ok(isCaller(by), `${route}: ${type} by ${JSON.stringify(by)}`);
        t.notOk(JSON.stringify(by).includes("bob"), "no name");
      }
    }
  }
});
