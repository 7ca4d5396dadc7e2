import type { Value } from "../db/copies/tables.js";
import type { Store } from "../db/contract/store.js";

/** A row of an export by the names of its columns. */
export type ExportedRow = Record<string, Value>;

/** The document of a world: its lines, and the same as rows by tables. */
export interface Exported {
  lines: string[];
  rows: Record<string, ExportedRow[]>;
}

/** The rows in the lines of a document. */
export function rowsIn(lines: readonly string[]): Exported["rows"] {
  const rows: Exported["rows"] = {};
  let table: { table: string; columns: string[] } | undefined;
  const [, ...entries] = JSON.parse(lines.join("\n")) as unknown[];
  for (const entry of entries) {
    if (!Array.isArray(entry)) table = entry as typeof table;
    else {
      const values = table!.columns.map((name, i) => [name, entry[i] as Value]);
      (rows[table!.table] ??= []).push(
        Object.fromEntries(values) as ExportedRow,
      );
    }
  }
  return rows;
}

/** Exports a world. @see WorldStore.export */
export async function exported(
  store: Store,
  world: string,
  options?: { history?: boolean },
): Promise<Exported> {
  const lines: string[] = [];
  for await (const line of store.worlds.export(world, options)) {
    lines.push(line);
  }
  return { lines, rows: rowsIn(lines) };
}
