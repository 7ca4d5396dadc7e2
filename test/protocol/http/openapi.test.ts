import { readFile } from "node:fs/promises";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import addFormats from "ajv-formats";
import type { FastifyInstance, RouteOptions } from "fastify";
import t from "tap";
import { Ajv2020 } from "ajv/dist/2020.js";
import { createApp } from "../../../app.js";
import { loadConfig } from "../../../config.js";
import type { JsonObject } from "../../../schemas/openapi/openapi-schema.js";
import { Contract } from "../../support/contracts.js";
import { startServer } from "../../support/server.js";
import { configOf } from "../../support/stack.js";
import { testdir } from "../../support/testdir.js";

const url = "/api/v1/openapi.json";

void t.test("the document of the build is served", async (t) => {
  const config = { adminToken: "a".repeat(32) };
  const { call } = await startServer(t, { worlds: [], config });
  const { status, body } = await call({ url });
  t.equal(status, 200);
  t.same(body, JSON.parse(await readFile("dist/documents/openapi.json", "utf8")));
});

void t.test("a server at another address", async (t) => {
  const { app } = await startServer(t, {
    worlds: [],
    config: { publicUrl: "https://a.org/foyer" },
  });
  for (const [name, servers] of [
    ["openapi", [{ url: "https://a.org/foyer" }]],
    [
      "asyncapi",
      {
        foyer: { host: "a.org", pathname: "/foyer", protocol: "wss" },
        http: { host: "a.org", pathname: "/foyer", protocol: "https" },
      },
    ],
  ] as const) {
    const url = `/api/v1/${name}.json`;
    const plain = await app.inject({ url });
    t.same(plain.json(), app[name]());
    t.same(plain.json<JsonObject>().servers, servers);
    for (const [coding, decode] of [
      ["br", brotliDecompressSync],
      ["gzip", gunzipSync],
    ] as const) {
      const headers = { "accept-encoding": coding };
      const coded = await app.inject({ url, headers });
      t.equal(coded.headers["content-encoding"], coding);
      t.equal(coded.headers.etag, plain.headers.etag);
      t.ok(decode(coded.rawPayload).equals(plain.rawPayload));
    }
  }
});

void t.test("the websocket of a server without TLS", async (t) => {
  const publicUrl = "http://localhost:8375";
  const { app } = await startServer(t, { worlds: [], config: { publicUrl } });
  const { servers } = app.asyncapi();
  const host = "localhost:8375";
  t.same(servers, { foyer: { host, protocol: "ws" }, http: { host, protocol: "http" } });
});

void t.test("a program that adds routes has them in it", async (t) => {
  const app = createApp({ config: { ...loadConfig({}), ...(await configOf(testdir(t))) } });
  t.teardown(() => app.close());
  app.register(async (scope) => {
    scope.get(
      "/mine",
      {
        config: { requires: "public" },
        schema: { operationId: "getMine", summary: "Mine", tags: ["server"] },
      },
      async () => ({}),
    );
  });
  const document = (await app.inject(url)).json<{ paths: JsonObject }>();
  t.match(document.paths["/mine"], { get: { operationId: "getMine" } });
  t.ok(document.paths["/healthz"]);
});

// Schemas are compiled lazily to speed up the start, so this test compiles all of them.
void t.test("the schemas of every route compile", async (t) => {
  const app = createApp({ config: { ...loadConfig({}), ...(await configOf(testdir(t))) } });
  t.teardown(() => app.close());
  const routes: [FastifyInstance, RouteOptions][] = [];
  app.addHook("onRoute", function (route) {
    routes.push([this, route]);
  });
  await app.ready();
  let count = 0;
  const compiles = (name: string, use: () => unknown) => {
    count++;
    try {
      use();
    } catch (error) {
      // A value that violates the schema is fine; only compile errors matter.
      t.match(error, { message: /is required!|does not match schema/ }, name);
    }
  };
  for (const [scope, { method, url, schema = {}, ...route }] of routes) {
    const compiler = route.validatorCompiler ?? scope.validatorCompiler!;
    const name = `${String(method)} ${url}`;
    for (const httpPart of ["body", "querystring"]) {
      const part = (schema as Record<string, unknown>)[httpPart];
      // The form parser handles other bodies, which have no schema for a value.
      if (!part || (httpPart === "body" && schema.consumes)) continue;
      const place = { schema: part, method: String(method), url, httpPart };
      compiles(`${name}: ${httpPart}`, () => compiler(place)({}));
    }
    const answers = (schema.response ?? {}) as Record<string, object>;
    for (const [httpStatus, part] of Object.entries(answers)) {
      const route = { schema: part, method: String(method), url, httpStatus };
      compiles(`${name}: ${httpStatus}`, () => scope.serializerCompiler!(route as never)({}));
    }
  }
  t.ok(count > 100, `${count} schemas`);
});

void t.test("it describes all that it has, and nothing else", async (t) => {
  for (const config of [{}, { adminToken: "a".repeat(32) }]) {
    const { app } = await startServer(t, { worlds: [], config });
    const document = app.openapi() as unknown as {
      tags: { name: string }[];
      paths: Record<string, Record<string, Record<string, unknown>>>;
      components: Record<string, Record<string, unknown>>;
    };
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    t.same(
      operations.filter(({ description }) => !description),
      [],
      "each operation has a description",
    );
    t.same(
      document.tags.map(({ name }) => name).sort(),
      [...new Set(operations.flatMap(({ tags }) => tags as string[]))].sort(),
      "the tags are those of operations",
    );
    const text = JSON.stringify(document);
    for (const [kind, named] of Object.entries(document.components)) {
      if (kind === "securitySchemes") continue;
      for (const name of Object.keys(named)) {
        const ref = `"#/components/${kind}/${name}"`;
        t.ok(text.includes(ref), `something refers to ${ref}`);
      }
    }
  }
});

void t.test("its examples are valid", async (t) => {
  const { app } = await startServer(t);
  const document = app.openapi() as unknown as {
    components: { schemas: Record<string, JsonObject> };
  };
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, "document");
  let count = 0;
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    for (const example of (schema.examples ?? []) as unknown[]) {
      count++;
      const validate = ajv.getSchema(`document#/components/schemas/${name}`);
      t.ok(validate?.(example), `${name}: ${JSON.stringify(example)}`);
    }
  }
  t.ok(count > 10, "and there are examples");
});

void t.test("each refusal has examples of its own", async (t) => {
  const { app } = await startServer(t);
  const document = app.openapi() as unknown as {
    components: { responses: Record<string, JsonObject> };
    paths: Record<string, Record<string, { responses: JsonObject }>>;
  };
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, "document");
  const codes: Record<string, string[]> = {};
  const { responses } = document.components;
  for (const [name, { content }] of Object.entries(responses)) {
    if (!content) continue;
    const [[, media]] = Object.entries(content) as [
      [string, { examples: Record<string, { value: Record<string, string> }> }],
    ];
    const validate = ajv.getSchema(
      `document#/components/responses/${name}/content/application~1json/schema`,
    );
    for (const [key, { value }] of Object.entries(media.examples)) {
      t.ok(validate?.(value), `${name}: ${key}`);
    }
    codes[name] = Object.values(media.examples).map(
      ({ value }) => value.code ?? value.error ?? "fields",
    );
  }
  t.same(codes, {
    InvalidData: ["fields", "invalid_json", "invalid_request"],
    InvalidFile: ["file.missing", "file.type", "file.size", "invalid_request"],
    NoCall: ["call.unknown"],
    FullCall: ["call.full"],
    InvalidProgram: ["file.type", "fields", "invalid_request"],
    Unauthenticated: ["unauthenticated"],
    Forbidden: ["forbidden", "missing"],
    NotFound: ["not_found"],
    Malformed: ["invalid_request"],
    Expired: ["cursor_expired"],
    Conflict: ["conflict", "quota"],
    Changed: ["changed"],
    TooLarge: ["too_large"],
    NotJson: ["unsupported_media_type"],
    TooMany: ["rate_limited"],
    Failed: ["fault"],
    NotNow: ["unavailable"],
  });
});

/** Constructs known to make code generators fail or lose a type. */
const unfit: [name: string, isUnfit: (part: JsonObject, key: string) => unknown][] = [
  ["a range of statuses", (_, key) => /^[1-5]XX$/.test(key)],
  [
    "a file without its format",
    ({ contentMediaType, format }) => contentMediaType !== undefined && format !== "binary",
  ],
];

void t.test("nothing in it that generators trip over", async (t) => {
  const { app } = await startServer(t);
  const document = app.openapi() as { components: { schemas: JsonObject } };
  const found: string[] = [];
  const look = (part: unknown, path: string[]) => {
    if (typeof part !== "object" || part === null) return;
    const key = path.at(-1) ?? "";
    for (const [name, isUnfit] of unfit) {
      if (isUnfit(part as JsonObject, key)) {
        found.push(`${path.join("/")}: ${name}`);
      }
    }
    for (const [name, inner] of Object.entries(part)) {
      look(inner, [...path, name]);
    }
  };
  look(document, []);
  t.same(found, []);

  // No schema may contain itself.
  const { schemas } = document.components;
  const refsOf = (part: unknown): string[] =>
    [...JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name!);
  for (const name of Object.keys(schemas)) {
    const reached = new Set(refsOf(schemas[name]));
    for (const next of reached) refsOf(schemas[next]).forEach((n) => reached.add(n));
    t.notOk(reached.has(name), `${name} does not hold itself`);
  }
});

void t.test("an answer that is not in it does not pass", async (t) => {
  const { app } = await startServer(t);
  const contract = new Contract(app.openapi());
  const headers = { "content-type": "application/json", "x-request-id": "1" };
  const check = (got: { status?: number; body?: object; headers?: object }) =>
    contract.check("GET", "/healthz", {
      status: got.status ?? 200,
      headers: { ...headers, ...got.headers },
      body: got.body ?? { status: "ok" },
      text: JSON.stringify(got.body ?? {}),
    });
  check({});
  t.throws(() => check({ status: 418 }), /undeclared status/);
  t.throws(() => check({ headers: { "x-mine": "1" } }), /undeclared header/);
  t.throws(() => check({ body: { status: "odd" } }), /allowed values/);
  t.throws(() => check({ body: { status: "ok", more: 1 } }), /additional/);
  t.throws(() => check({ status: 500, body: { detail: "", more: 1 } }), /additional/);
});

void t.test("answers of other routes go by schemas of their own", async (t) => {
  const answerOf = async (kind: string) => {
    const app = createApp({ config: { ...loadConfig({}), ...(await configOf(testdir(t))) } });
    t.teardown(() => app.close());
    app.register(async (scope) => {
      const properties = { [kind]: { type: "string" } };
      app.addSchema({ $id: "Mine", type: "object", properties });
      scope.get(
        "/mine",
        { config: { requires: "public" }, schema: { response: { 200: { $ref: "Mine#" } } } },
        async () => ({ a: "a", b: "b" }),
      );
    });
    return (await app.inject("/mine")).body;
  };
  t.equal(await answerOf("a"), '{"a":"a"}');
  t.equal(await answerOf("b"), '{"b":"b"}', "by the same name");
});
