import type { Value } from "../../copies/tables.js";
import type { Sql } from "../../shared/sql.js";

/** How many rows a statement takes at most, and about how many characters. */
const MAX_ROWS = 5000;
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * Cuts a list into slices that a statement can take.
 * @param sizeOf about how many characters an entry has.
 */
export function* slices<T>(
  entries: Iterable<T>,
  sizeOf: (entry: T) => number,
): Generator<T[]> {
  let slice: T[] = [];
  let size = 0;
  for (const entry of entries) {
    slice.push(entry);
    size += sizeOf(entry);
    if (slice.length < MAX_ROWS && size < MAX_CHARACTERS) continue;
    yield slice;
    slice = [];
    size = 0;
  }
  if (slice.length > 0) yield slice;
}

/** The columns of a table that rows are inserted into, with their types. */
type Columns = Readonly<Record<string, "text" | "bigint">>;

/** About how many characters a row has. */
const sizeOf = (row: readonly Value[]): number =>
  row.reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? value.length : 8),
    0,
  );

/**
 * Makes a function that inserts any number of rows of a world.
 * @param columns beside `world_id`, in the order of the values.
 */
export function inserter(
  table: string,
  columns: Columns,
): (
  sql: Sql,
  world: string,
  rows: Iterable<readonly Value[]>,
) => Promise<void> {
  const names = Object.keys(columns);
  const lists = Object.values(columns).map((type, i) => `$${i + 2}::${type}[]`);
  const text = `INSERT INTO ${table} (world_id, ${names.join()}) SELECT $1, * FROM unnest(${lists.join()})`;
  return async (sql, world, rows) => {
    for (const slice of slices(rows, sizeOf)) {
      const values = names.map((_, i) => slice.map((row) => row[i]));
      await sql.run(text, [world, ...values]);
    }
  };
}

/** Makes a function that finds which texts of a list a column has. */
export function finder(
  table: string,
  column: string,
): (sql: Sql, texts: Iterable<string>) => Promise<Set<string>> {
  const text = `SELECT ${column} FROM ${table} WHERE ${column} = ANY($1::text[])`;
  return async (sql, texts) => {
    const found = new Set<string>();
    for (const slice of slices(texts, (entry) => entry.length)) {
      for (const one of await sql.column<string>(text, [slice])) found.add(one);
    }
    return found;
  };
}

/** Numbers for new rows, in ascending order, which no other row gets. */
export const newNumbers = (
  sql: Sql,
  table: string,
  count: number,
): Promise<number[]> =>
  sql.column<number>(
    `SELECT nextval(pg_get_serial_sequence($1, 'number')::regclass) AS number
     FROM generate_series(1, $2::bigint) ORDER BY number`,
    [table, count],
  );
