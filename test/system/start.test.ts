import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { bundled, modules, startFoyer } from "../helper.js";
import { testdir } from "../testdir.js";

// A start is as long, and an idle server as large, as the modules that it loads.

/** What a small event uses late or never. Each is loaded when something first needs it. */
const LATER = [
  "sharp",
  ...["@opentelemetry/api", "prom-client"],
  ...["@aws-sdk/client-s3", "@redis/client", "pg"],
  ...["pino-pretty", "tar"],
];

/** The addresses of all modules that a server loaded, with its threads. */
async function loadedBy(
  t: Parameters<typeof startFoyer>[0],
  main: string,
): Promise<string[]> {
  const folder = testdir(t, { coverage: {}, data: {} });
  // Node.js writes what it ran, of each thread, when it ends.
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
    return result
      .map(({ url }) => url)
      .filter((url) => url.startsWith("file:"));
  });
}

void t.test("a start loads no package that may never be used", async (t) => {
  const loaded = await loadedBy(t, modules);
  const packages = new Set(
    loaded.flatMap((url) => {
      const [, name] =
        /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
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
    const thread = `../../db/sqlite/engine/${name}-thread.js`;
    const seen = modulesOf(fileURLToPath(new URL(thread, import.meta.url)));
    t.ok(seen.size > 10, `${seen.size} modules`);
    const packages = [...seen].filter((name) => !/^(node:|[./])/.test(name));
    t.strictSame(packages, ["better-sqlite3"], name);
  }
});

/** The paths of all modules of Foyer that a module needs, and the names of others. */
function modulesOf(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen;
  seen.add(path);
  const text = readFileSync(path, "utf8");
  for (const [, name] of text.matchAll(
    /^(?:import|export) (?:[^;]*? from )?"([^"]+)";/gms,
  )) {
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
    outside.filter(
      (url) => !/\/(better-sqlite3|bindings|file-uri-to-path)\//.test(url),
    ),
    [],
    "all but the native package is inside",
  );
});
