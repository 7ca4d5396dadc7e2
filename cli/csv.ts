import { csvCell } from "../schemas/plain/csv.js";

/** What moves the cursor or colors a terminal, and halves of characters, which UTF-8 cannot write. */
const UNPRINTABLE = /[^\P{Cc}\t\n]|\p{Cs}/gu;

/** What a cell may hold. Null makes it empty. */
export type Cell = string | number | boolean | null;

/**
 * A row of CSV (RFC 4180). A text in which a spreadsheet would see a formula gets an
 * apostrophe in front. Control characters are escaped as in JSON, and line breaks in a
 * cell are `\n`.
 */
export const csvRow = (cells: readonly Cell[]): string =>
  `${cells.map(cellOf).join(",")}\r\n`;

function cellOf(value: Cell): string {
  if (typeof value !== "string") return value === null ? "" : String(value);
  const text = value
    .replace(/\r\n?/g, "\n")
    .replace(
      UNPRINTABLE,
      (character) =>
        `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  return csvCell(text);
}
