import type { Connection } from "./connection.js";

/** How many rows one statement inserts, if there are as many: a statement costs as much as half a row. */
const MANY = 16;

/**
 * The insertion of rows, as many at a time as a transaction has.
 * @param columns of the values, which are given by position: by name, they would take twice the time.
 */
export function insertion(
  db: Connection,
  table: string,
  columns: readonly string[],
): (rows: readonly (readonly unknown[])[]) => void {
  const places = `(${columns.map(() => "?").join()})`;
  const statement = (count: number) =>
    db.prepare<unknown[]>(
      `INSERT INTO ${table} (${columns.join()}) VALUES ${Array<string>(count).fill(places).join()}`,
    );
  const one = statement(1);
  const many = statement(MANY);
  return (rows) => {
    let done = 0;
    for (; rows.length - done >= MANY; done += MANY) {
      many.run(rows.slice(done, done + MANY).flat());
    }
    for (; done < rows.length; done++) one.run(rows[done]);
  };
}
