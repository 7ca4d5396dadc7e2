import { closeSync, openSync, readSync } from "node:fs";
import type { DocumentRows, Lines } from "../contract/selections.js";
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

// A world in a document: one JSON object. The first line has its version, and the second one the
// world. Then there is, for each table, a list of its rows: an object on each line, with the
// values that a backup has. A column with JSON has its value. `world_id` is left out.

/** About how many bytes are read at once. */
const CHUNK = 1024 * 1024;

/** The longest line, in bytes. A text of the API has at most a few million characters. */
const LONGEST = 64 * 1024 * 1024;

/** Reads lines without waiting for anything but the disk, as a transaction may be open. */
export function* textsIn(lines: Lines): Generator<string, void> {
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

/** The lines of a document. @param parts every table of the document, also if it has no rows. */
export async function* linesOf(
  parts: AsyncIterable<CopiedRows> | Iterable<CopiedRows>,
): AsyncGenerator<string> {
  // The end of a line follows from the next one.
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

/** Makes the function that gives the JSON of a row. */
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

/** What the rows of a table are called in a document. */
export const placeIn = ({ name }: Table): string => (name === "worlds" ? "world" : name);

/**
 * The lines of a document that something has laid out in another way.
 * @throws {StoreError} `unfit`.
 */
export function relaid(document: Readonly<Record<string, unknown>>): string[] {
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

/** Whether a document has rows. The others are of version 1. */
export const isOfRows = (document: unknown): document is Readonly<Record<string, unknown>> =>
  typeof document === "object" &&
  document !== null &&
  "format" in document &&
  document.format === FORMAT &&
  "version" in document &&
  Number(document.version) > 1;

/** Whether a document has the lines of {@link linesOf}, by its beginning. */
export const isLaidInLines = (text: string): boolean =>
  /^\{"format":"foyer\.world","version":\d+,\r?\n/.test(text);

/** The error about a line of a document. @param line from 1. */
export const unfit = (line: number, fault: string): StoreError =>
  new StoreError("unfit", `Line ${line}: ${fault}`);

/** Some rows of a document, which follow each other. */
export interface LinesOfRows extends CopiedRows {
  readonly line: number;
}

interface ReadRows extends LinesOfRows {
  /** About how many characters their lines have. */
  readonly size: number;
}

/** Looks at a line before its row is read. @returns what is wrong with it. */
export type Look = (text: string, entry: object) => string | undefined;

/** How many rows come at once at most, and about how many characters. */
const ROWS = 500;
const CHARACTERS = 512 * 1024;

/** The rows of a document, read now or before. @throws {StoreError} as {@link rowsIn}. */
export function* partsIn(document: Lines | DocumentRows): Generator<LinesOfRows> {
  if ("lines" in document || "file" in document) {
    yield* rowsIn(document);
    return;
  }
  for (const { table: name, ...part } of document) {
    yield { ...part, table: copied(TABLES.find((one) => one.name === name)!) };
  }
}

/** The id of the world in a document. @throws {StoreError} `unfit`. */
export function worldIn(lines: Lines): string {
  const texts = textsIn(lines);
  try {
    return headIn(texts).rows[0]![0] as string;
  } finally {
    texts.return();
  }
}

/**
 * The rows of a document in its order, and every table that it names. Each row is one of its
 * table: each value has the kind of its column.
 * @throws {StoreError} `unfit`, with the number of a line.
 */
export function* rowsIn(lines: Lines, look?: Look): Generator<ReadRows> {
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

/** The table that a line begins. @param last the table before it. */
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

/** Makes the function that reads a row of a table. */
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
      // A document of an older Foyer lacks newer columns.
      const value = Object.hasOwn(entry, name) ? entry[name] : formerly;
      const fault = value === undefined ? "This field is required." : faultOfValue(column, value);
      if (fault) throw unfit(line, `${place}.${name}: ${fault}`);
      return column.json && value !== null ? JSON.stringify(value) : (value as Value);
    });
  };
}

/** The greatest time of a `Date`, in milliseconds before and after 1970. */
const LAST_TIME = 8_640_000_000_000_000;

/**
 * What is wrong with a value of a document in a column.
 * @param value of a column with JSON: what its text says.
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
