import { readdirSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { startTestServer, type TestWorld } from "../../testing.js";
import { testdir } from "../testdir.js";

async function start(t: Test) {
  const server = await startTestServer();
  t.teardown(() => server.close());
  const get = async (url: string, token?: string, init?: RequestInit) => {
    const answer = await fetch(`${server.baseUrl}/api/v1/worlds/${url}`, {
      ...init,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(init?.body != null && { "content-type": "application/json" }),
      },
    });
    return answer.status;
  };
  return { server, get };
}

void t.test("worlds and tokens", async (t) => {
  const { server, get } = await start(t);
  const world = await server.createWorld({
    id: "demo",
    config: { theme: "dark" },
  });
  t.match(world, { title: "demo", domain: "demo.localhost" });
  t.equal(world.config.theme, "dark");
  t.match(world.config.JWT_secrets, [{ audience: "demo" }]);
  await server.createWorld({ id: "other" });

  const table: [name: string, token: string, status: number][] = [
    ["an administrator", await server.token("demo"), 200],
    ["nobody", await server.token("demo", { traits: [] }), 403],
    ["of another world", await server.token("other"), 403],
    ["an expired one", await server.token("demo", { expiresIn: "-1m" }), 401],
  ];
  for (const [name, token, status] of table) {
    t.equal(await get("demo", token), status, name);
  }
});

void t.test("a token is of the key that the world has now", async (t) => {
  const { server, get } = await start(t);
  await server.createWorld({ id: "demo" });
  const old = await server.token("demo");
  const key = { issuer: "me", audience: "us", secret: "x".repeat(32) };
  const body = JSON.stringify({ config: { JWT_secrets: [key] } });
  t.equal(await get("demo", old, { method: "PATCH", body }), 200);
  t.equal(await get("demo", old), 401);
  t.equal(await get("demo", await server.token("demo")), 200);
});

void t.test("what it refuses", async (t) => {
  const { server } = await start(t);
  await server.createWorld({ id: "demo" });
  const table: [
    name: string,
    world: TestWorld,
    error: Record<string, unknown>,
  ][] = [
    ["a bad id", { id: "No" }, { faults: { id: [/^Must be a-z/] } }],
    ["a bad title", { id: "a", title: "" }, { faults: { title: [/empty/] } }],
    [
      "a bad rule",
      { id: "a", permission_config: { x: [] } },
      { faults: { "permission_config.x": [/permission key/] } },
    ],
    ["a second of an id", { id: "demo" }, { problem: "taken", field: "id" }],
  ];
  for (const [name, world, error] of table) {
    const thrown = await server.createWorld(world).catch((e: unknown) => e);
    t.match(thrown, error, name);
  }
  await t.rejects(server.token("none"), { message: /no world none/ });
});

void t.test("its folder", async (t) => {
  const { TMPDIR } = process.env;
  const parent = (process.env.TMPDIR = testdir(t));
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });
  const temporary = await startTestServer();
  t.equal(readdirSync(parent).length, 1, "a temporary one");
  await temporary.close();
  t.same(readdirSync(parent), [], "is deleted");
  await t.rejects(fetch(`${temporary.baseUrl}/healthz`), "it has stopped");

  const config = { dataDir: join(parent, "kept") };
  const first = await startTestServer({ config });
  await first.createWorld({ id: "demo" });
  await first.close();
  const second = await startTestServer({ config });
  t.ok(await second.token("demo"), "one that it was given stays");
  await second.close();
});
