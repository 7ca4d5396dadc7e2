import { configOf } from "../../stack.js";
import Fastify from "fastify";
import t from "tap";
import {
  createApp,
  createMetricsApp,
  fastifyOptions,
  foyer,
  routesRequire,
} from "../../../app.js";
import { Refusal } from "../../../plugins/http/errors.js";
import { admin, bearer, rules, worldOf } from "../../helper.js";
import { testdir } from "../../testdir.js";

void t.test("a route before the guard stops the start", async (t) => {
  const config = await configOf(testdir(t));
  const app = Fastify(fastifyOptions(config));
  t.teardown(() => app.close());
  app.register(foyer, { config });
  app.get("/mine", { config: { requires: "public" } }, async () => ({}));
  await t.rejects(async () => app.ready(), {
    message: /Routes were added before Foyer could guard them.*mine/s,
  });
});

void t.test("after it, each declares whom it lets in", async (t) => {
  const undeclared = /GET \/mine does not declare what it requires/;
  const config = await configOf(testdir(t));
  const app = Fastify(fastifyOptions(config));
  t.teardown(() => app.close());
  await app.register(foyer, { config });
  t.throws(() => app.get("/mine", async () => ({})), undeclared);
  const metrics = createMetricsApp(app, undefined);
  t.throws(() => metrics.get("/mine", async () => ({})), undeclared);
});

void t.test("routes of a library", async (t) => {
  const library = async (scope: ReturnType<typeof createApp>) => {
    scope.get("/theirs", async () => "theirs");
    scope.register(async (inner) => {
      inner.get("/theirs/inner", async () => "inner");
    });
  };
  const app = createApp({ config: await configOf(testdir(t)) });
  t.teardown(() => app.close());
  await routesRequire(app, "public", () => app.register(library));
  for (const url of ["/theirs", "/theirs/inner"]) {
    t.equal((await app.inject(url)).statusCode, 200, url);
  }
  const bare = createApp({ config: await configOf(testdir(t)) });
  t.teardown(() => bare.close());
  bare.register(library);
  await t.rejects(async () => bare.ready(), {
    message: /GET \/theirs does not declare/,
  });
});

void t.test("what a route may declare", async (t) => {
  const app = createApp({ config: await configOf(testdir(t)) });
  t.teardown(() => app.close());
  await app.after();
  const asked: string[] = [];
  const admit = async ({ headers }: { headers: { "x-key"?: unknown } }) => {
    asked.push(String(headers["x-key"]));
    if (headers["x-key"] !== "7") throw new Refusal(403, "No.");
  };
  const handler = async () => ({});
  app.get("/public", { config: { requires: "public" } }, handler);
  app.post("/own", { config: { requires: admit } }, handler);
  app.get(
    "/keys/:world_id",
    { config: { requires: ["room.create"] } },
    async ({ caller, world }) => [caller.tokenId, world!.value.id],
  );
  app.get("/nowhere", { config: { requires: [] } }, handler);
  await app.ready();
  await app.store.worlds.create(
    worldOf("demo", { permission_config: rules({ "world.api": [] }) }),
  );

  const statusOf = async (
    method: "GET" | "HEAD" | "POST",
    url: string,
    headers: Record<string, string> = {},
    payload?: object,
  ) =>
    (await app.inject({ method, url, headers, ...(payload && { payload }) }))
      .statusCode;
  t.equal(await statusOf("GET", "/public"), 200);
  t.equal(await statusOf("POST", "/own"), 403);
  t.equal(await statusOf("POST", "/own", { "x-key": "7" }), 200);
  asked.length = 0;
  t.equal(await statusOf("POST", "/own", { "x-key": "7" }, { a: 1 }), 200);
  t.strictSame(asked, ["7", "7"], "it is asked again when the body is there");
  for (const method of ["GET", "HEAD"] as const) {
    const url = "/keys/demo";
    t.equal(await statusOf(method, url), 401, `${method}: nobody`);
    const guest = { authorization: bearer("demo") };
    t.equal(await statusOf(method, url, guest), 403, `${method}: a guest`);
    const host = { authorization: admin("demo") };
    t.equal(await statusOf(method, url, host), 200, `${method}: an admin`);
    t.equal(
      await statusOf(method, "/nowhere", host),
      403,
      `${method}: a path that names no world`,
    );
  }
});
