import { measureCrowds } from "../crowd/run.js";
import { measure, print, say, short } from "../rounds.js";
import { compareWith } from "./against.js";
import { figures } from "./figures.js";
import { openStage, PEOPLE } from "./stage.js";
import { chatWorks } from "./chat-works.js";
import { works } from "./works.js";

// `npm run bench live [part of a name …]` measures the websockets, with a crowd of
// PEOPLE in one room. ROUNDS and SECONDS set the duration.

const wanted = process.argv.slice(3);
const isWanted = (name: string) =>
  !wanted.length || wanted.some((part) => name.includes(part));

// Of the folder `dist` that OTHER names.
const { OTHER: other } = process.env;
if (other && isWanted("deliveries beside another build")) {
  await compareWith(other);
}
await measureCrowds(isWanted);

const chosen = [...works, ...chatWorks].filter(({ name }) => isWanted(name));
if (chosen.length) {
  say(`${PEOPLE} people join`);
  const stage = await openStage();
  try {
    const measuredOnce = await figures(stage);
    print(await measure(chosen, stage));
    console.table(
      measuredOnce.map(({ value, ...rest }) => ({
        value: short(value),
        ...rest,
      })),
    );
  } finally {
    await stage.stop();
  }
}
