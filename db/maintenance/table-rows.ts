import type { Row, Table, Value } from "../copies/tables.js";
import { ArchiveError, type TableRows } from "./manifest.js";

// Rows in an archive: one JSON array per line, with the values in column order. JSON escapes code
// units that UTF-8 cannot encode, so every string round-trips exactly.

/** Approximate size of a part in bytes, and therefore the amount held in memory. */
const PART = 8 * 1024 * 1024;

/** Maximum length of a row, in characters. Strings from the API have at most a few million characters. */
const LONGEST = 256 * 1024 * 1024;

/** Serializes the rows of a table as parts of NDJSON. */
export async function* partsOf(
  table: Table,
  batches: AsyncIterable<readonly Row[]>,
): AsyncGenerator<Buffer> {
  let part: Buffer[] = [];
  let bytes = 0;
  for await (const batch of batches) {
    const lines = batch.map((row) => {
      refuseFault(table, row);
      return `${JSON.stringify(row)}\n`;
    });
    const buffer = Buffer.from(lines.join(""));
    part.push(buffer);
    bytes += buffer.length;
    if (bytes < PART) continue;
    yield Buffer.concat(part);
    part = [];
    bytes = 0;
  }
  if (part.length > 0) yield Buffer.concat(part);
}

/** Parses the rows in a part of NDJSON. @throws {ArchiveError} if a line is not a row of the table. */
export async function* rowsIn(
  table: Table,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly Row[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** The start of the next row, in pieces. Joining the pieces for each chunk would take quadratic time. */
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const piece = decode(table, decoder, chunk);
    const end = piece.lastIndexOf("\n");
    pieces.push(end === -1 ? piece : piece.slice(0, end));
    length += pieces.at(-1)!.length;
    if (length > LONGEST) {
      throw new ArchiveError(`a row of ${table.name} is too long`);
    }
    if (end === -1) continue;
    const lines = pieces.join("").split("\n");
    pieces = [piece.slice(end + 1)];
    length = pieces[0]!.length;
    yield lines.map((line) => rowIn(table, line));
  }
  if (length > 0 || decode(table, decoder) !== "") {
    throw new ArchiveError(`the last row of ${table.name} is truncated`);
  }
}

function decode(table: Table, decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
  } catch {
    throw new ArchiveError(`a row of ${table.name} is not UTF-8`);
  }
}

function rowIn(table: Table, line: string): Row {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch {
    throw new ArchiveError(`a row of ${table.name} is not JSON`);
  }
  const whole = Array.isArray(row) ? completed(table, row as Value[]) : row;
  refuseFault(table, whole);
  return whole;
}

/** Fills in the columns that a row lacks if the backup is from an older version of Foyer. */
const completed = ({ columns }: Table, row: Value[]): Value[] => [
  ...row,
  ...columns
    .slice(row.length)
    .flatMap(({ formerly }) => (formerly === undefined ? [] : [formerly])),
];

function refuseFault(table: Table, row: unknown): asserts row is Row {
  const { columns, name } = table;
  if (!Array.isArray(row) || row.length !== columns.length) {
    throw new ArchiveError(
      `a row of ${name} does not have ${columns.length} values, one per column`,
    );
  }
  const odd = columns.findIndex(({ kind, nullable }, i) => !fits(row[i] as Value, kind, nullable));
  if (odd === -1) return;
  throw new ArchiveError(`a row of ${name} has an invalid ${columns[odd]!.name}`);
}

function fits(value: unknown, kind: "text" | "number", nullable: boolean): boolean {
  if (value === null) return nullable;
  return kind === "text" ? typeof value === "string" : Number.isSafeInteger(value);
}

/** The tables whose row counts are reported to operators. */
export const COUNTED = ["worlds", "rooms", "files", "chat_events", "questions", "polls"] as const;

/** Row counts by table. Removed chat events are excluded. */
export type TableRowCounts = Record<(typeof COUNTED)[number], number>;

export const NO_ROWS = Object.fromEntries(COUNTED.map((table) => [table, 0])) as TableRowCounts;

export const rowCountsOf = (tables: readonly TableRows[]): TableRowCounts =>
  Object.fromEntries(
    COUNTED.map((counted) => [counted, tables.find(({ name }) => name === counted)!.rows]),
  ) as TableRowCounts;
