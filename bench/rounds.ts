/** A measurement, which is always a ratio. */
export interface Work<Scene> {
  name: string;
  /** The two sides of the ratio. */
  of: string;
  /** Without one, the ratio is only stated. */
  goal: { atLeast?: number; atMost?: number };
  /** Measures both sides once, each for this many seconds; `turned` begins with the second. */
  measure(scene: Scene, seconds: number, turned: boolean): Promise<number>;
}

/** The result of one work. */
export interface Result {
  name: string;
  of: string;
  goal: Work<unknown>["goal"];
  median: number;
  lowest: number;
  highest: number;
  met: boolean;
}

export const rounds = Number(process.env.ROUNDS ?? 5);
export const seconds = Number(process.env.SECONDS ?? 2);

/** Measures all works round by round, so that other load on the machine affects all alike. */
export async function measure<Scene>(
  works: Work<Scene>[],
  scene: Scene,
): Promise<Result[]> {
  const ratios = works.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, work] of works.entries()) {
      ratios[at]!.push(await work.measure(scene, seconds, round % 2 === 1));
      say(`round ${round + 1}: ${work.name}`);
    }
  }
  say("");
  return works.map(({ name, of, goal }, at) => {
    const sorted = ratios[at]!.toSorted((a, b) => a - b);
    const median = medianOf(sorted);
    const { atLeast = 0, atMost = Infinity } = goal;
    const met = median >= atLeast && median <= atMost;
    return {
      ...{ name, of, goal, median },
      ...{ lowest: sorted[0]!, highest: sorted.at(-1)!, met },
    };
  });
}

export function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** Shows the progress on a terminal. */
export function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

export function print(results: Result[]): void {
  console.table(
    results.map(({ name, of, goal, median, lowest, highest, met }) => ({
      work: name,
      ratio: short(median),
      spread: `${short(lowest)} to ${short(highest)}`,
      goal: goalText(goal),
      met: goalText(goal) === STATED ? "" : met ? "yes" : "no",
      of,
    })),
  );
}

const STATED = "stated";

export function goalText({ atLeast, atMost }: Result["goal"]): string {
  if (atLeast !== undefined) return `≥ ${atLeast}`;
  return atMost === undefined ? STATED : `≤ ${atMost}`;
}

export function short(ratio: number): number {
  return Number(ratio.toPrecision(3));
}
