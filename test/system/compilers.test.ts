import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { testdir } from "../testdir.js";

// The build uses TypeScript 7.0, a rewrite. TypeScript 6 must compile the project to the same code.

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Code without the parentheses and breaks that one compiler writes and the other leaves out. */
const plain = (code: string) => code.replaceAll(/[()\s]|^\/\/#.*$/gm, "");

void t.test("both compilers make the same code", async (t) => {
  const folder = testdir(t);
  const tsc = fileURLToPath(import.meta.resolve("typescript/bin/tsc"));
  // By way of env, as tap puts a loader into the environment of every child.
  const { status, stdout } = spawnSync(
    "env",
    [
      ...["-i", process.execPath, tsc, "--outDir", folder],
      ...["--incremental", "false", "--tsBuildInfoFile", "null"],
      ...["--declaration", "false", "--sourceMap", "false"],
    ],
    { cwd: root, encoding: "utf8" },
  );
  t.equal(status, 0, stdout);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const code = files.filter((path) => /\.c?js$/.test(path));
  t.ok(code.length > 1000, `there are ${code.length}`);
  const others = code.filter(
    (path) =>
      plain(readFileSync(join(folder, path), "utf8")) !==
      plain(readFileSync(join(root, "dist", path), "utf8")),
  );
  t.same(others, []);
});
