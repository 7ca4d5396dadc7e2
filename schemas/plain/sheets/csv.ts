// Protection against formulas in cells (https://owasp.org/www-community/attacks/CSV_Injection). A
// spreadsheet that splits at semicolons or tabs starts a new cell after each semicolon or tab, and
// after each line break, even inside quotes.

/**
 * The characters that begin a formula. Some programs also accept the full-width forms that East
 * Asian keyboards produce.
 */
const FORMULA = "[=+\\-@\uFF0B\uFF0D\uFF1D\uFF20]";

const LEADING = new RegExp(`^\\s*${FORMULA}`, "u");
const INNER = new RegExp(`([;\\t\\r\\n])((?:(?![;\\t\\r\\n])[\\s"])*)(?=${FORMULA})`, "gu");

/** Formats a CSV cell (RFC 4180). Apostrophes neutralize text that a spreadsheet would read as a formula. */
export function csvCell(text: string): string {
  const inner = text.replace(INNER, "$1'$2");
  const safe = LEADING.test(text) ? `'${inner}` : inner;
  return /[",;\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Characters to escape: control characters, which could change a terminal's cursor or colors, and
 * lone surrogates, which UTF-8 cannot encode.
 */
const UNPRINTABLE = /[^\P{Cc}\t\n]|\p{Cs}/gu;

/** A cell's value. Null leaves the cell empty. */
export type Cell = string | number | boolean | null;

/**
 * Formats a CSV row (RFC 4180). An apostrophe neutralizes text that a spreadsheet would read as a
 * formula. Control characters are escaped as in JSON, and line breaks in a cell are `\n`.
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
