import { readFileSync } from "node:fs";
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
