import t from "tap";
import { admin, serve, type Request, type TestServer } from "../helper.js";

const as = admin("demo");
const world = "/api/v1/worlds/demo/";
const upload = "/storage/upload/";
const app = "https://app.example.org";
const other = "https://evil.example.org";

/** What a browser asks before it sends what could not come from a form. */
const preflight = (url: string, origin: string, method = "PATCH"): Request => ({
  method: "OPTIONS",
  url,
  headers: {
    origin,
    "access-control-request-method": method,
    "access-control-request-headers": "authorization,content-type",
  },
});

const corsHeaders = (headers: Record<string, string | undefined>) =>
  Object.keys(headers).filter((name) => name.startsWith("access-control-"));

void t.test("who may call from a browser", async (t) => {
  const list = [app, "http://localhost:3000"];
  const get = (origin: string): Request => ({
    url: world,
    as,
    headers: { origin },
  });
  const cases: [
    name: string,
    origins: string[] | "*" | undefined,
    request: Request,
    status: number,
    allowed: string | undefined,
  ][] = [
    ["nobody by default", undefined, get(app), 200, undefined],
    [
      "no preflight by default",
      undefined,
      preflight(world, app),
      405,
      undefined,
    ],
    ["one of a list", list, get(app), 200, app],
    [
      "another of a list",
      list,
      get("http://localhost:3000"),
      200,
      "http://localhost:3000",
    ],
    ["none of a list", list, get(other), 200, undefined],
    ["a longer name", list, get(`${app}.evil.org`), 200, undefined],
    ["another scheme", list, get(app.replace("https", "http")), 200, undefined],
    ["anybody", "*", get(other), 200, "*"],
    ["no browser", list, { url: world, as }, 200, undefined],
    [
      "an error, so that it can be read",
      list,
      { ...get(app), as: undefined },
      401,
      app,
    ],
    ["an unknown path", list, { ...get(app), url: "/api/v1/x" }, 404, app],
    ["a wrong method", list, { ...get(app), method: "PUT" }, 405, app],
    ["a preflight", list, preflight(world, app), 204, app],
    [
      "a preflight of an upload",
      list,
      preflight(upload, app, "POST"),
      204,
      app,
    ],
    [
      "a preflight without a slash",
      list,
      preflight("/storage/upload", app),
      204,
      app,
    ],
    ["a preflight for anybody", "*", preflight(world, other), 204, "*"],
    [
      "a preflight of a stranger",
      list,
      preflight(world, other),
      204,
      undefined,
    ],
    [
      "a preflight of nothing",
      list,
      preflight("/nowhere", app),
      404,
      undefined,
    ],
    ["OPTIONS", list, { method: "OPTIONS", url: world }, 405, undefined],
  ];
  const servers = new Map<unknown, Promise<TestServer>>();
  for (const [name, corsOrigins, request, status, allowed] of cases) {
    const server =
      servers.get(corsOrigins) ??
      serve(t, undefined, { config: { corsOrigins } });
    servers.set(corsOrigins, server);
    const got = await (await server).call(request);
    t.equal(got.status, status, name);
    t.equal(got.headers["access-control-allow-origin"], allowed, name);
    t.match(got.headers["x-request-id"], /^[0-9a-f-]{36}$/, name);
    if (status >= 400) t.match(got.body, { detail: /./ }, name);
    if (status === 405) t.match(got.headers.allow, /GET, HEAD, PATCH/, name);
    if (corsOrigins === undefined) {
      t.strictSame(corsHeaders(got.headers), [], name);
      t.equal(got.headers.vary, undefined, name);
    }
    // Otherwise a cache could give one origin the answer to another.
    if (Array.isArray(corsOrigins) && status < 300) {
      t.equal(got.headers.vary, "Origin", name);
    }
    t.equal(got.headers["access-control-allow-credentials"], undefined, name);
  }
});

void t.test("what a page may send and read", async (t) => {
  const { call } = await serve(t, undefined, {
    config: { corsOrigins: [app] },
  });
  const asked = await call(preflight(world, app));
  t.equal(asked.text, "");
  t.match(asked.headers, {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers":
      /Authorization, Content-Type, If-Match.*Last-Event-ID/,
  });
  const { headers } = await call({ url: world, as, headers: { origin: app } });
  t.equal(
    headers["access-control-expose-headers"],
    "ETag, Location, X-Request-Id, Retry-After",
  );
});

void t.test("405 and 404 are the same with and without", async (t) => {
  for (const corsOrigins of [undefined, "*"] as const) {
    const { call } = await serve(t, undefined, { config: { corsOrigins } });
    for (const [method, url, status, allow] of [
      ["PUT", world, 405, "GET, HEAD, PATCH"],
      ["DELETE", upload, 405, "POST"],
      ["TRACE", world, 405, "GET, HEAD, PATCH"],
      ["POST", "/nowhere", 404, undefined],
    ] as const) {
      const got = await call({ method, url, as });
      t.equal(got.status, status, `${method} ${url}`);
      t.equal(got.headers.allow, allow, `${method} ${url}`);
    }
  }
});
