import { execFile, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import Fastify from "fastify";
import t from "tap";
import { fastifyOptions } from "../../app.js";
import { openSqliteStore } from "../../db/engines/sqlite/index.js";
import { openStore, putDatabase } from "../support/database.js";
import { GUEST, images } from "../support/files.js";
import {
  bundled,
  foyer,
  foyerProcess,
  modules,
  startFoyer,
  until,
  worldOf,
} from "../support/helper.js";
import { startServer } from "../support/server.js";
import { embedded } from "../support/shared.js";
import { variablesOf } from "../support/stack.js";
import { testdir } from "../support/testdir.js";

// The modules loaded at startup, concurrent starts, and how commands end.

/** Modules that a small event uses late or never. Each is loaded on first use. */
const LATER = [
  "sharp",
  "@opentelemetry/api",
  "prom-client",
  "@aws-sdk/client-s3",
  "@redis/client",
  "livekit-server-sdk",
  "@livekit/protocol",
  "pg",
  "pino-pretty",
  "tar",
];

/** Returns the URLs of all modules that a server and its threads loaded. */
async function loadedBy(t: Parameters<typeof startFoyer>[0], main: string): Promise<string[]> {
  const folder = testdir(t, { coverage: {}, data: {} });
  // When it exits, Node.js writes which code each thread ran.
  const env = { NODE_V8_COVERAGE: join(folder, "coverage") };
  const dataDir = join(folder, "data");
  const server = await startFoyer(t, dataDir, ["--demo"], env, main);
  const answer = await fetch(`${server.address}/healthz`);
  t.equal(answer.status, 200);
  server.signal("SIGTERM");
  await server.finished;
  return readdirSync(env.NODE_V8_COVERAGE).flatMap((name) => {
    const text = readFileSync(join(env.NODE_V8_COVERAGE, name), "utf8");
    const { result } = JSON.parse(text) as { result: { url: string }[] };
    return result.map(({ url }) => url).filter((url) => url.startsWith("file:"));
  });
}

void t.test("a start loads no package that may never be used", async (t) => {
  const loaded = await loadedBy(t, modules);
  const packages = new Set(
    loaded.flatMap((url) => {
      const [, name] = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
      return name === undefined ? [] : [name];
    }),
  );
  t.ok(packages.has("fastify"), "the modules of packages are seen");
  t.strictSame(
    LATER.filter((name) => packages.has(name)),
    [],
  );
});

void t.test("a thread of the database loads no schemas", async (t) => {
  for (const name of ["writer", "search"]) {
    const thread = `../../db/engines/sqlite/engine/${name}-thread.js`;
    const seen = modulesOf(fileURLToPath(new URL(thread, import.meta.url)));
    t.ok(seen.size > 10, `${seen.size} modules`);
    const packages = [...seen].filter((name) => !/^(node:|[./])/.test(name));
    t.strictSame(packages, ["better-sqlite3"], name);
  }
});

/** Returns the paths of all Foyer modules that a module depends on, and the names of other packages. */
function modulesOf(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen;
  seen.add(path);
  const text = readFileSync(path, "utf8");
  for (const [, name] of text.matchAll(/^(?:import|export) (?:[^;]*? from )?"([^"]+)";/gms)) {
    if (name!.startsWith(".")) modulesOf(join(path, "..", name!), seen);
    else seen.add(name!);
  }
  return seen;
}

void t.test("the bundle loads a few modules", async (t) => {
  const loaded = new Set(await loadedBy(t, bundled));
  t.ok(loaded.size > 5 && loaded.size < 120, `${loaded.size} modules`);
  const outside = [...loaded].filter((url) => url.includes("/node_modules/"));
  t.strictSame(
    outside.filter((url) => !/\/(better-sqlite3|bindings|file-uri-to-path)\//.test(url)),
    [],
    "all but the native package is inside",
  );
});

void t.test("processes that open a new folder at the same time", async (t) => {
  // Each process waits for a message with the folder, so that all of them start simultaneously.
  const parent = testdir(t, {
    "open.mjs": `
      import { openSqliteStore } from ${JSON.stringify(new URL("../../db/engines/sqlite/index.js", import.meta.url))};
      process.on("message", async ({ dataDir, world }) => {
        try {
          const store = openSqliteStore(dataDir);
          await store.worlds.create(world);
          await store.close();
          process.send("done");
        } catch (error) {
          process.send(error.message);
        }
      });
      process.send("ready");
    `,
  });
  const processes = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const child = fork(join(parent, "open.mjs"), { execArgv: [] });
      t.teardown(() => child.kill("SIGKILL"));
      await once(child, "message");
      return child;
    }),
  );
  for (let round = 0; round < 4; round++) {
    const dataDir = join(parent, `round-${round}`);
    const answers = await Promise.all(
      processes.map(async (child, i) => {
        child.send({ dataDir, world: worldOf(`world-${i}`) });
        return ((await once(child, "message")) as [string])[0];
      }),
    );
    t.strictSame(answers, ["done", "done", "done", "done"]);
    const store = openStore(t, dataDir);
    t.equal((await store.worlds.list({ limit: 100 })).length, 4);
    await store.close();
  }
});

void t.test("who starts during an upgrade waits for it", async (t) => {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("old")]);
  const other = new Database(join(dataDir, "foyer.db"));
  other.pragma("locking_mode = EXCLUSIVE");
  other.exec("BEGIN EXCLUSIVE");
  const waiting = foyerProcess(t, dataDir, ["world", "list"]);
  // Longer than a write would wait for its lock.
  const limit = new Promise((resolve) => setTimeout(resolve, 2500));
  const first = await Promise.race([waiting, limit]);
  t.equal(first, undefined, "it still waits");
  other.exec("COMMIT");
  other.close();
  const { code, stderr } = await waiting;
  t.same([code, stderr], [0, ""]);
});

void t.test("the command finds its files and threads", async (t) => {
  const server = await startServer(t, { processes: 1, worlds: [], args: ["--demo"] });
  const [main] = server.processes;
  const { address, token } = main!;
  const headers = { authorization: `Bearer ${token}` };
  for (const [path, type] of [
    ["/console", "text/html"],
    ["/docs/", "text/html"],
    ["/docs/api", "text/html"],
    ["/docs/live", "text/html"],
    ["/api/v1/openapi.json", "application/json"],
    ["/api/v1/asyncapi.json", "application/json"],
    ["/demo/stream.m3u8", "application/vnd.apple.mpegurl"],
    ["/demo/0.m4s", "video/mp4"],
    ["/api/v1/worlds/sample/rooms/?search=hall", "application/json"],
    ["/api/v1/worlds/sample/users/?ordering=-last_seen", "application/json"],
  ] as const) {
    const answer = await fetch(address + path, { headers });
    await answer.arrayBuffer();
    t.equal(answer.status, 200, path);
    t.match(answer.headers.get("content-type"), type, path);
  }

  const form = new FormData();
  const png = (await images.png()) as unknown as BlobPart;
  form.append("file", new Blob([png]), "a.png");
  const sent = await fetch(`${address}/storage/upload/`, {
    method: "POST",
    headers: { authorization: GUEST },
    body: form,
  });
  t.equal(sent.status, 201, "an image is decoded in a process of its own");
  main!.signal("SIGTERM");
  t.equal((await main!.finished).code, 0);
});

void t.test("the modules of the library share their classes", async (t) => {
  const path = join(testdir(t), "program.mjs");
  await writeFile(
    path,
    `import assert from "node:assert";
    import FastifyOfProgram from "fastify";
    import { Type } from "@sinclair/typebox";
    import { Value } from "@sinclair/typebox/value";
    import { createApp, Fastify } from "foyer-server/app";
    import { InvalidData, Room } from "foyer-server/schemas";
    import { startTestServer } from "foyer-server/testing";

    assert.equal(Fastify, FastifyOfProgram);
    const server = await startTestServer();
    await assert.rejects(server.createWorld({ id: "a b" }), InvalidData);
    const { id } = await server.createWorld({ id: "fair" });
    assert.ok(await server.token(id));
    await assert.rejects(server.token("none"), ({ stack }) => /world-management\\.ts:\\d+/.test(stack));
    await server.close();
    // The program's TypeBox knows the kinds of the schemas.
    assert.equal(Value.Check(Type.Object({ name: Room.properties.name }), { name: "Hall" }), true);`,
  );
  // Through `env`, because tap injects a loader into the environment of every child.
  const end = await promisify(execFile)("env", [
    "-i",
    process.execPath,
    "--enable-source-maps",
    path,
  ])
    .then(() => "ok")
    .catch(({ stderr }: { stderr: string }) => stderr);
  t.equal(end, "ok");
});

void t.test("a process ends as its command does", async (t) => {
  const dataDir = testdir(t);
  const world = worldOf("demo");
  const document = JSON.stringify({ format: "foyer.world", version: 1, world, rooms: [] });
  const cases: [args: string, code: number, input?: string][] = [
    ["world import -", 0, document],
    ["world list", 0],
    ["world show none", 1],
    ["world show", 2],
    ["world", 2],
  ];
  for (const [args, code, input] of cases) {
    const got = await foyerProcess(t, dataDir, args.split(" "), {}, input);
    t.equal(got.code, code, args);
    t.equal(got.stdout === "", code !== 0, `${args}: stdout`);
    t.equal(got.stderr === "", code === 0, `${args}: stderr`);
  }
  const redirections: [redirection: string, status: number, stderr: RegExp][] = [
    ["| true", 0, /^$/],
    [">/dev/full", 1, /^foyer: ENOSPC[^\n]+; free up disk space, .+\n$/],
  ];
  for (const [redirection, status, stderr] of redirections) {
    const shell = `"$NODE" "$FOYER" world list --json ${redirection}`;
    const env = { ...(await variablesOf(dataDir)), NODE: process.execPath, FOYER: bundled };
    const ended = spawnSync("sh", ["-c", shell], { env, encoding: "utf8" });
    t.match(ended, { status, stderr }, redirection);
  }
});

void t.test(
  "a fault of Foyer is printed with its stack",
  embedded("damages the file of SQLite"),
  async (t) => {
    const dataDir = testdir(t);
    await openSqliteStore(dataDir).close();
    const db = new Database(join(dataDir, "foyer.db"));
    db.pragma("foreign_keys = OFF");
    db.exec("DROP TABLE worlds");
    db.close();
    const args = ["world", "list"];
    await t.rejects(foyer(dataDir, args), /no such table/);
    t.match(await foyerProcess(t, dataDir, args), {
      code: 1,
      stdout: "",
      stderr: /^foyer: SqliteError: no such table.*\n(foyer: +at .+\n)+$/,
    });
  },
);

void t.test("a server outlives a promise that nothing handles", async (t) => {
  const drop = "process.on('SIGUSR2', () => Promise.reject(Error('dropped')))";
  const server = await startServer(t, {
    processes: 1,
    env: {
      LOG_LEVEL: "error",
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(drop)}`,
    },
  });
  const [main] = server.processes;
  process.kill(main!.pid, "SIGUSR2");
  await until(() => main!.said.stdout.includes("dropped"));
  t.equal((await server.call({ url: "/healthz" })).status, 200);
});

void t.test("a start takes as long as it has to", async (t) => {
  // By default, Fastify aborts a plugin after ten seconds, but an upgrade can take minutes.
  t.equal(Fastify(fastifyOptions()).initialConfig.pluginTimeout, 0);
});
