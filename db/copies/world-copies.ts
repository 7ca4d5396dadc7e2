import { randomUUID } from "node:crypto";
import type { WorldCopy } from "../../schemas/documents/world-document.js";
import type { World, WorldConfig } from "../../schemas/worlds.js";
import type { LineSource, RowCounts } from "../contract/selections.js";
import type { WorldStore } from "../contract/store.js";
import type { copies } from "../domains/copies/copies.js";
import { importWorld } from "../domains/copies/import.js";
import type { Bound } from "../domains/domain.js";
import { readWorld } from "../rules/rows.js";
import { kindOf } from "../rules/user-rows.js";
import { checkDocument } from "./check-document.js";
import { type CopiedRows, countRows, worldRows } from "./copied-rows.js";
import type { TableSource } from "./dump.js";
import { rowsOf } from "./old-document.js";
import type { Row, Table, Value } from "./tables.js";
import { linesOf } from "./world-lines.js";

interface CopyEngine {
  /** Opens a consistent snapshot of all rows. */
  readonly source: () => Promise<TableSource>;
  readonly store: Bound<typeof copies>;
}

/** Exports, clones and imports whole worlds. */
export function worldCopies({
  source,
  store,
}: CopyEngine): Pick<WorldStore, "export" | "clone" | "import"> {
  async function* rowsIn(
    id: string,
    which: Parameters<typeof worldRows>[2],
    files?: (key: string) => boolean,
  ): AsyncGenerator<CopiedRows> {
    const opened = await source();
    try {
      yield* worldRows(opened, id, which, files);
    } finally {
      await opened.close();
    }
  }

  return {
    export: (id, { history = false, files } = {}) =>
      linesOf(
        rowsIn(
          id,
          [
            "all",
            "export",
            ...(history ? (["history"] as const) : []),
            ...(files ? (["files"] as const) : []),
          ],
          files,
        ),
      ),

    async clone(id, world, by) {
      const rows = await clonedRows(rowsIn(id, ["all"]), world);
      const { lines } = await written(rows);
      return readWorld(await importWorld(store, lines, false, by));
    },

    async import(document, { dryRun = false, files } = {}, by) {
      const isRead = isWritten(document);
      const { lines, rows, parts } = isRead
        ? { lines: document, ...(await checkDocument(document, files)) }
        : { ...(await written(rowsOf(document))), parts: undefined };
      const row = await importWorld(store, parts ?? lines, dryRun, by);
      return { world: readWorld(row), rows };
    },
  };
}

const isWritten = (document: WorldCopy | LineSource): document is LineSource =>
  "file" in document || "lines" in document;

async function written(
  parts: Iterable<CopiedRows>,
): Promise<{ lines: LineSource; rows: RowCounts }> {
  const all = [...parts];
  const lines: string[] = [];
  for await (const line of linesOf(all)) lines.push(line);
  const counts: Record<string, number> = {};
  for (const part of all) countRows(counts, part);
  return { lines: { lines }, rows: counts };
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * Returns the rows of a clone.
 * @param parts the original world's rows.
 * @param world the clone's id, names and keys.
 */
async function clonedRows(parts: AsyncIterable<CopiedRows>, world: World): Promise<CopiedRows[]> {
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
      rows: (table.name === "polls" ? rows.map((row) => unopenedQuiz(table, row)) : rows)
        .map((row) =>
          table.name === "worlds"
            ? worldRow(table, row, world)
            : row.map((value, i) =>
                // A room whose domain equals the original world's domain shows the clone's domain
                // instead.
                table.columns[i]!.name === "domain" && value === domain ? null : valueOf(value, i),
              ),
        )
        // Omits rows about users who are not cloned.
        .filter((row) => row.every((value, i) => value !== null || table.columns[i]!.nullable)),
    };
  });
}

/** Returns a poll's row; of a quiz as a draft, because a quiz opens only once. */
function unopenedQuiz(table: Table, row: Row): Row {
  if (row[placeOf(table, "poll_type")] !== "quiz") return row;
  const draft = row.slice();
  draft[placeOf(table, "state")] = "draft";
  draft[placeOf(table, "results")] = null;
  return draft;
}

/**
 * Whether a user is a person. Kiosks and anonymous users, who entered through a link to the
 * original world, are not people.
 */
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

/** Returns a poll's results with all votes reset. Omits options that no longer exist. */
const resultsOf = (json: string, ids: ReadonlyMap<string, string>): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.keys(JSON.parse(json) as object).flatMap((id) =>
        ids.has(id) ? [[ids.get(id)!, 0]] : [],
      ),
    ),
  );

/** Omits times of opening and closing that have passed: a new event is not over. */
function withoutPast({ access, ...settings }: Record<string, unknown>): Record<string, unknown> {
  if (typeof access !== "object" || access === null) return { ...settings, access };
  const now = Date.now();
  const isPast = (name: string, value: unknown) =>
    (name === "opens_at" || name === "closes_at") &&
    typeof value === "string" &&
    Date.parse(value) <= now;
  const kept = Object.entries(access).filter(([name, value]) => !isPast(name, value));
  return { ...settings, access: Object.fromEntries(kept) };
}

function worldRow({ columns }: Table, row: Row, world: World): Row {
  const { id, title, domain } = world;
  return columns.map(({ name }, at) => {
    switch (name) {
      case "config": {
        // Omit the original world's token issuers, because they sign tokens for that world.
        const { JWT_issuers: _issuers, ...settings } = JSON.parse(row[at] as string) as WorldConfig;
        return JSON.stringify({ ...withoutPast(settings), ...world.config });
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
