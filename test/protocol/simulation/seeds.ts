import type { Test } from "tap";

/** Runs a scenario, and returns the violations. */
type Run<S> = (scenario: S) => string[] | Promise<string[]>;

/** A family of scenarios, and how to run them. */
interface Played<S> {
  /** Generates a scenario deterministically from a seed. */
  readonly scenarioOf: (seed: number) => S;
  readonly run: Run<S>;
  /** Returns the function that runs scenarios while a failed one is being shrunk; {@link run} by default. */
  readonly shrinking?: (failed: S) => Promise<Run<S>>;
}

/** Neighboring seeds produce similar numbers, so this spreads them out. */
export const seedOf = (index: number): number => index * 1_000_003;

/**
 * Returns the indexes of the scenarios to run. SEED sets the first index, and SEEDS their number.
 * @param count the number of scenarios if SEEDS is not set.
 */
export function indexes(count: number): number[] {
  const { SEED = "1", SEEDS = String(count) } = process.env;
  return Array.from({ length: Number(SEEDS) }, (_, i) => Number(SEED) + i);
}

/** Runs scenarios until one fails, then fails the test with the smallest version that still goes wrong. */
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
 * Shrinks a scenario as long as something still goes wrong.
 * @param run runs a scenario, and returns the violations.
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
