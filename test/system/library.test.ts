import { execFile, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { Live } from "../../client/index.js";
import type { World } from "../../schemas/worlds.js";
import { startTestServer, type TestWorld } from "../../testing.js";
import { keyOf, until, worldOf } from "../support/helper.js";
import { Browser, keyServer, makeKey, startProvider } from "../support/provider.js";
import { receiver } from "../support/receiver.js";
import { demo, startServer } from "../support/server.js";
import { testdir } from "../support/testdir.js";

// Tests foyer-server/testing, and the recipes from docs/integrate.md and docs/bots.md exactly as
// printed. `npm run test:clients` runs the Python bot, and `.ci/package` the recipes from
// docs/embed.md.

/** Returns the first block of a language after a heading. */
async function recipe(page: string, heading: string, language: string) {
  const text = await readFile(`docs/${page}`, "utf8");
  const part = text.split(`\n${heading}\n`)[1]!;
  const block = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "ms");
  return block.exec(part)![1]!;
}

const JSON_TYPE = "Content-Type: application/json";

/** Runs a program to completion. Uses `env`, because tap injects a loader into the environment. */
const run = async (variables: Record<string, string>, ...command: string[]) => {
  const { PATH = "" } = process.env;
  const given = Object.entries({ PATH, ...variables });
  const names = given.map(([name, value]) => `${name}=${value}`);
  const ended = await promisify(execFile)("env", ["-i", ...names, ...command]);
  return ended.stdout.trim();
};

/** Starts a Node.js program, which ends with the test. @returns its output so far. */
function start(t: Test, ...args: string[]): { printed: string } {
  const child = spawn("env", ["-i", process.execPath, ...args]);
  t.teardown(() => child.kill("SIGKILL"));
  const said = { printed: "" };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text: Buffer) => (said.printed += text.toString()));
  }
  return said;
}

void t.test("links from a shop", async (t) => {
  const program = await recipe("integrate.md", "## Links from a shop", "python");
  const constant = (name: string) => new RegExp(`\\b${name}\\b.*= .*?"(.*)"`).exec(program)![1]!;
  const [issuer = "", audience = ""] = constant("ISSUER, AUDIENCE").split('", "');
  const key = { issuer, audience, secret: constant("SECRET") };
  const world = demo({ id: "summit", config: { JWT_secrets: [key] } });
  const server = await startServer(t, { worlds: [world] });
  const path = join(testdir(t), "shop.py");
  await writeFile(path, program);
  const link = await run({}, "python3", path);
  const [page, token] = link.split("#token=");
  t.equal(page, constant("EVENT"));
  const live = new Live({ baseUrl: server.baseUrl, world: "summit", token: token! });
  t.teardown(() => live.close());
  const { user } = await live.connected();
  t.match(user.profile, { display_name: "Ada" });
  const found = await server.store.users.get("summit", user.id);
  t.match(found, { token_id: "order-1042" });
});

void t.test("claims as Keycloak makes them", async (t) => {
  const config = { webhookAllow: ["127.0.0.1"] };
  const server = await startServer(t, { worlds: [demo({ id: "summit" })], config });
  const admin = server.tokenOf({ world: "summit", traits: ["admin", "api"] });
  const key = await makeKey("RS256", "FJ86GcF3jTbNLOco4NvZkUCIUmfYCqoqtOQeMfbhNlE");
  const keys = await keyServer(t, [key.jwk]);
  const { origin } = new URL(keys.url);
  const WORLD = `${server.baseUrl}/api/v1/worlds/summit`;
  const shell = await recipe("integrate.md", "### Keycloak", "sh");
  const here = shell.replaceAll("https://login.example.org", origin);
  const AUTH = `Authorization: Bearer ${admin}`;
  await run({ AUTH, WORLD, JSON: JSON_TYPE }, "bash", "-ec", here);
  const sign = (...roles: string[]) =>
    key.sign({
      iss: `${origin}/realms/events`,
      aud: ["foyer", "account"],
      typ: "Bearer",
      azp: "foyer",
      acr: "1",
      scope: "openid profile email",
      sid: "3f8a",
      sub: "f7d3c5a2-54f6-4a92-9f39-3f3b1b0a3c11",
      realm_access: { roles: ["default-roles-events", "offline_access", ...roles] },
      resource_access: { account: { roles: ["manage-account", "view-profile"] } },
      email_verified: false,
      name: "Ada Lovelace",
      preferred_username: "ada",
      given_name: "Ada",
      family_name: "Lovelace",
    });
  const status = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${WORLD}/`, { headers })).status;
  };
  t.equal(await status(await sign("event-board")), 200);
  t.equal(await status(await sign("event-staff")), 403);
  const token = await sign("event-staff");
  const { identity } = await server.app.identify({ token }, "summit");
  t.same([...identity.traits], ["attendee", "moderator"]);
  t.match(identity.profile, { display_name: "Ada Lovelace" });
});

void t.test("a provider as Keycloak is one", async (t) => {
  const server = await startServer(t, { worlds: [], config: { webhookAllow: ["127.0.0.1"] } });
  const text = await recipe("integrate.md", "## Sign in with OpenID Connect", "json");
  const entry = JSON.parse(text) as NonNullable<World["config"]["oidc"]>[number];
  const at = `${server.baseUrl}/w/summit/sign-in/${entry.id}/`;
  const client_secret = "a-secret-of-the-client";
  const provider = await startProvider(t, [`${at}callback`]);
  provider.claims = { realm_access: { roles: ["event-staff"] } };
  const oidc = [{ ...entry, issuer: provider.issuer, client_secret }];
  const config = { JWT_secrets: [keyOf("summit")], oidc };
  await server.store.worlds.create(worldOf("summit", { config }));
  const page = await new Browser().until(at, /#token=|\?sign-in=/);
  const token = page.split("#token=")[1]!;
  const { identity } = await server.app.identify({ token }, "summit");
  t.same([...identity.traits], ["attendee", "moderator"]);
});

void t.test("the change feed and a webhook", async (t) => {
  const { got, url } = await receiver(t, 204);
  const server = await startServer(t, { config: { webhookAllow: ["127.0.0.1"] } });
  const { baseUrl } = server;
  const TOKEN = server.tokenOf({ uid: "ada", traits: ["admin", "api"] });
  const block = (heading: string, language: string) => recipe("integrate.md", heading, language);

  const hooks = await block("## Webhooks", "sh");
  const made = await run(
    {
      AUTH: `Authorization: Bearer ${TOKEN}`,
      JSON: JSON_TYPE,
      WORLD: `${baseUrl}/api/v1/worlds/demo`,
    },
    "bash",
    "-ec",
    hooks.replace("https://example.org/foyer", url),
  );
  t.match(JSON.parse(made), { types: ["room.*"], secret: /^whsec_/ });
  const { value: room } = await server.store.rooms.create("demo", { name: "Main stage" });
  await until(() => got.length === 1);
  t.match(got[0]!.body, { type: "room.created" });

  const feed = await block("## The change feed", "sh");
  const here = feed.replace("https://event.example.org", baseUrl);
  const listed = await run({ TOKEN }, "bash", "-ec", here);
  const data = { room_id: room.id };
  t.match(JSON.parse(listed), { results: [{ type: "room.created", data }] });

  const loop = await block("## The change feed", "ts");
  const path = join(testdir(t), "follow.mjs");
  const head = `import { Foyer } from "foyer-client";
const [baseUrl, token] = process.argv.slice(2);
const client = new Foyer({ baseUrl, world: "demo", token });\n`;
  await writeFile(path, head + loop);
  const follower = start(t, path, baseUrl, TOKEN);
  await until(() => follower.printed !== "");
  t.match(follower.printed, new RegExp(`^\\d+ room.created .*${room.id}`));
});

void t.test("a bot with foyer-client", async (t) => {
  const server = await startServer(t, { worlds: [demo({ id: "summit" })] });
  const { value: room } = await server.store.rooms.create("summit", {
    name: "Main stage",
    module_config: [{ type: "chat.native" }],
  });
  // Inside the repository, where the package's name resolves to itself.
  const path = join(testdir(t), "bot.mjs");
  await writeFile(path, await recipe("bots.md", "## With foyer-client", "js"));
  const token = server.tokenOf({ world: "summit", uid: "clock-bot", traits: ["admin", "api"] });
  const bot = start(t, path, server.baseUrl, "summit", token, room.name);
  await until(() => bot.printed.includes("\n"));
  t.equal(bot.printed.trim(), "In Main stage");
  const profile = { display_name: "Ada" };
  const live = new Live({
    baseUrl: server.baseUrl,
    world: "summit",
    token: server.tokenOf({ world: "summit", uid: "ada", traits: ["admin", "api"], profile }),
  });
  t.teardown(() => live.close());
  await live.connected();
  const chat = live.channel(room.id);
  await chat.join();
  // The bot may print its room before it listens.
  const asks = setInterval(() => void chat.send("!time").catch(() => {}), 500);
  t.teardown(() => clearInterval(asks));
  for await (const { content, sender } of chat) {
    if (sender === null || !String(content.body).endsWith("Z")) continue;
    t.match(content.body, /^\d{4}-\d\d-\d\dT/);
    t.match(chat.users.get(sender)?.profile, { display_name: "Clock" });
    break;
  }
});

void t.test("a bot in Python fits a screen", async (t) => {
  const heading = "## In Python, with a websocket package only";
  const program = await recipe("bots.md", heading, "python");
  t.ok(program.trim().split("\n").length <= 40);
  const compile = "import sys; compile(sys.argv[1], 'bot.py', 'exec')";
  await run({}, "python3", "-c", compile, program);
});

void t.test("a server for tests", async (t) => {
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
  const world = await server.createWorld({ id: "demo", config: { theme: "dark" } });
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

  // Tokens are signed with the world's current key.
  const old = await server.token("demo");
  const key = { issuer: "me", audience: "us", secret: "x".repeat(32) };
  const body = JSON.stringify({ config: { JWT_secrets: [key] } });
  t.equal(await get("demo", old, { method: "PATCH", body }), 200);
  t.equal(await get("demo", old), 401);
  t.equal(await get("demo", await server.token("demo")), 200);

  const refused: [name: string, world: TestWorld, error: Record<string, unknown>][] = [
    ["a bad id", { id: "No" }, { faults: { id: [/^Must be a-z/] } }],
    ["a bad title", { id: "a", title: "" }, { faults: { title: [/empty/] } }],
    [
      "a bad rule",
      { id: "a", permission_config: { x: [] } },
      { faults: { "permission_config.x": [/permission key/] } },
    ],
    ["a second of an id", { id: "demo" }, { problem: "taken", field: "id" }],
  ];
  for (const [name, world, error] of refused) {
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
