// Cells that a spreadsheet would calculate (https://owasp.org/www-community/attacks/CSV_Injection).
// A spreadsheet that splits at semicolons or tabs begins a cell after each of these and after
// each line break, even inside quotes.

/** Some programs also take the wide forms of East Asian keyboards. */
const FORMULA = "[=+\\-@\uFF0B\uFF0D\uFF1D\uFF20]";

const LEADING = new RegExp(`^\\s*${FORMULA}`, "u");
const INNER = new RegExp(`([;\\t\\r\\n])((?:(?![;\\t\\r\\n])[\\s"])*)(?=${FORMULA})`, "gu");

/** A cell of CSV (RFC 4180). A text in which a spreadsheet would see a formula gets apostrophes. */
export function csvCell(text: string): string {
  const inner = text.replace(INNER, "$1'$2");
  const safe = LEADING.test(text) ? `'${inner}` : inner;
  return /[",;\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** What moves the cursor or colors a terminal, and halves of characters, which UTF-8 cannot write. */
const UNPRINTABLE = /[^\P{Cc}\t\n]|\p{Cs}/gu;

/** What a cell may hold. Null makes it empty. */
export type Cell = string | number | boolean | null;

/**
 * A row of CSV (RFC 4180). A text in which a spreadsheet would see a formula gets an
 * apostrophe in front. Control characters are escaped as in JSON, and line breaks in a
 * cell are `\n`.
 */
export const csvRow = (cells: readonly Cell[]): string => `${cells.map(cellOf).join(",")}\r\n`;

function cellOf(value: Cell): string {
  if (typeof value !== "string") return value === null ? "" : String(value);
  const text = value
    .replace(/\r\n?/g, "\n")
    .replace(
      UNPRINTABLE,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  return csvCell(text);
}
