import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Mutant, mutants } from "./mutants.js";
import { Scratch } from "./scratch.js";
import { filesOf, type Suite, suites } from "./suites.js";

// Breaks the product in one place at a time, and counts for each suite how often it
// notices: npm run mutate -- [--only <part of an area, file or consequence>]
// [--suite <name>] [--files <part of a path>] [--all | --first] [--minutes <most>] [--list].

const { values: options } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    suite: { type: "string", multiple: true },
    files: { type: "string" },
    /** Every suite for every mutant, not only the ones that are meant for its area. */
    all: { type: "boolean", default: false },
    /** For each mutant, only the suites up to the first that notices it. */
    first: { type: "boolean", default: false },
    minutes: { type: "string", default: "60" },
    /** Checks the table, and runs nothing. */
    list: { type: "boolean", default: false },
  },
});

const ROOT = join(import.meta.dirname, "../../..");

/** The longest time of one file of tests, in milliseconds. A mutant that hangs is noticed. */
const TIMEOUT = 600_000;

const deadline = Date.now() + Number(options.minutes) * 60_000;

const nameOf = ({ area, file, breaks }: Mutant) =>
  `${area}: ${breaks} (${file})`;

const chosen = mutants.filter(
  (mutant) =>
    options.only?.some((part) => nameOf(mutant).includes(part)) ?? true,
);

const triedFor = ({ area }: Mutant): Suite[] =>
  suites.filter(
    ({ name, areas }) =>
      (options.all || areas.includes(area)) &&
      (options.suite?.includes(name) ?? true),
  );

/** For each file of tests, whether it passes with the product as it is. */
const whole = new Map<string, boolean>();

/** @returns the file that notices the mutant; undefined if none does. */
async function noticing(
  scratch: Scratch,
  mutant: Mutant,
  files: readonly string[],
): Promise<string | undefined> {
  const suspects: string[] = [];
  const mend = scratch.break(mutant);
  try {
    for (const file of files) {
      if (whole.get(file) === false) continue;
      if (await scratch.passes(file, TIMEOUT)) continue;
      suspects.push(file);
      if (whole.get(file)) return file;
      break;
    }
  } finally {
    mend();
  }
  const [file] = suspects;
  if (file === undefined) return undefined;
  whole.set(file, await scratch.passes(file, TIMEOUT));
  return whole.get(file) ? file : noticing(scratch, mutant, files);
}

/** How many mutants each suite noticed, and how many it was tried with. */
const counts = new Map<string, { noticed: number; tried: number }>();
const unnoticed: string[] = [];
const left: string[] = [];

async function tryAll(scratch: Scratch): Promise<void> {
  /** What noticed something last is tried first. */
  const useful = new Map<string, number>();
  for (const mutant of chosen) {
    const tried = triedFor(mutant);
    let isNoticed = tried.length === 0;
    for (const suite of tried) {
      if (options.first && isNoticed) break;
      if (Date.now() > deadline) {
        left.push(`${nameOf(mutant)} by ${suite.name}`);
        continue;
      }
      const files = filesOf(suite, scratch.dist, options.files).toSorted(
        (a, b) => (useful.get(b) ?? 0) - (useful.get(a) ?? 0),
      );
      const file = await noticing(scratch, mutant, files);
      const { noticed, tried } = counts.get(suite.name) ?? {
        noticed: 0,
        tried: 0,
      };
      counts.set(suite.name, {
        noticed: noticed + Number(file !== undefined),
        tried: tried + 1,
      });
      isNoticed ||= file !== undefined;
      if (file !== undefined) useful.set(file, Date.now());
      console.log(`${file ?? `NOT by ${suite.name}`}\t${nameOf(mutant)}`);
    }
    if (!isNoticed) unnoticed.push(nameOf(mutant));
  }
}

function report(): void {
  for (const [name, { noticed, tried }] of counts) {
    console.log(`${name}: ${noticed} of ${tried}`);
  }
  const broken = [...whole].filter(([, passes]) => !passes);
  for (const [file] of broken) console.log(`Fails in any case: ${file}`);
  for (const name of left) console.log(`Out of time: ${name}`);
  for (const name of unnoticed) console.log(`Not noticed: ${name}`);
}

const scratch = new Scratch(ROOT);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => process.exit(1));
}
process.once("exit", () => scratch.remove());
// First the texts: a row that no longer fits must not be found after an hour.
for (const mutant of chosen) scratch.break(mutant)();
console.log(`${mutants.length} mutants, of which ${chosen.length} are tried.`);
if (!options.list) {
  await tryAll(scratch);
  report();
}
