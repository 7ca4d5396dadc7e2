import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { mutants } from "./mutate/mutants.js";
import { lengthy, nightly, suites } from "./suites.js";

const root = join(import.meta.dirname, "../..");

void t.test("the places that npm run mutate breaks are there", async (t) => {
  for (const { file, text, breaks } of mutants) {
    const source = readFileSync(join(root, file), "utf8");
    t.equal(source.split(text).length, 2, `${file}: ${breaks}`);
  }
});

void t.test("each file of tests is run by a command", (t) => {
  const sources = (
    readdirSync(join(root, "test"), { recursive: true }) as string[]
  )
    .filter((path) => path.endsWith(".ts"))
    .map((path) => path.replaceAll("\\", "/"));
  // `npm test` runs the files beside this one.
  const inSuites = Object.values(suites).flatMap(({ files }) => files);
  const runners = [
    ...sources.filter((path) => !path.includes("/")),
    ...inSuites.filter((file) => file.endsWith(".js")),
  ].map((path) =>
    readFileSync(join(root, "test", path.replace(/\.js$/, ".ts")), "utf8"),
  );
  const isRun = (path: string): boolean => {
    const [folder] = path.split("/");
    if (folder === path || inSuites.includes(folder!)) return true;
    return runners.some((text) => text.includes(`runFolder("${folder}"`));
  };
  const tests = sources.filter((path) => path.endsWith(".test.ts"));
  t.same(
    tests.filter((path) => !isRun(path)),
    [],
  );
  const named = [
    ...Object.keys(nightly),
    ...Object.entries(lengthy).flatMap(([folder, files]) =>
      files.map((file) => `${folder}/${file}`),
    ),
  ].map((path) => path.replace(/js$/, "ts"));
  t.same(
    named.filter((path) => !tests.includes(path)),
    [],
    "and what another run has is there",
  );
  for (const folder of Object.keys(lengthy)) {
    t.ok(inSuites.includes(`${folder}/all.js`), `a suite runs ${folder}`);
  }
  t.end();
});
