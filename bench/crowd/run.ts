import { measure, print, type Result, say, seconds } from "../rounds.js";
import { figures } from "./figures.js";
import { groups, withHalls } from "./groups.js";
import { printNotes } from "./notes.js";

/**
 * Measures crowds: the servers of one group of works after the servers of another.
 * @param isWanted whether a work of this name is chosen.
 */
export async function measureCrowds(
  isWanted: (name: string) => boolean,
): Promise<void> {
  const results: Result[] = [];
  for (const group of groups) {
    const works = group.works.filter(({ name }) => isWanted(name));
    if (!works.length) continue;
    say(`${group.plan.people} people join ${group.kinds.join(", ")}`);
    await orFail(() =>
      withHalls(group, async (halls) => {
        results.push(...(await measure(works, halls)));
      }),
    );
  }
  for (const figure of figures) {
    if (!isWanted(figure.name)) continue;
    say(figure.name);
    await orFail(() => figure.measure(seconds));
  }
  say("");
  if (results.length) print(results);
  printNotes();
}

/** A failure ends the other works on the same servers, but no others. */
async function orFail(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    process.exitCode = 1;
    say("");
    console.error(error);
  }
}
