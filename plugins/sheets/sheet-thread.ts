import { readFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import writeExcelFile from "write-excel-file/node";
import type { Cell } from "../../schemas/plain/csv.js";

// The thread of sheets.ts: it replaces a file with rows by a spreadsheet of them.

/** The path of a file with rows as lines of JSON, and the names of their columns. */
export interface SheetTask {
  readonly path: string;
  readonly columns: readonly string[];
}

/** The longest text that a cell may have. */
const MAX_CELL = 32_767;

/** Characters that XML cannot have, and halves of characters. */
const NOT_IN_XML = /[^\P{Cc}\t\n\r]|\p{Cs}|[\uFFFE\uFFFF]/gu;

/** All texts are cells of the type text, in which no program sees formulas. */
function cellOf(value: Cell) {
  if (value === null) return null;
  if (typeof value === "number") return { value, type: Number };
  if (typeof value === "boolean") return { value, type: Boolean };
  const text = value.replace(NOT_IN_XML, "\uFFFD").slice(0, MAX_CELL);
  // A character that the cell has no room for is left out whole.
  return { value: text.replace(/\p{Cs}$/u, ""), type: String };
}

async function write({ path, columns }: SheetTask): Promise<void> {
  const head = columns.map((value) => ({ value, fontWeight: "bold" as const }));
  const rows = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as Cell[]).map(cellOf));
  await writeExcelFile([head, ...rows]).toFile(path);
}

parentPort!.once("message", (task: SheetTask) => {
  write(task).then(
    () => parentPort!.postMessage("written"),
    (error: unknown) => {
      // It ends the thread, which reports it.
      throw error;
    },
  );
});
