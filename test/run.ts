import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { findChromium } from "./browser/chromium.js";
import { filesOf, SHORT, suites } from "./suites.js";

// `npm run test:<suite> [-- <name>…]`: the tests of a suite, or the files with such names.
// Several suites run as one, with commas between them.

/** After how many seconds a file hangs; a busy machine takes several times as long as a free one. */
const TIMEOUT = 900;

const [name = "", ...names] = process.argv.slice(2);

/** Where the command of tap is: its package exports no path to it. */
function tapCommand(): string {
  const main = createRequire(import.meta.url).resolve("tap");
  const root = main.slice(0, main.lastIndexOf(join("node_modules", "tap")));
  return join(root, "node_modules", ".bin", "tap");
}

/** Whether the tests of pages can run; says why they cannot. */
function hasBrowser(): boolean {
  if (findChromium() !== undefined) return true;
  const { CHROMIUM, CI } = process.env;
  const where = CHROMIUM ? `at ${CHROMIUM}` : "on the PATH";
  console.log(
    `There is no chromium ${where}: the pages are NOT tested. Set CHROMIUM.`,
  );
  process.exitCode = CHROMIUM || CI ? 1 : 0;
  return false;
}

async function main(): Promise<void> {
  const asked = name.split(",");
  const chosen = asked.flatMap((one) => suites[one] ?? []);
  if (chosen.length < asked.length) {
    console.error(`Name one of ${Object.keys(suites).join(", ")}.`);
    process.exitCode = 2;
    return;
  }
  if (asked.includes("web") && !hasBrowser()) return;
  const files = filesOf(chosen, import.meta.dirname, names);
  if (files.length === 0) {
    console.error(`No file of ${name} begins with ${names.join(" or ")}.`);
    process.exitCode = 2;
    return;
  }
  const { TAP_JOBS, FOYER_BUNDLE } = process.env;
  const [jobs] = chosen.flatMap((suite) => suite.jobs ?? []);
  const bundle = chosen.some((suite) => suite.bundle);
  const began = Date.now();
  const tap = spawn(
    tapCommand(),
    [
      ...(jobs !== undefined && !TAP_JOBS ? [`--jobs=${jobs}`] : []),
      `--timeout=${TIMEOUT}`,
      ...files.map((file) => join(import.meta.dirname, file)),
    ],
    {
      env: { ...process.env, FOYER_BUNDLE: bundle ? "1" : FOYER_BUNDLE },
      stdio: "inherit",
      cwd: join(import.meta.dirname, "..", ".."),
    },
  );
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => tap.kill(signal));
  }
  const [code] = (await once(tap, "close")) as [number | null];
  const took = Math.round((Date.now() - began) / 1000);
  const what = SHORT ? "what a landing runs of it" : "all of it";
  console.log(
    `test:${name} took ${took} s: ${names.length > 0 ? names.join() : what}, ${files.length} files.`,
  );
  process.exitCode = code ?? 1;
}

await main();
