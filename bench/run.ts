import { type Figure, figures } from "./figures.js";
import { measure, print, type Result, short } from "./rounds.js";
import { openScene } from "./scene.js";
import { works } from "./works.js";

// `npm run bench [part of a name …]` measures and prints a table. ROUNDS and SECONDS
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
}
