import { Type } from "@sinclair/typebox";
import type { FastifyInstance, InjectOptions } from "fastify";
import t, { type Test } from "tap";
import {
  createApp,
  fastifyOptions,
  foyer,
  type FoyerOptions,
  Fastify,
  routesRequire,
} from "../../app.js";
import { bearer, serve } from "../helper.js";
import { configOf } from "../stack.js";
import { testdir } from "../testdir.js";

// The routes, schemas and options of a program that embeds Foyer.

/** An application that has routes of an embedder. */
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

/** The schemas of a route, in plain JSON Schema and in TypeBox. */
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

const cases: [
  name: string,
  request: InjectOptions,
  answer: unknown,
  plainAnswer?: unknown,
][] = [
  [
    "values",
    { url: "/own/7?size=1.5&all=true", payload: { n: 1, mail: "a@b.org" } },
    {
      body: { n: 1, mail: "a@b.org" },
      query: { size: 1.5, all: true },
      params: { id: 7 },
    },
  ],
  [
    "a field that is missing",
    { url: "/own/7", payload: {} },
    { n: ["This field is required."] },
  ],
  [
    "a field of another type",
    { url: "/own/7", payload: { n: "x" } },
    { n: ["Must be a whole number."] },
    { n: ["Must be integer."] },
  ],
  [
    "a text of another format",
    { url: "/own/7", payload: { n: 1, mail: "nobody" } },
    { mail: ["Invalid value."] },
    { mail: ['Must match format "email".'] },
  ],
  [
    "a field in an object",
    { url: "/own/7", payload: { n: 1, pet: {} } },
    { "pet.name": ["This field is required."] },
  ],
  [
    "a query",
    { url: "/own/7?size=big", payload: { n: 1 } },
    { size: ["Invalid value."] },
    { size: ["Must be number."] },
  ],
  [
    "a path",
    { url: "/own/seven", payload: { n: 1 } },
    { id: ["Must be a whole number."] },
    { id: ["Must be integer."] },
  ],
];

const pet = {
  $id: "pet",
  type: "object",
  properties: { name: { type: "string" } },
  required: ["name"],
};

for (const [way, schema] of Object.entries(ways)) {
  void t.test(`${way} schemas of an embedder`, async (t) => {
    const app = await embed(t, (app) =>
      routesRequire(app, "public", () =>
        app.register(async (scope) => {
          scope.addSchema(pet);
          scope.post(
            "/own/:id",
            { schema },
            async ({ body, query, params }) => ({ body, query, params }),
          );
        }),
      ),
    );
    for (const [name, request, answer, plainAnswer] of cases) {
      const { statusCode, body } = await app.inject({
        ...request,
        method: "POST",
      });
      const expected =
        way === "plain" && plainAnswer !== undefined ? plainAnswer : answer;
      t.same(JSON.parse(body), expected, name);
      t.equal(statusCode, name === "values" ? 200 : 400, name);
    }
  });
}

void t.test("plain schemas of headers and answers", async (t) => {
  const app = await embed(t, (app) => {
    for (const [path, name] of [
      ["/cat", "Tom"],
      ["/dog", 1],
    ] as const) {
      app.register(async (scope) => {
        // Another scope may give the name to another schema.
        scope.addSchema({
          $id: "animal",
          type: "object",
          properties: { [path.slice(1)]: {} },
        });
        scope.get(
          path,
          {
            config,
            schema: {
              headers: {
                type: "object",
                properties: { "X-Count": { type: "integer" } },
                required: ["X-Count"],
              },
              response: { 200: { $ref: "animal#" } },
            },
          },
          async () => ({ cat: name, dog: name, secret: true }),
        );
      });
    }
  });
  const missing = await app.inject("/cat");
  t.equal(missing.statusCode, 400);
  t.same(missing.json(), { "x-count": ["This field is required."] });
  const headers = { "x-count": "1" };
  const answers = await Promise.all(
    ["/cat", "/dog"].map((url) => app.inject({ url, headers })),
  );
  t.same(
    answers.map(({ body }) => JSON.parse(body) as unknown),
    [{ cat: "Tom" }, { dog: 1 }],
  );
});

void t.test("a schema that is none stops the start", async (t) => {
  const app = await embed(t, (app) =>
    app.post(
      "/own",
      { config, schema: { body: { type: "objekt" } } },
      async () => "",
    ),
  );
  await t.rejects(async () => app.ready(), { message: /schema is invalid/ });
});

const mistakes: [name: string, options: object, message: RegExp][] = [
  [
    "an option",
    { colour: "red" },
    /^colour: There is no such option; there are config/,
  ],
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
for (const [name, options, message] of mistakes) {
  void t.test(
    `a mistake in the options stops the start: ${name}`,
    async (t) => {
      const app = Fastify(fastifyOptions());
      t.teardown(() => app.close());
      app.register(foyer, options as FoyerOptions);
      await t.rejects(async () => app.ready(), { message });
    },
  );
}

void t.test("permissions of an embedder", async (t) => {
  const { app: server, dataDir } = await serve(t);
  await server.close();
  const app = createApp({
    config: await configOf(dataDir),
    permissions: ["shop.orders"],
  });
  t.teardown(() => app.close());
  await app.after();
  const route = (url: string, key: string) =>
    app.get(url, { config: { requires: [key] } }, async () => "orders");
  route("/shop/:world_id", "shop.orders");
  t.throws(() => route("/a/:world_id", "shop.order"), {
    message: /requires shop\.order, .*did you mean shop\.orders\?/,
  });
  t.throws(() => route("/b/:world_id", "world.updat"), {
    message: /did you mean world\.update\?/,
  });
  t.throws(() => route("/c/:world_id", "till"), {
    message: /name your own in the option permissions/,
  });
  const get = async (authorization: string) =>
    (await app.inject({ url: "/shop/demo", headers: { authorization } }))
      .statusCode;
  t.equal(
    await get(bearer("demo", "admin", "api")),
    403,
    "no rule lets anybody in",
  );
  const { value, version } = (await app.store.worlds.get("demo"))!;
  await app.store.worlds.update(
    "demo",
    {
      permission_config: {
        ...value.permission_config,
        "world.api": [],
        "shop.orders": ["till"],
      },
    },
    [version],
  );
  t.equal(await get(bearer("demo", "till")), 200);
  t.equal(await get(bearer("demo", "guest")), 403);
});

void t.test("a line of the log has the id of a request once", async (t) => {
  const lines: string[] = [];
  const config = await configOf(testdir(t));
  const app = Fastify({
    ...fastifyOptions(config),
    logger: {
      level: "debug",
      stream: { write: (line: string) => void lines.push(line) },
    },
  });
  t.teardown(() => app.close());
  await app.register(foyer, { config });
  app.get("/fails", { config: { requires: "public" } }, async () => {
    throw new Error("on purpose");
  });
  await app.inject("/fails");
  const about = lines.filter((line) => line.includes("reqId"));
  t.equal(about.length, 2, "the fault, and the request");
  for (const line of about) t.equal(line.split('"reqId"').length, 2, line);
});
