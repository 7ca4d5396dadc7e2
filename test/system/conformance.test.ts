import pLimit from "p-limit";
import t from "tap";
import type { Test } from "tap";
import { rows } from "../../conformance/rows/all-rows.js";
import { type Finished, foyer, keyOf, rules, spawnFoyer, until } from "../support/helper.js";
import { NIGHT } from "../support/night.js";
import { demo, startServer } from "../support/server.js";
import { freePort } from "../support/servers/port.js";
import { shared } from "../support/shared.js";
import { openStoreIn } from "../support/stack.js";
import { asIs, type Corrupt, corruptions, namingLate, startCorrupting } from "./corruptions.js";

/** The row on which corruptions are tested. */
const ROW = "question.vote: a visible question";

/** Number of concurrent runs. Each spends most of its time waiting. */
const AT_ONCE = 6;

/** The settings of the world before a run, which the run must restore. */
const SETTINGS = { title: "Before", permission_config: rules({ "world.view": ["attendee"] }) };

const config = (id: string) => ({
  JWT_secrets: [keyOf(id)],
  theme: { color: "red" },
  connection_limit: 1,
});

/** Starts a server with worlds for the suite, and one additional world. */
const start = (t: Test, ...ids: string[]) =>
  startServer(t, {
    processes: 1,
    worlds: [...ids.map((id) => ({ id, ...SETTINGS, config: config(id) })), demo({ id: "other" })],
  });

/** Returns the id of the world in which a corruption is tested. */
function worldFor(name: string): string {
  return `spoiled-${Object.keys(corruptions).indexOf(name)}`;
}

const variables = (world: string, foreign = "other"): Record<string, string> => {
  const { issuer, audience, secret } = keyOf(world);
  const other = keyOf(foreign);
  return {
    CONFORMANCE_WORLD: world,
    CONFORMANCE_ISSUER: issuer,
    CONFORMANCE_AUDIENCE: audience,
    CONFORMANCE_SECRET: secret,
    CONFORMANCE_FOREIGN_WORLD: foreign,
    CONFORMANCE_FOREIGN_ISSUER: other.issuer,
    CONFORMANCE_FOREIGN_AUDIENCE: other.audience,
    CONFORMANCE_FOREIGN_SECRET: other.secret,
  };
};

/** Checks that a run leaves nothing behind except tombstones and archived announcements. */
async function expectRestored(t: Test, dataDir: string, id: string) {
  const store = await openStoreIn(t, dataDir);
  const world = (await store.worlds.get(id))!.value;
  t.match(world, SETTINGS);
  t.strictSame(world.permission_config, SETTINGS.permission_config);
  t.strictSame(world.config, config(id));
  const page = { page: 1, pageSize: 500 };
  t.same(await store.rooms.all(id, page), [], "no room is left");
  for (const each of [id, "other"]) {
    t.same((await store.users.list(each, page)).users, [], "no user is left");
  }
  for (const { state } of await store.announcements.list(id)) {
    t.not(state, "active");
  }
}

interface Report {
  passed: number;
  failed: number;
  skipped: number;
  connections: number;
  requests: number;
  rows: { name: string; status: string; faults?: string[]; reason?: string }[];
}

const names = Object.keys(corruptions);

/** Most tests share this server, with a separate world for each. */
const common = await start(
  t,
  "mine",
  "stopped",
  "poor",
  "killed",
  "control",
  "usage",
  ...names.map((name) => worldFor(name)),
);

void t.test("a server that conforms", async (t) => {
  const { dataDir, baseUrl: address } = common;
  const args = ["conformance", address, "--json"];
  for (const only of [
    "poll.vote: withdrawn",
    "announcement.list",
    "a key",
    "a world that is deleted",
  ]) {
    args.push("--only", only);
  }
  const ended = await spawnFoyer(t, args, variables("mine")).finished;
  t.equal(ended.code, 0, ended.stderr);
  const report = JSON.parse(ended.stdout) as Report;
  t.match(report, { passed: 3, failed: 0, skipped: 1 });
  const skipped = report.rows.find(({ status }) => status === "skipped");
  t.match(skipped, { name: "a world that is deleted", reason: /no request/ });
  for (const says of [address, "the world mine", "messages", "archived"]) {
    t.match(ended.stderr, says, "says what it changes");
  }
  t.notMatch(ended.stderr + ended.stdout, keyOf("mine").secret);
  await expectRestored(t, dataDir, "mine");

  const store = await openStoreIn(t, dataDir);
  await store.rooms.create("mine", { name: "Hall" });
  const again = await foyer(dataDir, args, variables("mine"));
  t.match(again, { code: 1, stdout: "", stderr: /mine has rooms.*Hall/ });
  t.match((await store.worlds.get("mine"))!.value, SETTINGS);
});

void t.test("a run that is stopped cleans up", async (t) => {
  const { dataDir, baseUrl: address } = common;
  const args = ["conformance", address, "--only", "question"];
  const running = spawnFoyer(t, args, variables("stopped"));
  await until(() => running.said.stdout.includes("passed  question.ask\n"));
  running.signal("SIGINT");
  const ended = await running.finished;
  t.match(ended, { code: 1, stderr: /Stopped after \d+ rows/ });
  t.match(ended.stdout, /\n\d+ passed, 0 failed, 0 skipped; \d+ connections/);
  await expectRestored(t, dataDir, "stopped");
});

void t.test("a run whose server ends says so", async (t) => {
  const server = await start(t, "mine");
  const args = ["conformance", server.baseUrl, "--only", "question"];
  const running = spawnFoyer(t, args, variables("mine"));
  await until(() => running.said.stdout.includes("passed  question.ask\n"));
  server.processes[0]!.signal("SIGKILL");
  const ended = await running.finished;
  t.match(ended, { code: 1, stderr: /\nfoyer: the world mine could not be restored/ });
  t.match(ended.stdout, /failed {2}question.unpin\n.*ECONNREFUSED/);
  t.match(ended.stdout, /\n\d+ passed, \d+ failed, 0 skipped; /);
});

void t.test("a key that may not change the world changes nothing", async (t) => {
  const { dataDir, baseUrl: address } = common;
  const store = await openStoreIn(t, dataDir);
  const permission_config = rules({ "world.update": ["orga"] });
  await store.worlds.update("poor", { permission_config });
  const args = ["conformance", address, "--only", "poll"];
  const ended = await foyer(dataDir, args, variables("poor"));
  t.match(ended, { code: 1, stdout: /^0 passed, 0 failed, 0 skipped; / });
  t.match(ended.stderr, /\nfoyer: PATCH worlds\/poor\/ was answered with 403/);
  const { value } = (await store.worlds.get("poor"))!;
  t.strictSame(value.permission_config, permission_config);
  t.strictSame(value.config, config("poor"));
});

void t.test("what a killed run left is deleted", async (t) => {
  const { dataDir, baseUrl: address } = common;
  const args = ["conformance", address, "--only", "room.config.list"];
  const running = spawnFoyer(t, args, variables("killed"));
  const store = await openStoreIn(t, dataDir);
  const page = { page: 1, pageSize: 500 };
  await until(async () => (await store.users.list("killed", page)).users.length > 5);
  running.signal("SIGKILL");
  await running.finished;
  t.not((await store.rooms.all("killed", page)).length, 0);
  const ended = await foyer(dataDir, args, variables("killed"));
  t.equal(ended.code, 0, ended.stdout);
  t.same(await store.rooms.all("killed", page), []);
  t.same((await store.users.list("killed", page)).users, []);
  const { config } = (await store.worlds.get("killed"))!.value;
  t.same(config.JWT_secrets, [keyOf("killed")], "its key, too");
});

void t.test("a server that does not conform is found out", async (t) => {
  const { dataDir, port } = common;
  const run = async (world: string, corrupt: Corrupt, busy?: number): Promise<Finished> => {
    const url = await startCorrupting(t, port, corrupt, busy);
    const args = ["conformance", url, "--only", ROW];
    return foyer(dataDir, args, variables(world));
  };
  for (const corrupt of [asIs, namingLate()]) {
    const control = await run("control", corrupt, 2);
    t.match(control, { code: 0, stdout: `passed  ${ROW}\n1 passed` });
  }
  const limit = pLimit(AT_ONCE);
  await Promise.all(
    names.map((name) =>
      limit(async () => {
        const { corrupt, says } = corruptions[name]!;
        const { code, stdout, stderr } = await run(worldFor(name), corrupt);
        t.equal(code, 1, name);
        t.ok(stdout.startsWith(`failed  ${ROW}\n`), name);
        t.match(stdout, says, name);
        t.match(stderr, "foyer: 1 of 1 rows failed\n", name);
      }),
    ),
  );
});

void t.test("wrong usage, and a server that cannot be used", async (t) => {
  const { dataDir, baseUrl: address } = common;
  const all = variables("usage");
  const cases: [string[], Record<string, string>, number, RegExp][] = [
    [["ftp://x"], all, 2, /must begin with http/],
    [["http://a:b@c"], all, 2, /must not contain a password/],
    [[address], {}, 2, /name a world/],
    [[address, "--world", "A b"], {}, 2, /a-z, 0-9/],
    [[address, "--world", "usage"], {}, 2, /set CONFORMANCE_SECRET/],
    [[address], { ...all, CONFORMANCE_FOREIGN_SECRET: "" }, 2, /set CONFORMANCE_FOREIGN_SECRET/],
    [[address, "--only", "x.y"], all, 2, /no row begins with 'x.y'/],
    [[address, "--audience", "x"], all, 1, /answered with 401/],
    [[address, "--world", "none"], all, 1, /worlds\/none\/.* 403/],
    [[`http://127.0.0.1:${await freePort()}`], all, 1, /ECONNREFUSED/],
  ];
  for (const [args, env, code, says] of cases) {
    const ended = await foyer(dataDir, ["conformance", ...args], env);
    t.equal(ended.code, code, args.join(" "));
    t.match(ended.stderr, says);
    t.match(ended.stderr, /^foyer: [^\n]+\n$/);
    t.equal(ended.stdout, "");
  }
  await expectRestored(t, dataDir, "usage");
});

/** Number of worlds in which rows run concurrently. Most rows spend most of their time waiting. */
const WORLDS = 6;

/**
 * The parts to test. Landings test all of them on two nodes, but only one on SQLite, chosen by the
 * seed: the harness already runs all rows on SQLite in a single process.
 */
const parts = Array.from({ length: WORLDS }, (_, i) => i).filter(
  (i) => NIGHT || shared || i === Number(process.env.SEED ?? 0) % WORLDS,
);

/** Selects a part of the rows, by the modules of their commands. */
const partOf = (number: number): string[] =>
  [...new Set(Object.keys(rows).map((name) => name.replace(/[.:].*/, "")))]
    .filter((_, i) => i % WORLDS === number)
    .flatMap((module) => ["--only", module]);

/** Whether a row needs an engine for calls, or a device that enters one. */
const isAboutCalls = (name: string): boolean => {
  const { needs } = rows[name] ?? {};
  return needs !== undefined && needs !== "deleteWorld";
};

void t.test("Foyer conforms to its protocol", async (t) => {
  const worlds = Array.from({ length: WORLDS }, (_, i) => `mine-${i}`);
  const all = worlds.flatMap((id) => [id, `beside-${id}`]);
  const { baseUrls } = await startServer(t, {
    processes: 2,
    worlds: all.map((id) => demo({ id })),
  });
  const names = new Set<string>();
  let tried = 0;
  /** Rows about calls, which need an engine. */
  let skipped = 0;
  const run = async (i: number) => {
    const world = worlds[i]!;
    const args = ["conformance", ...baseUrls, "--json", ...partOf(i)];
    const { finished } = spawnFoyer(t, args, variables(world, `beside-${world}`));
    const ended = await finished;
    t.equal(ended.code, 0, ended.stderr);
    const report = JSON.parse(ended.stdout) as Report;
    t.comment(`${report.connections} connections, ${report.requests} requests`);
    tried += report.rows.length;
    for (const { name, status, faults = [] } of report.rows) {
      t.not(status, "failed", [name, ...faults].join("\n"));
      if (status === "passed") names.add(name);
      if (status === "skipped" && isAboutCalls(name)) skipped++;
    }
  };
  await Promise.all(parts.map(run));
  if (parts.length === WORLDS) t.ok(tried >= Object.keys(rows).length, "all rows are tried");
  const expected = tried - skipped;
  t.ok(names.size > 0.9 * expected, `${names.size} of ${expected} rows pass`);
});
