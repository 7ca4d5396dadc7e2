// Cells that a spreadsheet would calculate (https://owasp.org/www-community/attacks/CSV_Injection).
// A spreadsheet that splits at semicolons or tabs begins a cell after each of these and after
// each line break, even inside quotes.

/** Some programs also take the wide forms of East Asian keyboards. */
const FORMULA = "[=+\\-@\uFF0B\uFF0D\uFF1D\uFF20]";

const LEADING = new RegExp(`^\\s*${FORMULA}`, "u");
const INNER = new RegExp(
  `([;\\t\\r\\n])((?:(?![;\\t\\r\\n])[\\s"])*)(?=${FORMULA})`,
  "gu",
);

/** A cell of CSV (RFC 4180). A text in which a spreadsheet would see a formula gets apostrophes. */
export function csvCell(text: string): string {
  const inner = text.replace(INNER, "$1'$2");
  const safe = LEADING.test(text) ? `'${inner}` : inner;
  return /[",;\t\r\n]|^\s|\s$/.test(safe)
    ? `"${safe.replaceAll('"', '""')}"`
    : safe;
}
