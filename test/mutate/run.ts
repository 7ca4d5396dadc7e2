import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Area, type Mutant, mutants } from "./mutants.js";
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
    /** For each mutant, all suites in one, up to the first file that notices it. */
    first: { type: "boolean", default: false },
    /** With `--first`, how many files are tried for a mutant, the most promising ones. */
    most: { type: "string", default: "1000" },
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
      // Twice, as a busy machine fails a file by chance, too.
      if (await scratch.passes(file, TIMEOUT)) continue;
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

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word.length > 2)
    .map((word) => word.replace(/s$/, ""));

/** For each mutant, the file that noticed it in the last run with `--first`. */
const RECORD = join(ROOT, "test/mutate/noticed.json");
const record = JSON.parse(readFileSync(RECORD, "utf8")) as Record<
  string,
  string
>;

/** For each file of tests, the area of what it noticed last. */
const useful = new Map<string, Area>();

/**
 * Sorts files of tests, the most promising first: the one that noticed the mutant before, then
 * by the words that their paths have in common with it, and by what they noticed in its area.
 */
function promising(mutant: Mutant, files: readonly string[]): string[] {
  const words = new Set(wordsOf(`${mutant.file} ${mutant.breaks}`));
  const worth = (file: string) =>
    wordsOf(file).filter((word) => words.has(word)).length +
    Number(useful.get(file) === mutant.area) +
    (record[mutant.breaks] === file ? 100 : 0);
  return files.toSorted((a, b) => worth(b) - worth(a));
}

/** How many mutants each suite noticed, and how many it was tried with. */
const counts = new Map<string, { noticed: number; tried: number }>();
const unnoticed: string[] = [];
const left: string[] = [];

/** The groups of files that are tried apart: the suites, or with `--first` all of them at once. */
function groupsFor(mutant: Mutant, dist: string): [string, string[]][] {
  const groups = triedFor(mutant).map((suite): [string, string[]] => [
    suite.name,
    promising(mutant, filesOf(suite, dist, options.files)),
  ]);
  if (!options.first || groups.length === 0) return groups;
  const all = new Set(groups.flatMap(([, files]) => files));
  const known = record[mutant.breaks];
  if (known !== undefined && !options.suite && !options.files) all.add(known);
  const most = Number(options.most);
  return [["the tests", promising(mutant, [...all]).slice(0, most)]];
}

async function tryAll(scratch: Scratch): Promise<void> {
  for (const mutant of chosen) {
    const groups = groupsFor(mutant, scratch.dist);
    let isNoticed = groups.length === 0;
    for (const [name, files] of groups) {
      if (Date.now() > deadline) {
        left.push(`${nameOf(mutant)} by ${name}`);
        isNoticed = true;
        continue;
      }
      const file = await noticing(scratch, mutant, files);
      const { noticed, tried } = counts.get(name) ?? { noticed: 0, tried: 0 };
      counts.set(name, {
        noticed: noticed + Number(file !== undefined),
        tried: tried + 1,
      });
      isNoticed ||= file !== undefined;
      if (file !== undefined) {
        useful.set(file, mutant.area);
        if (options.first) record[mutant.breaks] = file;
      }
      console.log(`${file ?? `NOT by ${name}`}\t${nameOf(mutant)}`);
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
  if (options.first) {
    writeFileSync(RECORD, `${JSON.stringify(record, null, 2)}\n`);
  }
  report();
}
