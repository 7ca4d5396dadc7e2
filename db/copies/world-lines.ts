import { closeSync, openSync, readSync } from "node:fs";
import type { Lines } from "../contract/copies.js";
import { StoreError } from "../contract/store.js";
import {
  BACKUP_VERSION,
  type Column,
  copied,
  type Row,
  type Table,
  TABLES,
  type Value,
} from "./tables.js";
import type { CopiedRows } from "./world-rows.js";

// A world in a document: one JSON array with an entry on each line. The first entry is the
// head. Then there are, for each table, an object with its name and columns, and its rows as
// a backup has them.

const FORMAT = "foyer.world";

/** The first version with rows. */
const FIRST = 4;

/**
 * The lines of a document.
 * @param world its id.
 */
export async function* linesOf(
  world: string,
  parts: AsyncIterable<CopiedRows> | Iterable<CopiedRows>,
): AsyncGenerator<string> {
  yield "[";
  let last = JSON.stringify({ format: FORMAT, version: BACKUP_VERSION, world });
  let name: string | undefined;
  for await (const { table, rows } of parts) {
    if (rows.length === 0) continue;
    if (table.name !== name) {
      name = table.name;
      yield `${last},`;
      const columns = table.columns.map((column) => column.name);
      last = JSON.stringify({ table: name, columns });
    }
    for (const row of rows) {
      yield `${last},`;
      last = JSON.stringify(row);
    }
  }
  yield last;
  yield "]";
}

/** The error about a line of a document. @param line from 1. */
export const unfit = (line: number, fault: string): StoreError =>
  new StoreError("unfit", `Line ${line}: ${fault}`);

/** About how many bytes are read at once. */
const CHUNK = 1024 * 1024;

/** The longest line, in bytes. A text of the API has at most a few million characters. */
const LONGEST = 64 * 1024 * 1024;

/** Reads lines without waiting for anything but the disk, as a transaction may be open. */
function* textsIn(lines: Lines): Generator<string, void> {
  if ("lines" in lines) {
    yield* lines.lines;
    return;
  }
  const file = openSync(lines.file, "r");
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let pieces: Buffer[] = [];
    let length = 0;
    let line = 1;
    const text = () => {
      try {
        return decoder.decode(Buffer.concat(pieces));
      } catch {
        throw unfit(line, "is not UTF-8.");
      }
    };
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK);
      const size = readSync(file, chunk);
      if (size === 0) break;
      let begin = 0;
      while (begin < size) {
        const end = chunk.subarray(0, size).indexOf(10, begin);
        const piece = chunk.subarray(begin, end === -1 ? size : end);
        pieces.push(piece);
        length += piece.length;
        if (length > LONGEST) {
          throw unfit(line, `has more than ${LONGEST} bytes.`);
        }
        if (end === -1) break;
        yield text();
        line++;
        pieces = [];
        length = 0;
        begin = end + 1;
      }
    }
    if (length > 0) yield text();
  } finally {
    closeSync(file);
  }
}

/** Some rows of a document, which follow each other. */
export interface LinesOfRows extends CopiedRows {
  /** The line of the first row. */
  readonly line: number;
}

/** How many rows come at once at most, and about how many characters. */
const ROWS = 2000;
const CHARACTERS = 2 * 1024 * 1024;

/** The id of the world in a document. @throws {StoreError} `unfit`. */
export function worldIn(lines: Lines): string {
  const texts = textsIn(lines);
  try {
    return headIn(next(texts), next(texts));
  } finally {
    texts.return();
  }
}

/**
 * The rows of a document in its order. Each is one of its table: each value has the kind of
 * its column, and names the world of the document.
 * @throws {StoreError} `unfit`, with the number of a line.
 */
export function* rowsIn(lines: Lines): Generator<LinesOfRows> {
  const texts = textsIn(lines);
  const world = headIn(next(texts), next(texts));
  let line = 2;
  let table: Table | undefined;
  let complete = (row: Value[]) => row;
  let rows: Row[] = [];
  let size = 0;
  let isOver = false;
  const batch = () => ({ table: table!, rows, line: line - rows.length });
  for (const text of texts) {
    line++;
    if (isOver && text.trim() !== "") throw unfit(line, "follows the end.");
    if (isOver) continue;
    const isEnd = text.trim() === "]";
    const entry = isEnd ? undefined : entryIn(text, line);
    const isRow = Array.isArray(entry);
    if (
      rows.length > 0 &&
      (!isRow || rows.length === ROWS || size > CHARACTERS)
    ) {
      yield batch();
      rows = [];
      size = 0;
    }
    if (isEnd) isOver = true;
    else if (isRow) {
      if (!table) throw unfit(line, "comes before the name of its table.");
      const row = complete(entry as Value[]);
      refuseFault(table, row, world, line);
      rows.push(row);
      size += text.length;
    } else [table, complete] = tableIn(entry, table, line);
  }
  if (!isOver) throw unfit(line + 1, 'is missing: the last one is "]".');
}

const next = (texts: Generator<string, void>): string | undefined =>
  texts.next().value ?? undefined;

function headIn(first: string | undefined, text: string | undefined): string {
  if (first?.trim() !== "[") throw unfit(1, 'must be "[".');
  const head = entryIn(text ?? "", 2) as Record<string, unknown> | null;
  const { format, version, world } = head ?? {};
  if (format !== FORMAT || typeof world !== "string") {
    throw unfit(2, "is not the head of a world.");
  }
  if (!Number.isSafeInteger(version) || (version as number) < FIRST) {
    throw unfit(2, "has no version of a world in lines.");
  }
  if ((version as number) > BACKUP_VERSION) {
    throw unfit(
      2,
      `version: Must be at most ${BACKUP_VERSION}: use a newer Foyer.`,
    );
  }
  return world;
}

function entryIn(text: string, line: number): unknown {
  try {
    return JSON.parse(text.replace(/,\s*$/, ""));
  } catch {
    throw unfit(line, "is not JSON.");
  }
}

/** @param last the table before it. */
function tableIn(
  entry: unknown,
  last: Table | undefined,
  line: number,
): [Table, (row: Value[]) => Value[]] {
  const { table: name, columns } = (entry ?? {}) as Record<string, unknown>;
  const at = TABLES.findIndex((one) => one.name === name);
  if (at === -1 || TABLES[at]!.copies === "none" || !Array.isArray(columns)) {
    throw unfit(line, "names no table of a world with its columns.");
  }
  if (last && TABLES.findIndex((one) => one.name === last.name) >= at) {
    throw unfit(line, `The table ${TABLES[at]!.name} comes too late.`);
  }
  const table = copied(TABLES[at]!);
  const places = table.columns.map((column) => columns.indexOf(column.name));
  const odd = columns.find(
    (column, i) =>
      !table.columns.some((one) => one.name === column) ||
      columns.indexOf(column) !== i,
  ) as unknown;
  if (odd !== undefined) {
    throw unfit(
      line,
      `${JSON.stringify(odd)} is no column of ${table.name}, or comes twice.`,
    );
  }
  // A document of an older Foyer lacks newer columns.
  const lacking = table.columns.find(
    ({ formerly }, i) => places[i] === -1 && formerly === undefined,
  );
  if (lacking)
    throw unfit(
      line,
      `The column ${lacking.name} of ${table.name} is missing.`,
    );
  const count = columns.length;
  return [
    table,
    (row) =>
      row.length === count
        ? places.map((place, i) =>
            place === -1 ? table.columns[i]!.formerly! : row[place]!,
          )
        : [],
  ];
}

function refuseFault(
  { name, columns }: Table,
  row: Row,
  world: string,
  line: number,
): void {
  if (row.length === 0) {
    throw unfit(line, `is no row of ${name}: it has another number of values.`);
  }
  columns.forEach((column, i) => {
    const fault = faultOf(column, row[i], world);
    if (fault) throw unfit(line, `${name}.${column.name}: ${fault}`);
  });
}

function faultOf(
  { kind, nullable, json, of }: Column,
  value: unknown,
  world: string,
): string | undefined {
  if (value === null) return nullable ? undefined : "May not be null.";
  if (kind === "number") {
    return Number.isSafeInteger(value) ? undefined : "Must be a whole number.";
  }
  if (typeof value !== "string") return "Must be a text.";
  if (of === "worlds" && value !== world)
    return `Must be ${world}, the world of the document.`;
  if (json && kindOf(value) !== json) return `Must be the JSON of a ${json}.`;
  return undefined;
}

function kindOf(json: string): Column["json"] {
  try {
    const value: unknown = JSON.parse(json);
    if (Array.isArray(value)) return "list";
    return typeof value === "object" && value !== null ? "object" : undefined;
  } catch {
    return undefined;
  }
}
