import { readFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import writeExcelFile from "write-excel-file/node";
import type { Cell } from "../../schemas/plain/sheets/csv.js";

// The worker thread that sheets.ts starts. It replaces a file of JSON rows with a spreadsheet that
// contains these rows.

/** How a table for people looks. */
export interface SheetLook {
  readonly sheet: string;
  readonly columns: readonly { readonly width: number; readonly isTime: boolean }[];
}

/** The path of a file with one row of JSON per line, and the names of the columns. */
export interface SheetTask {
  readonly path: string;
  readonly columns: readonly string[];
  readonly look?: SheetLook | undefined;
  /** The place of the column whose values name the sheets; one sheet by default. */
  readonly sheetAt?: number | undefined;
}

/** Excel's limit for the name of a sheet, in characters. */
const MAX_NAME = 31;

/** Converts a local time such as `2026-11-28T09:30:00` to a date cell. */
const timeCell = (value: Cell) => {
  const date = new Date(`${String(value)}Z`);
  return value === null || Number.isNaN(date.getTime())
    ? null
    : { value: date, type: Date, format: "yyyy-mm-dd hh:mm" };
};

/** Excel's limit for a cell's text, in characters. */
const MAX_CELL = 32_767;

/** Characters that XML does not allow, and lone surrogates. */
const NOT_IN_XML = /[^\P{Cc}\t\n\r]|\p{Cs}|[\uFFFE\uFFFF]/gu;

/** Converts a value to a cell. Strings become text cells, which no program interprets as formulas. */
function cellOf(value: Cell) {
  if (value === null) return null;
  if (typeof value === "number") return { value, type: Number };
  if (typeof value === "boolean") return { value, type: Boolean };
  const text = value.replace(NOT_IN_XML, "\uFFFD").slice(0, MAX_CELL);
  // Drop the first half of a surrogate pair that the limit has cut in two.
  return { value: text.replace(/\p{Cs}$/u, ""), type: String };
}

async function write({ path, columns, look, sheetAt }: SheetTask): Promise<void> {
  const head = columns.map((value) => ({ value, fontWeight: "bold" as const }));
  const isTime = look?.columns.map(({ isTime }) => isTime) ?? [];
  const rows = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Cell[]);
  const cellsOf = (rows: readonly Cell[][]) =>
    rows.map((row) => row.map((cell, i) => (isTime[i] ? timeCell(cell) : cellOf(cell))));
  const style = look && {
    columns: look.columns.map(({ width }) => ({ width })),
    stickyRowsCount: 1,
  };
  if (sheetAt === undefined || rows.length === 0) {
    const options = look && { sheet: look.sheet.slice(0, MAX_NAME), ...style };
    return writeExcelFile([head, ...cellsOf(rows)], options).toFile(path);
  }
  const sheets = new Map<string, Cell[][]>();
  for (const row of rows) {
    const name = String(row[sheetAt]).slice(0, MAX_NAME);
    const known = sheets.get(name);
    if (known) known.push(row);
    else sheets.set(name, [row]);
  }
  const parts = [...sheets].map(([sheet, rows]) => ({
    data: [head, ...cellsOf(rows)],
    sheet,
    ...style,
  }));
  return writeExcelFile(parts).toFile(path);
}

parentPort!.once("message", (task: SheetTask) => {
  write(task).then(
    () => parentPort!.postMessage("written"),
    (error: unknown) => {
      // Crashes the thread, so that the server receives the error.
      throw error;
    },
  );
});
