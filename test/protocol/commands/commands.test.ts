import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join, relative } from "node:path";
import { createVerifier } from "fast-jwt";
import t from "tap";
import { defaultPermissionConfig } from "../../../schemas/plain/permissions.js";
import type { World } from "../../../schemas/worlds.js";
import { rowsIn } from "../../support/database.js";
import { admin, foyer, keyOf, until, worldOf } from "../../support/helper.js";
import { demo, startServer } from "../../support/server.js";
import { embedded } from "../../support/shared.js";
import { openStoreIn } from "../../support/stack.js";
import { testdir } from "../../support/testdir.js";
import { furnished, tarOf } from "./archives.js";

// Requirements for every command. Adding a command only takes a row here.

interface Place {
  /** The folder for files, including each command's output as `<name>.json`. */
  dir: string;
  user: string;
}

interface Row {
  /** The name, as in `foyer help <name>`. */
  name: string;
  /** Arguments with which the command succeeds, after all rows above. */
  args: (place: Place) => string[];
  /** Whether the command may create a missing database. */
  makes?: boolean;
  /** Whether the command runs until it is stopped. */
  stays?: boolean;
  /** Whether the command needs a running server, and so is tested elsewhere. */
  served?: boolean;
  /** Whether the command works without a data folder. */
  elsewhere?: boolean;
}

const naming = (domain: string) => ["--title", "T", "--domain", domain];

const rows: Row[] = [
  { name: "serve", args: () => [], makes: true, stays: true },
  { name: "world create", args: () => ["new", ...naming("new.org")], makes: true },
  { name: "world list", args: () => [] },
  { name: "world show", args: () => ["demo"] },
  { name: "world update", args: () => ["demo", "--title", "Other"] },
  { name: "world export", args: () => ["demo"] },
  { name: "world clone", args: () => ["demo", "clone", ...naming("clone.org")] },
  { name: "invite create", args: () => ["demo", "--email", "ann@example.org"] },
  { name: "invite list", args: () => ["demo"] },
  { name: "invite link", args: () => ["demo", "ann@example.org"] },
  { name: "invite send", args: () => ["demo", "ann@example.org"] },
  { name: "invite revoke", args: () => ["demo", "ann@example.org"] },
  { name: "token", args: () => ["demo"] },
  { name: "user list", args: () => ["demo"] },
  { name: "user delete", args: ({ user }) => ["demo", user] },
  { name: "audit list", args: () => ["demo"] },
  { name: "file list", args: () => ["demo"] },
  { name: "file show", args: () => ["demo", "0"] },
  { name: "file delete", args: () => ["demo", "0", "--yes"] },
  { name: "chat export", args: () => ["demo"] },
  { name: "question results", args: () => ["demo"] },
  { name: "poll results", args: () => ["demo"] },
  { name: "program export", args: () => ["demo"] },
  { name: "program import", args: ({ dir }) => ["demo", join(dir, "program export.json")] },
  { name: "connections list", args: () => ["demo"], served: true },
  { name: "connections drop", args: () => ["demo"], served: true },
  { name: "connections reload", args: () => ["demo"], served: true },
  { name: "conformance", args: () => ["http://127.0.0.1"], served: true, elsewhere: true },
  { name: "backup", args: ({ dir }) => [join(dir, "all.tar")] },
  { name: "restore", args: ({ dir }) => [join(dir, "all.tar")], makes: true },
  { name: "check", args: () => [] },
  { name: "maintain", args: () => [] },
  { name: "upgrade", args: () => [] },
  { name: "world delete", args: () => ["demo", "--yes"] },
  { name: "world import", args: ({ dir }) => [join(dir, "world export.json")], makes: true },
];

const commands = rows.filter(({ stays }) => !stays);

const argsOf = ({ name, args }: Row, place: Place) => [...name.split(" "), ...args(place)];

const nowhere: Place = { dir: "/nonexistent", user: "x" };

void t.test("--json prints JSON that ends with one newline", async (t) => {
  const { dataDir, store, files } = await furnished(t, 1);
  const { users } = await store.users.list("demo", { page: 1, pageSize: 1 });
  await files.close();
  await store.close();
  const place = { dir: t.testdirName, user: users[0]!.id };
  for (const row of commands.filter(({ served }) => !served)) {
    const dir = row.name === "restore" ? join(place.dir, "restored") : dataDir;
    const got = await foyer(dir, [...argsOf(row, place), "--json"]);
    t.match(got, { code: 0, stderr: "" }, row.name);
    t.match(got.stdout, /[^\n]\n$/, `${row.name}: one newline`);
    const value: unknown = JSON.parse(got.stdout);
    t.type(value, "object", row.name);
    writeFileSync(join(place.dir, `${row.name}.json`), got.stdout);
  }
});

void t.test(
  "without a database, the folder is named, and not made",
  embedded("PostgreSQL has no folder"),
  async (t) => {
    const missing = join(testdir(t), "missing");
    const stderr = `foyer: there is no database in ${missing}\n`;
    for (const row of commands) {
      if (row.makes || row.elsewhere) continue;
      const got = await foyer(missing, argsOf(row, nowhere));
      t.same(got, { code: 1, stdout: "", stderr }, row.name);
      t.notOk(existsSync(missing), row.name);
    }
    const given = relative(process.cwd(), missing);
    t.not(given, missing);
    for (const args of [["world", "list"], ["check"], ["backup", join(missing, "x.tar")]]) {
      t.same(await foyer(given, args), { code: 1, stdout: "", stderr }, "wherever one stands");
    }
  },
);

void t.test("wrong usage is one line, and 2", async (t) => {
  const missing = join(testdir(t), "missing");
  const more = "more\u001b[31m\nthan it takes";
  for (const row of rows) {
    const got = await foyer(missing, [...argsOf(row, nowhere), more]);
    t.match(got, { code: 2, stdout: "" }, row.name);
    t.match(got.stderr, /^foyer: (?!error)[^\n]+\n$/, row.name);
  }
  t.notOk(existsSync(missing));
});

void t.test("each has help with an example", async (t) => {
  const missing = join(testdir(t), "missing");
  for (const { name } of rows) {
    const got = await foyer(missing, ["help", ...name.split(" ")]);
    t.match(got, { code: 0, stderr: "" }, name);
    t.match(got.stdout, `Usage: foyer ${name} `, name);
    t.match(got.stdout, "--json", name);
    t.match(got.stdout, `Example:\n  $ foyer ${name}`, name);
  }
  const name = ["world", "create"];
  for (const same of [
    [...name, "--help"],
    ["world", "help", "create"],
  ]) {
    t.same(await foyer(missing, same), await foyer(missing, ["help", ...name]));
  }
  t.notOk(existsSync(missing));
});

void t.test("no command is missing here", async (t) => {
  const dir = testdir(t);
  const below = async (...group: string[]): Promise<string[]> => {
    const { stdout } = await foyer(dir, ["help", ...group]);
    const [, list = ""] = stdout.split("\nCommands:\n");
    const names = [...list.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name!);
    return names.filter((name) => name !== "help");
  };
  const found: string[] = [];
  for (const name of await below()) {
    const names = await below(name);
    if (names.length === 0) found.push(name);
    else found.push(...names.map((one) => `${name} ${one}`));
  }
  t.same(found.sort(), rows.map(({ name }) => name).sort());
});

const { version } = JSON.parse(
  readFileSync(new URL("../../../../package.json", import.meta.url), "utf8"),
) as { version: string };

const create = (id: string, domain: string) => [
  "world",
  "create",
  id,
  "--title",
  "A",
  "--domain",
  domain,
];

void t.test("usage", async (t) => {
  const dataDir = testdir(t);
  const right: [args: string, stdout: string | RegExp][] = [
    ["--version", version],
    ["--help", /Commands:[^]+serve[^]+world[^]+token/],
    ["help", /Commands:[^]+serve[^]+world[^]+token/],
    ["world --help", /create[^]+list[^]+show[^]+delete/],
    ["help world", /Usage: foyer world [^]+create/],
  ];
  for (const [args, stdout] of right) {
    t.match(await foyer(dataDir, args.split(" ")), { code: 0, stdout, stderr: /^$/ }, args);
  }
  const wrong: [args: string[], stderr: string | RegExp][] = [
    [[], "Usage: foyer"],
    [["world"], "Usage: foyer world"],
    [["nonsense"], "unknown command 'nonsense'"],
    [["serve", "--nonsense"], /^foyer: unknown option '--nonsense'\n$/],
    [["wrld"], /^foyer: unknown command 'wrld' \(Did you mean world\?\)\n$/],
    [["help", "nonsense"], /^foyer: unknown command 'nonsense'\n$/],
    [["help", "world", "nonsense"], /^foyer: unknown command 'nonsense'\n$/],
    [["help", "token", "more"], /^foyer: unknown command 'more'\n$/],
    [["world", "help", "nonsense"], /^foyer: unknown command 'nonsense'\n$/],
    [["world", "update", "a"], /^foyer: name what to change\n$/],
    [["world", "create", "--title", "A", "--domain", "a.org"], "argument 'id'"],
    [["world", "create", "a", "--title", "A"], "--domain"],
    [create("No", "a.org"), /'No' is invalid.*a-z, 0-9 and -/],
    [create("a", "No!"), /invalid.*host name in lower case/],
    [["world", "delete", "a"], "--yes"],
    [["token"], "missing required argument 'world'"],
    [["token", "a", "--expires", "tomorrow"], "90s, 30m, 12h"],
    [["token", "a", "--trait", "a b"], "Must be a trait"],
    [["token", "a", "--uid", "u".repeat(201)], "at most 200 characters"],
  ];
  for (const [args, stderr] of wrong) {
    t.match(await foyer(dataDir, args), { code: 2, stdout: /^$/, stderr }, args.join(" "));
  }
});

void t.test("a bad variable stops the start, and is named", async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  t.teardown(() => taken.close());
  const PORT = String((taken.address() as AddressInfo).port);
  const cases: [env: Record<string, string>, stderr: RegExp][] = [
    [{ PORT: "http" }, /^foyer: PORT: Must be a whole number\.\n$/],
    [
      { HOST: "192.0.2.1" },
      /^foyer: cannot listen on HOST and PORT: .*; this machine does not have this address\n$/,
    ],
    [
      { PORT },
      /^foyer: cannot listen on HOST and PORT: .*address already in use 127\.0\.0\.1:\d+; another process uses this port\n$/,
    ],
  ];
  const dataDir = testdir(t);
  for (const [variables, stderr] of cases) {
    const env = { PORT: "0", LOG_LEVEL: "silent", ...variables };
    const got = await foyer(dataDir, ["serve"], env);
    t.match(got, { code: 1, stdout: /^$/, stderr }, JSON.stringify(variables));
  }
});

void t.test("worlds are made, listed, shown and deleted", async (t) => {
  const dataDir = testdir(t);
  const run = (line: string, ...more: string[]) => foyer(dataDir, [...line.split(" "), ...more]);
  const json = async (line: string, ...more: string[]) => {
    const { code, stdout, stderr } = await run(`${line} --json`, ...more);
    t.same([code, stderr], [0, ""], line);
    return JSON.parse(stdout) as unknown;
  };

  const made = (await json("world create a --domain a.org:8443", "--title", "Änne's 🎪")) as World;
  const [key] = made.config.JWT_secrets;
  t.strictSame(made, {
    id: "a",
    title: "Änne's 🎪",
    domain: "a.org:8443",
    config: { JWT_secrets: [{ issuer: "foyer", audience: "a", secret: key?.secret }] },
    permission_config: defaultPermissionConfig,
  });
  t.match(key?.secret, /^[0-9a-f]{64}$/);
  t.equal(Object.keys(defaultPermissionConfig).length, 9);
  t.same(await json("world show a"), made);

  const text = await run("world create b --title B --domain b.org --private");
  t.equal(text.code, 0);
  const shown = (await json("world show b")) as World;
  t.strictSame(shown.permission_config, { ...defaultPermissionConfig, "world.view": ["attendee"] });
  const { secret } = shown.config.JWT_secrets[0]!;
  t.not(secret, key?.secret, "each world has a key of its own");
  for (const part of ["b", "B", "b.org", secret, "world.view"]) t.match(text.stdout, part);
  t.ok(text.stdout.startsWith((await run("world show b")).stdout));
  t.match(text.stdout, /^Event {4}http:\/\/127\.0\.0\.1:\d+\/w\/b\/$/m);
  t.match(text.stdout, /^Console {2}http:\S+\/w\/b\/console#token=eyJ\S+$/m);
  t.match(text.stdout, /^ {2}foyer serve$/m);
  t.strictSame(await json("world list"), [
    { id: "a", title: "Änne's 🎪", domain: "a.org:8443" },
    { id: "b", title: "B", domain: "b.org" },
  ]);
  t.equal((await run("world list")).stdout, "a\ta.org:8443\tÄnne's 🎪\nb\tb.org\tB\n");

  const failures: [line: string, message: string][] = [
    ["world create a --title A --domain c.org", "The id a is taken."],
    ["world create c --title C --domain b.org", "The domain b.org is taken."],
    ["world show c", "There is no world c."],
    ["world delete c --yes", "There is no world c."],
    ["token c", "There is no world c."],
    ["world show c --json", "There is no world c."],
  ];
  for (const [line, message] of failures) {
    t.same(await run(line), { code: 1, stdout: "", stderr: `foyer: ${message}\n` }, line);
  }
  t.equal((await run("world delete a")).code, 2, "not without --yes");
  t.same(await json("world show a"), made);
  t.strictSame(await json("world delete a --yes"), { deleted: "a" });
  t.match((await run("world delete b --yes")).stdout, /Deleted the world b/);
  t.match((await run("world list")).stdout, /no worlds yet/);
  t.strictSame(await json("world list"), []);
});

void t.test("a world that no user can reach is opened again", async (t) => {
  const { call, command, store } = await startServer(t, {
    worlds: [demo({ permission_config: {} }), demo({ id: "other" })],
  });
  const room = await store.rooms.create("demo", { name: "x" });
  const status = async (as: string) => (await call({ url: "/api/v1/worlds/demo/", as })).status;
  const old = admin("demo");
  t.equal(await status(old), 403, "whatever a token says");

  const update = (...args: string[]) => command("world", "update", "demo", ...args);
  const text = await update("--default-rules");
  t.same([text.code, text.stderr], [0, ""]);
  t.match(text.stdout, /^ {2}world\.api +\["admin","api"\]$/m);
  // A server with a cache sees a command's changes within a second.
  await until(async () => (await status(old)) === 200);

  const { secret, ...key } = keyOf("demo");
  t.notMatch(text.stdout, secret, "a secret is not shown in passing");
  t.match(text.stdout, key.issuer);
  const titled = await update("--title", "x", "--json");
  t.strictSame((JSON.parse(titled.stdout) as World).config, { JWT_secrets: [key] });

  const change = ["--title", "New", "--domain", "new.org", "--new-key"];
  const { code, stdout } = await update(...change, "--json");
  t.equal(code, 0);
  // The old key is gone, along with everything cached for it.
  await until(async () => (await status(old)) === 401);
  const { value } = (await store.worlds.get("demo"))!;
  t.strictSame(JSON.parse(stdout), value);
  t.match(value, {
    title: "New",
    domain: "new.org",
    permission_config: defaultPermissionConfig,
    config: { JWT_secrets: [{ issuer: "foyer", secret: /^\w{64}$/ }] },
  });
  t.equal(value.config.JWT_secrets.length, 1);
  const token = await command("token", "demo");
  t.equal(await status(`Bearer ${token.stdout.trim()}`), 200);
  t.ok(await store.rooms.get("demo", room.value.id), "and all else is there");

  const refused: [args: string[], code: number, stderr: RegExp][] = [
    [[], 2, /name what to change/],
    [["--domain", "No!"], 2, /host name in lower case/],
    [["--domain", "other.localhost"], 1, /^foyer: The domain .* is taken\.\n$/],
  ];
  for (const [args, code, stderr] of refused) {
    t.match(await update(...args), { code, stdout: "", stderr }, args.join(" "));
  }
  t.strictSame((await store.worlds.get("demo"))!.value, value);
});

void t.test("a token says what it was asked to", async (t) => {
  // The first of several keys signs.
  const { call, command, dataDir } = await startServer(t, {
    worlds: [demo({ config: { JWT_secrets: [keyOf("demo"), keyOf("x")] } })],
  });
  const verify = createVerifier({ key: keyOf("demo").secret });
  const DAY = 24 * 3600;
  const uuid = /^[0-9a-f-]{36}$/;
  const named = (display_name: string) => ({ display_name });
  const cases: [args: string, claims: object, seconds: number, status: number][] = [
    ["", { traits: ["admin", "api"], uid: undefined }, 30 * DAY, 200],
    ["--uid 42", { uid: "42", traits: ["admin", "api"] }, 30 * DAY, 200],
    ["--uid bot --name Wall-E", { uid: "bot", profile: named("Wall-E") }, 30 * DAY, 200],
    ["--name Eve", { uid: uuid, profile: named("Eve") }, 30 * DAY, 200],
    ["--trait attendee", { traits: ["attendee"] }, 30 * DAY, 403],
    [
      "--trait api --trait x --trait admin --expires 90s",
      { traits: ["api", "x", "admin"] },
      90,
      200,
    ],
    ["--expires 12h", {}, DAY / 2, 200],
    ["--expires 5m --json", {}, 300, 200],
  ];
  for (const [args, expected, seconds, status] of cases) {
    const { code, stdout, stderr } = await command(
      "token",
      "demo",
      ...args.split(" ").filter(Boolean),
    );
    t.same([code, stderr], [0, ""], args);
    const isJson = args.includes("--json");
    const token = isJson ? (JSON.parse(stdout) as { token: string }).token : stdout.trimEnd();
    if (!isJson) t.equal(stdout, `${token}\n`, args);
    const claims = verify(token) as Record<string, unknown>;
    const { issuer, audience } = keyOf("demo");
    t.match(claims, { iss: issuer, aud: audience, ...expected }, args);
    t.equal(Number(claims.exp) - Number(claims.iat), seconds, args);
    const got = await call({ url: "/api/v1/worlds/demo/", as: `Bearer ${token}` });
    t.equal(got.status, status, args);
  }

  const at = async (env: Record<string, string>, ...args: string[]) => {
    const words = ["token", "demo", "--link", ...args];
    const { code, stdout, stderr } = await foyer(dataDir, words, env);
    return { code, stderr, text: stdout.trimEnd() };
  };
  const links: [env: Record<string, string>, args: string[], start: string][] = [
    [{}, [], "http://127.0.0.1:8375/w/demo/console"],
    [{}, ["console"], "http://127.0.0.1:8375/w/demo/console"],
    [{}, ["event"], "http://127.0.0.1:8375/w/demo/"],
    [{ HOST: "0.0.0.0", PORT: "80" }, [], "http://localhost:80/w/demo/"],
    [{ HOST: "::" }, [], "http://localhost:8375/w/demo/console"],
    [{ HOST: "::1" }, [], "http://[::1]:8375/w/demo/console"],
    [{ PUBLIC_URL: "https://a.org/b/", PORT: "0" }, ["event"], "https://a.org/b/w/demo/"],
  ];
  for (const [env, args, start] of links) {
    const { code, text } = await at(env, ...args);
    t.equal(code, 0, start);
    const [address, token = ""] = text.split("#token=");
    t.ok(address!.startsWith(start), `${address} ${start}`);
    t.match(verify(token), { uid: uuid, traits: ["admin", "api"] }, "a new user, who can log in");
  }
  const ann = ["event", "--uid", "ann", "--trait", "attendee", "--json"];
  const { text } = await at({}, ...ann);
  const { token, link } = JSON.parse(text) as { token: string; link: string };
  t.equal(link, `http://127.0.0.1:8375/w/demo/#token=${token}`);
  t.match(verify(token), { uid: "ann", traits: ["attendee"] });
  t.match(await at({ PORT: "0" }), { code: 1, stderr: /PUBLIC_URL/ });
  t.match(await at({}, "other"), { code: 2, stderr: /console, event/ });
});

/** A color, a newline, a tab, a single-byte control sequence, and reversed text. */
const EVIL = "a\u001b[31m\nforged\tevil.org\u009b2J\u202eb\u061c";

/** Characters that control a terminal, except newlines between lines and tabs between cells. */
const OBEYED =
  // oxlint-disable-next-line no-control-regex -- they are what it is about
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

void t.test("stored text has no control of a terminal", async (t) => {
  const dataDir = testdir(t);
  const store = await openStoreIn(t, dataDir);
  const secret = `${EVIL}${"x".repeat(40)}`;
  const key = { issuer: EVIL, audience: EVIL, secret };
  await store.worlds.create(worldOf("demo", { title: EVIL, config: { JWT_secrets: [key] } }));
  const uploader = { tokenId: EVIL, traits: new Set([EVIL]) };
  const file = { key: "pub/demo/a.pdf", size: 1, sha256: "x".repeat(64) };
  await store.files.add("demo", uploader, file, 1e6);
  await store.close();
  for (const [line, lines] of [
    ["world list", 1],
    ["world show demo", undefined],
    ["user list demo", 1],
    ["check", 1],
  ] as const) {
    const { stdout } = await foyer(dataDir, line.split(" "));
    t.notMatch(stdout, OBEYED, line);
    t.notMatch(stdout, /^forged/m, line);
    if (lines) t.equal(stdout.trimEnd().split("\n").length, lines, line);
    if (line !== "check") t.match(stdout, "\\u001b[31m\\u000aforged", `${line} shows what it is`);
  }
  for (const line of ["world show demo --json", "world export demo"]) {
    const { stdout } = await foyer(dataDir, line.split(" "));
    t.notMatch(stdout, OBEYED, line);
    const isShown = line.includes("show");
    const shown = isShown ? (JSON.parse(stdout) as World) : rowsIn([stdout]).worlds![0]!;
    t.equal(shown.title, EVIL, `${line} says the same to a machine`);
    const { JWT_secrets } = (
      typeof shown.config === "string" ? JSON.parse(shown.config) : shown.config
    ) as World["config"];
    t.equal(JWT_secrets[0]!.secret, secret);
  }
});

void t.test(
  "arguments and files have no control of a terminal",
  embedded("names the folder that has no database"),
  async (t) => {
    const dataDir = join(testdir(t), "data");
    const archive = join(t.testdirName, "evil.tar");
    writeFileSync(archive, tarOf([{ path: `media/${EVIL}`, body: Buffer.from("x") }]));
    const world = { ...worldOf("demo"), [EVIL]: 1 };
    const document = JSON.stringify({ format: "foyer.world", version: 1, world, rooms: [] });
    const cases: [args: string[], code: number, input?: string][] = [
      [[EVIL], 2],
      [["world", "list", `--${EVIL}`], 2],
      [["help", EVIL], 2],
      [create(EVIL, "a.org"), 2],
      [["world", "import", join(dataDir, EVIL)], 1],
      [["world", "import", "-"], 1, document],
      [["restore", archive], 1],
      [["restore", join(dataDir, EVIL)], 1],
    ];
    for (const [args, code, input] of cases) {
      const name = JSON.stringify(args);
      const got = await foyer(dataDir, args, {}, input);
      t.match(got, { code, stdout: "", stderr: /^foyer: [^\n\t]+\n$/ }, name);
      t.notMatch(got.stderr, OBEYED, name);
      t.match(got.stderr, "\\u001b[31m", name);
    }
    const stderr = /^foyer: there is no database in [^\n]+\\u009b2J[^\n]+\n$/;
    t.match(await foyer(join(t.testdirName, EVIL), ["world", "list"]), { code: 1, stderr });
  },
);
