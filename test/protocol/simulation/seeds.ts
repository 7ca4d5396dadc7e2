import type { Test } from "tap";

/** Plays a scenario. It returns the violations. */
type Run<S> = (scenario: S) => string[] | Promise<string[]>;

/** Scenarios, and how they are played. */
interface Played<S> {
  /** Makes the scenario of a seed, which it follows from. */
  readonly scenarioOf: (seed: number) => S;
  readonly run: Run<S>;
  /** Plays scenarios while one that failed is made smaller: {@link run} by default. */
  readonly shrinking?: (failed: S) => Promise<Run<S>>;
}

/** Neighboring seeds give similar numbers, so they are far from each other. */
export const seedOf = (index: number): number => index * 1_000_003;

/**
 * The indexes of some scenarios. SEED names the first, and SEEDS how many there are.
 * @param count without SEEDS.
 */
export function indexes(count: number): number[] {
  const { SEED = "1", SEEDS = String(count) } = process.env;
  return Array.from({ length: Number(SEEDS) }, (_, i) => Number(SEED) + i);
}

/** Plays scenarios until one goes wrong, and fails with the smallest that does. */
export async function play<S extends { readonly steps: readonly unknown[] }>(
  t: Test,
  tried: readonly number[],
  { scenarioOf, run, shrinking = async () => run }: Played<S>,
): Promise<void> {
  for (const index of tried) {
    const scenario = scenarioOf(seedOf(index));
    const violations = await run(scenario);
    if (violations.length === 0) continue;
    const smallest = await shrink(scenario, await shrinking(scenario));
    t.fail(`SEED=${index} SEEDS=1`, {
      violations: violations.slice(0, 5),
      smallest: smallest.steps.map((step) => JSON.stringify(step)),
      then: (await run(smallest)).slice(0, 5),
    });
    return;
  }
  t.pass(`${tried.length} scenarios`);
}

/**
 * Finds a small scenario in which something still goes wrong.
 * @param run plays a scenario. It returns the violations.
 */
async function shrink<S extends { readonly steps: readonly unknown[] }>(
  scenario: S,
  run: (scenario: S) => string[] | Promise<string[]>,
): Promise<S> {
  let smallest = scenario;
  let size = Math.ceil(scenario.steps.length / 2);
  while (size >= 1) {
    let from = 0;
    while (from < smallest.steps.length) {
      const steps = smallest.steps.toSpliced(from, size);
      const next = { ...smallest, steps };
      if ((await run(next)).length > 0) smallest = next;
      else from += size;
    }
    if (size === 1) break;
    size = Math.ceil(size / 2);
  }
  return smallest;
}
