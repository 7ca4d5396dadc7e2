import type { Value } from "../../db/copies/tables.js";
import type { Store } from "../../db/contract/store.js";

/** A row of an export by the names of its columns. */
export type ExportedRow = Record<string, Value>;

/** The document of a world: its lines, and the same as rows by tables. */
export interface Exported {
  lines: string[];
  rows: Record<string, ExportedRow[]>;
}

/** The rows in the lines of a document, with JSON as text. Tables without rows are left out. */
export function rowsIn(lines: readonly string[]): Exported["rows"] {
  const {
    format: _format,
    version: _version,
    world,
    ...tables
  } = JSON.parse(lines.join("\n")) as Record<string, object[]>;
  return Object.fromEntries(
    Object.entries({ worlds: [world!], ...tables })
      .filter(([, rows]) => rows.length > 0)
      .map(([table, rows]) => [table, rows.map(asText)]),
  );
}

const asText = (row: object): ExportedRow =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]: [string, Value]) => [
      name,
      typeof value === "object" && value !== null ? JSON.stringify(value) : value,
    ]),
  );

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
