import t from "tap";
import { run, scenarioOf } from "./scenario.js";
import { indexes, play, seedOf } from "./seeds.js";

const INDEXES = indexes(300);

void t.test(
  "every process gets every entry, once and in order",
  { timeout: 0 },
  (t) => play(t, INDEXES, { scenarioOf, run }),
);

void t.test("a scenario happens again as it did", async (t) => {
  const seed = seedOf(INDEXES[0]!);
  t.same(scenarioOf(seed), scenarioOf(seed));
  t.same(await run(scenarioOf(seed)), await run(scenarioOf(seed)));
});
