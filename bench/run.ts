import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type Figure, figures } from "./figures.js";
import { picture } from "./picture.js";
import {
  measure,
  print,
  type Result,
  rounds,
  seconds,
  short,
} from "./rounds.js";
import { openScene } from "./scene.js";
import { works } from "./works.js";

// `npm run bench [part of a name …]` measures and prints a table. Without arguments
// it also writes the table to docs/, as JSON and as a picture. ROUNDS and SECONDS
// set the duration.

const wanted = process.argv.slice(2);
const chosen = works.filter(
  ({ name }) => !wanted.length || wanted.some((part) => name.includes(part)),
);

const scene = await openScene();
let measuredOnce: Figure[] = [];
let results: Result[];
try {
  results = await measure(chosen, scene);
  if (!wanted.length) measuredOnce = await figures();
} finally {
  await scene.stop();
}

print(results);
if (!wanted.length) {
  console.table(
    measuredOnce.map(({ value, ...rest }) => ({
      value: short(value),
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

/** wrk prints its version and exits with an error. */
function wrkVersion(): string {
  try {
    return execFileSync("wrk", ["--version"], { encoding: "utf8" });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
