import type { WorldCopy } from "../../schemas/documents/world-document.js";
import type { Lines, RowCounts } from "../contract/selections.js";
import type { WorldStore } from "../contract/store.js";
import { importWorld } from "../domains/copies/import.js";
import type { copies } from "../domains/copies/index.js";
import type { Bound } from "../domains/domain.js";
import { readWorld } from "../rules/rows.js";
import { checkDocument } from "./check-document.js";
import { clonedRows } from "./clone.js";
import type { TableSource } from "./dump.js";
import { rowsOf } from "./old-document.js";
import { linesOf } from "./world-lines.js";
import { type CopiedRows, countRows, worldRows } from "./world-rows.js";

/** What an engine does with copies of worlds. */
interface CopyEngine {
  /** All rows, as they are at one moment. */
  readonly source: () => Promise<TableSource>;
  readonly store: Bound<typeof copies>;
}

/** The worlds with all that they hold, in and out of a store. */
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

const isWritten = (document: WorldCopy | Lines): document is Lines =>
  "file" in document || "lines" in document;

async function written(parts: Iterable<CopiedRows>): Promise<{ lines: Lines; rows: RowCounts }> {
  const all = [...parts];
  const lines: string[] = [];
  for await (const line of linesOf(all)) lines.push(line);
  const counts: Record<string, number> = {};
  for (const part of all) countRows(counts, part);
  return { lines: { lines }, rows: counts };
}
