import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { findChromium } from "./browser/chromium.js";
import { faultsOf, runFile, signalFiles } from "./run-file.js";
import { startStack } from "./servers/stack.js";
import { filesOf, rankOf, SHORT, type Suite, suites } from "./suites.js";

// `npm test [-- <name>…]` and `npm run test:<suite> [-- <name>…]`: the tests of a suite, or the
// files with such names.
// Several suites run as one, with commas between them.
// TAP_JOBS: how many files run at once. TAP_SAVE: a file that gets what failed, a line for each;
// if it is there, nothing else runs.

/**
 * How many files run at once by default: most of them wait for a part of the time, so that
 * more than one for each core keep two cores busy.
 */
const JOBS = 5;

/** A file of a suite: two suites may have the same one, on different engines. */
interface Job {
  readonly name: string;
  readonly suite: string;
  readonly file: string;
}

const [asked = "", ...names] = process.argv.slice(2);
const { TAP_SAVE: save, TAP_JOBS } = process.env;

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

/** Whether a signal has ended this run. */
let isOver = false;

/** The files to run, in the order in which they start. */
function jobsOf(chosen: readonly string[]): Job[] {
  const jobs = chosen
    .flatMap((suite) =>
      filesOf(suites[suite]!, import.meta.dirname, names).map((file) => ({
        ...{ suite, file },
        name: `${suite}: ${file}`,
      })),
    )
    .sort((a, b) => rankOf(a.file) - rankOf(b.file));
  if (save === undefined || !existsSync(save)) return jobs;
  const failed = readFileSync(save, "utf8").split("\n");
  return jobs.filter(({ name }) => failed.includes(name));
}

/** Runs the files, and says of each what came of it. @returns those that failed. */
async function runAll(
  jobs: readonly Job[],
  env: Record<string, string>,
): Promise<Job[]> {
  const waiting = [...jobs];
  const running = new Set<Job>();
  const failed: Job[] = [];
  let done = 0;
  let assertions = 0;
  const times = new Map<string, number>();

  /** A suite has its limit, and tests have folders with the name of the file. */
  const mayRun = ({ suite, file }: Job): boolean => {
    const now = [...running];
    const { jobs = Infinity } = suites[suite] as Suite;
    return (
      now.filter((job) => job.suite === suite).length < jobs &&
      now.every((job) => job.file !== file)
    );
  };

  async function lane(): Promise<void> {
    for (;;) {
      const job = waiting.find(mayRun);
      // The lane of the file that keeps the others from running takes them afterwards.
      if (!job || isOver) return;
      waiting.splice(waiting.indexOf(job), 1);
      running.add(job);
      const { shared } = suites[job.suite] as Suite;
      const result = await runFile(job.file, shared ? env : {});
      running.delete(job);
      const { passed, count, seconds, output } = result;
      done += 1;
      assertions += count;
      times.set(job.suite, (times.get(job.suite) ?? 0) + seconds);
      console.log(
        `${passed ? "ok" : "FAILED"} ${done}/${jobs.length} ${job.name}: ${count} assertions in ${seconds.toFixed(1)} s`,
      );
      if (passed) continue;
      failed.push(job);
      console.log(faultsOf(output));
    }
  }

  const length = Math.max(1, Number(TAP_JOBS) || JOBS);
  await Promise.all(Array.from({ length }, lane));
  for (const [suite, seconds] of times) {
    const files = jobs.filter((job) => job.suite === suite).length;
    console.log(
      `${suite}: ${files} files took ${Math.round(seconds)} s, one after the other`,
    );
  }
  console.log(`${assertions} assertions`);
  return failed;
}

async function main(): Promise<void> {
  const chosen = asked.split(",");
  if (chosen.some((name) => !(name in suites))) {
    console.error(`Name one of ${Object.keys(suites).join(", ")}.`);
    process.exitCode = 2;
    return;
  }
  if (chosen.includes("web") && !hasBrowser()) return;
  const jobs = jobsOf(chosen);
  if (jobs.length === 0) {
    console.error(`No file of ${asked} begins with ${names.join(" or ")}.`);
    process.exitCode = 2;
    return;
  }
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      isOver = true;
      signalFiles(signal);
    });
  }
  const began = performance.now();
  const needsStack = jobs.some(({ suite }) => suites[suite]?.shared);
  const stack = needsStack ? await startStack() : undefined;
  let failed: readonly Job[] = jobs;
  try {
    failed = await runAll(jobs, stack?.env ?? {});
  } finally {
    await stack?.close();
  }
  const took = Math.round((performance.now() - began) / 1000);
  const what = SHORT ? "what a landing runs of it" : "all of it";
  console.log(
    `${asked} took ${took} s: ${names.length > 0 ? names.join() : what}, ${jobs.length} files.`,
  );
  if (save !== undefined) {
    if (failed.length === 0) rmSync(save, { force: true });
    else writeFileSync(save, failed.map(({ name }) => `${name}\n`).join(""));
  }
  if (failed.length > 0 || isOver) process.exitCode = 1;
}

await main();
