import { Type } from "@sinclair/typebox";
import type { FastifyInstance, InjectOptions } from "fastify";
import t, { type Test } from "tap";
import {
  createApp,
  createMetricsApp,
  Fastify,
  fastifyOptions,
  foyer,
  type FoyerOptions,
  routesRequire,
} from "../../../app.js";
import { Refusal } from "../../../plugins/http/errors.js";
import { admin, bearer, rules, worldOf } from "../../support/helper.js";
import { startServer } from "../../support/server.js";
import { configOf } from "../../support/stack.js";
import { testdir } from "../../support/testdir.js";

// Routes, schemas and options of a program that embeds Foyer.

/** Creates an application with an embedder's routes. */
async function embed(
  t: Test,
  addRoutes: (app: FastifyInstance) => unknown,
): Promise<FastifyInstance> {
  const app = createApp({ config: await configOf(testdir(t)) });
  t.teardown(() => app.close());
  await app.after();
  await addRoutes(app);
  return app;
}

const config = { requires: "public" } as const;
const handler = async () => ({});

/** The schemas of a route, as plain JSON Schema and as TypeBox. */
const ways = {
  plain: {
    body: {
      type: "object",
      properties: {
        n: { type: "integer" },
        mail: { type: "string", format: "email" },
        pet: { $ref: "pet#" },
      },
      required: ["n"],
    },
    querystring: {
      type: "object",
      properties: { size: { type: "number" }, all: { type: "boolean" } },
    },
    params: { type: "object", properties: { id: { type: "integer" } } },
  },
  typebox: {
    body: Type.Object({
      n: Type.Integer(),
      mail: Type.Optional(Type.String({ format: "email" })),
      pet: Type.Optional(Type.Object({ name: Type.String() })),
    }),
    querystring: Type.Object({
      size: Type.Optional(Type.Number()),
      all: Type.Optional(Type.Boolean()),
    }),
    params: Type.Object({ id: Type.Integer() }),
  },
};

const sent = (more: object = {}) => ({ payload: { n: 1, ...more } });
const cases: [url: string, request: InjectOptions, answer: unknown, plainAnswer?: unknown][] = [
  [
    "/own/7?size=1.5&all=true",
    sent({ mail: "a@b.org" }),
    { body: { n: 1, mail: "a@b.org" }, query: { size: 1.5, all: true }, params: { id: 7 } },
  ],
  ["/own/7", { payload: {} }, { n: ["This field is required."] }],
  ["/own/7", sent({ n: "x" }), { n: ["Must be a whole number."] }, { n: ["Must be integer."] }],
  [
    "/own/7",
    sent({ mail: "nobody" }),
    { mail: ["Invalid value."] },
    { mail: ['Must match format "email".'] },
  ],
  ["/own/7", sent({ pet: {} }), { "pet.name": ["This field is required."] }],
  ["/own/7?size=big", sent(), { size: ["Invalid value."] }, { size: ["Must be number."] }],
  ["/own/seven", sent(), { id: ["Must be a whole number."] }, { id: ["Must be integer."] }],
];

for (const [way, schema] of Object.entries(ways)) {
  void t.test(`${way} schemas of an embedder`, async (t) => {
    const properties = { name: { type: "string" } };
    const pet = { $id: "pet", type: "object", properties, required: ["name"] };
    const app = await embed(t, (app) =>
      routesRequire(app, "public", () =>
        app.register(async (scope) => {
          scope.addSchema(pet);
          scope.post("/own/:id", { schema }, async ({ body, query, params }) => {
            return { body, query, params };
          });
        }),
      ),
    );
    for (const [i, [url, request, answer, plainAnswer]] of cases.entries()) {
      const { statusCode, body } = await app.inject({ url, ...request, method: "POST" });
      const expected = way === "plain" ? (plainAnswer ?? answer) : answer;
      const name = JSON.stringify(request);
      t.same([statusCode, JSON.parse(body)], [i === 0 ? 200 : 400, expected], name);
    }
  });
}

void t.test("plain schemas of headers and answers", async (t) => {
  const names = { "/cat": "Tom", "/dog": 1 };
  const app = await embed(t, (app) => {
    for (const [path, name] of Object.entries(names)) {
      app.register(async (scope) => {
        // Scopes may use the same name for different schemas.
        scope.addSchema({ $id: "animal", type: "object", properties: { [path.slice(1)]: {} } });
        const count = { "X-Count": { type: "integer" } };
        const headers = { type: "object", properties: count, required: ["X-Count"] };
        const schema = { headers, response: { 200: { $ref: "animal#" } } };
        scope.get(path, { config, schema }, async () => ({ cat: name, dog: name, secret: true }));
      });
    }
  });
  const missing = await app.inject("/cat");
  t.same([missing.statusCode, missing.json()], [400, { "x-count": ["This field is required."] }]);
  for (const [url, name] of Object.entries(names)) {
    const answer = await app.inject({ url, headers: { "x-count": "1" } });
    t.same(JSON.parse(answer.body), { [url.slice(1)]: name });
  }
});

const mistakes: [name: string, options: object, message: RegExp][] = [
  ["an option", { colour: "red" }, /^colour: There is no such option; there are config/],
  ["a near option", { engine: {} }, /^engine: .*did you mean engines\?$/],
  ["a setting", { config: { dataDirr: "/" } }, /did you mean dataDir\?$/],
  [
    "a setting in a setting",
    { config: { web: { onn: false, embedOrigins: [] } } },
    /^onn: There is no such setting of config\.web; did you mean on\?$/,
  ],
  ["a prefix", { prefix: "/foyer" }, /prefix of register has no effect/],
  ["a permission", { permissions: ["Shop"] }, /^Shop: A permission key has/],
];

void t.test("mistakes stop the start", async (t) => {
  for (const [name, options, message] of mistakes) {
    const app = Fastify(fastifyOptions());
    t.teardown(() => app.close());
    app.register(foyer, options as FoyerOptions);
    await t.rejects(async () => app.ready(), { message }, name);
  }
  const schema = { body: { type: "objekt" } };
  const invalid = await embed(t, (app) => app.post("/own", { config, schema }, handler));
  await t.rejects(async () => invalid.ready(), { message: /schema is invalid/ });

  const settings = await configOf(testdir(t));
  const early = Fastify(fastifyOptions(settings));
  t.teardown(() => early.close());
  early.register(foyer, { config: settings });
  early.get("/mine", { config }, handler);
  const message = /Routes were added before Foyer could guard them.*mine/s;
  await t.rejects(async () => early.ready(), { message });

  const undeclared = /GET \/mine does not declare what it requires/;
  const app = await embed(t, (app) => t.throws(() => app.get("/mine", handler), undeclared));
  const metrics = createMetricsApp(app, undefined);
  t.throws(() => metrics.get("/mine", handler), undeclared);
});

void t.test("routes of a library", async (t) => {
  const library = async (scope: FastifyInstance) => {
    scope.get("/theirs", handler);
    scope.register(async (inner) => void inner.get("/theirs/inner", handler));
  };
  const app = await embed(t, (app) => routesRequire(app, "public", () => app.register(library)));
  for (const url of ["/theirs", "/theirs/inner"]) {
    t.equal((await app.inject(url)).statusCode, 200, url);
  }
  const bare = createApp({ config: await configOf(testdir(t)) });
  t.teardown(() => bare.close());
  bare.register(library);
  await t.rejects(async () => bare.ready(), { message: /GET \/theirs does not declare/ });
});

void t.test("what a route may declare", async (t) => {
  const asked: string[] = [];
  const admit = async ({ headers }: { headers: { "x-key"?: unknown } }) => {
    asked.push(String(headers["x-key"]));
    if (headers["x-key"] !== "7") throw new Refusal(403, "No.");
  };
  const app = await embed(t, (app) => {
    app.get("/public", { config }, handler);
    app.post("/own", { config: { requires: admit } }, handler);
    const requires = ["room.create"];
    app.get("/keys/:world_id", { config: { requires } }, async ({ caller, world }) => [
      caller.tokenId,
      world!.value.id,
    ]);
    app.get("/nowhere", { config: { requires: [] } }, handler);
  });
  await app.ready();
  await app.store.worlds.create(worldOf("demo", { permission_config: rules({ "world.api": [] }) }));
  const statusOf = async (line: string, headers: Record<string, string> = {}, payload?: object) => {
    const [method = "", url = ""] = line.split(" ");
    const request = { method: method as "GET", url, headers, ...(payload && { payload }) };
    return (await app.inject(request)).statusCode;
  };
  t.equal(await statusOf("GET /public"), 200);
  t.equal(await statusOf("POST /own"), 403);
  t.equal(await statusOf("POST /own", { "x-key": "7" }), 200);
  asked.length = 0;
  t.equal(await statusOf("POST /own", { "x-key": "7" }, { a: 1 }), 200);
  t.strictSame(asked, ["7", "7"], "it is asked again when the body is there");
  const [guest, host] = [bearer("demo"), admin("demo")].map((authorization) => ({ authorization }));
  for (const method of ["GET", "HEAD"]) {
    t.equal(await statusOf(`${method} /keys/demo`), 401, `${method}: nobody`);
    t.equal(await statusOf(`${method} /keys/demo`, guest), 403, `${method}: a guest`);
    t.equal(await statusOf(`${method} /keys/demo`, host), 200, `${method}: an admin`);
    t.equal(await statusOf(`${method} /nowhere`, host), 403, `${method}: no world in the path`);
  }
});

void t.test("permissions of an embedder", async (t) => {
  const { close, dataDir } = await startServer(t);
  await close();
  const app = createApp({ config: await configOf(dataDir), permissions: ["shop.orders"] });
  t.teardown(() => app.close());
  await app.after();
  const route = (url: string, key: string) =>
    app.get(url, { config: { requires: [key] } }, async () => "orders");
  route("/shop/:world_id", "shop.orders");
  for (const [key, message] of [
    ["shop.order", /requires shop\.order, .*did you mean shop\.orders\?/],
    ["world.updat", /did you mean world\.update\?/],
    ["till", /name your own in the option permissions/],
  ] as const) {
    t.throws(() => route(`/${key}/:world_id`, key), { message });
  }
  const get = async (authorization: string) =>
    (await app.inject({ url: "/shop/demo", headers: { authorization } })).statusCode;
  t.equal(await get(bearer("demo", "admin", "api")), 403, "no rule admits anybody");
  const { value, version } = (await app.store.worlds.get("demo"))!;
  const own = { "world.api": [], "shop.orders": ["till"] };
  const permission_config = { ...value.permission_config, ...own };
  await app.store.worlds.update("demo", { permission_config }, [version]);
  t.equal(await get(bearer("demo", "till")), 200);
  t.equal(await get(bearer("demo", "guest")), 403);
});

void t.test("a line of the log has the id of a request once", async (t) => {
  const lines: string[] = [];
  const settings = await configOf(testdir(t));
  const stream = { write: (line: string) => void lines.push(line) };
  const app = Fastify({ ...fastifyOptions(settings), logger: { level: "debug", stream } });
  t.teardown(() => app.close());
  await app.register(foyer, { config: settings });
  app.get("/fails", { config }, async () => {
    throw new Error("on purpose");
  });
  await app.inject("/fails");
  const about = lines.filter((line) => line.includes("reqId"));
  t.equal(about.length, 2, "the fault, and the request");
  for (const line of about) t.equal(line.split('"reqId"').length, 2, line);
});
