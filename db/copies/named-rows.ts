import type { Value } from "./tables.js";

/** A row by the names of its columns, without the world. */
export type Named = Readonly<Record<string, Value>>;

/** Rows with their places, from 1. */
export const counted = <T extends object>(
  rows: readonly T[],
): (T & { number: number })[] =>
  rows.map((row, i) => ({ ...row, number: i + 1 }));

/** Some tables and their rows. */
export type Parts = [table: string, rows: Named[]][];
