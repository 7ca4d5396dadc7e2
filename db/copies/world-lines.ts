import { closeSync, openSync, readSync } from "node:fs";
import type { DocumentRows, LineSource } from "../contract/selections.js";
import { StoreError } from "../contract/store.js";
import type { CopiedRows } from "./copied-rows.js";
import {
  BACKUP_VERSION,
  type Column,
  copied,
  OLDEST_BACKUP,
  type Row,
  type Table,
  TABLES,
  type Value,
} from "./tables.js";

// The format of a world document: a single JSON object. The first line contains the version, and
// the second line contains the world. Each table follows as a list of rows, one object per line,
// with the same values as in a backup. JSON columns are embedded as values. `world_id` is omitted.

/** Number of bytes per read. */
const CHUNK = 1024 * 1024;

/** Maximum length of a line, in bytes. A string from the API has at most a few million characters. */
const LONGEST = 64 * 1024 * 1024;

/** Reads lines synchronously, because a transaction may be open. */
export function* textsIn(lines: LineSource): Generator<string, void> {
  if ("lines" in lines) {
    yield* lines.lines;
    return;
  }
  const isOpen = typeof lines.file === "number";
  const file = isOpen ? lines.file : openSync(lines.file, "r");
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let pieces: Buffer[] = [];
    let length = 0;
    let line = 1;
    const refuse = (fault: string) => new StoreError("unfit", `Line ${line}: ${fault}`);
    const text = () => {
      try {
        return decoder.decode(Buffer.concat(pieces));
      } catch {
        throw refuse("is not UTF-8.");
      }
    };
    let position = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK);
      const size = readSync(file, chunk, 0, CHUNK, position);
      if (size === 0) break;
      position += size;
      let begin = 0;
      while (begin < size) {
        const end = chunk.subarray(0, size).indexOf(10, begin);
        const piece = chunk.subarray(begin, end === -1 ? size : end);
        pieces.push(piece);
        length += piece.length;
        if (length > LONGEST) throw refuse(`has more than ${LONGEST} bytes.`);
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
    if (!isOpen) closeSync(file);
  }
}

const FORMAT = "foyer.world";

const WORLD = '"world":';

const columnsIn = (table: Table): Column[] => table.columns.filter(({ of }) => of !== "worlds");

/** Yields the lines of a document. @param parts every table in the document, even if it is empty. */
export async function* linesOf(
  parts: AsyncIterable<CopiedRows> | Iterable<CopiedRows>,
): AsyncGenerator<string> {
  // Hold each line back, because its ending depends on the next line.
  let last = JSON.stringify({ format: FORMAT, version: BACKUP_VERSION });
  last = last.slice(0, -1);
  let name: string | undefined;
  let write = writer(TABLES[0]!);
  for await (const { table, rows } of parts) {
    if (table.name === "worlds") {
      for (const row of rows) {
        yield `${last},`;
        last = WORLD + writer(table)(row);
      }
      continue;
    }
    if (table.name !== name) {
      if (name !== undefined) {
        yield last;
        last = "]";
      }
      yield `${last},`;
      name = table.name;
      write = writer(table);
      last = `"${name}":[`;
    }
    for (const row of rows) {
      yield last.endsWith("[") ? last : `${last},`;
      last = write(row);
    }
  }
  yield last;
  if (name !== undefined) yield "]";
  yield "}";
}

/** Creates a function that serializes a row as JSON. */
function writer(table: Table): (row: Row) => string {
  const places = columnsIn(table).map((column) => ({
    at: table.columns.indexOf(column),
    name: JSON.stringify(column.name),
    isJson: column.json !== undefined,
  }));
  return (row) => {
    const entries = places.map(({ at, name, isJson }) => {
      const value = row[at]!;
      const text = isJson && value !== null ? oneLine(value) : undefined;
      return `${name}:${text ?? JSON.stringify(value)}`;
    });
    return `{${entries.join()}}`;
  };
}

const oneLine = (json: Value): string => {
  const text = String(json);
  return text.includes("\n") ? JSON.stringify(JSON.parse(text)) : text;
};

/** Returns the name under which a document contains a table. */
export const placeIn = ({ name }: Table): string => (name === "worlds" ? "world" : name);

/**
 * Returns the lines of a document that another tool has reformatted.
 * @throws {StoreError} `unfit`.
 */
export function toLines(document: Readonly<Record<string, unknown>>): string[] {
  const { format, version, world, ...tables } = document;
  const head = JSON.stringify({ format, version });
  const lines = [`${head.slice(0, -1)},`, `"world":${JSON.stringify(world ?? null)},`];
  const places = TABLES.map(({ name }) => name);
  const ordered = Object.entries(tables).sort(
    ([one], [other]) => places.indexOf(one) - places.indexOf(other),
  );
  for (const [name, rows] of ordered) {
    if (!Array.isArray(rows)) {
      throw new StoreError("unfit", `${name}: Must be a list.`);
    }
    lines.push(`${JSON.stringify(name)}:[`);
    for (const row of rows) lines.push(`${JSON.stringify(row)},`);
    lines.push("],");
  }
  return [...lines, "}"];
}

/** Whether a document contains rows. A document without rows is in the old format, version 1. */
export const isOfRows = (document: unknown): document is Readonly<Record<string, unknown>> =>
  typeof document === "object" &&
  document !== null &&
  "format" in document &&
  document.format === FORMAT &&
  "version" in document &&
  Number(document.version) > 1;

/** Whether a document begins like the lines of {@link linesOf}. */
export const isLaidInLines = (text: string): boolean =>
  /^\{"format":"foyer\.world","version":\d+,\r?\n/.test(text);

/** Returns the error for a line in a document. @param line counted from 1. */
export const unfit = (line: number, fault: string): StoreError =>
  new StoreError("unfit", `Line ${line}: ${fault}`);

/** Consecutive rows in a document. */
export interface LinesOfRows extends CopiedRows {
  readonly line: number;
}

interface ReadRows extends LinesOfRows {
  /** The approximate total length of the rows' lines, in characters. */
  readonly size: number;
}

/** Inspects a line before its row is read. @returns a description of the fault, if any. */
export type Look = (text: string, entry: object) => string | undefined;

/** Maximum size of a batch, in rows and (approximately) in characters. */
const ROWS = 500;
const CHARACTERS = 512 * 1024;

/**
 * Yields the rows in a document. Rows that were already read are not read again. @throws
 * {StoreError} as {@link rowsIn}.
 */
export function* partsIn(document: LineSource | DocumentRows): Generator<LinesOfRows> {
  if ("lines" in document || "file" in document) {
    yield* rowsIn(document);
    return;
  }
  for (const { table: name, ...part } of document) {
    yield { ...part, table: copied(TABLES.find((one) => one.name === name)!) };
  }
}

/** Returns the id of the world that a document contains. @throws {StoreError} `unfit`. */
export function worldIn(lines: LineSource): string {
  const texts = textsIn(lines);
  try {
    return headIn(texts).rows[0]![0] as string;
  } finally {
    texts.return();
  }
}

/**
 * Yields the rows in a document in order, and every table that the document names. Each value is
 * checked against the column's type.
 * @throws {StoreError} `unfit`, with the number of the faulty line.
 */
export function* rowsIn(lines: LineSource, look?: Look): Generator<ReadRows> {
  const texts = textsIn(lines);
  const head = headIn(texts, look);
  yield head;
  const world = head.rows[0]![0] as string;
  let line = 2;
  let place: "table" | "row" | "end" = "table";
  let table = head.table;
  let read = reader(table, world);
  let rows: Row[] = [];
  let size = 0;
  for (const whole of texts) {
    line++;
    const text = whole.trimEnd().replace(/,$/, "");
    if (place === "end") {
      if (text !== "") throw unfit(line, "follows the end.");
    } else if (place === "table") {
      if (text === "}") {
        place = "end";
        continue;
      }
      table = tableIn(text, table, line);
      read = reader(table, world);
      place = "row";
      if (text.endsWith("]")) place = "table";
      yield { table, rows: [], line, size: 0 };
    } else {
      const isOver = text === "]";
      if (rows.length > 0 && (isOver || rows.length === ROWS || size > CHARACTERS)) {
        yield { table, rows, line: line - rows.length, size };
        rows = [];
        size = 0;
      }
      if (isOver) place = "table";
      else {
        rows.push(read(text, line, look));
        size += text.length;
      }
    }
  }
  if (place !== "end") throw unfit(line + 1, 'is missing: the last one is "}".');
}

function headIn(texts: Generator<string, void>, look?: Look): ReadRows {
  const first = next(texts);
  const entry = entryIn(`${first.trimEnd().replace(/,$/, "")}}`, 1);
  const { format, version } = entry as Record<string, unknown>;
  if (format !== FORMAT) throw unfit(1, "is not the head of a world.");
  if (!Number.isSafeInteger(version) || (version as number) < 2) {
    throw unfit(1, "has no version of a world in lines.");
  }
  if ((version as number) > BACKUP_VERSION) {
    throw unfit(1, `version: Must be at most ${BACKUP_VERSION}: use a newer Foyer.`);
  }
  if ((version as number) < OLDEST_BACKUP) {
    const why = `Is ${version as number}, of a build before release 0.1.0`;
    throw unfit(1, `version: ${why}, and must be at least ${OLDEST_BACKUP}.`);
  }
  const second = next(texts);
  if (!second.startsWith(WORLD)) throw unfit(2, "must have the world.");
  const text = second.slice(WORLD.length).trimEnd().replace(/,$/, "");
  const table = copied(TABLES.find(({ name }) => name === "worlds")!);
  const row = reader(table, "")(text, 2, look);
  return { table, rows: [row], line: 2, size: text.length };
}

const next = (texts: Generator<string, void>): string => texts.next().value ?? "";

function entryIn(text: string, line: number): object {
  let entry: unknown;
  try {
    entry = JSON.parse(text);
  } catch {
    throw unfit(line, "is not JSON.");
  }
  if (typeof entry === "object" && entry !== null && !Array.isArray(entry)) {
    return entry;
  }
  throw unfit(line, "is no row: it must be an object.");
}

/** Returns the table whose list begins on a line. @param last the previous table. */
function tableIn(text: string, last: Table, line: number): Table {
  const name = /^"([a-z_]+)":\[\]?$/.exec(text)?.[1];
  const at = TABLES.findIndex((one) => one.name === name);
  if (at === -1 || TABLES[at]!.copies === "none") {
    throw unfit(line, "begins no table of a world.");
  }
  if (TABLES.findIndex((one) => one.name === last.name) >= at) {
    throw unfit(line, `The table ${name} comes too late.`);
  }
  return copied(TABLES[at]!);
}

/** Creates a function that parses a line as a row of a table. */
function reader(table: Table, world: string): (text: string, line: number, look?: Look) => Row {
  const known = new Set(columnsIn(table).map(({ name }) => name));
  const place = placeIn(table);
  return (text, line, look) => {
    const entry = entryIn(text, line) as Readonly<Record<string, unknown>>;
    const seen = look?.(text, entry);
    if (seen !== undefined) throw unfit(line, `${place}.${seen}`);
    const odd = Object.keys(entry).find((name) => !known.has(name));
    if (odd !== undefined) {
      const named = JSON.stringify(odd.slice(0, 100));
      throw unfit(line, `${place}: ${named} is no column of it.`);
    }
    return table.columns.map((column) => {
      const { name, of, formerly } = column;
      if (of === "worlds") return world;
      // Documents from earlier versions of Foyer lack the columns that were added later.
      const value = Object.hasOwn(entry, name) ? entry[name] : formerly;
      const fault = value === undefined ? "This field is required." : faultOfValue(column, value);
      if (fault) throw unfit(line, `${place}.${name}: ${fault}`);
      return column.json && value !== null ? JSON.stringify(value) : (value as Value);
    });
  };
}

/** Maximum distance between a `Date` and 1970, in milliseconds. */
const LAST_TIME = 8_640_000_000_000_000;

/**
 * Describes the fault in a column's value in a document, if any.
 * @param value for a JSON column, the parsed value.
 */
function faultOfValue(
  { kind, nullable, json, values, isTime }: Column,
  value: unknown,
): string | undefined {
  if (value === null) return nullable ? undefined : "May not be null.";
  if (json !== undefined) {
    const found = typeof value !== "object" ? undefined : Array.isArray(value) ? "list" : "object";
    return found === json ? undefined : `Must be ${NAMES[json]}.`;
  }
  if (values && !values.includes(value as string)) {
    return `Must be one of ${values.map((one) => JSON.stringify(one)).join(", ")}.`;
  }
  if (kind === "text") {
    return typeof value === "string" ? undefined : "Must be a text.";
  }
  if (!Number.isSafeInteger(value)) return "Must be a whole number.";
  return isTime && Math.abs(value as number) > LAST_TIME
    ? "Must be a time in milliseconds."
    : undefined;
}

const NAMES = { object: "an object", list: "a list" };
