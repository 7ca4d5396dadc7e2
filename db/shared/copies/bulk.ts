import type { StoreError } from "../../contract/store.js";
import type { Inserted, Sql } from "../sql.js";
import { slices } from "../slices.js";

/** About how many characters a row has. */
const sizeOf = (row: Inserted): number =>
  Object.values(row).reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? value.length : 8),
    0,
  );

/**
 * Inserts rows of a world in their order.
 * @param rows are made one by one, so that not all of them are in memory.
 */
export async function insertAll(
  sql: Sql,
  table: string,
  world: string,
  rows: Iterable<Inserted>,
): Promise<void> {
  for (const slice of slices(rows, sizeOf)) {
    await sql.insert(
      table,
      slice.map((row) => ({ world_id: world, ...row })),
    );
  }
}

/**
 * Refuses the first of the ids that a row of a table has already, or that is given twice.
 * @throws what `refusal` makes.
 */
export async function refuseTaken(
  sql: Sql,
  table: string,
  ids: readonly string[],
  refusal: (id: string) => StoreError,
): Promise<void> {
  const text = `SELECT id FROM ${table} WHERE id = ANY ($1)`;
  const taken = new Set<string>();
  for (const slice of slices(ids, (id) => id.length)) {
    for (const id of await sql.column<string>(text, [slice])) taken.add(id);
  }
  for (const id of ids) {
    if (taken.has(id)) throw refusal(id);
    taken.add(id);
  }
}

/** The numbers of all rows of a new world by their ids. */
export async function numbersIn(
  sql: Sql,
  table: string,
  world: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql.all<{ id: string; number: number }>(
    `SELECT id, number FROM ${table} WHERE world_id = $1`,
    [world],
  );
  return new Map(rows.map(({ id, number }) => [id, number]));
}
