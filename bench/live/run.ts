import { type Figure } from "../figures.js";
import { measure, print, say, short } from "../rounds.js";
import { figures } from "./figures.js";
import { openStage, PEOPLE } from "./stage.js";
import { chatWorks } from "./chat-works.js";
import { works } from "./works.js";

// `npm run bench live [part of a name …]` measures the websockets, with a crowd of
// PEOPLE in one room. ROUNDS and SECONDS set the duration.

const wanted = process.argv.slice(3);
const chosen = [...works, ...chatWorks].filter(
  ({ name }) => !wanted.length || wanted.some((part) => name.includes(part)),
);

say(`${PEOPLE} people join`);
const stage = await openStage();
let results;
let measuredOnce: Figure[];
try {
  measuredOnce = await figures(stage);
  results = await measure(chosen, stage);
} finally {
  await stage.stop();
}
print(results);
console.table(
  measuredOnce.map(({ value, ...rest }) => ({ value: short(value), ...rest })),
);
