import t from "tap";
import { run, scenarioOf } from "./scenario.js";
import { shrink } from "./shrink.js";

/** How many scenarios are tried, and the seed of the first. SEEDS and SEED change them. */
const SEEDS = Number(process.env.SEEDS ?? 300);
const FIRST = Number(process.env.SEED ?? 1) * 1_000_003;

void t.test(
  "every process gets every entry, once and in order",
  { timeout: 0 },
  async (t) => {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      const violations = await run(scenarioOf(seed));
      if (violations.length === 0) continue;
      const smallest = await shrink(scenarioOf(seed), run);
      t.fail(`seed ${seed}`, {
        violations: violations.slice(0, 5),
        smallest: smallest.steps.map((step) => JSON.stringify(step)),
        then: await run(smallest),
      });
      return;
    }
    t.pass(`${SEEDS} scenarios`);
  },
);

void t.test("a scenario happens again as it did", async (t) => {
  const seed = FIRST + SEEDS;
  t.same(scenarioOf(seed), scenarioOf(seed));
  t.same(await run(scenarioOf(seed)), await run(scenarioOf(seed)));
});
