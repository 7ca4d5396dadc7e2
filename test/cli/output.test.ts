import { embedded } from "../shared.js";
import { openStoreIn, variablesOf } from "../stack.js";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import type { World } from "../../schemas/worlds.js";
import { foyer, worldOf } from "../helper.js";
import { tarOf } from "./tar.js";
import { rowsIn } from "../exported.js";
import { testdir } from "../testdir.js";

// What others chose reaches a terminal, and may not have a say in what it does.

/** A color, a line, a column, a control sequence of one byte, and text turned round. */
const EVIL = "a\u001b[31m\nforged\tevil.org\u009b2J\u202eb\u061c";

const FOYER = fileURLToPath(new URL("../../cli/main.js", import.meta.url));

/** Lines end with newlines and cells with tabs; nothing else is left of what is obeyed. */
const OBEYED =
  // oxlint-disable-next-line no-control-regex -- they are what it is about
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

void t.test("what is kept in the database", async (t) => {
  const dataDir = testdir(t);
  const store = await openStoreIn(t, dataDir);
  const secret = `${EVIL}${"x".repeat(40)}`;
  const key = { issuer: EVIL, audience: EVIL, secret };
  const evil = worldOf("demo", { title: EVIL, config: { JWT_secrets: [key] } });
  await store.worlds.create(evil);
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
    if (line === "check") continue;
    t.match(stdout, "\\u001b[31m\\u000aforged", `${line} shows what it is`);
  }
  for (const line of ["world show demo --json", "world export demo"]) {
    const { stdout } = await foyer(dataDir, line.split(" "));
    t.notMatch(stdout, OBEYED, line);
    const isShown = line.includes("show");
    const shown = isShown
      ? (JSON.parse(stdout) as World)
      : rowsIn([stdout]).worlds![0]!;
    t.equal(shown.title, EVIL, `${line} says the same to a machine`);
    const { JWT_secrets } = (
      typeof shown.config === "string" ? JSON.parse(shown.config) : shown.config
    ) as World["config"];
    t.equal(JWT_secrets[0]!.secret, secret);
  }
});

void t.test(
  "what is given to a command",
  embedded("names the folder that has no database"),
  async (t) => {
    const dataDir = join(testdir(t), "data");
    const archive = join(t.testdirName, "evil.tar");
    const member = { path: `media/${EVIL}`, body: Buffer.from("x") };
    writeFileSync(archive, tarOf([member]));
    const document = JSON.stringify({
      format: "foyer.world",
      version: 1,
      world: { ...worldOf("demo"), [EVIL]: 1 },
      rooms: [],
    });
    const cases: [args: string[], code: number, input?: string][] = [
      [[EVIL], 2],
      [["world", "list", `--${EVIL}`], 2],
      [["help", EVIL], 2],
      [["world", "create", EVIL, "--title", "T", "--domain", "a.org"], 2],
      [["world", "import", join(dataDir, EVIL)], 1],
      [["world", "import", "-"], 1, document],
      [["restore", archive], 1],
      [["restore", join(dataDir, EVIL)], 1],
    ];
    for (const [args, code, input] of cases) {
      const name = JSON.stringify(args);
      const got = await foyer(dataDir, args, {}, input);
      t.match(got, { code, stdout: "" }, name);
      t.match(got.stderr, /^foyer: [^\n\t]+\n$/, name);
      t.notMatch(got.stderr, OBEYED, name);
      t.match(got.stderr, "\\u001b[31m", name);
    }
    const folder = join(t.testdirName, EVIL);
    t.match(await foyer(folder, ["world", "list"]), {
      code: 1,
      stderr: /^foyer: there is no database in [^\n]+\\u009b2J[^\n]+\n$/,
    });
  },
);

void t.test("an output that takes no more", async (t) => {
  const dataDir = testdir(t);
  const store = await openStoreIn(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  await store.close();
  const cases: [redirection: string, status: number, stderr: RegExp][] = [
    ["| true", 0, /^$/],
    [">/dev/full", 1, /^foyer: ENOSPC[^\n]+; make room on the disk, .+\n$/],
  ];
  for (const [redirection, status, stderr] of cases) {
    const shell = `"$NODE" "$FOYER" world list --json ${redirection}`;
    const ended = spawnSync("sh", ["-c", shell], {
      env: {
        ...(await variablesOf(dataDir)),
        NODE: process.execPath,
        FOYER,
      },
      encoding: "utf8",
    });
    t.match(ended, { status, stderr }, redirection);
  }
});
