import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type Figure, figures } from "./figures.js";
import { picture } from "./picture.js";
import { openScene } from "./scene.js";
import { type Work, works } from "./works.js";

// `npm run bench [part of a name …]` measures and prints a table. Without arguments
// it also writes the table to docs/, as JSON and as a picture. ROUNDS and SECONDS
// set the duration.

/** The result of one work. */
export interface Result {
  name: string;
  of: string;
  goal: Work["goal"];
  median: number;
  lowest: number;
  highest: number;
  met: boolean;
}

const rounds = Number(process.env.ROUNDS ?? 5);
const seconds = Number(process.env.SECONDS ?? 2);
const wanted = process.argv.slice(2);
const chosen = works.filter(
  ({ name }) => !wanted.length || wanted.some((part) => name.includes(part)),
);

const scene = await openScene();
let measuredOnce: Figure[] = [];
const ratios = new Map<Work, number[]>(chosen.map((work) => [work, []]));
try {
  // Round by round, so that other load on the machine affects all alike.
  for (let round = 0; round < rounds; round++) {
    for (const [work, measured] of ratios) {
      measured.push(await work.measure(scene, seconds, round % 2 === 1));
      if (process.stderr.isTTY) {
        process.stderr.write(`\r\x1b[Kround ${round + 1}: ${work.name}`);
      }
    }
  }
  if (!wanted.length) measuredOnce = await figures(scene);
} finally {
  process.stderr.write(process.stderr.isTTY ? "\r\x1b[K" : "");
  await scene.stop();
}

const results = [...ratios].map(([work, measured]): Result => {
  const sorted = measured.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)]!;
  const { name, of, goal } = work;
  const met =
    "atLeast" in goal ? median >= goal.atLeast : median <= goal.atMost;
  return {
    ...{ name, of, goal, median },
    ...{ lowest: sorted[0]!, highest: sorted.at(-1)!, met },
  };
});

console.table(
  results.map(({ name, of, goal, median, lowest, highest, met }) => ({
    work: name,
    ratio: round(median),
    spread: `${round(lowest)} to ${round(highest)}`,
    goal: "atLeast" in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`,
    met: met ? "yes" : "no",
    of,
  })),
);
if (!wanted.length) {
  console.table(
    measuredOnce.map(({ value, ...rest }) => ({
      value: round(value),
      ...rest,
    })),
  );
  const machine = {
    node: process.version,
    cores: availableParallelism(),
    rounds,
    seconds,
    client: /wrk (\S+)/.exec(wrkVersion())?.[0],
  };
  const docs = join(import.meta.dirname, "../../docs");
  const text = JSON.stringify(
    { machine, results, figures: measuredOnce },
    null,
    2,
  );
  writeFileSync(join(docs, "performance.json"), `${text}\n`);
  writeFileSync(join(docs, "performance.svg"), picture(results));
}

function round(ratio: number): number {
  return Number(ratio.toPrecision(3));
}

/** wrk prints its version and exits with an error. */
function wrkVersion(): string {
  try {
    return execFileSync("wrk", ["--version"], { encoding: "utf8" });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
