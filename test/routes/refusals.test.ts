import t, { type Test } from "tap";
import {
  admin,
  type Answer,
  bearer,
  keyOf,
  serve,
  tokenOf,
} from "../helper.js";
import { ABSENT_ID, furnished, urlOf } from "../route-calls.js";

// How the API refuses: what is unknown, what is taken, and what is missing.

const PLAIN =
  '{"detail":"You do not have permission to perform this action.","code":"forbidden"}';

const base = "/api/v1/worlds/demo/";

const signed = (claims: Record<string, unknown>) =>
  `Bearer ${tokenOf(keyOf("demo"), claims)}`;
const host = signed({ uid: "u", traits: ["admin", "api"] });

void t.test("each operation refuses parameters that it lacks", async (t) => {
  const { routes, room, send, upload, idsFor } = await furnished(t);
  const media = await upload(host);
  const id = await room();
  const operations = [...routes].filter((route) =>
    /^(?!HEAD)\w+ \/api\/v1\/worlds\/:world_id\//.test(route),
  );
  t.ok(operations.length > 40);
  for (const route of operations) {
    if (/reports|^DELETE \S+:world_id\/$/.test(route)) continue;
    const url = urlOf(route, id, media, await idsFor(route, id));
    const query = "?pagesize=1&search%5B%5D=x";
    const got = await send(route, { url: url + query, as: host });
    t.equal(got.status, 400, route);
    t.strictSame(
      got.body,
      {
        pagesize: ["Unknown parameter."],
        "search[]": ["Unknown parameter."],
      },
      route,
    );
  }
  const stranger = { url: `${base}rooms/?pagesize=1`, as: bearer("demo", "x") };
  t.equal((await send("GET /x", stranger)).status, 403, "rights come first");
});

/** A server that makes what conflicts. */
async function setUp(t: Test) {
  const server = await serve(t);
  const call = (method: string, path: string, body?: object, as = host) =>
    server.call({ method, url: base + path, as, ...(body && { body }) });
  const idOf = ({ body }: Answer) => (body as { id: string }).id;
  return { ...server, call, idOf };
}

void t.test("what something else has is a conflict", async (t) => {
  const { call, idOf, store } = await setUp(t);
  for (const [path, name] of [
    ["sessions/", "session"],
    ["speakers/", "speaker"],
  ] as const) {
    const draft = { [name === "session" ? "title" : "name"]: "x" };
    await call("POST", path, { ...draft, import_id: "1" });
    const other = idOf(await call("POST", path, draft));
    const sentence = `Another ${name} has it already.`;
    const conflict = {
      status: 409,
      body: {
        ...{ detail: sentence, code: "conflict" },
        fields: { import_id: [sentence] },
      },
    };
    const again = { ...draft, import_id: "1" };
    t.match(await call("POST", path, again), conflict, path);
    const own = `${path}${other}/`;
    t.match(await call("PATCH", own, { import_id: "1" }), conflict, own);
    const both = { ...again, links: [{ title: "x", url: "http://^" }] };
    t.match(
      await call("POST", path, both),
      { status: 400, body: { import_id: [sentence] } },
      "with other faults it is invalid data",
    );
  }
  for (let i = 0; i < 20; i++) {
    const settings = {
      ...{ url: "https://example.org/", types: ["*"], enabled: false },
      description: "",
    };
    await store.webhooks.create("demo", settings, "");
  }
  const hook = { url: "https://1.1.1.1/", enabled: false };
  t.match(await call("POST", "webhooks/", hook), {
    status: 409,
    body: { detail: /at most 20 webhooks/, code: "quota" },
  });
  const types = await call("POST", "webhooks/", {
    ...hook,
    types: ["nope.*"],
  });
  t.match(types, { status: 400, body: { "types.0": [/Must be one of/] } });
});

void t.test("who may know reads what is missing", async (t) => {
  const { routes, room, closedRoom, send, upload } = await furnished(t);
  const media = await upload(host);
  const present = await room();
  const hidden = await closedRoom();
  // What is not there, of each route that names something.
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
    t.match(
      got.body,
      { detail: /^There is no such \w+\.$/, code: "missing" },
      route,
    );
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

void t.test("a message asks for a uid", async (t) => {
  const { call, store } = await setUp(t);
  const module_config = [{ type: "chat.native", config: {} }];
  const draft = { name: "Chat", module_config };
  const { value } = await store.rooms.create("demo", draft);
  const path = `rooms/${value.id}/messages/`;
  const body = { content: { type: "text", body: "x" } };
  const nameless = signed({ traits: ["admin", "api"] });
  t.match(await call("POST", path, body, nameless), {
    status: 403,
    body: { detail: /uid/, code: "forbidden" },
  });
});

void t.test("a room that is sent back keeps what it inherits", async (t) => {
  const { call, store } = await setUp(t);
  const { value } = await store.rooms.create("demo", { name: "Hall" });
  const own = `rooms/${value.id}/`;
  const before = await call("GET", own);
  const same = await call("PATCH", own, before.body as object);
  t.equal(same.headers.etag, before.headers.etag, "it is the same room");
  await call("PATCH", "", { domain: "new.example.org" });
  t.match((await call("GET", own)).body, { domain: "new.example.org" });
  await call("PATCH", own, { domain: "own.example.org" });
  await call("PATCH", "", { domain: "newer.example.org" });
  t.match((await call("GET", own)).body, { domain: "own.example.org" });
});

void t.test("times have one form", async (t) => {
  const { call } = await setUp(t);
  const good = ["2027-03-01T09:00:00Z", "2027-03-01t09:00:00.5%2b01:00"];
  const bad = [
    ...["2027-03-01", "2027-03-01T09:00", "2027-03-01 09:00:00Z"],
    ...["2027-03-01T24:00:00Z", "2027-02-30T09:00:00Z", ""],
  ];
  for (const [times, status] of [
    [good, 200],
    [bad, 400],
  ] as const) {
    for (const time of times) {
      for (const path of [
        `audit/?after=${time}`,
        `audit/?before=${time}`,
        `results/activity/?after=${time}`,
        `sessions/?from=${time}`,
      ]) {
        t.equal((await call("GET", path)).status, status, path);
      }
      const show_until = decodeURIComponent(time);
      const body = { text: "x", show_until };
      const made = await call("POST", "announcements/", body);
      t.equal(made.status, status === 200 ? 201 : 400, `"${show_until}"`);
    }
  }
});

void t.test("the better of two types is sent", async (t) => {
  const { call } = await serve(t);
  const head = async (accept: string) => {
    const request = {
      method: "HEAD",
      url: `${base}changes/`,
      as: admin("demo"),
    };
    const { headers } = await call({ ...request, headers: { accept } });
    return String(headers["content-type"]).split(";")[0];
  };
  const [stream, json] = ["text/event-stream", "application/json"];
  for (const [accept, type] of [
    [stream, stream],
    [`${stream}, ${json}`, stream],
    [`${json}, ${stream}`, json],
    [`${stream};q=0.5, ${json}`, json],
    [`${stream}; q=0.5, */*;q=0.4`, stream],
    [`${json};q=0.1, ${stream};q=0.2`, stream],
    [`${stream};q=0`, json],
  ] as const) {
    t.equal(await head(accept), type, accept);
  }
});
