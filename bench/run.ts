import { measure, print } from "./rounds.js";
import { openScene } from "./scene.js";
import { works } from "./works.js";

// `npm run bench [part of a name …]` measures and prints a table. ROUNDS and SECONDS
// set the duration.

const wanted = process.argv.slice(2);
const chosen = works.filter(
  ({ name }) => !wanted.length || wanted.some((part) => name.includes(part)),
);

const scene = await openScene();
try {
  print(await measure(chosen, scene));
} finally {
  await scene.stop();
}
