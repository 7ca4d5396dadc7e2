// Reads the texts of tables as spreadsheet programs save them: in the encoding of the computer, and
// with the separator of its language.

/**
 * Decodes a text file: UTF-8, UTF-16 with a byte order mark, or Windows-1252, in which Excel on
 * Windows saves CSV unless it is told otherwise.
 */
export function textOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Some versions of Node.js decode it as Latin-1, which differs in these characters.
    return new TextDecoder("windows-1252")
      .decode(bytes)
      .replace(/[\x80-\x9f]/g, (char) => WINDOWS_1252[char.charCodeAt(0) - 0x80]!);
  }
}

/** The characters from 0x80 to 0x9F. */
const WINDOWS_1252 =
  "\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f" +
  "\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178";

const SEPARATORS = [",", ";", "\t"] as const;
export type Separator = (typeof SEPARATORS)[number];

/** Returns the separator of a table's cells: the most frequent one in its first line, outside of quotes. */
export function separatorOf(text: string): Separator {
  const counts = new Map<string, number>();
  let isQuoted = false;
  for (const char of text.slice(0, 100_000)) {
    if (char === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (char === "\n" || char === "\r") {
      if (counts.size > 0) break;
    } else if ((SEPARATORS as readonly string[]).includes(char)) {
      counts.set(char, (counts.get(char) ?? 0) + 1);
    }
  }
  return SEPARATORS.reduce((most, it) =>
    (counts.get(it) ?? 0) > (counts.get(most) ?? 0) ? it : most,
  );
}
