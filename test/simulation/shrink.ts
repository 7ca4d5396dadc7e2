/**
 * Finds a small scenario in which something still goes wrong.
 * @param run plays a scenario. It returns the violations.
 */
export async function shrink<S extends { readonly steps: readonly unknown[] }>(
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
