import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { testdir } from "../testdir.js";

// Tests run from dist/test/system.
const BUILD = fileURLToPath(
  new URL("../../../scripts/build.js", import.meta.url),
);

void t.test("a build compiles what has changed, and only then", (t) => {
  const dir = testdir(t, {
    "tsconfig.json": JSON.stringify({
      compilerOptions: {
        module: "nodenext",
        rootDir: ".",
        outDir: "dist",
        declaration: true,
        sourceMap: true,
        incremental: true,
        tsBuildInfoFile: "dist/.tsbuildinfo",
        lib: ["es5"],
        types: [],
        skipLibCheck: true,
      },
      include: ["*.ts", "folder"],
    }),
    "package.json": '{ "type": "module" }',
    "package-lock.json": "{}",
    "main.ts": "export const main: number = 1;\n",
    folder: { below: { "part.ts": "export const part = 1;\n" } },
  });
  const at = (path: string) => join(dir, path);
  const stamp = at("dist/.built");
  /** Runs the build: `undefined` if it found nothing to do, else how the compiler ended. */
  const build = (): number | null | undefined => {
    if (existsSync(stamp)) utimesSync(stamp, 1, 1);
    const isFirst = !existsSync(stamp);
    const command = ["-i", process.execPath, BUILD];
    const { status, stderr } = spawnSync("env", command, {
      cwd: dir,
      encoding: "utf8",
    });
    const says = isFirst ? /^Building Foyer .* a minute\.\n$/ : /^$/;
    t.match(stderr, says);
    const untouched = existsSync(stamp) && statSync(stamp).mtimeMs === 1000;
    return untouched ? undefined : status;
  };
  const compiled = (path: string) => readFileSync(at(`dist/${path}`), "utf8");

  const steps: [name: string, change: () => void, ends: number | undefined][] =
    [
      ["a fresh clone", () => {}, 0],
      [
        "a source, edited",
        () => writeFileSync(at("main.ts"), "export const main = 2;\n"),
        0,
      ],
      [
        "a source with a new time",
        () => utimesSync(at("main.ts"), 99, 99),
        undefined,
      ],
      [
        "a source, renamed",
        () => renameSync(at("folder/below/part.ts"), at("folder/below/new.ts")),
        0,
      ],
      [
        "an error",
        () => appendFileSync(at("main.ts"), 'const wrong: number = "";\n'),
        2,
      ],
      ["the same error", () => {}, 2],
      [
        "the error, mended",
        () => writeFileSync(at("main.ts"), "export const main = 3;\n"),
        0,
      ],
      ["the lock file", () => writeFileSync(at("package-lock.json"), "{ }"), 0],
      ["the settings", () => appendFileSync(at("tsconfig.json"), "\n"), 0],
      [
        "an installed package",
        () => {
          mkdirSync(at("node_modules"));
          writeFileSync(at("node_modules/.package-lock.json"), "{}");
        },
        0,
      ],
      ["an output, deleted", () => rmSync(at("dist/main.js")), 0],
      [
        "an output without a source",
        () => writeFileSync(at("dist/folder/old.test.js"), ""),
        0,
      ],
    ];
  for (const [name, change, ends] of steps) {
    change();
    t.equal(build(), ends, name);
    if (ends !== 2) t.equal(build(), undefined, `${name}: once`);
  }
  t.match(compiled("main.js"), "main = 3");
  t.notOk(existsSync(at("dist/folder/below/part.js")), "renamed");
  t.notOk(existsSync(at("dist/folder/old.test.js")), "without a source");

  // The compiler alone, between two builds, on something that is taken back.
  writeFileSync(at("main.ts"), "export const main = 4;\n");
  const manifest = import.meta.resolve("typescript-native/package.json");
  const tsc = fileURLToPath(new URL("bin/tsc", manifest));
  const alone = ["-i", process.execPath, tsc];
  t.equal(spawnSync("env", alone, { cwd: dir }).status, 0);
  writeFileSync(at("main.ts"), "export const main = 3;\n");
  t.equal(build(), 0);
  t.match(compiled("main.js"), "main = 3");
  t.end();
});
