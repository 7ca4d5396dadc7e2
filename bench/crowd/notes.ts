import { short } from "../rounds.js";

/** The figures that are measured once, with or without a reference. */
export interface Measured {
  name: string;
  /** @param seconds how long people talk. */
  measure(seconds: number): Promise<void>;
}

/** A value that has no reference. */
interface Note {
  unit: string;
  atMost: number | undefined;
  values: number[];
}

const notes = new Map<string, Note>();

/** Keeps a value for the table of figures, which shows the median of the values of one name. */
export function note(
  name: string,
  value: number,
  unit = "",
  atMost?: number,
): void {
  const known = notes.get(name) ?? { unit, atMost, values: [] };
  known.values.push(value);
  notes.set(name, known);
}

/** Prints all figures. */
export function printNotes(): void {
  if (!notes.size) return;
  console.table(
    [...notes].map(([figure, { unit, atMost, values }]) => {
      const sorted = values.toSorted((a, b) => a - b);
      const median = sorted[Math.floor(sorted.length / 2)]!;
      return {
        ...{ figure, value: short(median), unit },
        spread: `${short(sorted[0]!)} to ${short(sorted.at(-1)!)}`,
        goal: atMost === undefined ? "stated" : `≤ ${atMost}`,
        met: atMost === undefined ? "" : median <= atMost ? "yes" : "no",
      };
    }),
  );
}
