import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findChromium } from "./chromium.js";

// `npm run test:web [name…]`: the tests of the pages, which need a browser. Each file
// starts a server and a browser of its own.

const folder = fileURLToPath(new URL(".", import.meta.url));
const names = process.argv.slice(2);
const { CHROMIUM, CI } = process.env;

/** Where the command of tap is: its package exports no path to it. */
function tapCommand(): string {
  const main = createRequire(import.meta.url).resolve("tap");
  const root = main.slice(0, main.lastIndexOf(join("node_modules", "tap")));
  return join(root, "node_modules", ".bin", "tap");
}

if (findChromium() === undefined) {
  const where = CHROMIUM ? `at ${CHROMIUM}` : "on the PATH";
  console.log(
    `There is no chromium ${where}: the pages are NOT tested. Set CHROMIUM.`,
  );
  process.exitCode = CHROMIUM || CI ? 1 : 0;
} else {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".test.js"))
    .filter(
      (file) =>
        names.length === 0 || names.some((name) => file.startsWith(name)),
    )
    .map((file) => join(folder, file));
  // A browser takes a core; a third file would only slow down the first two.
  const { status } = spawnSync(
    tapCommand(),
    ["--jobs=2", "--timeout=900", ...files],
    {
      stdio: "inherit",
      cwd: join(dirname(folder), "..", ".."),
    },
  );
  process.exitCode = status ?? 1;
}
