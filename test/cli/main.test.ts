import { embedded } from "../shared.js";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createServer, type AddressInfo } from "node:net";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { openSqliteStore } from "../../db/sqlite/index.js";
import { foyer, foyerProcess, startFoyer, until, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";

const { version } = JSON.parse(
  readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
) as { version: string };

async function runAll<T extends { args: string[]; env?: object }>(
  t: Test,
  cases: T[],
  check: (
    one: T,
    ended: { code: number | null; stdout: string; stderr: string },
  ) => void,
): Promise<void> {
  const dataDir = testdir(t);
  for (const one of cases) {
    check(one, await foyer(dataDir, one.args, { ...one.env }));
  }
}

void t.test("what is no error", (t) =>
  runAll(
    t,
    [
      { args: ["--version"], says: version },
      { args: ["--help"], says: /Commands:[^]+serve[^]+world[^]+token/ },
      { args: ["help"], says: /Commands:[^]+serve[^]+world[^]+token/ },
      { args: ["world", "--help"], says: /create[^]+list[^]+show[^]+delete/ },
      { args: ["help", "world"], says: /Usage: foyer world [^]+create/ },
    ],
    ({ args, says }, { code, stdout, stderr }) => {
      t.equal(code, 0, args.join(" "));
      t.match(stdout, says, args.join(" "));
      t.equal(stderr, "", args.join(" "));
    },
  ),
);

void t.test("wrong usage", (t) => {
  const create = (id: string, title: string, domain: string) => [
    "world",
    "create",
    id,
    "--title",
    title,
    "--domain",
    domain,
  ];
  const cases: [args: string[], says: string | RegExp][] = [
    [[], "Usage: foyer"],
    [["world"], "Usage: foyer world"],
    [["nonsense"], "unknown command 'nonsense'"],
    [["serve", "--nonsense"], "foyer: unknown option '--nonsense'\n"],
    [["wrld"], "foyer: unknown command 'wrld' (Did you mean world?)\n"],
    [["help", "nonsense"], "foyer: unknown command 'nonsense'\n"],
    [["help", "world", "nonsense"], "foyer: unknown command 'nonsense'\n"],
    [["help", "token", "more"], "foyer: unknown command 'more'\n"],
    [["world", "help", "nonsense"], "foyer: unknown command 'nonsense'\n"],
    [["world", "update", "a"], "foyer: name what to change\n"],
    [["world", "create", "--title", "A", "--domain", "a.org"], "argument 'id'"],
    [["world", "create", "a", "--title", "A"], "--domain"],
    [create("No", "A", "a.org"), /'No' is invalid.*a-z, 0-9 and -/],
    [create("a", "A", "No!"), /invalid.*host name in lower case/],
    [["world", "delete", "a"], "--yes"],
    [["token"], "missing required argument 'world'"],
    [["token", "a", "--expires", "tomorrow"], "90s, 30m, 12h"],
    [["token", "a", "--trait", "a b"], "Must be a trait"],
    [["token", "a", "--uid", "u".repeat(201)], "at most 200 characters"],
  ];
  return runAll(
    t,
    cases.map(([args, says]) => ({ args, says })),
    ({ args, says }, { code, stdout, stderr }) => {
      t.equal(code, 2, args.join(" "));
      t.match(stderr, says, args.join(" "));
      t.equal(stdout, "", args.join(" "));
    },
  );
});

void t.test("a bad variable stops the start, and is named", async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  t.teardown(() => taken.close());
  const port = String((taken.address() as AddressInfo).port);

  const cases: [env: Record<string, string>, says: RegExp][] = [
    [{ PORT: "http" }, /^foyer: PORT: Must be a whole number\.\n$/],
    [
      { HOST: "192.0.2.1" },
      /^foyer: cannot listen at HOST and PORT: .*; not an address of this machine\n$/,
    ],
    [
      { PORT: port },
      /^foyer: cannot listen at HOST and PORT: .*address already in use 127\.0\.0\.1:\d+; another process has this port\n$/,
    ],
  ];
  await runAll(
    t,
    cases.map(([env, says]) => ({
      args: ["serve"],
      env: { PORT: "0", LOG_LEVEL: "silent", ...env },
      says,
    })),
    ({ env, says }, { code, stdout, stderr }) => {
      const name = JSON.stringify(env);
      t.equal(code, 1, name);
      t.match(stderr, says, name);
      t.equal(stdout, "", name);
    },
  );
});

void t.test("a process ends as its command does", async (t) => {
  const dataDir = testdir(t);
  const world = JSON.stringify({
    format: "foyer.world",
    version: 1,
    world: worldOf("demo"),
    rooms: [],
  });
  const cases: [args: string[], code: number, input?: string][] = [
    [["world", "import", "-"], 0, world],
    [["world", "list"], 0],
    [["world", "show", "none"], 1],
    [["world", "show"], 2],
    [["world"], 2],
  ];
  for (const [args, code, input] of cases) {
    const got = await foyerProcess(t, dataDir, args, {}, input);
    const name = args.join(" ");
    t.equal(got.code, code, name);
    t[code === 0 ? "not" : "equal"](got.stdout, "", `${name}: stdout`);
    t[code === 0 ? "equal" : "not"](got.stderr, "", `${name}: stderr`);
  }
});

void t.test(
  "a fault of Foyer is printed with its stack",
  embedded("damages the file of SQLite"),
  async (t) => {
    const dataDir = testdir(t);
    await openSqliteStore(dataDir).close();
    const db = new Database(join(dataDir, "foyer.db"));
    db.exec("DROP TABLE world_issuers");
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
  const server = await startFoyer(t, testdir(t), [], {
    LOG_LEVEL: "error",
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(drop)}`,
  });
  process.kill(server.pid, "SIGUSR2");
  await until(() => server.said.stdout.includes("dropped"));
  t.equal((await fetch(`${server.address}/healthz`)).status, 200);
});
