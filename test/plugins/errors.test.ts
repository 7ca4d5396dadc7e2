import { configOf } from "../stack.js";
import { Readable, Writable } from "node:stream";
import pino from "pino";
import t from "tap";
import { createApp } from "../../app.js";
import { loadConfig } from "../../config.js";
import { outageHooks } from "../../plugins/outages.js";
import {
  StoreError,
  type Store,
  type StoreProblem,
} from "../../db/contract/store.js";
import {
  admin,
  call as callApp,
  dial,
  listen,
  rawRequest,
  serve,
  type Request,
  worldOf,
} from "../helper.js";
import { testdir } from "../testdir.js";

const as = admin("demo");
const world = "/api/v1/worlds/demo/";
const rooms = `${world}rooms/`;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MIB = 1024 * 1024;

/** JSON of a room whose body has exactly this many bytes. */
const sized = (bytes: number) => {
  const shell = JSON.stringify({ name: "x", description: "" });
  return shell.replace('""', `"${"d".repeat(bytes - shell.length)}"`);
};

type Case = [
  name: string,
  request: Request,
  status: number,
  answer: object,
  headers?: Record<string, string>,
];

void t.test("what goes wrong before a route is asked", async (t) => {
  const { call } = await serve(t);
  const wrongType = {
    detail: "The body must be JSON, sent with Content-Type: application/json.",
    code: "unsupported_media_type",
  };
  const post = { method: "POST", url: rooms, as };
  const body = { name: "x" };
  const typed = (type: string) => ({
    ...post,
    body,
    headers: { "content-type": type },
  });
  const coded = (coding: string) => ({
    ...post,
    body,
    headers: { "content-encoding": coding },
  });
  const code = "unsupported_media_type";
  const charset = { detail: "The charset of the body must be UTF-8.", code };
  const coding = { detail: "The body may have no Content-Encoding.", code };
  const notAllowed = (method: string) => ({
    detail: `Method ${method} is not allowed here.`,
    code: "method_not_allowed",
  });

  const notFound = { detail: "Not found.", code: "not_found" };

  const cases: Case[] = [
    ["the root", { url: "/" }, 404, notFound],
    ["an unknown path", { url: "/api/v1/x/" }, 404, notFound],
    [
      "an unknown path, with a query and a body",
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
    [
      "PUT of a world",
      { method: "PUT", url: world, as, body },
      405,
      notAllowed("PUT"),
      { allow: "GET, HEAD, PATCH" },
    ],
    [
      "DELETE of a world, without a token",
      { method: "DELETE", url: world },
      405,
      notAllowed("DELETE"),
      { allow: "GET, HEAD, PATCH" },
    ],
    [
      "PATCH of the rooms, without the slash",
      { method: "PATCH", url: rooms.slice(0, -1), as },
      405,
      notAllowed("PATCH"),
      { allow: "GET, HEAD, POST" },
    ],
    [
      "POST of a room",
      { method: "POST", url: `${rooms}x/?y=z`, as, body: "{" },
      405,
      notAllowed("POST"),
      { allow: "DELETE, GET, HEAD, PATCH" },
    ],
    [
      "OPTIONS",
      { method: "OPTIONS", url: rooms },
      405,
      notAllowed("OPTIONS"),
      { allow: "GET, HEAD, POST" },
    ],
    [
      "POST of the health",
      { method: "POST", url: "/healthz" },
      405,
      notAllowed("POST"),
      { allow: "GET, HEAD" },
    ],
    ["text", typed("text/plain"), 415, wrongType],
    ["a form", typed("application/x-www-form-urlencoded"), 415, wrongType],
    ["a patch type", typed("application/merge-patch+json"), 415, wrongType],
    ["no type", typed(""), 415, wrongType],
    ["a type that is none", typed(";;"), 415, wrongType],
    [
      "another charset",
      typed("application/json; charset=latin1"),
      415,
      charset,
    ],
    ["UTF-16", typed('application/json; a=b; CHARSET="utf-16"'), 415, charset],
    [
      "a second charset",
      typed("application/json;charset=utf-8;charset=x"),
      415,
      charset,
    ],
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
      {
        detail: "The body is empty, and JSON was expected.",
        code: "invalid_json",
      },
    ],
    [
      "half a body",
      { ...post, body: '{"name":' },
      400,
      { detail: /^The body is not valid JSON/, code: "invalid_json" },
    ],
    ["a body of 1 MiB", { ...post, body: sized(MIB) }, 201, {}],
    [
      "a body of 1 MiB and a byte",
      { ...post, body: sized(MIB + 1) },
      413,
      { detail: "The body is too large.", code: "too_large" },
    ],
  ];
  for (const [name, request, status, answer, headers = {}] of cases) {
    const got = await call(request);
    t.equal(got.status, status, name);
    t.match(got.body, answer, name);
    t.match(got.headers, headers, name);
    t.match(got.headers["x-request-id"], UUID, name);
    t.match(got.headers["content-type"], /^application\/json/, name);
    t.equal(got.headers["x-content-type-options"], "nosniff", name);
    t.notOk(got.headers["server"] ?? got.headers["x-powered-by"], name);
    if (status >= 400) {
      t.strictSame(Object.keys(got.body as object), ["detail", "code"], name);
    }
  }
});

void t.test("every answer carries a number of its own", async (t) => {
  const { call } = await serve(t);
  const requests: Request[] = [
    { url: "/healthz" },
    { url: world, as },
    { url: world },
    { url: "/x" },
    { url: rooms, as, method: "POST", body: {} },
    // No client chooses the number that its request has in the log.
    { url: world, as, headers: { "x-request-id": "mine", "request-id": "x" } },
  ];
  const ids = new Set<string | undefined>();
  for (const request of requests) {
    const { headers } = await call(request);
    t.match(headers["x-request-id"], UUID);
    ids.add(headers["x-request-id"]);
  }
  t.equal(ids.size, requests.length);
});

void t.test("the number that a trusted proxy has given", async (t) => {
  const config = { trustProxy: ["loopback"] };
  const { call } = await serve(t, [worldOf("demo")], { config });
  const cases: [id: string, forwarded: string | undefined, kept: boolean][] = [
    ["1fcd218c90b54200a964bc7557f540c9", "192.0.2.1", true],
    ["edge:7.a_b-c", "192.0.2.1, 127.0.0.1", true],
    ["of-a-client", undefined, false],
    ["", "192.0.2.1", false],
    ["a b", "192.0.2.1", false],
    ['a"}', "192.0.2.1", false],
    ["x".repeat(129), "192.0.2.1", false],
    ["one, two", "192.0.2.1", false],
  ];
  for (const [id, forwarded, kept] of cases) {
    const { headers } = await call({
      url: world,
      as,
      headers: {
        "x-request-id": id,
        ...(forwarded !== undefined && { "x-forwarded-for": forwarded }),
      },
    });
    t.match(headers["x-request-id"], kept ? id : UUID, id);
  }
});

void t.test("an outage is one line, and no stack", async (t) => {
  const lines: string[] = [];
  const hooks = outageHooks();
  const logger = pino({ hooks }, { write: (line) => lines.push(line) });
  const lost = () => new StoreError("unusable", "It cannot be reached.");
  const { app } = await serve(t, [worldOf("demo")], {
    logger,
    wrap: failing(lost),
  });
  for (let i = 0; i < 10; i++) {
    t.equal((await callApp(app, { url: rooms, as })).status, 503);
  }
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0]!), {
    level: 40,
    problem: "unusable",
    msg: "the storage refuses: It cannot be reached.",
    err: undefined,
  });
  app.log.error({ err: new Error("a fault of Foyer") }, "request failed");
  t.match(JSON.parse(lines[1]!), { level: 50, err: { stack: /a fault/ } });
});

/** A store whose list of rooms fails in a way that a test says. */
const failing = (error: () => Error) => (store: Store) => ({
  ...store,
  rooms: { ...store.rooms, list: () => Promise.reject(error()) },
});

void t.test("a fault of the server's own stays its own", async (t) => {
  let log = "";
  const stream = new Writable({
    write(line, _, done) {
      log += String(line);
      done();
    },
  });
  const { call } = await serve(t, undefined, {
    logger: pino({}, stream),
    wrap: failing(() => new TypeError("the cause: /var/foyer.db")),
  });
  const got = await call({ url: rooms, as });
  t.equal(got.status, 500);
  t.strictSame(got.body, {
    detail: "Internal server error.",
    code: "fault",
  });
  t.notMatch(JSON.stringify(got.headers), /cause|foyer\.db/);

  const line = log.split("\n").find((text) => text.includes("the cause"));
  t.match(
    line && JSON.parse(line),
    {
      level: 50,
      reqId: got.headers["x-request-id"],
      err: { type: "TypeError", message: "the cause: /var/foyer.db" },
    },
    "the log has it, under the number of the answer",
  );
});

void t.test(
  "an answer that breaks off is for the operator to know",
  async (t) => {
    let log = "";
    const stream = { write: (text: string) => void (log += text) };
    const logger = pino({}, stream);
    const app = createApp({
      config: { ...loadConfig({}), ...(await configOf(testdir(t))) },
      logger,
    });
    t.teardown(() => app.close());
    const ends: Record<string, Error> = {
      fault: new Error("the disk failed"),
      gone: Object.assign(new Error("gone"), {
        code: "ERR_STREAM_PREMATURE_CLOSE",
      }),
    };
    app.get<{ Params: { end: string } }>(
      "/broken/:end",
      { config: { requires: "public" } },
      (request, reply) => {
        async function* bytes() {
          yield "a";
          throw await Promise.resolve(ends[request.params.end]!);
        }
        return reply.send(Readable.from(bytes()));
      },
    );
    for (const end of Object.keys(ends)) {
      await t.rejects(
        app.inject({ url: `/broken/${end}`, headers: { authorization: as } }),
      );
    }
    const lines = log.trim().split("\n");
    t.equal(lines.length, 1, "that a client went away is nothing to write of");
    t.match(JSON.parse(lines[0]!), {
      level: 40,
      reqId: /^[0-9a-f-]{36}$/,
      err: { message: "the disk failed" },
    });
    t.notMatch(log, as, "no header");
  },
);

void t.test("what a store may answer", async (t) => {
  let problem: StoreProblem = "busy";
  const { call } = await serve(t, undefined, {
    wrap: failing(() => new StoreError(problem, "the cause")),
  });
  const cases: [
    StoreProblem,
    status: number,
    code: string,
    retryAfter?: string,
  ][] = [
    ["absent", 403, "missing"],
    ["busy", 503, "unavailable", "1"],
    ["full", 503, "unavailable", "60"],
    ["unusable", 503, "unavailable", "5"],
  ];
  for (const [next, status, code, retryAfter] of cases) {
    problem = next;
    const got = await call({ url: rooms, as });
    t.equal(got.status, status, problem);
    t.match(got.body, { detail: /./, code }, problem);
    t.notMatch(got.text, /cause/, problem);
    t.equal(got.headers["retry-after"], retryAfter, problem);
  }
});

void t.test("what is no HTTP gets an error like all others", async (t) => {
  const { app } = await serve(t);
  const port = await listen(app);
  const cases: [name: string, sent: string, status: number][] = [
    ["nonsense", "hello\r\n\r\n", 400],
    ["TLS", "\x16\x03\x01\x02\x00\x01\r\n\r\n", 400],
    ["an unknown method", rawRequest("FETCH /"), 400],
    ["a header without a name", rawRequest("GET /", { "": "x" }), 400],
    [
      "two lengths",
      rawRequest("POST /", { "Content-Length": "1", "content-length": "2" }),
      400,
    ],
    [
      "a length and chunks",
      rawRequest("POST /", {
        "Content-Length": "1",
        "Transfer-Encoding": "chunked",
      }),
      400,
    ],
    ["headers without end", rawRequest("GET /", { X: "x".repeat(2e4) }), 431],
  ];
  for (const [name, sent, status] of cases) {
    const wire = dial(t, port);
    wire.send(sent);
    const got = await wire.answer();
    t.equal(got.status, status, name);
    t.match(got.headers["content-type"], /^application\/json/, name);
    t.match(got.headers["x-request-id"], UUID, name);
    t.match(
      JSON.parse(got.text),
      { detail: /^[A-Z].*\.$/, code: "invalid_request" },
      name,
    );
  }
  const wire = dial(t, port);
  wire.send(rawRequest("GET /healthz"));
  t.equal((await wire.answer()).status, 200, "and the server goes on");
});
