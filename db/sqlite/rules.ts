import type { Connection } from "./database.js";

/** A contradiction in the data, as SQL finds it. */
interface Found {
  id: string;
  count: number;
  /** What a count should be. */
  counted: number;
}

/**
 * What must not be: SQL that finds it with an `id` and a `count`, maybe with a
 * `counted`, and the words for it.
 */
export type Rule = [
  sql: string,
  message: (id: string, count: number, counted: number) => string,
];

/** The contradictions that rules find. Those of many rows are counted, so a message is a line. */
export const findContradictions = (
  db: Connection,
  rules: readonly Rule[],
): string[] =>
  rules.flatMap(([sql, message]) =>
    db
      .prepare<[], Found>(sql)
      .all()
      .map(({ id, count, counted }) => message(id, count, counted)),
  );

/** Such as "1 event" and "2 events". */
export const plural = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;
