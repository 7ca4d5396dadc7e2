import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { mutants } from "./mutate/mutants.js";

const root = join(import.meta.dirname, "../..");

void t.test("the places that npm run mutate breaks are there", async (t) => {
  for (const { file, text, breaks } of mutants) {
    const source = readFileSync(join(root, file), "utf8");
    t.equal(source.split(text).length, 2, `${file}: ${breaks}`);
  }
});

void t.test("each file of tests is run by a command", (t) => {
  const scripts = readFileSync(join(root, "package.json"), "utf8");
  const sources = (
    readdirSync(join(root, "test"), { recursive: true }) as string[]
  )
    .filter((path) => path.endsWith(".ts"))
    .map((path) => path.replaceAll("\\", "/"));
  const runners = sources
    .filter((path) => path.endsWith("/all.ts") || !path.includes("/"))
    .map((path) => readFileSync(join(root, "test", path), "utf8"))
    .join();
  const isRun = (path: string): boolean => {
    const [folder] = path.split("/");
    if (folder === path || folder === "browser") return true;
    return (
      scripts.includes(`dist/test/${folder} `) ||
      scripts.includes(`dist/test/${folder}/*.test.js`) ||
      runners.includes(`runFolder("${folder}"`)
    );
  };
  const tests = sources.filter((path) => path.endsWith(".test.ts"));
  t.same(
    tests.filter((path) => !isRun(path)),
    [],
  );
  t.end();
});
