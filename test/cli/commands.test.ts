import { embedded } from "../shared.js";
import { existsSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import t from "tap";
import { foyer } from "../helper.js";
import { furnished } from "./furnished.js";
import { testdir } from "../testdir.js";

// What holds for every command. A new command needs a row here and nothing else.

interface Place {
  /** Where files are. What a command printed is there as `<name>.json`. */
  dir: string;
  user: string;
}

interface Row {
  /** As in `foyer help <name>`. */
  name: string;
  /** Arguments with which it succeeds, after all rows above it. */
  args: (place: Place) => string[];
  /** Whether it may make a database where there is none. */
  makes?: boolean;
  /** Whether it runs until it is stopped. */
  stays?: boolean;
  /** Whether it needs a server that runs; its own tests have one. */
  served?: boolean;
  elsewhere?: boolean;
}

const naming = (domain: string) => ["--title", "T", "--domain", domain];

const rows: Row[] = [
  { name: "serve", args: () => [], makes: true, stays: true },
  {
    name: "world create",
    args: () => ["new", ...naming("new.org")],
    makes: true,
  },
  { name: "world list", args: () => [] },
  { name: "world show", args: () => ["demo"] },
  { name: "world update", args: () => ["demo", "--title", "Other"] },
  { name: "world export", args: () => ["demo"] },
  {
    name: "world clone",
    args: () => ["demo", "clone", ...naming("clone.org")],
  },
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
  {
    name: "program import",
    args: ({ dir }) => ["demo", join(dir, "program export.json")],
  },
  { name: "connections list", args: () => ["demo"], served: true },
  { name: "connections drop", args: () => ["demo"], served: true },
  { name: "connections reload", args: () => ["demo"], served: true },
  {
    name: "conformance",
    args: () => ["http://127.0.0.1"],
    served: true,
    elsewhere: true,
  },
  { name: "backup", args: ({ dir }) => [join(dir, "all.tar")] },
  {
    name: "restore",
    args: ({ dir }) => [join(dir, "all.tar")],
    makes: true,
  },
  { name: "check", args: () => [] },
  { name: "upgrade", args: () => [] },
  { name: "world delete", args: () => ["demo", "--yes"] },
  {
    name: "world import",
    args: ({ dir }) => [join(dir, "world export.json")],
    makes: true,
  },
];

const commands = rows.filter(({ stays }) => !stays);

const argsOf = ({ name, args }: Row, place: Place) => [
  ...name.split(" "),
  ...args(place),
];

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
    const names = [...list.matchAll(/^ {2}([a-z]+)/gm)].map(
      ([, name]) => name!,
    );
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

void t.test(
  "a folder is named as it is, wherever one stands",
  embedded("PostgreSQL has no folder"),
  async (t) => {
    const missing = join(testdir(t), "missing");
    const given = relative(process.cwd(), missing);
    t.not(given, missing);
    for (const args of [
      ["world", "list"],
      ["check"],
      ["backup", join(missing, "x.tar")],
    ]) {
      const { code, stderr } = await foyer(given, args);
      t.equal(code, 1);
      t.equal(stderr, `foyer: there is no database in ${missing}\n`);
    }
  },
);
