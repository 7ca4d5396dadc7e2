import { setImmediate } from "node:timers/promises";
import { Failure } from "../../schemas/plain/failure.js";
import { counterOf, type Row, type Table } from "./tables.js";

/** The present state of a file in the source, by the live store. */
export type FileFate = "recorded" | "deleted" | "gone with its world";

/** All rows of a store, as they are at one moment. Others may write to the store meanwhile. */
export interface TableSource {
  /**
   * The rows of a table in the order of its key, in batches of bounded size.
   * @param world only the rows of this world, in the order of their counter if there is one.
   */
  rows(table: Table, world?: string): AsyncIterable<readonly Row[]>;
  /** About how many rows a table has, to show progress. */
  count(table: Table): Promise<number>;
  /** Asks the live store, because a file of the source may have been deleted since. */
  fateOf(key: string): Promise<FileFate>;
  close(): Promise<void>;
}

/**
 * The end of a statement that selects rows of a table `t`.
 * @param conditions of the engine.
 * @param world a parameter, to select the rows of one world.
 */
export function restOf(
  table: Table,
  conditions: readonly string[],
  world?: string,
): string {
  const own = `t.${table.name === "worlds" ? "id" : "world_id"} = ${world}`;
  const all = world === undefined ? conditions : [own, ...conditions];
  const where = all.length > 0 ? `WHERE ${all.join(" AND ")}` : "";
  const counter = world === undefined ? undefined : counterOf(table);
  const order = (counter === undefined ? table.key : [counter]).map(
    (name) => `t.${name}`,
  );
  return `${where} ORDER BY ${order.join()}`;
}

/** A row cannot be in a store. The message is one line. */
export class UnfitRow extends Failure {}

/** An empty store that gets all rows or none. */
export interface TableTarget {
  /** Whether nothing would be lost. */
  isEmpty(): Promise<boolean>;
  /**
   * Loads the rows of a table. The tables come in the order of `TABLES`, each once.
   * @throws {UnfitRow} if one cannot be in the store.
   */
  load(table: Table, rows: AsyncIterable<readonly Row[]>): Promise<void>;
  /**
   * Checks that no row refers to a missing one, and makes all rows visible and durable.
   * @throws {UnfitRow} if one does.
   */
  finish(): Promise<void>;
  /** Ends. Without {@link finish}, the store is as it was. */
  close(): Promise<void>;
}

/** How many rows a batch has at most, and about how many characters. */
const BATCH_ROWS = 500;
const BATCH_CHARACTERS = 1024 * 1024;

/** Puts rows into batches of bounded size. Others run between two batches. */
export async function* inBatches(
  rows: Iterable<Row>,
): AsyncGenerator<readonly Row[]> {
  let batch: Row[] = [];
  let characters = 0;
  for (const row of rows) {
    batch.push(row);
    for (const value of row) {
      if (typeof value === "string") characters += value.length;
    }
    if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue;
    yield batch;
    await setImmediate();
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}
