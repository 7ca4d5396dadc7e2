import { randomUUID } from "node:crypto";
import type { World, WorldConfig } from "../../schemas/worlds.js";
import { kindOf } from "../rules/user-rows.js";
import type { Row, Table, Value } from "./tables.js";
import type { CopiedRows } from "./world-rows.js";

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * The rows of a clone.
 * @param parts the rows of the first world.
 * @param world the id, the names and the keys of the clone.
 */
export async function clonedRows(
  parts: AsyncIterable<CopiedRows>,
  world: World,
): Promise<CopiedRows[]> {
  const known: CopiedRows[] = [];
  const ids = new Map<string, string>();
  for await (const { table, rows } of parts) {
    const kept = table.name === "users" ? rows.filter(isPerson(table)) : rows;
    known.push({ table, rows: kept });
    const at = placeOf(table, "id");
    if (at === -1 || table.name === "worlds") continue;
    for (const row of kept) ids.set(row[at] as string, randomUUID());
  }
  const { table: worlds, rows } = known.find(
    ({ table, rows }) => table.name === "worlds" && rows.length > 0,
  )!;
  const domain = rows[0]![placeOf(worlds, "domain")];
  return known.map(({ table, rows }) => {
    const valueOf = copier(table, world, ids);
    return {
      table,
      rows: rows
        .map((row) =>
          table.name === "worlds"
            ? worldRow(table, row, world)
            : row.map((value, i) =>
                // A room that shows its world's domain shows the new world's.
                table.columns[i]!.name === "domain" && value === domain ? null : valueOf(value, i),
              ),
        )
        // A row about a user who is left out.
        .filter((row) => row.every((value, i) => value !== null || table.columns[i]!.nullable)),
    };
  });
}

/** Screens and people of the hall came by links of the first world. */
const isPerson = (table: Table) => (row: Row) =>
  kindOf({ client_id: row[placeOf(table, "client_id")] as string | null }) === "person";

const placeOf = ({ columns }: Table, name: string): number =>
  columns.findIndex((column) => column.name === name);

function copier(
  { columns }: Table,
  world: World,
  ids: ReadonlyMap<string, string>,
): (value: Value, at: number) => Value {
  return (value, at) => {
    const { name, of, inClone, hasIds } = columns[at]!;
    if (inClone !== undefined) return inClone;
    if (of === "worlds") return world.id;
    if (typeof value !== "string") return value;
    if (name === "results") return resultsOf(value, ids);
    if (hasIds) return value.replace(UUID, (id) => ids.get(id) ?? id);
    return name === "id" || of !== undefined ? (ids.get(value) ?? null) : value;
  };
}

/** The results of a poll without votes. An option that was deleted has none any more. */
const resultsOf = (json: string, ids: ReadonlyMap<string, string>): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.keys(JSON.parse(json) as object).flatMap((id) =>
        ids.has(id) ? [[ids.get(id)!, 0]] : [],
      ),
    ),
  );

function worldRow({ columns }: Table, row: Row, world: World): Row {
  const { id, title, domain } = world;
  return columns.map(({ name }, at) => {
    switch (name) {
      case "config": {
        // The other issuers sign for the first world.
        const { JWT_issuers: _issuers, ...settings } = JSON.parse(row[at] as string) as WorldConfig;
        return JSON.stringify({ ...settings, ...world.config });
      }
      case "revision":
        return 1;
      case "permission_config":
        return row[at]!;
      default:
        return { id, title, domain }[name] ?? row[at]!;
    }
  });
}
