import { execFile, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { Live } from "../../client/index.js";
import { startTestServer } from "../../testing.js";
import { until } from "../helper.js";
import { keyServer, makeKey } from "../plugins/auth/issuer.js";
import { Browser, startProvider } from "../integrate/provider.js";
import { receiver } from "../integrate/receivers.js";
import { testdir } from "../testdir.js";

// Runs the recipes of docs/integrate.md and docs/bots.md as they stand there. The bot in
// Python, which needs a package, runs in `npm run test:clients`.

/** The first block of a language after a heading. */
async function recipe(page: string, heading: string, language: string) {
  const text = await readFile(`docs/${page}`, "utf8");
  const part = text.split(`\n${heading}\n`)[1]!;
  const block = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "ms");
  return block.exec(part)![1]!;
}

const JSON_TYPE = "Content-Type: application/json";

/** Runs a program to its end. By way of env, as tap puts a loader into the environment. */
const run = async (variables: Record<string, string>, ...command: string[]) => {
  const { PATH = "" } = process.env;
  const given = Object.entries({ PATH, ...variables });
  const names = given.map(([name, value]) => `${name}=${value}`);
  const ended = await promisify(execFile)("env", ["-i", ...names, ...command]);
  return ended.stdout.trim();
};

void t.test("links from a shop", async (t) => {
  const program = await recipe(
    "integrate.md",
    "## Links from a shop",
    "python",
  );
  const constant = (name: string) =>
    new RegExp(`\\b${name}\\b.*= .*?"(.*)"`).exec(program)![1]!;
  const [issuer = "", audience = ""] =
    constant("ISSUER, AUDIENCE").split('", "');
  const server = await startTestServer();
  t.teardown(() => server.close());
  const key = { issuer, audience, secret: constant("SECRET") };
  await server.createWorld({ id: "summit", config: { JWT_secrets: [key] } });
  const path = join(testdir(t), "shop.py");
  await writeFile(path, program);
  const link = await run({}, "python3", path);
  const [page, token] = link.split("#token=");
  t.equal(page, constant("EVENT"));
  const live = new Live({
    baseUrl: server.baseUrl,
    world: "summit",
    token: token!,
  });
  t.teardown(() => live.close());
  const { user } = await live.connected();
  t.match(user.profile, { display_name: "Ada" });
  const found = await server.app.store.users.get("summit", user.id);
  t.match(found, { token_id: "order-1042" });
});

void t.test("claims as Keycloak makes them", async (t) => {
  const server = await startTestServer({
    config: { webhookAllow: ["127.0.0.1"] },
  });
  t.teardown(() => server.close());
  await server.createWorld({ id: "summit" });
  const admin = await server.token("summit", { traits: ["admin", "api"] });
  const key = await makeKey(
    "RS256",
    "FJ86GcF3jTbNLOco4NvZkUCIUmfYCqoqtOQeMfbhNlE",
  );
  const keys = await keyServer(t, [key.jwk]);
  const { origin } = new URL(keys.url);
  const WORLD = `${server.baseUrl}/api/v1/worlds/summit`;
  const shell = await recipe("integrate.md", "### Keycloak", "sh");
  const here = shell.replaceAll("https://login.example.org", origin);
  const AUTH = `Authorization: Bearer ${admin}`;
  await run({ AUTH, WORLD, JSON: JSON_TYPE }, "bash", "-ec", here);
  const sign = (...roles: string[]) =>
    key.sign({
      ...{ iss: `${origin}/realms/events`, aud: ["foyer", "account"] },
      ...{
        typ: "Bearer",
        azp: "foyer",
        acr: "1",
        scope: "openid profile email",
      },
      ...{ sid: "3f8a", sub: "f7d3c5a2-54f6-4a92-9f39-3f3b1b0a3c11" },
      realm_access: {
        roles: ["default-roles-events", "offline_access", ...roles],
      },
      resource_access: {
        account: { roles: ["manage-account", "view-profile"] },
      },
      ...{
        email_verified: false,
        name: "Ada Lovelace",
        preferred_username: "ada",
      },
      ...{ given_name: "Ada", family_name: "Lovelace" },
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
  const server = await startTestServer({
    config: { webhookAllow: ["127.0.0.1"] },
  });
  t.teardown(() => server.close());
  const text = await recipe(
    "integrate.md",
    "## Sign in with OpenID Connect",
    "json",
  );
  const entry = JSON.parse(text) as { id: string; client_secret: string };
  const at = `${server.baseUrl}/w/summit/sign-in/${entry.id}/`;
  const client_secret = "a-secret-of-the-client";
  const provider = await startProvider(t, [`${at}callback`]);
  provider.claims = { realm_access: { roles: ["event-staff"] } };
  const oidc = [{ ...entry, issuer: provider.issuer, client_secret }];
  await server.createWorld({ id: "summit", config: { oidc } });
  const page = await new Browser().until(at, /#token=|\?sign-in=/);
  const token = page.split("#token=")[1]!;
  const { identity } = await server.app.identify({ token }, "summit");
  t.same([...identity.traits], ["attendee", "moderator"]);
});

void t.test("the change feed and a webhook", async (t) => {
  const { got, url } = await receiver(t, 204);
  const server = await startTestServer({
    config: { webhookAllow: ["127.0.0.1"] },
  });
  t.teardown(() => server.close());
  const { baseUrl } = server;
  await server.createWorld({ id: "demo" });
  const traits = { uid: "ada", traits: ["admin", "api"] };
  const TOKEN = await server.token("demo", traits);
  const block = (heading: string, language: string) =>
    recipe("integrate.md", heading, language);

  const hooks = await block("## Webhooks", "sh");
  const made = await run(
    {
      ...{ AUTH: `Authorization: Bearer ${TOKEN}`, JSON: JSON_TYPE },
      WORLD: `${baseUrl}/api/v1/worlds/demo`,
    },
    ...["bash", "-ec", hooks.replace("https://example.org/foyer", url)],
  );
  t.match(JSON.parse(made), { types: ["room.*"], secret: /^whsec_/ });
  const { value: room } = await server.app.store.rooms.create("demo", {
    name: "Main stage",
  });
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
  const args = ["-i", process.execPath, path, baseUrl, TOKEN];
  const follower = spawn("env", args);
  t.teardown(() => follower.kill("SIGKILL"));
  let said = "";
  for (const stream of [follower.stdout, follower.stderr]) {
    stream.on("data", (text: Buffer) => (said += text.toString()));
  }
  await until(() => said !== "");
  t.match(said, new RegExp(`^\\d+ room.created .*${room.id}`));
});

void t.test("a bot with foyer-client", async (t) => {
  const server = await startTestServer();
  t.teardown(() => server.close());
  await server.createWorld({ id: "summit" });
  const { value: room } = await server.app.store.rooms.create("summit", {
    ...{ name: "Main stage", module_config: [{ type: "chat.native" }] },
  });
  // Where the name of the package resolves to itself.
  const path = join(testdir(t), "bot.mjs");
  await writeFile(path, await recipe("bots.md", "## With foyer-client", "js"));
  const token = await server.token("summit", { uid: "clock-bot" });
  const args = [path, server.baseUrl, "summit", token, room.name];
  const bot = spawn("env", ["-i", process.execPath, ...args]);
  t.teardown(() => bot.kill("SIGKILL"));
  let said = "";
  for (const stream of [bot.stdout, bot.stderr]) {
    stream.on("data", (text: Buffer) => (said += text.toString()));
  }
  await until(() => said.includes("In Main stage") || bot.exitCode !== null);
  t.equal(said.trim(), "In Main stage");
  const profile = { display_name: "Ada" };
  const live = new Live({
    ...{ baseUrl: server.baseUrl, world: "summit" },
    token: await server.token("summit", { uid: "ada", profile }),
  });
  t.teardown(() => live.close());
  await live.connected();
  const chat = live.channel(room.id);
  await chat.join();
  // The bot may say where it is before it listens.
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
