import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";

// Prints the number of test lines per product line: node scripts/lines.js. It counts the code files
// in Git. Generated files and benchmarks count as neither; the rows of conformance/ count as
// product, because the package ships them.

const CODE = /\.(ts|js|mjs|svelte|css|html|py|go|java|txt|sql|sh)$/;
const NEITHER = /^(bench|docs|deploy|demo|\.ci)\/|^client\/api\.ts$|^[^/]*\.txt$/;

const count = { test: 0, product: 0 };
const list = execFileSync("git", ["ls-files", "-z"], { encoding: "utf8" });
for (const path of list.split("\0")) {
  if (!CODE.test(path) || NEITHER.test(path) || !existsSync(path)) continue;
  const lines = readFileSync(path, "utf8").split("\n").length - 1;
  count[path.startsWith("test/") ? "test" : "product"] += lines;
}
const ratio = (count.test / count.product).toFixed(3);
process.stdout.write(`${count.test} of tests, ${count.product} of product: ${ratio}\n`);
