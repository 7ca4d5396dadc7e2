import { rmSync } from "node:fs";
import { join } from "node:path";
import { configOf, variablesOf } from "../support/stack.js";
import t from "tap";
import { loadConfig } from "../../config.js";
import type { Room } from "../../schemas/rooms.js";
import { startServer } from "../../server.js";
import { putDatabase } from "../support/database.js";
import {
  admin,
  ask,
  dial,
  foyer,
  rawRequest,
  spawnFoyer,
  startFoyer,
  until,
  worldOf,
} from "../support/helper.js";
import { shared } from "../support/shared.js";
import { testdir } from "../support/testdir.js";

const rooms = "/api/v1/worlds/sample/rooms/";

void t.test("the demo, from nothing to a room", async (t) => {
  const dataDir = testdir(t);
  const env = { ...(await variablesOf(dataDir)), PORT: "0", LOG_LEVEL: "silent" };

  const first = spawnFoyer(t, ["serve", "--demo"], env);
  await until(() => first.said.stdout.includes("curl"));
  const [, token, url] = /^ {2}curl -H "Authorization: Bearer ([^"]+)" (http\S+)$/m.exec(
    first.said.stdout,
  )!;
  t.match(first.said.stdout, `\n  ${token}\n`, "the token stands by itself");
  const links = first.said.stdout.match(/^ {2}http\S+$/gm)!;
  t.match(links, [/\/w\/sample\/console#token=\S+$/, /\/w\/sample\/$/]);
  for (const link of links) {
    const page = await fetch(link);
    t.equal(page.status, 200, link);
    t.match(await page.text(), /&quot;title&quot;:&quot;Foyer Open House&quot;/);
  }
  const headers = { authorization: `Bearer ${token}` };
  const listed = await fetch(url!, { headers });
  t.equal(listed.status, 200);
  const list = (await listed.json()) as { count: number };
  t.equal(list.count, 6);
  const made = await fetch(url!, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ name: "Mine" }),
  });
  t.equal(made.status, 201);
  const room = (await made.json()) as Room;
  first.signal("SIGTERM");
  t.match(await first.finished, { code: 0, stderr: "" });

  // Restarts on the same data: the demo is not created a second time.
  const second = await startFoyer(t, dataDir, ["--demo"]);
  const base = second.address;
  const again = await fetch(base + rooms, { headers });
  t.match(await again.json(), { count: 7 }, "the first token still holds");
  const found = await fetch(`${base}${rooms}${room.id}`, {
    headers: { authorization: `Bearer ${second.token}` },
  });
  t.same(await found.json(), room);
  const health = await fetch(`${base}/healthz`);
  t.equal(health.status, 200);
  t.same(await health.json(), { status: "ok" });
  second.signal("SIGINT");
  t.match(await second.finished, { code: 0, stderr: "" });
});

void t.test("without --demo there is nothing but what was made", async (t) => {
  const dataDir = testdir(t);
  const line = "world create mine --title M --domain m.org";
  t.equal((await foyer(dataDir, line.split(" "))).code, 0);
  const { stdout } = await foyer(dataDir, ["token", "mine"]);
  const authorization = `Bearer ${stdout.trim()}`;
  const server = await startFoyer(t, dataDir, ["--demo"], {
    PUBLIC_URL: "https://rooms.example.org/foyer/",
  });
  t.equal(server.token, "", "the demo is for an empty server only");
  t.equal(server.address, "https://rooms.example.org/foyer");
  server.signal("SIGTERM");
  await server.finished;

  const plain = await startFoyer(t, dataDir, [], { WEB: "off" });
  const get = async (world: string) =>
    (await fetch(`${plain.address}/api/v1/worlds/${world}/`, { headers: { authorization } }))
      .status;
  t.equal(await get("mine"), 200);
  t.equal(await get("sample"), 403);

  // Commands work while a server is running. A server with a cache notices within a second.
  await foyer(dataDir, ["world", "delete", "mine", "--yes"]);
  await until(async () => (await get("mine")) === 401);
});

void t.test("a stop finishes what is under way, for a time", async (t) => {
  const body = JSON.stringify({ name: "Slow" });
  const head = rawRequest("POST /api/v1/worlds/demo/rooms/", {
    Authorization: admin("demo"),
    "Content-Type": "application/json",
    "Content-Length": String(body.length),
    Expect: "100-continue",
  });
  const HOUR = 3_600_000;
  for (const [bound, isSent] of [
    [HOUR, true],
    [50, false],
  ] as const) {
    const dataDir = testdir(t);
    await putDatabase(dataDir, [worldOf("demo")]);
    const drainTimeoutsMs = { stop: bound, close: HOUR };
    const config = { ...loadConfig({}), ...(await configOf(dataDir)), port: 0, drainTimeoutsMs };
    const server = await startServer({ ...config, logLevel: "silent" });
    const port = Number(new URL(server.address).port);
    const slow = dial(t, port);
    slow.send(head);
    t.equal((await slow.answer()).status, 100);
    const stopped = server.stop();
    if (isSent) {
      t.equal((await ask(t, port, head)).status, 503, "nothing new");
      slow.send(body);
      t.equal((await slow.answer()).status, 201);
    }
    await stopped;
  }
});

void t.test("what is no HTTP, and what the log tells of it all", async (t) => {
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"], { LOG_LEVEL: "debug" });
  const broken = dial(t, server.port);
  broken.send("GET / HTTP/9.9\r\n\r\n");
  const answer = await broken.answer();
  t.equal(answer.status, 400);
  t.same(JSON.parse(answer.text), { detail: "Bad Request.", code: "invalid_request" });

  const { stdout } = await foyer(dataDir, ["world", "show", "sample", "--json"]);
  const world = JSON.parse(stdout) as { config: { JWT_secrets: { secret: string }[] } };
  const secret = world.config.JWT_secrets[0]!.secret;
  const send = async (method: string, path: string, token: string, body?: string) => {
    const { status } = await fetch(server.address + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        cookie: "session=cookie-marker",
        "content-type": "application/json",
      },
      ...(body !== undefined && { body }),
    });
    return status;
  };
  const { token } = server;
  const path = "/api/v1/worlds/sample/";
  t.equal(await send("GET", `${rooms}?search=query-marker`, token), 200);
  t.equal(await send("GET", `${rooms}?page=query-marker`, token), 400);
  t.equal(await send("GET", `${path}?token=query-marker`, "bad-marker"), 401);
  t.equal(await send("GET", `/nowhere?x=query-marker`, token), 404);
  t.equal(await send("POST", rooms, token, '{"name":"body-marker"}'), 201);
  t.equal(await send("POST", rooms, token, '{"body-marker":1}'), 400);
  t.equal(await send("POST", rooms, token, "body-marker"), 400);
  t.equal(await send("PATCH", path, token, JSON.stringify(world)), 200);

  const form = new FormData();
  form.append("file", new Blob(["%PDF-1.4\n%%EOF\n"]), "a.pdf");
  const upload = await fetch(`${server.address}/storage/upload/`, {
    method: "POST",
    headers: { authorization: "Client guest" },
    body: form,
  });
  const { url } = (await upload.json()) as { url: string };
  const [, fileSecret = ""] = /\.([\w-]{12})\.pdf$/.exec(url)!;
  const { pathname } = new URL(url);
  for (const file of [pathname, pathname.replaceAll(".", "%2e"), `/elsewhere${pathname}`]) {
    await fetch(server.address + file);
  }
  // The bytes are missing, which the server logs.
  if (!shared) rmSync(join(dataDir, pathname));
  t.equal((await fetch(url)).status, shared ? 200 : 404);

  server.signal("SIGTERM");
  const { stdout: said } = await server.finished;
  const log = said.split("\n").filter((line) => line.startsWith('{"level"'));
  const requests = log.filter((line) => line.includes('"msg":"request"'));
  t.equal(requests.length, 13, "a line for each request");
  t.match(JSON.parse(requests[0]!), {
    method: "GET",
    path: rooms,
    status: 200,
    reqId: /^[0-9a-f-]{36}$/,
  });
  const text = log.join("\n");
  if (!shared) t.match(text, /\.…\.pdf is recorded, and is missing/);
  for (const word of [
    token,
    token.split(".")[2]!,
    secret,
    "bad-marker",
    "query-marker",
    "body-marker",
    "cookie-marker",
    "uthorization",
    fileSecret,
  ]) {
    t.notOk(text.includes(word), `the log does not hold ${word.slice(0, 12)}`);
  }
});
