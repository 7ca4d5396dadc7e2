import { once } from "node:events";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { pino } from "pino";
import t from "tap";
import type { Config } from "../../../config.js";
import { type Store, StoreError, type StoreProblem } from "../../../db/contract/store.js";
import { outageHooks } from "../../../plugins/logging.js";
import type { Room } from "../../../schemas/rooms.js";
import { admin, ask, dial, rawRequest, type Request, until } from "../../support/helper.js";
import { type Server, startServer } from "../../support/server.js";

// Behavior of every request: errors, headers, links, and input that is not HTTP.

const as = admin("demo");
const world = "/api/v1/worlds/demo/";
const rooms = `${world}rooms/`;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MIB = 1024 * 1024;

/** Creates a logger, along with the entries that it has written. */
function entriesOf(level = "debug", hooks = {}) {
  const entries: { level: number; msg: string; from?: string }[] = [];
  const write = (line: string) => void entries.push(JSON.parse(line) as (typeof entries)[0]);
  return { entries, logger: pino({ level, hooks }, { write }) };
}

/** Wraps a store so that listing rooms fails with the given error. */
const failing = (error: () => Error) => ({
  wrap: (store: Store): Store => ({
    ...store,
    rooms: { ...store.rooms, list: () => Promise.reject(error()) },
  }),
});

/** Returns the JSON of a room, exactly this many bytes long. */
const sized = (bytes: number) => {
  const shell = JSON.stringify({ name: "x", description: "" });
  return shell.replace('""', `"${"d".repeat(bytes - shell.length)}"`);
};

void t.test("what goes wrong before a route is asked", async (t) => {
  const { call } = await startServer(t);
  const post = { method: "POST", url: rooms, as };
  const body = { name: "x" };
  const typed = (type: string) => ({ ...post, body, headers: { "content-type": type } });
  const coded = (coding: string) => ({ ...post, body, headers: { "content-encoding": coding } });
  const media = (detail: string) => ({ detail, code: "unsupported_media_type" });
  const wrongType = media("The body must be JSON, sent with Content-Type: application/json.");
  const charset = media("The charset of the body must be UTF-8.");
  const coding = media("The body must not have a Content-Encoding.");
  const notFound = { detail: "Not found.", code: "not_found" };
  const tooLarge = { detail: "The body is too large.", code: "too_large" };
  const invalid = (detail: string | RegExp) => ({ detail, code: "invalid_json" });
  const own = { url: world, as, headers: { "x-request-id": "mine", "request-id": "x" } };
  const cases: [name: string, request: Request, status: number, answer: object | string][] = [
    ["the root", { url: "/" }, 404, notFound],
    ["an unknown path", { url: "/api/v1/x/" }, 404, notFound],
    [
      "one with a query and a body",
      { url: "/api/v1/?x=/healthz", method: "POST", body: "{" },
      404,
      notFound,
    ],
    ["no world", { url: "/api/v1/worlds/" }, 404, notFound],
    ["a path below a room", { url: `${rooms}x/y/`, as }, 404, notFound],
    [
      "a path that cannot be decoded",
      { url: "/api/v1/worlds/%zz/", as },
      400,
      { detail: "The path is not a valid URL.", code: "invalid_request" },
    ],
    ["health", { url: "/healthz" }, 200, {}],
    ["the id of a client", own, 200, {}],
    ["no token", { url: world }, 401, { code: "unauthenticated" }],
    ["PUT of a world", { method: "PUT", url: world, as, body }, 405, "GET, HEAD, PATCH"],
    [
      "DELETE of a world, without a token",
      { method: "DELETE", url: world },
      405,
      "GET, HEAD, PATCH",
    ],
    [
      "PATCH of the rooms, without the slash",
      { method: "PATCH", url: rooms.slice(0, -1), as },
      405,
      "GET, HEAD, POST",
    ],
    [
      "POST of a room",
      { method: "POST", url: `${rooms}x/?y=z`, as, body: "{" },
      405,
      "DELETE, GET, HEAD, PATCH",
    ],
    ["OPTIONS", { method: "OPTIONS", url: rooms }, 405, "GET, HEAD, POST"],
    ["POST of the health", { method: "POST", url: "/healthz" }, 405, "GET, HEAD"],
    ["text", typed("text/plain"), 415, wrongType],
    ["a form", typed("application/x-www-form-urlencoded"), 415, wrongType],
    ["a patch type", typed("application/merge-patch+json"), 415, wrongType],
    ["no type", typed(""), 415, wrongType],
    ["a type that is none", typed(";;"), 415, wrongType],
    ["another charset", typed("application/json; charset=latin1"), 415, charset],
    ["UTF-16", typed('application/json; a=b; CHARSET="utf-16"'), 415, charset],
    ["a second charset", typed("application/json;charset=utf-8;charset=x"), 415, charset],
    ["UTF-8 in quotes", typed('application/json; charset="UTF-8"'), 201, body],
    ["gzip", coded("gzip"), 415, coding],
    ["gzip, then nothing", coded("gzip, identity"), 415, coding],
    ["no coding", coded("Identity"), 201, body],
    ["JSON in capitals", typed("Application/JSON"), 201, body],
    ["JSON with a charset", typed("application/json;charset=utf-8"), 201, body],
    [
      "no body",
      { ...post, headers: { "content-type": "application/json" } },
      400,
      invalid("The body is empty, but JSON was expected."),
    ],
    ["half a body", { ...post, body: '{"name":' }, 400, invalid(/^The body is not valid JSON/)],
    ["a body of 1 MiB", { ...post, body: sized(MIB) }, 201, {}],
    ["a body of 1 MiB and a byte", { ...post, body: sized(MIB + 1) }, 413, tooLarge],
  ];
  const ids = new Set<string | undefined>();
  for (const [name, request, status, answer] of cases) {
    const got = await call(request);
    const { method = "GET" } = request;
    const refusal = { detail: `Method ${method} is not allowed here.`, code: "method_not_allowed" };
    const isRefused = typeof answer === "string";
    t.match(got, { status, body: isRefused ? refusal : answer }, name);
    if (isRefused) t.equal(got.headers.allow, answer, name);
    const type = /^application\/json/;
    t.match(got.headers, { "content-type": type, "x-content-type-options": "nosniff" }, name);
    t.match(got.headers["x-request-id"], UUID, name);
    ids.add(got.headers["x-request-id"]);
    t.notOk(got.headers["server"] ?? got.headers["x-powered-by"], name);
    if (status >= 400) t.strictSame(Object.keys(got.body as object), ["detail", "code"], name);
  }
  t.equal(ids.size, cases.length, "each request has an id of its own");
});

void t.test("the number that a trusted proxy has given", async (t) => {
  const { call } = await startServer(t, { config: { trustProxy: ["loopback"] } });
  const cases: [id: string, forwarded: string, kept: boolean][] = [
    ["1fcd218c90b54200a964bc7557f540c9", "192.0.2.1", true],
    ["edge:7.a_b-c", "192.0.2.1, 127.0.0.1", true],
    ["of-a-client", "", false],
    ["", "192.0.2.1", false],
    ["a b", "192.0.2.1", false],
    ['a"}', "192.0.2.1", false],
    ["x".repeat(129), "192.0.2.1", false],
    ["one, two", "192.0.2.1", false],
  ];
  for (const [id, forwarded, kept] of cases) {
    const from: Record<string, string> = forwarded === "" ? {} : { "x-forwarded-for": forwarded };
    const { headers } = await call({ url: world, as, headers: { "x-request-id": id, ...from } });
    t.match(headers["x-request-id"], kept ? id : UUID, id);
  }
});

void t.test("faults of the store and of the server", async (t) => {
  let fault: Error = new TypeError("the cause: /var/foyer.db");
  const { entries, logger } = entriesOf("info", outageHooks());
  const { app, call } = await startServer(t, { logger, faults: failing(() => fault) });
  const got = await call({ url: rooms, as });
  t.strictSame([got.status, got.body], [500, { detail: "Internal server error.", code: "fault" }]);
  t.notMatch(JSON.stringify(got.headers), /cause|foyer\.db/);
  const err = { type: "TypeError", message: "the cause: /var/foyer.db" };
  const expected = { level: 50, reqId: got.headers["x-request-id"], err };
  t.match(
    entries.find(({ level }) => level === 50),
    expected,
    "the log has it, under the number of the answer",
  );
  const cases: [StoreProblem, status: number, code: string, retryAfter?: string][] = [
    ["absent", 403, "missing"],
    ["busy", 503, "unavailable", "1"],
    ["full", 503, "unavailable", "60"],
    ["unusable", 503, "unavailable", "5"],
  ];
  for (const [problem, status, code, retryAfter] of cases) {
    fault = new StoreError(problem, "the cause");
    entries.length = 0;
    for (let i = 0; i < 10; i++) {
      const got = await call({ url: rooms, as });
      t.match(got, { status, body: { detail: /./, code } }, problem);
      t.notMatch(got.text, /cause/, problem);
      t.equal(got.headers["retry-after"], retryAfter, problem);
    }
  }
  const outages = entries.filter(({ msg }) => msg.startsWith("the storage refuses"));
  const msg = "the storage refuses: the cause";
  t.match(outages, [{ level: 40, problem: "unusable", msg, err: undefined }], "one line, no stack");
  app.log.error({ err: new Error("a fault of Foyer") }, "request failed");
  t.match(entries.at(-1), { level: 50, err: { stack: /a fault/ } });
});

void t.test("an answer that breaks off is for the operator to know", async (t) => {
  const { entries, logger } = entriesOf("info");
  const ends: Record<string, Error> = {
    fault: new Error("the disk failed"),
    gone: Object.assign(new Error("gone"), { code: "ERR_STREAM_PREMATURE_CLOSE" }),
  };
  async function* bytes(end: string) {
    yield "a";
    throw await Promise.resolve(ends[end]!);
  }
  const { app } = await startServer(t, {
    logger,
    extend: (app) =>
      app.get<{ Params: { end: string } }>(
        "/broken/:end",
        { config: { requires: "public" } },
        ({ params }, reply) => reply.send(Readable.from(bytes(params.end))),
      ),
  });
  entries.length = 0;
  for (const end of Object.keys(ends)) {
    await t.rejects(app.inject({ url: `/broken/${end}`, headers: { authorization: as } }));
  }
  const expected = { level: 40, reqId: UUID, err: { message: "the disk failed" } };
  t.match(entries, [expected], "that a client went away is nothing to write of");
  t.equal(entries.length, 1);
  t.notMatch(JSON.stringify(entries), as, "no header");
});

void t.test("a search whose client leaves is no failure", async (t) => {
  for (const problem of ["busy", "unusable"] as const) {
    let asked = false;
    let ended = false;
    const list: Store["rooms"]["list"] = (_world, { signal }) =>
      new Promise((_resolve, reject) => {
        asked = true;
        signal!.addEventListener("abort", () => {
          ended = true;
          reject(new StoreError(problem, "The caller of this search has left."));
        });
      });
    const wrap = (store: Store): Store => ({ ...store, rooms: { ...store.rooms, list } });
    const { entries, logger } = entriesOf();
    const { close, port } = await startServer(t, { faults: { wrap }, logger });
    const wire = dial(t, port);
    wire.send(rawRequest(`GET ${rooms}?search=x`, { Authorization: as }));
    await until(() => asked);
    wire.hangUp();
    await until(() => ended);
    await close();
    const failed = entries.filter(({ level }) => level >= 50);
    t.equal(failed.length, problem === "busy" ? 0 : 1, problem);
  }
});

void t.test("whose word counts for where a request comes from", async (t) => {
  const forwarded = {
    host: "10.0.0.5",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "rooms.example.org",
  };
  const [forged, chain] = ["203.0.113.9", "203.0.113.9, 198.51.100.7"].map((from) => ({
    "x-forwarded-for": from,
  }));
  const loopback = { trustProxy: ["loopback"] };
  const own = "127.0.0.1";
  const host = "http://localhost:8375";
  const scheme = (name: string) => ({ "x-forwarded-proto": name });
  // Requests come from 127.0.0.1. Links begin with `base`; if it is undefined, the request is
  // rejected.
  const cases: [
    name: string,
    config: Partial<Config>,
    headers: object | undefined,
    base: string | undefined,
    from: string | undefined,
  ][] = [
    ["a name", {}, { host: "localhost" }, "http://localhost", own],
    ["a port", {}, { host: "a.org:81" }, "http://a.org:81", own],
    ["IPv6", {}, { host: "[::1]:8375" }, "http://[::1]:8375", own],
    ["nobody's proxy", {}, forwarded, "http://10.0.0.5", own],
    ["another proxy", { trustProxy: ["10.0.0.0/8"] }, forwarded, "http://10.0.0.5", own],
    ["a neighbour", { trustProxy: ["127.0.0.2"] }, forwarded, "http://10.0.0.5", own],
    ["a proxy", loopback, forwarded, "https://rooms.example.org", own],
    [
      "a proxy and a port",
      loopback,
      { ...forwarded, "x-forwarded-host": "rooms.org:444" },
      "https://rooms.org:444",
      own,
    ],
    [
      "a public address",
      { publicUrl: "https://x.org/foyer", ...loopback },
      forwarded,
      "https://x.org/foyer",
      own,
    ],
    ["https", loopback, scheme("https"), "https://localhost:8375", own],
    ["the last of two", loopback, scheme("http, https"), "https://localhost:8375", own],
    ["javascript", loopback, scheme("javascript"), undefined, own],
    ["a link as a scheme", loopback, scheme("https://evil.org/?"), undefined, own],
    ["capitals", loopback, scheme("HTTPS"), undefined, own],
    ["nobody's address", {}, forged, host, own],
    ["another proxy's", { trustProxy: ["10.0.0.0/8"] }, forged, host, own],
    ["a neighbour's", { trustProxy: ["127.0.0.2"] }, forged, host, own],
    ["the proxy's", loopback, forged, host, "203.0.113.9"],
    ["the proxy's, of a client that forged more", loopback, chain, host, "198.51.100.7"],
    ["two proxies'", { trustProxy: ["127.0.0.1", "198.51.100.0/24"] }, chain, host, "203.0.113.9"],
    ["no address", loopback, { "x-forwarded-for": "\u009b31m admin logged in" }, host, undefined],
  ];
  const { entries, logger } = entriesOf();
  const servers = new Map<string, Server>();
  for (const [name, config, headers, base, from] of cases) {
    const key = JSON.stringify(config);
    const server = servers.get(key) ?? (await startServer(t, { config, logger }));
    servers.set(key, server);
    const { call } = server;
    entries.length = 0;
    const request = { as, headers: headers as Record<string, string> };
    const made = await call({ ...request, method: "POST", url: rooms, body: { name } });
    await until(() => entries.some(({ msg }) => msg === "request"));
    t.equal(entries.find(({ msg }) => msg === "request")?.from, from, name);
    t.equal(made.status, base === undefined ? 400 : 201, name);
    if (base === undefined) continue;
    t.equal(made.headers.location, `${base}${rooms}${(made.body as Room).id}/`, name);
    await call({ ...request, method: "POST", url: rooms, body: { name } });
    const list = await call({ ...request, url: `${rooms}?page_size=1` });
    t.match(list.body, { next: `${base}${rooms}?page_size=1&page=2` }, name);
  }
});

void t.test("paths that are secrets are not logged", async (t) => {
  const { entries, logger } = entriesOf();
  const { call } = await startServer(t, { logger });
  const secret = "c2VjcmV0";
  for (const [url, path] of [
    [`/login/${secret}.${secret}.${secret}`, "/login/…"],
    [`/%6cogin/${secret}.${secret}.${secret}?a`, "/login/…"],
    [`/j/${secret}`, "/j/…"],
    [`/api/v1/worlds/demo/reports/${secret}/`, "/api/v1/worlds/demo/reports/…"],
    [`/w/demo/mails/${secret}/stop`, "/w/demo/mails/…"],
    [`/media/pub/demo/x?${secret}`, "/media/pub/demo/x"],
  ] as const) {
    entries.length = 0;
    await call({ url });
    await until(() => entries.some(({ msg }) => msg === "request"));
    t.match(entries, [{ path }], url);
    t.notMatch(JSON.stringify(entries), secret, url);
  }
});

const upload = "/storage/upload/";
const app = "https://app.example.org";
const other = "https://evil.example.org";

const preflight = (url: string, origin: string, method = "PATCH"): Request => ({
  method: "OPTIONS",
  url,
  headers: {
    origin,
    "access-control-request-method": method,
    "access-control-request-headers": "authorization,content-type",
  },
});

void t.test("who may call from a browser", async (t) => {
  const list = [app, "http://localhost:3000"];
  const get = (origin: string): Request => ({ url: world, as, headers: { origin } });
  const put = (url: string, method: string): Request => ({ method, url, as });
  const none = undefined;
  const cases: [
    name: string,
    origins: string[] | "*" | undefined,
    request: Request,
    status: number,
    allowed: string | undefined,
  ][] = [
    ["nobody by default", none, get(app), 200, none],
    ["no preflight by default", none, preflight(world, app), 405, none],
    ["one of a list", list, get(app), 200, app],
    ["another of a list", list, get("http://localhost:3000"), 200, "http://localhost:3000"],
    ["none of a list", list, get(other), 200, none],
    ["a longer name", list, get(`${app}.evil.org`), 200, none],
    ["another scheme", list, get(app.replace("https", "http")), 200, none],
    ["anybody", "*", get(other), 200, "*"],
    ["no browser", list, { url: world, as }, 200, none],
    ["an error, so that it can be read", list, { ...get(app), as: undefined }, 401, app],
    ["an unknown path", list, { ...get(app), url: "/api/v1/x" }, 404, app],
    ["a wrong method", list, { ...get(app), method: "PUT" }, 405, app],
    ["a preflight", list, preflight(world, app), 204, app],
    ["a preflight of an upload", list, preflight(upload, app, "POST"), 204, app],
    ["a preflight without a slash", list, preflight("/storage/upload", app), 204, app],
    ["a preflight for anybody", "*", preflight(world, other), 204, "*"],
    ["a preflight of a stranger", list, preflight(world, other), 204, none],
    ["a preflight of nothing", list, preflight("/nowhere", app), 404, none],
    ["OPTIONS", list, { method: "OPTIONS", url: world }, 405, none],
    ...([none, "*"] as const).flatMap(
      (origins): [string, typeof origins, Request, number, string | undefined][] => [
        [`PUT with ${origins}`, origins, put(world, "PUT"), 405, origins],
        [`DELETE with ${origins}`, origins, put(upload, "DELETE"), 405, origins],
        [`TRACE with ${origins}`, origins, put(world, "TRACE"), 405, origins],
        [`POST with ${origins}`, origins, put("/nowhere", "POST"), 404, origins],
      ],
    ),
  ];
  const servers = new Map<unknown, Promise<Server>>();
  for (const [name, corsOrigins, request, status, allowed] of cases) {
    const server = servers.get(corsOrigins) ?? startServer(t, { config: { corsOrigins } });
    servers.set(corsOrigins, server);
    const { headers, ...got } = await (await server).call(request);
    t.equal(got.status, status, name);
    t.equal(headers["access-control-allow-origin"], allowed, name);
    t.match(headers["x-request-id"], UUID, name);
    if (status >= 400) t.match(got.body, { detail: /./ }, name);
    const allow = request.url.startsWith("/storage") ? "POST" : "GET, HEAD, PATCH";
    t.equal(headers.allow, status === 405 ? allow : undefined, name);
    if (corsOrigins === undefined) {
      const cors = Object.keys(headers).filter((name) => name.startsWith("access-control-"));
      t.strictSame([cors, headers.vary], [[], undefined], name);
    }
    // Otherwise, a cache could serve one origin the response meant for another.
    if (Array.isArray(corsOrigins) && status < 300) t.equal(headers.vary, "Origin", name);
    t.equal(headers["access-control-allow-credentials"], undefined, name);
  }
  const { call } = await servers.get(list)!;
  const asked = await call(preflight(world, app));
  t.equal(asked.text, "");
  t.match(asked.headers, {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": /Authorization, Content-Type, If-Match.*Last-Event-ID/,
  });
  const { headers } = await call(get(app));
  t.equal(headers["access-control-expose-headers"], "ETag, Location, X-Request-Id, Retry-After");
});

const json = { Authorization: as, "Content-Type": "application/json" };

const post = (name: string) => {
  const body = JSON.stringify({ name });
  return rawRequest(`POST ${rooms}`, { ...json, "Content-Length": String(body.length) }, body);
};

void t.test("what was asked before nonsense is answered first", async (t) => {
  const { port, call } = await startServer(t);
  const nonsense = "NONSENSE\r\n\r\n";
  const chunked = { ...json, "Transfer-Encoding": "chunked" };
  const brokenChunk = rawRequest(`POST ${rooms}`, chunked, "zz\r\n");
  const lengths = { "Content-Length": "1", "content-length": "2" };
  const both = { "Content-Length": "1", "Transfer-Encoding": "chunked" };
  const cases: [name: string, sent: string, statuses: number[]][] = [
    ["nonsense", nonsense, [400]],
    ["hello", "hello\r\n\r\n", [400]],
    ["TLS", "\x16\x03\x01\x02\x00\x01\r\n\r\n", [400]],
    ["an unknown method", rawRequest("FETCH /"), [400]],
    ["a header without a name", rawRequest("GET /", { "": "x" }), [400]],
    ["two lengths", rawRequest("POST /", lengths), [400]],
    ["a length and chunks", rawRequest("POST /", both), [400]],
    ["headers without end", rawRequest("GET /", { X: "x".repeat(2e4) }), [431]],
    ["one write", post("a") + nonsense, [201, 400]],
    ["three", post("b") + post("c") + post("d") + nonsense, [201, 201, 201, 400]],
    ["a chunk that is none", brokenChunk, [400]],
    ["a write, then such a chunk", post("e") + brokenChunk, [201, 400]],
    ["refused, then nonsense", rawRequest("GET /x") + nonsense, [404, 400]],
    ["CONNECT", rawRequest("CONNECT a.org:443"), [400]],
    ["a write, then CONNECT", post("e2") + rawRequest("CONNECT a.org:443"), [201, 400]],
    ["more nonsense", post("f") + nonsense.repeat(99), [201, 400]],
  ];
  for (const [name, sent, statuses] of cases) {
    const wire = dial(t, port);
    wire.send(sent);
    for (const status of statuses) {
      const { text, headers, ...got } = await wire.answer();
      t.equal(got.status, status, name);
      t.match(headers, { "content-type": /^application\/json/, "x-request-id": UUID }, name);
      const body = JSON.parse(text) as object;
      if (/400|431/.test(String(status))) {
        t.match(body, { detail: /^[A-Z].*\.$/, code: "invalid_request" }, name);
      }
    }
    await t.rejects(wire.answer(), /ended/, `${name}: and then it hangs up`);
  }
  const { body } = await call({ url: `${rooms}?ordering=name`, as });
  const names = (body as { results: { name: string }[] }).results.map(({ name }) => name);
  t.same(names, ["a", "b", "c", "d", "e", "e2", "f"], "what was answered with 201 is there");
});

void t.test("one Host, or none before HTTP/1.1", async (t) => {
  const { port, store } = await startServer(t);
  for (const name of ["a", "b"]) await store.rooms.create("demo", { name });
  const get = (target: string, version: string, ...hosts: string[]) => {
    const lines = hosts.map((host) => `Host: ${host}`);
    return [`GET ${target} HTTP/${version}`, ...lines, `Authorization: ${as}`, "\r\n"].join("\r\n");
  };
  const list = `${rooms}?page_size=1`;
  const absolute = `"next":"http://b.org${list}&page=2"`;
  const password = get(`http://a.org@b.org${list}`, "1.1", "a.org");
  const cases: [name: string, sent: string, status: number, answer: RegExp | string][] = [
    ["none", get(world, "1.1"), 400, /one Host/],
    ["none at /healthz", get("/healthz", "1.1"), 400, /one Host/],
    ["none in HTTP/1.0", get(world, "1.0"), 200, /"demo"/],
    ["none, for a link", get(list, "1.0"), 400, /valid host name/],
    ["an empty one", get(list, "1.1", ""), 400, /Host/],
    ["two", get(world, "1.1", "a.org", "b.org"), 400, /one Host/],
    ["the same twice", get(world, "1.1", "a.org", "a.org"), 400, /one Host/],
    ["one", get(list, "1.1", "a.org"), 200, /"next":"http:\/\/a\.org\/api\/v1/],
    ["a port that is none", get(list, "1.1", "a.org:65536"), 400, /host name/],
    ["a target in absolute form", get(`http://b.org${list}`, "1.1", "a.org"), 200, absolute],
    ["a name and a password before it", password, 400, /valid host name/],
    ["no path behind it", get("http://b.org", "1.1", "a.org"), 404, /found/],
    ["another scheme", get(`ftp://b.org${world}`, "1.1", "a.org"), 404, /./],
  ];
  for (const [name, sent, status, text] of cases) {
    t.match(await ask(t, port, sent), { status, text }, name);
  }
});

void t.test("headers, trailers, codings and expectations", async (t) => {
  const { port, store } = await startServer(t);
  const { value: room } = await store.rooms.create("demo", { name: "a" });
  /** Adds a header to a raw request, after three thousand others. */
  const behind = (text: string, header: string) =>
    text
      .replace("\r\n", `\r\n${"a:\r\n".repeat(3000)}`)
      .replace("\r\n\r\n", `\r\n${header}\r\n\r\n`);
  const remove = rawRequest(`DELETE ${rooms}${room.id}/`, { Authorization: as });
  const get = rawRequest(`GET ${world}`, { Authorization: as });
  const tea = rawRequest(`GET ${world}`, { Authorization: as, Expect: "tea" });
  const chunked = (headers: object, trailer: string) =>
    rawRequest(
      `POST ${rooms}`,
      { "Content-Type": "application/json", "Transfer-Encoding": "chunked", ...headers },
      `c\r\n{"name":"x"}\r\n0\r\n${trailer}\r\n\r\n`,
    );
  const cases: [name: string, sent: string, status: number][] = [
    ["a stale If-Match", behind(remove, 'If-Match: "stale"'), 412],
    ["an If-Match in two lines", behind(remove, 'If-Match: "x"\r\nIf-Match: "y"'), 412],
    ["a second Authorization", behind(remove, `Authorization: ${as}`), 400],
    ["a second Host", behind(remove, "Host: localhost"), 400],
    ["a second type", behind(post("x"), "Content-Type: text/plain"), 400],
    ["a known version", behind(get, "If-None-Match: *"), 304],
    ["the caller in a trailer", chunked({}, `Authorization: ${as}`), 401],
    ["another caller", chunked({ Authorization: as }, "Authorization: Bearer x"), 201],
    ["another type", chunked(json, "Content-Type: text/plain"), 201],
    ["a coding", chunked(json, "A: b").replace("chunked", "gzip, chunked"), 415],
    ["an unknown expectation", tea, 200],
  ];
  for (const [name, sent, status] of cases) {
    t.equal((await ask(t, port, sent)).status, status, name);
  }
});

void t.test("a Host that is no host is refused on every path", async (t) => {
  const { port, call } = await startServer(t);
  const form = { "Content-Type": "multipart/form-data; boundary=x" };
  const length = { "Content-Length": "900000" };
  const requests: [line: string, headers: object][] = [
    ["POST /storage/upload/", { Authorization: "Client guest", ...form, ...length }],
    [`POST ${rooms}`, { ...json, ...length }],
    [`GET ${world}`, json],
    ["GET /media/pub/demo/x.png", {}],
    ["GET /healthz", {}],
  ];
  const detail = "The Host header must be a valid host name.";
  const hosts = ["a:99999", "a b", "a/b", "x@a", "[::", "a:1:2", "evil.org/x?", "a.org:123456"];
  for (const Host of hosts) {
    for (const [line, headers] of requests) {
      const { status, text } = await ask(t, port, rawRequest(line, { ...headers, Host }));
      t.equal(status, 400, `${line}: ${Host}, before its body`);
      t.match(JSON.parse(text), { detail, code: "invalid_request" });
    }
  }
  // HTTP/1.0 does not require a Host header, but without one, the response cannot link to the new
  // room.
  const none = post("x")
    .replace("HTTP/1.1", "HTTP/1.0")
    .replace(/Host:.*\r\n/, "");
  t.equal((await ask(t, port, none)).status, 400);
  t.match(await call({ url: rooms, as }), { body: { count: 0 } }, "and nothing was made");

  const socket = connect(port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  let received = "";
  socket.on("data", (bytes) => (received += bytes.toString("latin1")));
  const closed = once(socket, "close");
  const { Authorization: _, ...nobody } = json;
  socket.write(rawRequest(`POST ${rooms}`, { ...nobody, "Content-Length": "100" }, '{"name":'));
  await once(socket, "data");
  socket.end();
  await closed;
  t.strictSame(received.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 401"], "a half-closed connection");
});
